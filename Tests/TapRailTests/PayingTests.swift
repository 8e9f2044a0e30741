import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing

/// Paying over the air: a real journal, the simulated phone, one bank.
struct PayingTests {
    @Test func aPhonePaysWithAnInstrument() async throws {
        let stall = try Stall()
        try stall.phone("anna")
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            let charge = try await shift.snapshot(id)
            #expect(charge.evidence?.transactionID == "tx1")
            try await shift.until("the phone knows") { stall.outcome("anna") == .paid }
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.paid == 1050)
        #expect(await stall.bank.executions == 1)
    }
}
