import Acquirer
import Locks
import Payments
import StrictJSON
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

/// A clock that stands until the test turns it.
final class StandingClock: Sendable {
    private let time = Mutex(WallTime(millisecondsSince1970: 1_789_586_833_440))

    var now: WallTime { time.withLock { $0 } }
    var milliseconds: Int { Int(now.millisecondsSince1970) }
    var seconds: Int { milliseconds / 1000 }

    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }

    /// Who sleeps by it wakes at once, later.
    var sandbox: SandboxClock {
        SandboxClock(now: { self.now }, sleep: { self.advance(by: $0) })
    }
}

/// An acquirer in this process, a shop's terminal with its certificate, and customers' phones.
final class AcquirerBench: Sendable {
    let clock: StandingClock
    let acquirer: SandboxAcquirer
    let transport: InProcessAcquirer
    /// Logged in as the shop.
    let shop: AcquirerClient
    let terminal: BenchTerminal

    init(
        clock: StandingClock = StandingClock(),
        over other: (any HTTPTransport, url: String)? = nil,
        acquirer made: SandboxAcquirer? = nil,
        _ configure: (inout AcquirerConfiguration) -> Void = { _ in }
    ) async throws {
        var configuration = AcquirerConfiguration()
        configuration.controlToken = "control"
        configuration.partnerKey = "partner"
        configuration.customers.append(
            .init(id: "ben", name: "Ben", identifier: "ben@example.com", password: "ben-password")
        )
        configure(&configuration)
        self.clock = clock
        acquirer = made ?? SandboxAcquirer(AcquirerState(configuration: configuration), clock: clock.sandbox)
        transport = InProcessAcquirer(acquirer)
        var client = try AcquirerClient(
            baseURL: other?.url ?? InProcessAcquirer.url,
            transport: other?.0 ?? InProcessAcquirer(acquirer)
        )
        client.session = try await client.logIn(identifier: "shop@example.com", password: Secret("shop-password")).token
        shop = client
        terminal = try await BenchTerminal("till-1", client, clock)
    }

    var keys: GatewayKeys {
        get async { await acquirer.trustedKeys }
    }

    func phone(_ identifier: String = "customer@example.com", _ password: String = "customer-password") async throws
        -> BenchPhone
    {
        var client = shop
        client.session = nil
        let session = try await client.logIn(identifier: identifier, password: Secret(password))
        client.session = session.token
        return try await BenchPhone(client, customer: session.accountID, clock)
    }

    /// Does what the control API does, and returns its answer.
    @discardableResult func control(_ method: String, _ word: String, _ body: String = "") async throws -> AcquirerReply
    {
        let request = GatewayRequest(
            method,
            "/control/\(word)",
            headers: ["Authorization": "Bearer control"],
            body: Array(body.utf8)
        )
        return try #require(await acquirer.answer(request))
    }

    func fault(_ text: String) async throws {
        let fault = try AcquirerFault(parsing: text)
        let reply = try await control("POST", "faults", fault.json.text)
        #expect(reply.status == 201)
    }

    func balance(_ account: AcquirerBooks.Account, _ currency: String = "EUR") async -> Int {
        await acquirer.snapshot.books.balance(account, currency)
    }

    /// What the demo customer's card and the shop have more or less than at the start.
    func moved(_ currency: String = "EUR") async -> (card: Int, shop: Int) {
        let card = await balance(.instrument("card-customer-demo"), currency)
        return (card - 1_000_000, await balance(.merchant("merchant-demo"), currency))
    }
}

/// A terminal as the acquirer knows it.
struct BenchTerminal: Sendable {
    let signer: Ed25519Signer
    let certificate: Signed<TerminalCertificate>
    let clock: StandingClock

    init(_ name: String, _ client: AcquirerClient, _ clock: StandingClock) async throws {
        self.clock = clock
        signer = try Ed25519Signer(seed: Array(repeating: UInt8(name.utf8.count), count: 32))
        let order = EnrolmentOrder(terminalID: name, staticKey: Array(repeating: 7, count: 32), signer: signer)
        certificate = try await client.certify(order, nowSeconds: clock.seconds)
    }

    func paymentID() throws -> TapProtocol.PaymentID {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        for (place, shift) in [40, 32, 24, 16, 8, 0].enumerated() {
            bytes[place] = UInt8(truncatingIfNeeded: clock.milliseconds >> shift)
        }
        bytes[6] = bytes[6] & 0x0F | 0x70
        bytes[8] = bytes[8] & 0x3F | 0x80
        return try #require(PaymentID(bytes: bytes))
    }

    func request(
        _ amount: Int = 12_50,
        currency: String = "EUR",
        named id: TapProtocol.PaymentID? = nil,
        tip: TipTerms = TipTerms(mode: .allowed, maximum: 5_00),
        flags: PaymentRequest.Flags = [.terminalOnline, .vouchersTaken],
        edit: (inout PaymentRequest) -> Void = { _ in }
    ) throws -> Signed<PaymentRequest> {
        var request = PaymentRequest(
            paymentID: try id ?? paymentID(),
            certificate: certificate,
            operatorID: "operator-1",
            amount: amount,
            currency: currency,
            exponent: 2,
            createdAtMilliseconds: clock.milliseconds,
            expiresAtMilliseconds: clock.milliseconds + 120_000,
            tip: tip,
            reference: "sale 1",
            flags: flags
        )
        edit(&request)
        return try Signed(signing: request, with: signer)
    }

    func bundle(
        _ request: Signed<PaymentRequest>,
        _ accepted: (accept: Signed<PaymentAcceptance>, pass: Signed<PaymentPass>),
        attempt: Int = 1,
        mode: PaymentClaim.Mode = .online,
        claimedAt: Int? = nil
    ) throws -> ExecutionBundle {
        let claim = PaymentClaim(
            paymentID: request.payload.paymentID,
            acceptHash: accepted.accept.hash,
            claimedAtMilliseconds: claimedAt ?? clock.milliseconds,
            attempt: attempt,
            mode: mode
        )
        return ExecutionBundle(
            certificate: certificate,
            request: request,
            pass: accepted.pass,
            accept: accepted.accept,
            claim: try Signed(signing: claim, with: signer)
        )
    }
}

/// A customer's phone: its device key, and what its accepts look like.
struct BenchPhone: Sendable {
    let client: AcquirerClient
    let device: ES256Signer
    let customer: String
    let clock: StandingClock

    typealias Accepted = (accept: Signed<PaymentAcceptance>, pass: Signed<PaymentPass>)

    init(_ client: AcquirerClient, customer: String, _ clock: StandingClock) async throws {
        (self.client, self.customer, self.clock) = (client, customer, clock)
        device = try ES256Signer(scalar: [0] + (1..<32).map { _ in UInt8.random(in: 1...200) })
    }

    /// Agrees with a fresh online pass.
    func accept(
        _ request: Signed<PaymentRequest>,
        tip: Int = 0,
        instrument: String? = nil,
        pass: Signed<PaymentPass>? = nil,
        edit: (inout PaymentAcceptance) -> Void = { _ in }
    ) async throws -> Accepted {
        let fresh = try await client.passes(for: device.publicKey, count: 1)
        return try signed(request, tip, instrument ?? "card-\(customer)", pass ?? fresh[0], nil, edit)
    }

    /// Holds money for a voucher.
    func hold(_ amount: Int = 100_00, key: String = "hold-1") async throws -> PreAuthorisation {
        try await client.preAuthorise(
            PreAuthorisationOrder(
                instrumentID: "card-\(customer)",
                amount: amount,
                currency: "EUR",
                exponent: 2,
                deviceKey: device.publicKey
            ),
            idempotencyKey: key
        )
    }

    /// Agrees with a voucher, by the chain as it stands; a dishonest phone keeps an old chain.
    func spend(_ request: Signed<PaymentRequest>, _ chain: inout VoucherChain, tip: Int = 0) throws -> Accepted {
        let spend = try chain.commit(total: request.payload.amount + tip, for: request.payload)
        let instrument = try #require(chain.pass.payload.voucher).instrumentID
        let accepted = try signed(request, tip, instrument, chain.pass, spend) { _ in }
        chain.signed(accepted.accept)
        chain.ended(request.payload.paymentID)
        return accepted
    }

    private func signed(
        _ request: Signed<PaymentRequest>,
        _ tip: Int,
        _ instrument: String,
        _ pass: Signed<PaymentPass>,
        _ spend: VoucherSpend?,
        _ edit: (inout PaymentAcceptance) -> Void
    ) throws -> Accepted {
        var accept = PaymentAcceptance(
            accepting: request,
            tip: tip,
            instrumentID: instrument,
            createdAtMilliseconds: clock.milliseconds,
            flags: spend == nil ? [.phoneOnline] : [],
            nonce: (0..<16).map { _ in UInt8.random(in: .min ... .max) },
            spend: spend
        )
        edit(&accept)
        return (try Signed(signing: accept, with: device), pass)
    }
}

extension ExecutionAnswer {
    /// How it ended, checked.
    func end(_ bundle: ExecutionBundle, _ bench: AcquirerBench) async throws -> TapProtocol.PaymentStatus? {
        try status(of: bundle, trusting: await bench.keys)
    }
}
