import Sandbox
import TapProtocol
import Terminal

/// What a phone can do to a terminal, besides paying.
enum Trick: String, CaseIterable, Sendable {
    case neverAnswersRead, emptyHello, shortHello, garbageHello, otherVersion, otherSuite
    case silentAfterRead, keyOfSmallOrder
    case garbageFragments, wrongSequence, emptyFragment, saysTooMuch, moreThanSaid, endsEarly, neverEnds, endless
    case control
    case notEncrypted, garbageCBOR, deepCBOR, terminalsMessage, unknownMessage, wrongNumber
    case keepsAliveForEver, silentPrompt, pings, wrongPayment, acceptOfNobody, resultWithoutReceipt, forgedReceipt,
        claimsToHaveWon
    case replay, acceptOfAnotherPayment, cancelsAnotherPayment, cancelsAndStays
}

/// A phone that speaks the profile as far as it must to misbehave.
actor HostilePhone: Peripheral {
    /// What a phone does once it has been shown a request.
    typealias Script = @Sendable (HostilePhone, Signed<PaymentRequest>) async -> Void

    let trick: Trick
    private let script: Script?
    /// What the terminal has said, all of it.
    private(set) var heard: [TapBody] = []
    private var handshake: PhoneHandshake?
    private var session: SecureSession?
    private var reassembler = Reassembler()
    private var fragmenter = Fragmenter(fragmentBytes: 182)
    private var numbers = MessageNumbering()
    private var notify: (@Sendable ([UInt8]) async -> Void)?
    private var isSubscribed = false

    init(_ trick: Trick) { (self.trick, script) = (trick, nil) }

    init(_ script: @escaping Script) { (trick, self.script) = (.silentAfterRead, script) }

    var isAsked: Bool { lastRequest != nil }
    var errors: [TapErrorCode] {
        heard.compactMap { if case .error(_, let code, _) = $0 { code } else { nil } }
    }

    func read(by central: String) async -> [UInt8] {
        reassembler = Reassembler()
        fragmenter = Fragmenter(fragmentBytes: 182)
        numbers = MessageNumbering()
        guard let hello = Hello(sessionID: (0..<8).map { _ in UInt8.random(in: 0...255) }) else { return [] }
        let fresh = PhoneHandshake(hello: hello, prologue: Prologue(service: .standard))
        handshake = fresh
        var first = fresh.firstMessage
        switch trick {
        case .neverAnswersRead: try? await Task.sleep(for: .seconds(3600))  // Ends when the terminal gives up.
        case .emptyHello: first = []
        case .shortHello: first.removeLast()
        case .garbageHello: first = (0..<45).map { _ in UInt8.random(in: 0...255) }
        case .otherVersion: first[32] = 2
        case .otherSuite: first[33] = 9
        case .keyOfSmallOrder: first.replaceSubrange(0..<32, with: [UInt8](repeating: 0, count: 32))
        default: break
        }
        return first
    }

    func subscribe(
        central: String,
        maximumValueLength: Int,
        notify: @escaping @Sendable ([UInt8]) async -> Void
    ) { self.notify = notify }

    func unsubscribe(central: String) { isSubscribed = false }

    func write(_ fragment: [UInt8], by central: String) async {
        guard let arrival = try? reassembler.receive(fragment, at: .zero), case .message(let message) = arrival else {
            return
        }
        if let handshake {
            self.handshake = nil
            guard let done = try? handshake.finish(reading: message) else { return }
            session = done.session
            guard let offer = try? TerminalOffer(decoding: done.payload), let request = offer.request else { return }
            lastRequest = request
            guard let script else { return await misbehave(request.payload.paymentID) }
            await script(self, request)
        } else if let plain = try? session?.open(message),
            let said = try? TapMessage(decoding: plain, from: .terminal)
        {
            heard.append(said.body)
        }
    }

    private func misbehave(_ id: TapProtocol.PaymentID) async {
        let received = TapBody.received(
            ReceivedNotice(paymentID: id, state: .prompting, capabilities: [], timeSeconds: 0, isOnline: true)
        )
        switch trick {
        case .silentAfterRead: return
        case .garbageFragments: for _ in 0..<20 { await raw((0..<50).map { _ in UInt8.random(in: 0...255) }) }
        case .wrongSequence: await raw([0xC5, 0, 1, 7])
        case .emptyFragment: await raw([])
        case .saysTooMuch: await raw([0x80, 0xFF, 0xFF, 1, 2, 3])
        case .moreThanSaid: await raw([0xC0, 0, 1, 7, 7, 7])
        case .endsEarly: await raw([0xC0, 0, 9, 7])
        case .neverEnds: await raw([0x80, 0, 9, 7])
        case .endless:
            await raw([0x80, 0x0F, 0xFF, 7])
            for number in 1..<200 { await raw([UInt8(number & 63)]) }
        case .control: await raw([0xC0, 0, 0, 5])
        case .notEncrypted: await frame(TapMessage(number: 1, body: received).encoded)
        case .garbageCBOR: await sealed((0..<60).map { _ in UInt8.random(in: 0...255) })
        case .deepCBOR: await sealed([UInt8](repeating: 0x81, count: 600))
        case .terminalsMessage:
            await say(received)
            await say(.otherPaid(id))
        case .unknownMessage: await sealed([0x83, 0x18, 0x63, 0x01, 0xA0])
        case .wrongNumber: await sealed(TapMessage(number: 7, body: received).encoded)
        case .keepsAliveForEver:
            await say(received)
            for _ in 0..<30 { await say(.keepAlive(id, .waitingForUser)) }
        case .silentPrompt: await say(received)
        case .pings: for _ in 0..<3000 { await say(.ping([1, 2, 3, 4, 5, 6, 7, 8])) }
        case .wrongPayment:
            guard let other = TapProtocol.PaymentID(bytes: [UInt8](repeating: 1, count: 16)) else { return }
            await say(.keepAlive(other, .processing))
        case .acceptOfNobody: await forge(id)
        case .resultWithoutReceipt:
            await say(received)
            await say(.result(id, .completed, receipt: nil, transactionID: "tx"))
        case .forgedReceipt:
            await say(received)
            await say(.result(id, .completed, receipt: forgedReceipt(), transactionID: nil))
        case .replay:
            guard let once = try? session?.seal(TapMessage(number: numbers.next(), body: received).encoded) else {
                return
            }
            await frame(once)
            await frame(once)
        case .acceptOfAnotherPayment:
            guard let other = TapProtocol.PaymentID(bytes: [UInt8](repeating: 1, count: 16)) else { return }
            await forge(id) { $0.paymentID = other }
        case .cancelsAnotherPayment:
            guard let other = TapProtocol.PaymentID(bytes: [UInt8](repeating: 1, count: 16)) else { return }
            await say(.cancelledByPayer(other, .user))
        case .cancelsAndStays:
            await say(received)
            await say(.cancelledByPayer(id, .user))
            for _ in 0..<30 { await say(.cancelledByPayer(id, .alreadyDeclined)) }
        case .claimsToHaveWon:
            await say(
                .received(
                    ReceivedNotice(paymentID: id, state: .won, capabilities: [], timeSeconds: 0, isOnline: true)
                )
            )
        default: break
        }
    }

    private static let thief = try? Ed25519Signer(seed: [UInt8](repeating: 4, count: 32), keyID: Array("bank1".utf8))

    /// An accept under a pass that this phone has signed itself.
    private func forged(
        _ change: (inout PaymentAcceptance) -> Void = { _ in }
    ) -> (Signed<PaymentAcceptance>, Signed<PaymentPass>)? {
        guard let device = try? ES256Signer(scalar: [UInt8](repeating: 1, count: 32)), let acquirer = Self.thief,
            let request = lastRequest
        else { return nil }
        let pass = PaymentPass(
            passID: [UInt8](repeating: 2, count: 16),
            issuer: "bank.example",
            deviceKey: device.publicKey,
            notBeforeSeconds: 0,
            notAfterSeconds: 4_000_000_000
        )
        var accept = PaymentAcceptance(
            accepting: request,
            instrumentID: "card",
            createdAtMilliseconds: request.payload.createdAtMilliseconds,
            flags: .phoneOnline,
            nonce: [UInt8](repeating: 0, count: 16)
        )
        change(&accept)
        guard let signedPass = try? Signed(signing: pass, with: acquirer),
            let signed = try? Signed(signing: accept, with: device)
        else { return nil }
        return (signed, signedPass)
    }

    private func forge(
        _ id: TapProtocol.PaymentID,
        _ change: (inout PaymentAcceptance) -> Void = { _ in }
    ) async {
        guard let (accept, pass) = forged(change) else { return }
        await say(.accept(accept, pass))
    }

    /// A receipt for this very request that the acquirer has not signed.
    private func forgedReceipt() -> Signed<PaymentReceipt>? {
        guard let request = lastRequest, let (accept, _) = forged(), let acquirer = Self.thief else { return nil }
        let receipt = PaymentReceipt(
            status: .completed,
            request: request,
            accept: accept,
            instrument: "card",
            transactionID: "tx",
            executedAtMilliseconds: request.payload.createdAtMilliseconds
        )
        return try? Signed(signing: receipt, with: acquirer)
    }

    private var lastRequest: Signed<PaymentRequest>?

    func end(with code: ControlCode) async { await raw(fragmenter.control(code)) }

    func say(_ body: TapBody) async { await sealed(TapMessage(number: numbers.next(), body: body).encoded) }

    private func sealed(_ plain: [UInt8]) async {
        guard let message = try? session?.seal(plain) else { return }
        await frame(message)
    }

    private func frame(_ message: [UInt8]) async {
        for fragment in (try? fragmenter.fragments(of: message)) ?? [] { await raw(fragment) }
    }

    private func raw(_ fragment: [UInt8]) async { await notify?(fragment) }
}

/// A phone whose radio takes each piece just within a time limit.
struct SlowTaker: Peripheral {
    let phone = HostilePhone(.silentAfterRead)
    let clock: TerminalClock

    func read(by central: String) async -> [UInt8] { await phone.read(by: central) }
    func write(_ fragment: [UInt8], by central: String) async { try? await clock.sleep(.milliseconds(2_900)) }
    func subscribe(
        central: String,
        maximumValueLength: Int,
        notify: @escaping @Sendable ([UInt8]) async -> Void
    ) async {}
    func unsubscribe(central: String) async {}
}
