import Payments
import Sandbox
import Synchronization
import TapProtocol
import Terminal
import Testing

/// Links that fall and power that goes out, at every place.
struct RecoveryTests {
    @Test(arguments: 0..<36)
    func aLinkCutAnywhereIsMendedAndPaidOnce(values: Int) async throws {
        let stall = try Stall()
        try stall.phone("anna")
        stall.air.cut(after: values)
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { stall.outcome("anna") == .paid }
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.executions == 1)
        #expect(await stall.bank.paid == 1050)
    }

    @Test(arguments: 1..<14)
    func afterAPowerCutJournalAcquirerAndPhoneAgree(records: Int) async throws {
        let stall = try Stall()
        try stall.phone("anna")
        let fuse = Fuse(after: records)
        let charge = Mutex<ChargeID?>(nil)
        try await stall.play {
            try await stall.open(fuse: fuse) { shift in
                let id = try? await shift.charge()
                charge.withLock { $0 = id }
                try await shift.until("the power goes out, or it is paid") {
                    if fuse.isBlown { return true }
                    guard let id, stall.air.openLinks == 0 else { return false }
                    return try await shift.state(id).isFinal
                }
            }
            try await stall.open { shift in
                let kept = try await shift.desk.history(before: nil, limit: 1, state: nil).first?.id
                guard let id = charge.withLock({ $0 }) ?? kept else { return }
                try await shift.until("the charge has ended", within: .seconds(400)) {
                    try await shift.state(id).isFinal
                }
                let isPaid = try await shift.state(id) == .succeeded
                #expect(await stall.bank.paid == (isPaid ? 1050 : 0))
                guard stall.wasAsked("anna") else { return }
                try await shift.until("anna knows the same", within: .seconds(900)) {
                    switch stall.outcome("anna") {
                    case .paid: isPaid
                    case .notPaid, .declined, .unknown: !isPaid
                    case .failed, .acceptedOffline, nil: false
                    }
                }
            }
        }
        #expect(await stall.bank.executions <= 1)
    }
}
