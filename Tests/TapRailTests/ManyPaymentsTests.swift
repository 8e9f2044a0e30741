import Foundation
import Payments
import Sandbox
import Terminal
import Testing

@Suite(.serialized)
struct ManyPaymentsTests {
    /// `TILL_TAP_PAYMENTS=1000`, with this test alone, makes it a day's worth and bounds what grows. Each payment is another
    /// customer's; the journal is a real file.
    ///
    /// What the test itself keeps of a payment is put away after it, so what grows is the terminal's.
    @Test func paymentAfterPaymentMemoryStaysAsItIs() async throws {
        let wanted = ProcessInfo.processInfo.environment["TILL_TAP_PAYMENTS"].flatMap { Int($0) } ?? 60
        let marks = [wanted / 10, wanted / 2, wanted]
        let bed = try TapTestBed()
        let memory = MemoryReadings()
        try await bed.run { shift in
            for number in 1...wanted {
                try await shift.isPaid(by: "customer\(number)")
                bed.radio.forgetThePast()
                await bed.acquirer.putBooksAway()
                if marks.contains(number) { memory.note(after: number, "payments") }
            }
        }
        #expect(await bed.acquirer.executions == wanted)
        #expect(await bed.acquirer.paid == wanted * 1050)
        guard let growth = memory.growth(where: "TILL_TAP_PAYMENTS") else { return }
        print("a payment leaves \(growth.heapBytes) bytes of heap, \(growth.residentBytes) resident")
        // The database's cache may still fill, and the test library notes each thrown error: 1.7 kB a payment were measured,
        // and 0.1 kB without the two.
        #expect(growth.heapBytes < 4096)
    }
}
