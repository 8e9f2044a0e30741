import Locks
import Sandbox
import TapProtocol
import TestSupport

/// A merchant with a certified terminal, and the gateway's keys.
struct CertifiedMerchant {
    let gateway: Ed25519Signer
    let signer: Ed25519Signer
    let key: AgreementKey
    let certificate: Signed<TerminalCertificate>
    let clock: ManualClock

    init(
        _ clock: ManualClock,
        gateway: Ed25519Signer? = nil,
        change: (inout TerminalCertificate) -> Void = { _ in }
    ) throws {
        let genuine = try Ed25519Signer(seed: [UInt8](repeating: 7, count: 32))
        self.gateway = gateway ?? genuine
        signer = try Ed25519Signer(seed: [UInt8](repeating: 8, count: 32))
        key = AgreementKey()
        self.clock = clock
        guard case .ed25519(let signing) = signer.publicKey else { throw Broken() }
        var payload = try TerminalCertificate(map: [
            1: .text("gw.example"), 2: .text("T-1"), 3: .text("M-1"), 4: .text("Coffee Shop"),
            5: .integer(clock.milliseconds / 1000 - 60), 6: .integer(clock.milliseconds / 1000 + 86_400),
            7: .bytes(key.publicKey),
            8: .bytes(signing), 9: .integer(0), 10: .array([.text("USD"), .text("EUR")]), 11: .integer(500_00),
            12: .integer(5814), 13: .text("US"),
        ])
        change(&payload)
        certificate = try Signed(signing: payload, with: self.gateway)
    }

    struct Broken: Error {}

    static func trusted(_ gateway: Ed25519Signer) -> [TrustedGatewayKey] {
        guard case .ed25519(let key) = gateway.publicKey else { return [] }
        return [TrustedGatewayKey(issuer: "gw.example", keyID: gateway.keyID, publicKey: key)]
    }

    var trusted: [TrustedGatewayKey] { Self.trusted(gateway) }

    /// A new payment's name.
    func paymentID() -> PaymentID {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
        for place in 0..<6 { bytes[place] = UInt8(truncatingIfNeeded: clock.milliseconds >> (8 * (5 - place))) }
        bytes[6] = bytes[6] & 0x0F | 0x70
        bytes[8] = bytes[8] & 0x3F | 0x80
        // Sixteen bytes are always a name.
        // swift-format-ignore: NeverForceUnwrap
        return PaymentID(bytes: bytes)!
    }

    func request(
        _ amount: Int = 25_50,
        id: PaymentID? = nil,
        life: Int = 120_000,
        change: (inout PaymentRequest) -> Void = { _ in }
    ) throws -> Signed<PaymentRequest> {
        var payload = PaymentRequest(
            paymentID: id ?? paymentID(),
            certificate: certificate,
            operatorID: "O-1",
            amount: amount,
            currency: "USD",
            exponent: 2,
            createdAtMilliseconds: clock.milliseconds,
            expiresAtMilliseconds: clock.milliseconds + life,
            tip: TipTerms(mode: .allowed, maximum: 10_00, presetBasisPoints: [1000, 1500]),
            flags: [.terminalOnline, .vouchersTaken]
        )
        change(&payload)
        return try Signed(signing: payload, with: signer)
    }

    func claim(
        _ accept: ObjectHash,
        of request: Signed<PaymentRequest>,
        mode: PaymentClaim.Mode = .online,
        attempt: Int = 1
    ) throws -> Signed<PaymentClaim> {
        let payload = PaymentClaim(
            paymentID: request.payload.paymentID,
            acceptHash: accept,
            claimedAtMilliseconds: clock.milliseconds,
            attempt: attempt,
            mode: mode
        )
        return try Signed(signing: payload, with: signer)
    }

    func receipt(
        _ status: PaymentStatus,
        _ request: Signed<PaymentRequest>,
        _ accept: Signed<PaymentAcceptance>,
        change: (inout PaymentReceipt) -> Void = { _ in }
    ) throws -> Signed<PaymentReceipt> {
        var payload = PaymentReceipt(
            status: status,
            request: request,
            accept: accept,
            instrument: "Card 1234",
            executedAtMilliseconds: clock.milliseconds
        )
        change(&payload)
        return try Signed(signing: payload, with: gateway)
    }
}

/// What a phone has said so far.
final class Diary: Sendable {
    private struct State {
        var events: [PhoneEvent] = []
        var waiting: [(test: @Sendable ([PhoneEvent]) -> Bool, go: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var events: [PhoneEvent] { state.withLock { $0.events } }

    func add(_ event: PhoneEvent) {
        let ready = state.withLock { state in
            state.events.append(event)
            let events = state.events
            let ready = state.waiting.filter { $0.test(events) }.map(\.go)
            state.waiting.removeAll { $0.test(events) }
            return ready
        }
        for go in ready { go.resume() }
    }

    /// Looks again whether somebody waits for what is so by now.
    func nudge() {
        let ready = state.withLock { state in
            let events = state.events
            let ready = state.waiting.filter { $0.test(events) }.map(\.go)
            state.waiting.removeAll { $0.test(events) }
            return ready
        }
        for go in ready { go.resume() }
    }

    /// Returns when the diary is so.
    func wait(_ test: @escaping @Sendable ([PhoneEvent]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                if test(state.events) { return true }
                state.waiting.append((test, continuation))
                return false
            }
            if isSo { continuation.resume() }
        }
    }

    func wait(for event: PhoneEvent) async { await wait { $0.contains(event) } }

    var outcomes: [PhoneOutcome] {
        events.compactMap { if case .ended(_, let outcome) = $0 { outcome } else { nil } }
    }

    var prompts: Int { events.filter { if case .asked = $0 { true } else { false } }.count }
}

/// A gateway that executes at most one claim of a payment that has not failed.
actor FakeAcquirer: PhoneAcquirer {
    private let merchant: CertifiedMerchant
    private(set) var executed: [PaymentID: [(accept: Signed<PaymentAcceptance>, receipt: Signed<PaymentReceipt>)]] = [:]
    private var device: VerificationKey?
    var isReachable = true
    /// The next so many are declined.
    var declines = 0
    var answersExecutions = true
    var syncAnswer: PhoneSyncAnswer?
    /// What a terminal has announced, whatever payment is asked about; nil: nothing.
    private var announced: PhoneAnnouncement?
    /// Whether it keeps whoever asks what was announced waiting.
    private var isSlow = false
    /// How often somebody asked what was announced.
    private(set) var comparisons = 0
    private var denied = DenyList()
    private(set) var bundles = 0
    private(set) var synced = 0

    init(_ merchant: CertifiedMerchant) { self.merchant = merchant }

    func set(isReachable: Bool? = nil, declines: Int? = nil, answersExecutions: Bool? = nil) {
        if let isReachable { self.isReachable = isReachable }
        if let declines { self.declines = declines }
        if let answersExecutions { self.answersExecutions = answersExecutions }
    }

    func set(denied: DenyList) { self.denied = denied }

    func set(announced: PhoneAnnouncement?, isSlow: Bool = false) {
        (self.announced, self.isSlow) = (announced, isSlow)
    }

    func set(syncAnswer: PhoneSyncAnswer?) { self.syncAnswer = syncAnswer }

    private func reach() throws(PhoneAcquirerError) {
        guard isReachable else { throw .unreachable("test") }
    }

    func keys() throws(PhoneAcquirerError) -> [TrustedGatewayKey] {
        try reach()
        return merchant.trusted
    }

    func denyList() throws(PhoneAcquirerError) -> DenyList {
        try reach()
        return denied
    }

    func instruments() throws(PhoneAcquirerError) -> [String] {
        try reach()
        return ["visa", "bank"]
    }

    private func sign(_ pass: PaymentPass) throws(PhoneAcquirerError) -> Signed<PaymentPass> {
        do throws(SigningFailure) {
            return try Signed(signing: pass, with: merchant.gateway)
        } catch {
            throw .refused(error.reason)
        }
    }

    private func pass(_ device: VerificationKey, _ voucher: PaymentPass.Voucher?) -> PaymentPass {
        PaymentPass(
            passID: (0..<16).map { _ in UInt8.random(in: 0...255) },
            issuer: "gw.example",
            deviceKey: device,
            notBeforeSeconds: merchant.clock.milliseconds / 1000 - 60,
            notAfterSeconds: merchant.clock.milliseconds / 1000 + 86_400,
            voucher: voucher
        )
    }

    func passes(
        _ count: Int,
        for device: VerificationKey
    ) throws(PhoneAcquirerError) -> [Signed<PaymentPass>] {
        try reach()
        var result: [Signed<PaymentPass>] = []
        for _ in 0..<count { result.append(try sign(pass(device, nil))) }
        return result
    }

    func preAuthorize(
        _ wish: VoucherWish,
        on instrumentID: String,
        for device: VerificationKey
    ) throws(PhoneAcquirerError) -> Signed<PaymentPass> {
        try reach()
        guard instrumentID == "bank" else { throw .refused("it cannot be pre-authorised") }
        let voucher = PaymentPass.Voucher(
            currency: wish.currency,
            exponent: wish.exponent,
            limitTotal: wish.limitTotal,
            instrumentID: instrumentID
        )
        return try sign(pass(device, voucher))
    }

    func execute(_ bundle: PaymentBundle) throws(PhoneAcquirerError) -> PhoneAnswer {
        try reach()
        bundles += 1
        let receipt = try receipt(bundle.request, bundle.accept)
        guard answersExecutions else { throw .unreachable("the answer is lost") }
        return .receipt(receipt)
    }

    /// As the terminal, or the phone, would have it executed.
    func receipt(
        _ request: Signed<PaymentRequest>,
        _ accept: Signed<PaymentAcceptance>
    ) throws(PhoneAcquirerError) -> Signed<PaymentReceipt> {
        let id = request.payload.paymentID
        if let known = executed[id]?.first(where: { $0.accept.hash == accept.hash }) { return known.receipt }
        guard !(executed[id] ?? []).contains(where: { $0.receipt.payload.status == .completed }) else {
            throw .refused("409")
        }
        let isDeclined = declines > 0
        if isDeclined { declines -= 1 }
        guard let receipt = try? merchant.receipt(isDeclined ? .failed : .completed, request, accept) else {
            throw .refused("no receipt")
        }
        executed[id, default: []].append((accept, receipt))
        return receipt
    }

    func payment(_ id: PaymentID) throws(PhoneAcquirerError) -> PhoneAnswer {
        try reach()
        return (executed[id]?.last?.receipt).map(PhoneAnswer.receipt) ?? .unknown
    }

    func announcement(of id: PaymentID) async throws(PhoneAcquirerError) -> PhoneAnnouncement? {
        try reach()
        comparisons += 1
        if isSlow { try? await merchant.clock.sleep(for: .seconds(30)) }  // Ends early with the phone.
        return announced
    }

    func sync(_ accepts: [Signed<PaymentAcceptance>]) throws(PhoneAcquirerError) -> [PhoneSyncAnswer] {
        try reach()
        synced += 1
        return accepts.map { _ in syncAnswer ?? .pending }
    }

    /// Completed executions of a payment.
    func charges(_ id: PaymentID) -> Int {
        (executed[id] ?? []).filter { $0.receipt.payload.status == .completed }.count
    }
}
