import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing

/// What a phone can do to a terminal, besides paying.
enum Trick: String, CaseIterable, Sendable {
    case neverAnswersRead, emptyHello, shortHello, garbageHello, otherVersion, otherSuite
    case silentAfterRead, keyOfSmallOrder
    case garbageFragments, wrongSequence, emptyFragment, saysTooMuch, moreThanSaid, endsEarly, neverEnds, endless
    case control
    case notEncrypted, garbageCBOR, deepCBOR, terminalsMessage, unknownMessage, wrongNumber
    case keepsAliveForEver, silentPrompt, pings, wrongPayment, acceptOfNobody, resultWithoutReceipt, claimsToHaveWon
}

/// A phone that speaks the profile as far as it must to misbehave.
actor HostilePhone: Peripheral {
    let trick: Trick
    private var handshake: PhoneHandshake?
    private var session: SecureSession?
    private var reassembler = Reassembler()
    private var fragmenter = Fragmenter(fragmentBytes: 182)
    private var numbers = MessageNumbering()
    private var notify: (@Sendable ([UInt8]) async -> Void)?
    private var isSubscribed = false

    init(_ trick: Trick) { self.trick = trick }

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
            await misbehave(request.payload.paymentID)
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
        case .claimsToHaveWon:
            await say(
                .received(
                    ReceivedNotice(paymentID: id, state: .won, capabilities: [], timeSeconds: 0, isOnline: true)
                )
            )
        default: break
        }
    }

    /// An accept under a pass that this phone has signed itself.
    private func forge(_ id: TapProtocol.PaymentID) async {
        guard let device = try? ES256Signer(scalar: [UInt8](repeating: 1, count: 32)),
            let bank = try? Ed25519Signer(seed: [UInt8](repeating: 4, count: 32), keyID: Array("bank1".utf8))
        else { return }
        let pass = PaymentPass(
            passID: [UInt8](repeating: 2, count: 16),
            issuer: "bank.example",
            deviceKey: device.publicKey,
            notBeforeSeconds: 0,
            notAfterSeconds: 4_000_000_000
        )
        guard let request = lastRequest, let signedPass = try? Signed(signing: pass, with: bank),
            let accept = try? Signed(
                signing: PaymentAcceptance(
                    accepting: request,
                    instrumentID: "card",
                    createdAtMilliseconds: request.payload.createdAtMilliseconds,
                    flags: .phoneOnline,
                    nonce: [UInt8](repeating: 0, count: 16)
                ),
                with: device
            )
        else { return }
        await say(.accept(accept, signedPass))
    }
    private var lastRequest: Signed<PaymentRequest>?

    private func say(_ body: TapBody) async { await sealed(TapMessage(number: numbers.next(), body: body).encoded) }

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

struct HostileTests {
    @Test func aPhoneThatTakesEachPieceSlowlyHoldsTheRadioNoLonger() async throws {
        let stall = try Stall()
        stall.air.add("slow", SlowTaker(clock: stall.clock.terminalClock), rssi: -30, service: .standard)
        try await stall.run { shift in
            _ = try await shift.charge()
            try await shift.until("it is connected") { stall.air.connects.contains("slow") }
            try stall.phone("anna", user: PhoneUser(answer: .never))
            try await shift.until("anna has her turn", within: .seconds(6)) { stall.wasAsked("anna") }
        }
    }

    @Test(arguments: Trick.allCases)
    func aHostilePhoneNeitherEndsTheChargeNorKeepsOthersFromPaying(trick: Trick) async throws {
        let stall = try Stall()
        let scan = ScriptedRail(.scan)
        stall.air.add("mallory", HostilePhone(trick), rssi: -30, service: .standard)
        try await stall.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.passes(.seconds(6))
            #expect(try await shift.state(id).isFinal == false)
            #expect(await stall.bank.executions == 0)
            #expect(stall.air.connects.contains("mallory"))
            try stall.phone("anna")
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            #expect(stall.outcome("anna") == .paid || stall.outcome("anna") == nil)
        }
        #expect(await stall.bank.paid == 1050)
    }

    @Test(arguments: [Trick.neverAnswersRead, .keepsAliveForEver, .acceptOfNobody, .endless])
    func theQRCodeStillPaysBesideAHostilePhone(trick: Trick) async throws {
        let stall = try Stall()
        let scan = ScriptedRail(.scan)
        for number in 0..<6 { stall.air.add("mallory\(number)", HostilePhone(trick), rssi: -30, service: .standard) }
        try await stall.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(
                .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: "https://pay.example/1", expiresAt: nil))
            )
            try await shift.passes(.seconds(10))
            let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
            await scan.link(id)?.record(.reported(attempt: 1, report: .succeeded(evidence)))
            #expect(try await shift.state(id) == .succeeded)
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.executions == 0)
    }

    @Test func aPhoneThatCannotBeReachedIsTriedThreeTimesMore() async throws {
        let stall = try Stall()
        stall.air.add("far", HostilePhone(.control), rssi: -30, service: .standard)
        stall.air.refuse("far", .timedOut("no answer"))
        try await stall.run { shift in
            _ = try await shift.charge()
            try await shift.passes(.seconds(30))
        }
        #expect(stall.air.connects.count == 4)
    }

    @Test func aSpotFullOfPhonesIsAskedFourAtATime() async throws {
        let stall = try Stall()
        for number in 0..<6 { try stall.phone("p\(number)", user: PhoneUser(answer: .never)) }
        try await stall.run { shift in
            _ = try await shift.charge()
            try await shift.passes(.seconds(5))
            #expect(stall.air.openLinks == 4)
        }
    }
}
