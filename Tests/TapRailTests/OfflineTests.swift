import Journal
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing
import TestSupport

/// The four cells of who can reach the acquirer, and what becomes of what was taken offline.
struct OfflineTests {
    private func bed(_ change: @escaping (inout TapSettings) -> Void = { _ in }) throws -> TapTestBed {
        try TapTestBed { settings in
            settings.offline.isAllowed = true
            change(&settings)
        }
    }

    /// A phone that has fetched what it needs, and then loses its network.
    private func stocked(_ bed: TapTestBed, _ shift: Shift, voucher: Int? = 10_000, isOnline: Bool = false) async throws
    {
        let phone = try bed.phone("anna", voucher: voucher)
        try await shift.until("anna has passes") { await bed.acquirer.passes >= (voucher == nil ? 4 : 5) }
        try await shift.passes(.milliseconds(200))
        await phone.setOnline(isOnline)
    }

    private func goOffline(_ bed: TapTestBed, _ shift: Shift) async {
        await bed.acquirer.change { $0.reachesTerminal = false }
        await shift.station.note(online: false)
    }

    @Test func aPhoneWithoutNetworkPaysThroughTheTerminal() async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift)
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test func aTerminalWithoutNetworkIsPaidThroughThePhone() async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift, isOnline: true)
            await goOffline(bed, shift)
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            #expect(try await shift.snapshot(id).evidence?.transactionID == "tx1")
        }
        #expect(await bed.acquirer.paid == 1050)
    }

    /// Its power went before it could store the claim, so nobody can execute until the terminal has served it again. Systems
    /// end apps in the background, also for minutes.
    @Test(arguments: [Duration.zero, .seconds(100), .seconds(400)])
    func aPhoneThatWasRestartedIsServedByATerminalWithoutNetwork(pause: Duration) async throws {
        let bed = try bed()
        let drawer = PhoneDrawer()
        try await bed.run { shift in
            let phone = try bed.phone("anna", storage: drawer, diesAt: KillPoint(.heard, 2))
            try await shift.until("anna has passes") { await bed.acquirer.passes >= 4 }
            try await shift.passes(.milliseconds(200))
            await goOffline(bed, shift)
            let id = try await shift.charge()
            try await shift.until("anna's power goes") { bed.heard("anna").contains(.died(KillPoint(.heard, 2))) }
            await phone.end()
            await bed.radio.switchOff("anna")
            #expect(await bed.acquirer.executions == 0)
            for _ in 0..<(pause.components.seconds / 2) { try await shift.skips(.seconds(2)) }
            try bed.phone("anna again", storage: drawer)
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            try await shift.until("anna knows") { bed.outcome("anna again") == .paid }
            #expect(bed.timesAsked("anna again") == 0)
        }
        #expect(await bed.acquirer.executions == 1)
        #expect(await bed.acquirer.paid == 1050)
    }

    /// The terminal looks for the payer whose link fell, and meets others.
    @Test func aPhoneThatIsNotAskedHearsThatTheTerminalIsBusy() async throws {
        let bed = try bed()
        let drawer = PhoneDrawer()
        try await bed.run { shift in
            let phone = try bed.phone("anna", storage: drawer, diesAt: KillPoint(.heard, 2))
            try await shift.until("anna has passes") { await bed.acquirer.passes >= 4 }
            try await shift.passes(.milliseconds(200))
            await goOffline(bed, shift)
            let id = try await shift.charge()
            try await shift.until("anna's power goes") { bed.heard("anna").contains(.died(KillPoint(.heard, 2))) }
            await phone.end()
            await bed.radio.switchOff("anna")
            try bed.phone("ben")
            try await shift.until("ben hears why") { bed.heard("ben").contains(.linkEnded("control code 2")) }
            try bed.phone("anna again", storage: drawer)
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            #expect(bed.timesAsked("ben") == 0)
        }
        #expect(await bed.acquirer.paid == 1050)
    }

    /// The terminal's power goes, too: it looks for the payer that its journal names.
    @Test func aRestartedTerminalWithoutNetworkServesItsRestartedPayer() async throws {
        let bed = try bed()
        let (drawer, place) = (PhoneDrawer(), Place())
        try await bed.play {
            try await bed.open { shift in
                let phone = try bed.phone("anna", storage: drawer, diesAt: KillPoint(.heard, 2))
                try await shift.until("anna has passes") { await bed.acquirer.passes >= 4 }
                try await shift.passes(.milliseconds(200))
                await goOffline(bed, shift)
                await place.put(try await shift.charge())
                try await shift.until("anna's power goes") { bed.heard("anna").contains(.died(KillPoint(.heard, 2))) }
                await phone.end()
                await bed.radio.switchOff("anna")
                // Longer than the time to execute: the journal says unknown.
                try await shift.passes(.seconds(50))
            }
            try await bed.open { shift in
                try bed.phone("anna again", storage: drawer)
                let id = try #require(await place.id)
                try await shift.until(id, is: .succeeded, within: .seconds(60))
            }
        }
        #expect(await bed.acquirer.paid == 1050)
    }

    @Test func withNobodyOnlineAVoucherPaysAndIsSettledLater() async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift)
            await goOffline(bed, shift)
            let id = try await shift.charge()
            try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            #expect(try await shift.snapshot(id).holdsTerminal == false)
            try await shift.until("it waits to be told") { await shift.station.status.waiting == 1 }
            try await shift.until("anna has paid") { bed.outcome("anna") == .acceptedOffline }
            #expect(await bed.acquirer.paid == 0)
            await bed.acquirer.change { $0.reachesTerminal = true }
            try await shift.until(id, is: .succeeded, within: .seconds(700))
            #expect(try await shift.snapshot(id).isLate == false)
            try await shift.until("nothing waits any more") { await shift.station.status.waiting == 0 }
        }
        #expect(await bed.acquirer.paid == 1050)
        #expect(await bed.acquirer.executions == 1)
    }

    @Test func aPromiseIsKeptOverAPowerCut() async throws {
        let bed = try bed()
        let place = Place()
        try await bed.play {
            try await bed.open { shift in
                try await stocked(bed, shift)
                await goOffline(bed, shift)
                let id = try await shift.charge()
                await place.put(id)
                try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            }
            await bed.acquirer.change { $0.reachesTerminal = true }
            try await bed.open { shift in
                let id = try #require(await place.id)
                try await shift.until(id, is: .succeeded, within: .seconds(700))
            }
        }
        #expect(await bed.acquirer.paid == 1050)
    }

    @Test func anAnswerAboutAnotherAcceptSettlesNothing() async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift)
            await goOffline(bed, shift)
            let id = try await shift.charge()
            try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            await bed.acquirer.change {
                $0.answersAboutAnother = true
                $0.syncVerdict = .conflict
                $0.reachesTerminal = true
            }
            try await shift.until("it was told", within: .seconds(700)) { await bed.acquirer.uploads.count >= 1 }
            try await shift.passes(.seconds(1))
            #expect(try await shift.state(id).isFinal == false)
            await bed.acquirer.change {
                $0.answersAboutAnother = false
                $0.syncVerdict = .settled
            }
            try await shift.until(id, is: .succeeded, within: .seconds(700))
        }
    }

    @Test(arguments: [TapSyncAnswer.Verdict.expired, .revoked, .conflict, .refused])
    func aPromiseThatTheAcquirerDoesNotKeepIsTheMerchantsLoss(verdict: TapSyncAnswer.Verdict) async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift)
            await goOffline(bed, shift)
            let id = try await shift.charge()
            try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            await bed.acquirer.change {
                $0.syncVerdict = verdict
                $0.reachesTerminal = true
            }
            try await shift.until(id, is: .failed, within: .seconds(700))
            #expect(try await shift.snapshot(id).reason?.code == "failed_offline_\(verdict.rawValue)")
        }
        #expect(await bed.acquirer.paid == 0)
    }

    @Test func withNobodyOnlineNothingElsePays() async throws {
        let bed = try bed { $0.offline.isAllowed = false }
        try await bed.run { shift in
            try await stocked(bed, shift)
            await goOffline(bed, shift)
            let id = try await shift.charge()
            try await shift.until("it is over") { try await shift.state(id).isFinal }
            #expect(try await shift.state(id) != .succeeded)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func aVoucherAboveTheShopsOwnLimitIsNotTaken() async throws {
        let bed = try bed { $0.offline.floorMinorUnits = 1000 }
        try await bed.run { shift in
            try await stocked(bed, shift)
            await goOffline(bed, shift)
            let id = try await shift.charge(1001)
            try await shift.until("it is over") { try await shift.state(id).isFinal }
            #expect(try await shift.snapshot(id).isPromised == false)
        }
    }

    /// What earlier customers promised counts for as long as the acquirer has not seen it, over power cuts too.
    @Test(arguments: [false, true])
    func vouchersTogetherStayWithinWhatTheShopRisks(restarts: Bool) async throws {
        let bed = try bed { $0.offline.totalMinorUnits = 2000 }
        let phone = spender(at: bed, usesEachPassOnce: true)
        let next: @Sendable (Shift) async throws -> Void = { shift in
            try await charges(phone, shift, 951, isTaken: false, because: .overLimit)
            try await charges(phone, shift, 950, isTaken: true)
            await bed.acquirer.change { $0.reachesTerminal = true }
            try await shift.until("both are settled", within: .seconds(700)) { await bed.acquirer.paid == 2000 }
            try await shift.until("nothing waits any more") { await shift.station.status.waiting == 0 }
            await goOffline(bed, shift)
            try await charges(phone, shift, 951, isTaken: true)
        }
        try await bed.play {
            try await bed.open { shift in
                try await isKept(shift)
                await goOffline(bed, shift)
                try await charges(phone, shift, 1050, isTaken: true)
                if !restarts { try await next(shift) }
            }
            guard restarts else { return }
            try await bed.open { shift in try await next(shift) }
        }
    }

    /// Nobody would settle it: with nobody online the issuer's signature is all that the terminal has.
    @Test func aVoucherThatNobodyIssuedIsNotTaken() async throws {
        let bed = try bed()
        let forger = try Ed25519Signer(seed: [UInt8](repeating: 4, count: 32), keyID: Array("bank1".utf8))
        let phone = spender(at: bed, issuedBy: forger)
        try await bed.run { shift in
            try await isKept(shift)
            await goOffline(bed, shift)
            try await charges(phone, shift, isTaken: false, because: .passInvalid)
        }
    }

    /// A device that has signed two agreements for the same place in its voucher's chain, and shows each once.
    /// - Parameter isSettled: The first one was paid by the acquirer before the second comes.
    @Test(arguments: [false, true], [false, true])
    func aVoucherIsTakenOnceAlsoAfterAPowerCut(restarts: Bool, isSettled: Bool) async throws {
        let bed = try bed()
        let phone = spender(at: bed)
        let second: @Sendable (Shift) async throws -> Void = { shift in
            let id = try await shift.charge()
            try await shift.until("it is refused") { await phone.errors.contains(.counterConflict) }
            #expect(try await shift.snapshot(id).isPromised == false)
        }
        try await bed.play {
            try await bed.open { shift in
                await shift.station.note(online: true)
                await goOffline(bed, shift)
                let id = try await shift.charge()
                try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
                #expect(await phone.errors == [])
                if isSettled {
                    await bed.acquirer.change { $0.reachesTerminal = true }
                    try await shift.until(id, is: .succeeded, within: .seconds(700))
                    await goOffline(bed, shift)
                }
                if !restarts { try await second(shift) }
            }
            guard restarts else { return }
            try await bed.open { shift in try await second(shift) }
        }
        #expect(await phone.heard.count { if case .claim = $0 { true } else { false } } == 1)
    }

    /// A device that signs the same place in its voucher's chain twice: the first is paid at once, and for the second nobody
    /// can be asked.
    @Test(arguments: [false, true])
    func aVoucherThatPaidOnlineIsNotTakenAgainWithNobodyOnline(restarts: Bool) async throws {
        let bed = try bed()
        let phone = spender(at: bed)
        let second: @Sendable (Shift) async throws -> Void = { shift in
            let id = try await shift.charge()
            try await shift.until("it is refused, or promised") {
                let isPromised = try await shift.snapshot(id).isPromised
                return await !phone.errors.isEmpty || isPromised
            }
            #expect(await phone.errors == [.counterConflict])
            #expect(try await shift.snapshot(id).isPromised == false)
        }
        try await bed.play {
            try await bed.open { shift in
                let id = try await shift.charge()
                try await shift.until(id, is: .succeeded)
                #expect(try await shift.journal.tapPayments(with: "promised", without: "none").isEmpty)
                if restarts { try await isKept(shift) }
                try await shift.until("the phone has gone") { bed.radio.openLinks == 0 }
                await goOffline(bed, shift)
                if !restarts { try await second(shift) }
            }
            guard restarts else { return }
            try await bed.open { shift in try await second(shift) }
        }
        #expect(await bed.acquirer.executions == 1)
    }

    /// A device that signs the first place in its voucher's chain for whatever it is shown.
    /// - Parameters:
    ///   - signer: Who signs its passes in the acquirer's name; nil: the acquirer.
    ///   - usesEachPassOnce: Whether it has another pass for each payment, as other customers have.
    private func spender(
        at bed: TapTestBed,
        issuedBy signer: Ed25519Signer? = nil,
        usesEachPassOnce: Bool = false
    ) -> HostilePhone {
        let phone = HostilePhone { [acquirer = bed.acquirer] phone, request in
            let passID = usesEachPassOnce ? request.payload.paymentID.bytes : [UInt8](repeating: 2, count: 16)
            await Self.spend(request, of: acquirer, by: phone, passID: passID, issuedBy: signer ?? acquirer.signer)
        }
        bed.radio.add("mallory", phone, service: .standard)
        return phone
    }

    /// Waits until it is on the disk when the acquirer answered last.
    private func isKept(_ shift: Shift) async throws {
        try await shift.until("it is kept when the acquirer answered") {
            try await shift.journal.document("tap-online") != nil
        }
    }

    /// - Parameter isTaken: Whether the voucher has to be taken now; else the phone hears why not.
    private func charges(
        _ phone: HostilePhone,
        _ shift: Shift,
        _ minorUnits: Int64 = 1050,
        isTaken: Bool,
        because code: TapErrorCode = .vouchersNotTaken
    ) async throws {
        let before = await phone.errors.count
        let id = try await shift.charge(minorUnits)
        try await shift.until("it is refused, or promised") {
            let isPromised = try await shift.snapshot(id).isPromised
            return await phone.errors.count > before || isPromised
        }
        #expect(try await shift.snapshot(id).isPromised == isTaken)
        guard !isTaken else { return }
        #expect(await phone.errors.last == code)
        _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
        try await shift.until(id, is: .cancelled)
    }

    @Test(arguments: [(1, true), (23, true), (25, false)])
    func afterARestartWithoutNetworkVouchersAreTakenAsLongAsWithoutOne(hours: Int, isTaken: Bool) async throws {
        let bed = try bed()
        let phone = spender(at: bed)
        try await bed.play {
            try await bed.open { shift in
                try await isKept(shift)
                await goOffline(bed, shift)
            }
            bed.clock.advance(by: .seconds(3600 * hours))
            try await bed.open { shift in
                try await charges(phone, shift, isTaken: isTaken)
                // What an earlier run heard is not said to be this one's.
                #expect(await shift.station.lastOnline == nil)
            }
        }
    }

    /// A time that lies ahead was kept by a wrong clock, or is read by one. It does not come true later either.
    @Test func aClockThatWasSetBackOverARestartMeansThatVouchersWaitForTheAcquirer() async throws {
        let bed = try bed()
        let phone = spender(at: bed)
        try await bed.play {
            try await bed.open { shift in
                try await isKept(shift)
                await goOffline(bed, shift)
            }
            bed.clock.setWall(by: .seconds(-3600))
            try await bed.open { shift in try await charges(phone, shift, isTaken: false) }
            bed.clock.advance(by: .seconds(7200))
            try await bed.open { shift in
                try await charges(phone, shift, isTaken: false)
                await bed.acquirer.change { $0.reachesTerminal = true }
                await shift.station.note(online: true)
                try await isKept(shift)
                await goOffline(bed, shift)
                try await charges(phone, shift, isTaken: true)
            }
        }
    }

    @Test func aClockThatIsSetBackMeanwhileLengthensNoTimeWithoutTheAcquirer() async throws {
        let bed = try bed()
        let phone = spender(at: bed)
        try await bed.run { shift in
            await goOffline(bed, shift)
            bed.clock.advance(by: .seconds(25 * 3600))
            bed.clock.setWall(by: .seconds(-20 * 3600))
            try await charges(phone, shift, isTaken: false)
        }
    }

    /// Nobody can say later how long ago it was.
    @Test func aTimeByAClockThatIsNotSetIsNotKept() async throws {
        let bed = try bed()
        let phone = spender(at: bed)
        bed.machineClock.withLock { $0 = false }
        try await bed.play {
            try await bed.open { shift in
                try await shift.passes(.seconds(2))
                #expect(try await shift.journal.document("tap-online") == nil)
                await goOffline(bed, shift)
            }
            bed.machineClock.withLock { $0 = true }
            try await bed.open { shift in try await charges(phone, shift, isTaken: false) }
        }
    }

    /// A disk wears out by what is written.
    @Test func whenTheAcquirerAnsweredIsWrittenOnceAMinuteAtMost() async throws {
        let bed = try bed()
        try await bed.run { shift in
            @Sendable func version() async throws -> Int? {
                try await shift.journal.document("tap-online")?.version
            }
            try await isKept(shift)
            for _ in 0..<50 {
                await shift.station.note(online: true)
                try await shift.passes(.seconds(1))
            }
            #expect(try await version() == 1)
            try await shift.passes(.seconds(11))
            await shift.station.note(online: false)
            try await shift.passes(.seconds(1))
            #expect(try await version() == 1)
            await shift.station.note(online: true)
            try await shift.until("it is kept again") { try await version() == 2 }
        }
    }

    private static func spend(
        _ request: Signed<PaymentRequest>,
        of acquirer: SimulatedAcquirer,
        by phone: HostilePhone,
        passID: [UInt8],
        issuedBy signer: Ed25519Signer
    ) async {
        guard let device = try? ES256Signer(scalar: [UInt8](repeating: 1, count: 32)) else { return }
        let pass = PaymentPass(
            passID: passID,
            issuer: acquirer.issuer,
            deviceKey: device.publicKey,
            notBeforeSeconds: 0,
            notAfterSeconds: 4_000_000_000,
            voucher: PaymentPass.Voucher(currency: "EUR", exponent: 2, instrumentID: "card")
        )
        guard let signedPass = try? Signed(signing: pass, with: signer) else { return }
        let accept = PaymentAcceptance(
            accepting: request,
            instrumentID: "card",
            createdAtMilliseconds: request.payload.createdAtMilliseconds,
            flags: [],
            nonce: [UInt8](repeating: 0, count: 16),
            spend: VoucherSpend(
                passID: pass.passID,
                counter: 1,
                spentAfter: request.payload.amount,
                previousHash: signedPass.hash
            )
        )
        guard let signed = try? Signed(signing: accept, with: device) else { return }
        await phone.say(.accept(signed, signedPass))
    }

    actor Place {
        private(set) var id: ChargeID?
        func put(_ id: ChargeID) { self.id = id }
    }
}
