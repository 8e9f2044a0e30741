import Glibc
import TapProtocol

/// One end of a link: what it says is encoded, encrypted and cut, what it hears is put together, opened and read.
struct LinkEnd {
    // The design point of iPhones. Source: BPP/1, section 5.
    private var fragmenter = Fragmenter(fragmentBytes: 182)
    private var reassembler = Reassembler()
    private var numbers = MessageNumbering()
    var session: SecureSession?

    mutating func cut(_ message: [UInt8]) throws -> [[UInt8]] { try fragmenter.fragments(of: message) }

    mutating func join(_ fragments: [[UInt8]]) throws -> [UInt8] {
        for fragment in fragments {
            if case .message(let message)? = try reassembler.receive(fragment, at: .zero) { return message }
        }
        throw TapBench.Broken()
    }

    mutating func say(_ body: TapBody, answering number: Int? = nil) throws -> [[UInt8]] {
        let message = TapMessage(number: numbers.next(), answers: number, body: body)
        guard let sealed = try session?.seal(message.encoded) else { throw TapBench.Broken() }
        return try cut(sealed)
    }

    mutating func hear(_ fragments: [[UInt8]], from sender: TapBody.Sender) throws -> TapMessage {
        let message = try join(fragments)
        guard let plain = try session?.open(message) else { throw TapBench.Broken() }
        return try TapMessage(decoding: plain, from: sender)
    }
}

/// Whole payments between a terminal and a phone that are both online, from the request to the last acknowledgement: every
/// signature made and checked, every byte framed. Nothing waits, and nothing is stored; the acquirer is not counted.
struct TapBench {
    struct Broken: Error {}

    /// Processor time, milliseconds.
    struct Meter {
        var terminal = 0.0
        var phone = 0.0
    }

    private let acquirer: Ed25519Signer
    private let signer: Ed25519Signer
    private let device: ES256Signer
    private let agreement = AgreementKey()
    private let certificate: Signed<TerminalCertificate>
    private let pass: Signed<PaymentPass>
    private var trusted = GatewayKeys()
    private let now: Int

    init() throws {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        now = time.tv_sec * 1000
        acquirer = try Ed25519Signer(seed: [UInt8](repeating: 1, count: 32))
        signer = try Ed25519Signer(seed: [UInt8](repeating: 2, count: 32))
        device = try ES256Signer(scalar: [UInt8](repeating: 3, count: 32))
        guard case .ed25519(let acquirerKey) = acquirer.publicKey, case .ed25519(let signing) = signer.publicKey else {
            throw Broken()
        }
        trusted.add(issuer: "bench", keyID: acquirer.keyID, ed25519: acquirerKey)
        let life = (from: now / 1000 - 60, to: now / 1000 + 86_400)
        let map: CBORMap = [
            1: .text("bench"), 2: .text("t1"), 3: .text("m1"), 4: .text("Coffee Shop"), 5: .integer(life.from),
            6: .integer(life.to), 7: .bytes(agreement.publicKey), 8: .bytes(signing), 9: .unsigned(0),
            10: .array([.text("EUR")]), 11: .integer(100_000), 12: .unsigned(5814), 13: .text("DE"),
        ]
        certificate = try Signed(signing: try TerminalCertificate(map: map), with: acquirer)
        pass = try Signed(
            signing: PaymentPass(
                passID: [UInt8](repeating: 4, count: 16),
                issuer: "bench",
                deviceKey: device.publicKey,
                notBeforeSeconds: life.from,
                notAfterSeconds: life.to
            ),
            with: acquirer
        )
    }

    /// One payment.
    mutating func pay() throws -> Meter {
        var meter = Meter()
        var (terminal, phone) = (LinkEnd(), LinkEnd())
        let request = try Self.timed(&meter.terminal) { try self.request() }
        try greet(&terminal, &phone, request, &meter)

        let notice = ReceivedNotice(
            paymentID: request.payload.paymentID,
            state: .prompting,
            capabilities: [.tipScreen, .wantsReceipts],
            timeSeconds: now / 1000,
            isOnline: true
        )
        let received = try Self.timed(&meter.phone) { try phone.say(.received(notice)) }
        _ = try Self.timed(&meter.terminal) { try terminal.hear(received, from: .phone) }

        let accepting = try Self.timed(&meter.phone) { try phone.say(try self.accept(request)) }
        let (accept, claiming) = try Self.timed(&meter.terminal) {
            let heard = try terminal.hear(accepting, from: .phone)
            guard case .accept(let accept, let pass) = heard.body else { throw Broken() }
            return (accept, try terminal.say(.claim(try self.claim(accept, pass, request)), answering: heard.number))
        }
        try Self.timed(&meter.phone) {
            guard case .claim(let claim) = try phone.hear(claiming, from: .terminal).body else { throw Broken() }
            try claim.verify(self.certificate.payload.requestKey)
        }
        try end(&terminal, &phone, request, accept, &meter)
        return meter
    }

    // MARK: - Parts

    private func request() throws -> Signed<PaymentRequest> {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        for place in 0..<6 { bytes[place] = UInt8(truncatingIfNeeded: now >> (8 * (5 - place))) }
        bytes[6] = bytes[6] & 0x0F | 0x70
        bytes[8] = bytes[8] & 0x3F | 0x80
        guard let id = PaymentID(bytes: bytes) else { throw Broken() }
        return try Signed(
            signing: PaymentRequest(
                paymentID: id,
                certificate: certificate,
                operatorID: "op1",
                amount: 1050,
                currency: "EUR",
                exponent: 2,
                createdAtMilliseconds: now,
                expiresAtMilliseconds: now + 120_000,
                flags: .terminalOnline
            ),
            with: signer
        )
    }

    /// The handshake with the offer in it, and the phone's checks of it.
    private func greet(
        _ terminal: inout LinkEnd,
        _ phone: inout LinkEnd,
        _ request: Signed<PaymentRequest>,
        _ meter: inout Meter
    ) throws {
        let prologue = Prologue(service: .standard)
        let hello = try Self.timed(&meter.phone) {
            guard let hello = Hello(sessionID: [UInt8](repeating: 7, count: 8)) else { throw Broken() }
            return PhoneHandshake(hello: hello, prologue: prologue)
        }
        let answer = try Self.timed(&meter.terminal) {
            let offer = TerminalOffer(certificate: self.certificate, request: request, timeSeconds: self.now / 1000)
            let handshake = try TerminalHandshake(reading: hello.firstMessage) { _ in prologue }
            let (message, session) = try handshake.finish(payload: offer.encoded, staticKey: self.agreement)
            terminal.session = session
            return try terminal.cut(message)
        }
        try Self.timed(&meter.phone) {
            let (payload, key, session) = try hello.finish(reading: phone.join(answer))
            phone.session = session
            let offer = try TerminalOffer(decoding: payload)
            guard let asked = offer.request else { throw Broken() }
            try RequestCheck(trusted: self.trusted, environment: .test)
                .check(asked, of: offer.certificate, terminalKey: key, nowMilliseconds: self.now)
        }
    }

    private func accept(_ request: Signed<PaymentRequest>) throws -> TapBody {
        let accept = PaymentAcceptance(
            accepting: request,
            instrumentID: "card-1",
            createdAtMilliseconds: now,
            flags: [.phoneOnline, .userVerified],
            nonce: (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        )
        return .accept(try Signed(signing: accept, with: device), pass)
    }

    private func claim(
        _ accept: Signed<PaymentAcceptance>,
        _ pass: Signed<PaymentPass>,
        _ request: Signed<PaymentRequest>
    ) throws -> Signed<PaymentClaim> {
        let check = AcceptanceCheck(
            trusted: trusted,
            request: request,
            maximumTotal: certificate.payload.maximumAmount,
            isOpen: true,
            isTerminalOnline: true,
            vouchers: VoucherBook(floor: 0, merchantLimit: 0, lastOnlineMilliseconds: now, isClockSet: true)
        )
        let mode = try check.check(accept, pass: pass, nowMilliseconds: now)
        return try Signed(
            signing: PaymentClaim(
                paymentID: request.payload.paymentID,
                acceptHash: accept.hash,
                claimedAtMilliseconds: now,
                attempt: 1,
                mode: mode
            ),
            with: signer
        )
    }

    /// The receipt, checked by both.
    private func end(
        _ terminal: inout LinkEnd,
        _ phone: inout LinkEnd,
        _ request: Signed<PaymentRequest>,
        _ accept: Signed<PaymentAcceptance>,
        _ meter: inout Meter
    ) throws {
        let answer = try Signed(
            signing: PaymentReceipt(
                status: .completed,
                request: request,
                accept: accept,
                instrument: "card 4242",
                transactionID: "tx1",
                executedAtMilliseconds: now
            ),
            with: acquirer
        ).encoded
        let check = ReceiptCheck(trusted: trusted, issuer: "bench", request: request, accept: accept)
        let id = request.payload.paymentID
        let result = try Self.timed(&meter.terminal) {
            let receipt = try Signed<PaymentReceipt>(decoding: answer)
            _ = try check.check(receipt, status: nil)
            return try terminal.say(.result(id, .completed, receipt: receipt, transactionID: nil))
        }
        let thanks = try Self.timed(&meter.phone) {
            let heard = try phone.hear(result, from: .terminal)
            guard case .result(_, let status, let receipt, _) = heard.body else { throw Broken() }
            _ = try check.check(receipt, status: status)
            return try phone.say(.acknowledge(id), answering: heard.number)
        }
        _ = try Self.timed(&meter.terminal) { try terminal.hear(thanks, from: .phone) }
    }

    /// Adds the processor time of this thread; nothing in `body` leaves it.
    private static func timed<Value>(_ milliseconds: inout Double, _ body: () throws -> Value) rethrows -> Value {
        let before = processorTime
        let value = try body()
        milliseconds += processorTime - before
        return value
    }

    private static var processorTime: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1_000_000
    }
}
