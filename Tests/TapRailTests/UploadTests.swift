import Journal
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

/// Telling the acquirer of what was taken offline: one payment that does not go holds back no other.
struct UploadTests {
    /// The terminal's pauses between two uploads grow to ten minutes.
    private static let step = Duration.milliseconds(100)

    private func bed() throws -> TapTestBed { try TapTestBed { $0.offline.isAllowed = true } }

    /// Charges that were paid with a voucher while nobody had network; the network is still away.
    private func promises(_ count: Int, _ bed: TapTestBed, _ shift: Shift) async throws -> [ChargeID] {
        let phone = try bed.phone("anna", voucher: 10_000)
        try await shift.until("anna has passes") { await bed.acquirer.passes >= 5 }
        try await shift.passes(.milliseconds(200))
        await phone.setOnline(false)
        await bed.acquirer.change { $0.reachesTerminal = false }
        await shift.station.note(online: false)
        var charges: [ChargeID] = []
        for _ in 0..<count {
            let id = try await shift.charge(500)
            try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            try await shift.until("anna has gone") { bed.radio.openLinks == 0 }
            charges.append(id)
        }
        return charges
    }

    @Test func paymentsWithoutAnEndHoldBackNoOther() async throws {
        let bed = try bed()
        try await bed.run(uploadLimit: 2) { shift in
            let charges = try await promises(3, bed, shift)
            let (first, second) = (try await shift.payment(charges[0]), try await shift.payment(charges[1]))
            await bed.acquirer.change {
                $0.undecided = [first, second]
                $0.reachesTerminal = true
            }
            try await shift.until(charges[2], is: .succeeded, within: .seconds(700), by: Self.step)
            #expect(try await shift.snapshot(charges[0]).isPromised)
            await bed.acquirer.change { $0.undecided = [] }
            for id in charges { try await shift.until(id, is: .succeeded, within: .seconds(700), by: Self.step) }
        }
        #expect(await bed.acquirer.executions == 3)
    }

    @Test func onePaymentThatTheAcquirerRefusesIsSaidAndTheOthersAreBooked() async throws {
        let bed = try bed()
        try await bed.run { shift in
            let charges = try await promises(4, bed, shift)
            let second = try await shift.payment(charges[1])
            await bed.acquirer.change {
                $0.indigestible = [second]
                $0.reachesTerminal = true
            }
            for id in [charges[0], charges[2], charges[3]] {
                try await shift.until(id, is: .succeeded, within: .seconds(700), by: Self.step)
            }
            // A "no" to an upload is no word about a payment.
            #expect(try await shift.snapshot(charges[1]).isPromised)
            try await shift.until("it is said") { await !shift.station.status.notices.isEmpty }
            let notice = try #require(await shift.station.status.notices.first)
            #expect(notice.code == "offline_refused")
            #expect(notice.message.contains("\(second)"))
            await bed.acquirer.change { $0.indigestible = [] }
            try await shift.until(charges[1], is: .succeeded, within: .seconds(1300), by: Self.step)
            try await shift.until("nothing is said any more") { await shift.station.status.notices.isEmpty }
        }
        #expect(await bed.acquirer.executions == 4)
    }

    /// A "no" before it is none that wakes anybody: the upload would hear it too.
    @Test(arguments: [false, true])
    func afterALongOutageTheFirstWordOfTheAcquirerWakesTheUpload(isRefusedBefore: Bool) async throws {
        let bed = try bed()
        try await bed.run { shift in
            let charges = try await promises(1, bed, shift)
            // The pauses have grown by then to ten minutes.
            let start = bed.clock.now
            try await shift.until("it is out for long", within: .seconds(4000), by: .seconds(1)) {
                bed.clock.now >= start + .seconds(2400)
            }
            await bed.acquirer.change { $0.reachesTerminal = true }
            if isRefusedBefore {
                await shift.station.noteRefusal()
                try await shift.passes(.seconds(10))
                #expect(await bed.acquirer.uploads.isEmpty)
            }
            await shift.station.note(online: true)
            try await shift.until(charges[0], is: .succeeded, within: .seconds(10))
            #expect(await bed.acquirer.uploads.count == 1)
        }
    }

    /// What has just been told is not told again because of its own answer.
    @Test func anAcquirerThatComesAndGoesIsNotToldMoreOftenThanEveryFiveSeconds() async throws {
        let bed = try bed()
        try await bed.run { shift in
            let charges = try await promises(1, bed, shift)
            let payment = try await shift.payment(charges[0])
            await bed.acquirer.change {
                $0.stunning = [payment]
                $0.reachesTerminal = true
            }
            for _ in 0..<100 {
                await shift.station.note(online: false)
                await shift.station.note(online: true)
                try await shift.passes(.milliseconds(100))
            }
            #expect((1...3).contains(await bed.acquirer.uploads.count))
        }
    }

    @Test func aPaymentAtWhichTheAcquirerFallsSilentHoldsBackNoOther() async throws {
        let bed = try bed()
        try await bed.run { shift in
            let charges = try await promises(3, bed, shift)
            let first = try await shift.payment(charges[0])
            await bed.acquirer.change {
                $0.stunning = [first]
                $0.reachesTerminal = true
            }
            for id in charges.dropFirst() {
                try await shift.until(id, is: .succeeded, within: .seconds(700), by: Self.step)
            }
            #expect(try await shift.snapshot(charges[0]).isPromised)
        }
    }

    @Test func aPaymentThatCannotBeReadIsSaidAndTheOthersAreBooked() async throws {
        let bed = try bed()
        let fuse = Fuse()
        try await bed.run(fuse: fuse) { shift in
            let charges = try await promises(2, bed, shift)
            let first = try await shift.payment(charges[0])
            fuse.unreadable.withLock { _ = $0.insert("\(first)") }
            await bed.acquirer.change { $0.reachesTerminal = true }
            try await shift.until(charges[1], is: .succeeded, within: .seconds(700), by: Self.step)
            try await shift.until("only that one waits") { await shift.station.status.waiting == 1 }
            #expect(await shift.station.status.notices.map(\.code) == ["offline_unreadable"])
            // What the terminal risks already is not known any more.
            await bed.acquirer.change { $0.reachesTerminal = false }
            await shift.station.note(online: false)
            let id = try await shift.charge(500)
            try await shift.until("it is over") { try await shift.state(id).isFinal }
            #expect(try await shift.snapshot(id).isPromised == false)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test func aVoucherIsForgottenOnlyLongAfterItsEnd() async throws {
        let bed = try bed()
        try await bed.play {
            try await bed.open { shift in
                let charges = try await promises(1, bed, shift)
                await bed.acquirer.change { $0.reachesTerminal = true }
                try await shift.until(charges[0], is: .succeeded, within: .seconds(700), by: Self.step)
                #expect(try await shift.journal.tapVouchers().count == 1)
            }
            // The voucher has ended, but a clock may be wrong by days.
            bed.clock.advance(by: .seconds(3 * 86_400))
            try await bed.open { shift in
                try await shift.passes(.seconds(1))
                #expect(try await shift.journal.tapVouchers().count == 1)
            }
            bed.clock.advance(by: .seconds(6 * 86_400))
            bed.machineClock.withLock { $0 = false }
            try await bed.open { shift in
                try await shift.passes(.seconds(1))
                #expect(try await shift.journal.tapVouchers().count == 1)
            }
            bed.machineClock.withLock { $0 = true }
            try await bed.open { shift in
                try await shift.until("it is forgotten", within: .seconds(2)) {
                    try await shift.journal.tapVouchers().isEmpty
                }
            }
        }
    }
}
