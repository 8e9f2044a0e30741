import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing

/// The four cells of who can reach the acquirer, and what becomes of what was taken offline.
struct OfflineTests {
    private func stall(_ change: @escaping (inout TapSettings) -> Void = { _ in }) throws -> Stall {
        try Stall { settings in
            settings.offline.isAllowed = true
            change(&settings)
        }
    }

    /// A phone that has fetched what it needs, and then loses its network.
    private func stocked(_ stall: Stall, _ shift: Shift, voucher: Int? = 10_000, isOnline: Bool = false) async throws {
        let phone = try stall.phone("anna", voucher: voucher)
        try await shift.until("anna has passes") { await stall.bank.passes >= (voucher == nil ? 4 : 5) }
        try await shift.passes(.milliseconds(200))
        await phone.setOnline(isOnline)
    }

    private func goOffline(_ stall: Stall, _ shift: Shift) async {
        await stall.bank.change { $0.reachesTerminal = false }
        await shift.station.note(online: false)
    }

    @Test func aPhoneWithoutNetworkPaysThroughTheTerminal() async throws {
        let stall = try stall()
        try await stall.run { shift in
            try await stocked(stall, shift)
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { stall.outcome("anna") == .paid }
        }
        #expect(await stall.bank.executions == 1)
    }

    @Test func aTerminalWithoutNetworkIsPaidThroughThePhone() async throws {
        let stall = try stall()
        try await stall.run { shift in
            try await stocked(stall, shift, isOnline: true)
            await goOffline(stall, shift)
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            #expect(try await shift.snapshot(id).evidence?.transactionID == "tx1")
        }
        #expect(await stall.bank.paid == 1050)
    }

    @Test func withNobodyOnlineAVoucherPaysAndIsSettledLater() async throws {
        let stall = try stall()
        try await stall.run { shift in
            try await stocked(stall, shift)
            await goOffline(stall, shift)
            let id = try await shift.charge()
            try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            #expect(try await shift.snapshot(id).holdsTerminal == false)
            try await shift.until("it waits to be told") { await shift.station.status.waiting == 1 }
            try await shift.until("anna has paid") { stall.outcome("anna") == .acceptedOffline }
            #expect(await stall.bank.paid == 0)
            await stall.bank.change { $0.reachesTerminal = true }
            try await shift.until(id, is: .succeeded, within: .seconds(700))
            #expect(try await shift.snapshot(id).isLate == false)
            try await shift.until("nothing waits any more") { await shift.station.status.waiting == 0 }
        }
        #expect(await stall.bank.paid == 1050)
        #expect(await stall.bank.executions == 1)
    }

    @Test func aPromiseIsKeptOverAPowerCut() async throws {
        let stall = try stall()
        let place = Place()
        try await stall.play {
            try await stall.open { shift in
                try await stocked(stall, shift)
                await goOffline(stall, shift)
                let id = try await shift.charge()
                await place.put(id)
                try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            }
            await stall.bank.change { $0.reachesTerminal = true }
            try await stall.open { shift in
                let id = try #require(await place.id)
                try await shift.until(id, is: .succeeded, within: .seconds(700))
            }
        }
        #expect(await stall.bank.paid == 1050)
    }

    @Test(arguments: [TapSyncAnswer.Verdict.expired, .revoked, .conflict, .refused])
    func aPromiseThatTheAcquirerDoesNotKeepIsTheMerchantsLoss(verdict: TapSyncAnswer.Verdict) async throws {
        let stall = try stall()
        try await stall.run { shift in
            try await stocked(stall, shift)
            await goOffline(stall, shift)
            let id = try await shift.charge()
            try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            await stall.bank.change {
                $0.syncVerdict = verdict
                $0.reachesTerminal = true
            }
            try await shift.until(id, is: .failed, within: .seconds(700))
            #expect(try await shift.snapshot(id).reason?.code == "failed_offline_\(verdict.rawValue)")
        }
        #expect(await stall.bank.paid == 0)
    }

    @Test func withNobodyOnlineNothingElsePays() async throws {
        let stall = try stall { $0.offline.isAllowed = false }
        try await stall.run { shift in
            try await stocked(stall, shift)
            await goOffline(stall, shift)
            let id = try await shift.charge()
            try await shift.until("it is over") { try await shift.state(id).isFinal }
            #expect(try await shift.state(id) != .succeeded)
        }
        #expect(await stall.bank.executions == 0)
    }

    @Test func aVoucherAboveTheShopsOwnLimitIsNotTaken() async throws {
        let stall = try stall { $0.offline.floorMinorUnits = 1000 }
        try await stall.run { shift in
            try await stocked(stall, shift)
            await goOffline(stall, shift)
            let id = try await shift.charge(1001)
            try await shift.until("it is over") { try await shift.state(id).isFinal }
            #expect(try await shift.snapshot(id).isPromised == false)
        }
    }

    actor Place {
        private(set) var id: ChargeID?
        func put(_ id: ChargeID) { self.id = id }
    }
}
