import Journal
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing

/// The terminal loses its network between two questions to the acquirer, and gets it back.
struct ReachTests {
    private func bed() throws -> TapTestBed { try TapTestBed { $0.offline.isAllowed = true } }

    private func stocked(
        _ bed: TapTestBed,
        _ shift: Shift,
        user: PhoneUser = TapTestBed.acceptsQuickly,
        voucher: Int? = 10_000
    ) async throws {
        let phone = try bed.phone("anna", user: user, voucher: voucher)
        try await shift.until("anna has passes") { await bed.acquirer.passes >= (voucher == nil ? 4 : 5) }
        try await shift.passes(.seconds(6))
        await phone.setOnline(false)
    }

    @Test func theFirstTapAfterTheNetworkFellIsTakenOffline() async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift)
            // Nobody has told the terminal.
            await bed.acquirer.change { $0.reachesTerminal = false }
            let id = try await shift.charge()
            try await shift.until("the promise is taken", within: .seconds(20)) {
                try await shift.snapshot(id).isPromised
            }
            await bed.acquirer.change { $0.reachesTerminal = true }
            try await shift.until(id, is: .succeeded, within: .seconds(700))
        }
        #expect(await bed.acquirer.executions == 1)
        #expect(await bed.acquirer.paid == 1050)
    }

    /// It may be this terminal that it says no to: a stolen one would take vouchers for ever.
    @Test func anAcquirerThatSaysNoIsNoReasonToTakeAVoucher() async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift)
            await bed.acquirer.change { $0.shutsOut = true }
            let id = try await shift.charge()
            try await shift.until("it is over, or promised", within: .seconds(20)) {
                let charge = try await shift.snapshot(id)
                return charge.isPromised || charge.state.isFinal
            }
            #expect(try await shift.snapshot(id).isPromised == false)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    /// A terminal that is shut out could take vouchers for ever, were a "no" as good as an answer.
    @Test(arguments: [TapWord.refused(code: "bundle_refused"), .notNow(code: "unauthorized", retryAfter: nil)])
    func anAcquirerThatSaysNoHasNotBeenInTouch(no: TapWord) async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift, voucher: nil)
            await bed.acquirer.change {
                $0.shutsOut = true
                $0.refusal = no
            }
            let before = await shift.station.lastOnline
            _ = try await shift.charge()
            try await shift.until("it was refused") { await bed.acquirer.refusals > 0 }
            try await shift.passes(.seconds(2))
            #expect(await shift.station.lastOnline == before)
            #expect(await shift.station.isReachable)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func theNetworkFallsWhileTheCustomerDecidesAndTheVoucherPays() async throws {
        let bed = try bed()
        try await bed.run { shift in
            let user = PhoneUser(answer: .accept(after: .seconds(8)), prefersVoucher: true)
            try await stocked(bed, shift, user: user)
            let id = try await shift.charge()
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            await bed.acquirer.change { $0.reachesTerminal = false }
            try await shift.until("the promise is taken", within: .seconds(20)) {
                try await shift.snapshot(id).isPromised
            }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    /// An accept is judged by the acquirer's fresh word; asked for only then, its customer would wait for it.
    @Test func theAcquirerIsAskedWhileACustomerDecidesAndNotBeforeOrAfter() async throws {
        let bed = try TapTestBed()
        try await bed.run { shift in
            let user = PhoneUser(answer: .accept(after: .seconds(12)))
            try await stocked(bed, shift, user: user, voucher: nil)
            let id = try await shift.charge()
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            let asked = await bed.acquirer.keyQuestions
            try await shift.until("anna agrees", within: .seconds(20)) {
                bed.heard("anna").contains { if case .accepted = $0 { true } else { false } }
            }
            // Its word counts for five seconds.
            let questions = await bed.acquirer.keyQuestions - asked
            #expect((3...8).contains(questions))
            try await shift.until(id, is: .succeeded, within: .seconds(20))
            let paid = await bed.acquirer.keyQuestions
            try await shift.passes(.seconds(20))
            #expect(await bed.acquirer.keyQuestions == paid)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test func anAgreementThatNobodyCanCarryOutIsRefusedAndNothingIsInDoubt() async throws {
        let bed = try bed()
        try await bed.run { shift in
            let user = PhoneUser(answer: .accept(after: .seconds(8)))
            try await stocked(bed, shift, user: user, voucher: nil)
            let id = try await shift.charge()
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            await bed.acquirer.change { $0.reachesTerminal = false }
            try await shift.until("anna hears why", within: .seconds(20)) {
                bed.heard("anna").contains {
                    if case .heard(.error(_, .vouchersNotTaken, _)) = $0 { true } else { false }
                }
            }
            #expect(try await shift.state(id) == .requiresAction)
            _ = try await shift.desk.cancel(id, by: .staff(name: "Ada"))
            try await shift.until(id, is: .cancelled, within: .seconds(20))
        }
        #expect(await bed.acquirer.executions == 0)
    }

    /// Another way to pay is taken back before an agreement is claimed, and that may take minutes.
    private func waiting(
        _ shift: Shift,
        _ scan: ScriptedRail,
        thenReaches: Bool,
        phone: PhoneUser,
        voucher: Int? = 10_000
    ) async throws -> ChargeID {
        let bed = shift.bed
        try await stocked(bed, shift, user: phone, voucher: voucher)
        await bed.acquirer.change { $0.reachesTerminal = !thenReaches }
        let id = try await shift.charge()
        try await shift.until("the code is offered") { scan.link(id) != nil }
        let offer = Offer(paymentID: "pay_1", link: "https://pay.example/1", expiresAt: nil)
        await scan.link(id)?.record(.offered(attempt: 1, offer: offer))
        try await shift.until("anna wants to pay") { try await shift.snapshot(id).isClaimed }
        await bed.acquirer.change { $0.reachesTerminal = thenReaches }
        try await shift.passes(.seconds(20))
        await scan.link(id)?.record(.reported(attempt: 1, report: .cancelled))
        return id
    }

    private static let voucherUser = PhoneUser(answer: .accept(after: .seconds(2)), prefersVoucher: true)

    @Test func aNetworkThatCameBackDuringTheWaitForTheClaimPaysAtOnce() async throws {
        let bed = try bed()
        let scan = ScriptedRail(.scan)
        try await bed.run(scan: scan) { shift in
            let id = try await waiting(shift, scan, thenReaches: true, phone: Self.voucherUser)
            try await shift.until(id, is: .succeeded, within: .seconds(20))
            let promised = try await shift.journal.tapPayments(with: "promised", without: "none")
            #expect(promised.isEmpty)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test func aNetworkThatFellDuringTheWaitForTheClaimLeavesTheVoucherToPay() async throws {
        let bed = try bed()
        let scan = ScriptedRail(.scan)
        try await bed.run(scan: scan) { shift in
            let id = try await waiting(shift, scan, thenReaches: false, phone: Self.voucherUser)
            try await shift.until("the promise is taken", within: .seconds(20)) {
                try await shift.snapshot(id).isPromised
            }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func whatNobodyCanCarryOutAfterTheWaitForTheClaimIsRefusedAndNotInDoubt() async throws {
        let bed = try bed()
        let scan = ScriptedRail(.scan)
        try await bed.run(scan: scan) { shift in
            let user = PhoneUser(answer: .accept(after: .seconds(2)))
            let id = try await waiting(shift, scan, thenReaches: false, phone: user, voucher: nil)
            try await shift.until("anna hears why", within: .seconds(20)) {
                bed.heard("anna").contains {
                    if case .heard(.error(_, .vouchersNotTaken, _)) = $0 { true } else { false }
                }
            }
            try await shift.until("nothing stays claimed") { try await !shift.snapshot(id).isClaimed }
            #expect(try await shift.journal.tapPayments(with: "claimed", without: "none").isEmpty)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func aTerminalThatIsBackInTheNetworkPaysForAPhoneWithout() async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift, voucher: nil)
            await bed.acquirer.change { $0.reachesTerminal = false }
            await shift.station.note(online: false)
            try await shift.passes(.seconds(6))
            await bed.acquirer.change { $0.reachesTerminal = true }
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded, within: .seconds(30))
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test(arguments: [true, false])
    func withoutTheTimeNoVoucherIsTakenUnlessTheAcquirerHasCheckedIt(isChecked: Bool) async throws {
        let bed = try bed()
        try await bed.run { shift in
            try await stocked(bed, shift)
            bed.machineClock.withLock { $0 = false }
            if isChecked { await shift.station.noteClockChecked() }
            await bed.acquirer.change { $0.reachesTerminal = false }
            let id = try await shift.charge()
            try await shift.until("it is over, or promised") {
                let charge = try await shift.snapshot(id)
                return charge.isPromised || charge.state.isFinal
            }
            #expect(try await shift.snapshot(id).isPromised == isChecked)
        }
    }

    @Test func theTimeLimitsOfTheSettingsHold() async throws {
        let bed = try TapTestBed { settings in
            settings.timers.execute = .seconds(6)
        }
        let phone = try bed.phone("anna")
        await bed.acquirer.change { $0.lostAnswers = 1000 }
        try await bed.run { shift in
            try await shift.until("anna has passes") { await bed.acquirer.passes >= 4 }
            try await shift.passes(.milliseconds(200))
            await phone.setOnline(false)
            let id = try await shift.charge()
            try await shift.until(id, is: .processing)
            try await shift.until("it counts as unknown", within: .seconds(10)) {
                try await !shift.journal.tapPayments(with: "unknown", without: "done").isEmpty
            }
        }
    }
}
