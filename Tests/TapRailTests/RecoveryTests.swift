import Journal
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

/// Links that fall and power that goes out, at every place.
struct RecoveryTests {
    static let cuts = 0..<36
    static let powerCuts = 1..<14

    /// Else the tests below would end before the payment does.
    @Test func theCutsReachTheEndOfAPayment() async throws {
        let bed = try TapTestBed()
        let fuse = Fuse()
        try bed.phone("anna")
        try await bed.play {
            try await bed.open(fuse: fuse) { shift in
                let id = try await shift.charge()
                try await shift.until(id, is: .succeeded)
                try await shift.until("no link stays") { bed.radio.openLinks == 0 }
            }
        }
        #expect(bed.radio.values <= Self.cuts.upperBound)
        #expect(fuse.records < Self.powerCuts.upperBound)
    }

    @Test(arguments: cuts)
    func aLinkCutAnywhereIsMendedAndPaidOnce(values: Int) async throws {
        let bed = try TapTestBed()
        try bed.phone("anna")
        bed.radio.cut(after: values)
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 1)
        #expect(await bed.acquirer.paid == 1050)
    }

    @Test(arguments: cuts)
    func aLostValueIsNoticedAndPaidOnce(value: Int) async throws {
        let bed = try TapTestBed()
        try bed.phone("anna")
        bed.radio.lose(value)
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 1)
        #expect(await bed.acquirer.paid == 1050)
    }

    /// Nothing is promised to a phone that is not on the disk first.
    @Test func aTerminalThatCannotWriteTakesNoAccept() async throws {
        let records = try await recordsUntilAsked()
        let bed = try TapTestBed()
        let fuse = Fuse(after: records)
        let phone = HostilePhone { [acquirer = bed.acquirer] phone, request in
            await Self.accept(request, of: acquirer, by: phone)
        }
        bed.radio.add("anna", phone, service: .standard)
        try await bed.play {
            try await bed.open(fuse: fuse) { shift in
                _ = try await shift.charge()
                try await shift.until("anna hears why") { await phone.errors == [.backendUnreachable] }
            }
        }
        #expect(await phone.heard.contains { if case .claim = $0 { true } else { false } } == false)
        #expect(await bed.acquirer.executions == 0)
    }

    /// A disk that fails from some record on, while the terminal goes on: a phone hears no claim that is not written down.
    @Test(arguments: 0..<4)
    func aClaimThatIsNotOnTheDiskIsNotSent(recordsMore: Int) async throws {
        let bed = try TapTestBed()
        let fuse = Fuse(after: try await recordsUntilAsked() + recordsMore)
        let phone = HostilePhone { [acquirer = bed.acquirer] phone, request in
            await Self.accept(request, of: acquirer, by: phone)
        }
        bed.radio.add("anna", phone, service: .standard)
        try await bed.play {
            try await bed.open(fuse: fuse) { shift in
                let id = try await shift.charge()
                try await shift.until("the disk fails") { fuse.isBlown }
                try await shift.passes(.seconds(10))
                let written = try await shift.journal.tapPayments(with: "claimed", without: "nothing")
                let isClaimed = await phone.heard.contains { if case .claim = $0 { true } else { false } }
                #expect(isClaimed == !written.isEmpty)
                #expect(await bed.acquirer.executions == written.count)
                // One step: whoever reads the charge alone must not take it for one that can still be paid.
                let charge = try #require(try await shift.journal.charge(id)?.charge)
                #expect(charge.attempts.contains { $0.claim != nil || !$0.isOpen } == !written.isEmpty)
            }
        }
    }

    private func recordsUntilAsked() async throws -> Int {
        let bed = try TapTestBed()
        let fuse = Fuse()
        let phone = HostilePhone(.silentPrompt)
        bed.radio.add("anna", phone, service: .standard)
        try await bed.play {
            try await bed.open(fuse: fuse) { shift in
                _ = try await shift.charge()
                try await shift.until("anna is asked") { await phone.isAsked }
            }
        }
        return fuse.records
    }

    /// What an honest phone would answer at once.
    static func accept(_ request: Signed<PaymentRequest>, of acquirer: SimulatedAcquirer, by phone: HostilePhone) async
    {
        guard let device = try? ES256Signer(scalar: [UInt8](repeating: 1, count: 32)) else { return }
        let pass = PaymentPass(
            passID: [UInt8](repeating: 2, count: 16),
            issuer: acquirer.issuer,
            deviceKey: device.publicKey,
            notBeforeSeconds: 0,
            notAfterSeconds: 4_000_000_000
        )
        let accept = PaymentAcceptance(
            accepting: request,
            instrumentID: "card",
            createdAtMilliseconds: request.payload.createdAtMilliseconds,
            flags: .phoneOnline,
            nonce: [UInt8](repeating: 0, count: 16)
        )
        guard let signedPass = try? Signed(signing: pass, with: acquirer.signer),
            let signed = try? Signed(signing: accept, with: device)
        else { return }
        await phone.say(.accept(signed, signedPass))
    }

    /// The payer's phone hangs while nobody can say how the payment ended: its link would stay for ever.
    @Test(.timeLimit(.minutes(2)))
    func aLinkEndsAfterAnHourAndThePayerComesBackOverAnother() async throws {
        let bed = try TapTestBed()
        let hangs = Mutex(false)
        let wall = bed.wall
        let clock = SandboxClock(now: wall.now) { duration in
            if hangs.withLock({ $0 }) { try await Task.sleep(for: .seconds(3600)) }
            try await wall.sleep(duration)
        }
        try bed.phone("anna", clock: clock)
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            await bed.acquirer.change { ($0.lostAnswers, $0.reachesPhones) = (.max, false) }
            try await shift.until("anna has the claim") {
                bed.heard("anna").contains { if case .heard(.claim) = $0 { true } else { false } }
            }
            hangs.withLock { $0 = true }
            let start = bed.clock.now
            @Sendable func isOver(_ time: Duration) -> Bool { bed.clock.now >= start + time }
            try await shift.until("almost an hour is over", within: .seconds(3700), by: .seconds(2)) {
                isOver(.seconds(3590))
            }
            #expect(bed.radio.openLinks == 1 && bed.radio.connects.count == 1)
            try await shift.until("another link is made", within: .seconds(60), by: .milliseconds(100)) {
                bed.radio.connects.count > 1
            }
            #expect(bed.heard("anna").contains(.heard(.bye(reason: 0))))
            await bed.acquirer.change { $0.lostAnswers = 0 }
            try await shift.until(id, is: .succeeded, by: .milliseconds(100))
            try await shift.until("anna knows", by: .milliseconds(100)) { bed.outcome("anna") == .paid }
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test(arguments: powerCuts)
    func afterAPowerCutJournalAcquirerAndPhoneAgree(records: Int) async throws {
        let bed = try TapTestBed()
        try bed.phone("anna")
        let fuse = Fuse(after: records)
        let charge = Mutex<ChargeID?>(nil)
        try await bed.play {
            try await bed.open(fuse: fuse) { shift in
                let id = try? await shift.charge()
                charge.withLock { $0 = id }
                try await shift.until("the power goes out, or it is paid") {
                    if fuse.isBlown { return true }
                    guard let id, bed.radio.openLinks == 0 else { return false }
                    return try await shift.state(id).isFinal
                }
            }
            try await bed.open { shift in
                let kept = try await shift.desk.history(before: nil, limit: 1, state: nil).first?.id
                guard let id = charge.withLock({ $0 }) ?? kept else { return }
                try await shift.until("the charge has ended", within: .seconds(400)) {
                    try await shift.state(id).isFinal
                }
                let isPaid = try await shift.state(id) == .succeeded
                #expect(await bed.acquirer.paid == (isPaid ? 1050 : 0))
                guard bed.wasAsked("anna") else { return }
                try await shift.until("anna knows the same", within: .seconds(900)) {
                    switch bed.outcome("anna") {
                    case .paid: isPaid
                    case .notPaid, .declined, .unknown: !isPaid
                    case .failed, .acceptedOffline, nil: false
                    }
                }
            }
        }
        #expect(await bed.acquirer.executions <= 1)
    }
}
