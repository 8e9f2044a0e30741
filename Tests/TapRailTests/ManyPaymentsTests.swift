import Foundation
import Payments
import Sandbox
import Synchronization
import Terminal
import Testing

@Suite(.serialized)
struct ManyPaymentsTests {
    /// `TILL_TAP_PAYMENTS=1000` makes it a day's worth. Each payment is another customer's; the journal is a real file.
    @Test func paymentAfterPaymentMemoryStaysAsItIs() async throws {
        let wanted = ProcessInfo.processInfo.environment["TILL_TAP_PAYMENTS"].flatMap { Int($0) } ?? 50
        let marks = [wanted / 10, wanted / 2, wanted]
        let stall = try Stall()
        let memory = Readings()
        try await stall.run { shift in
            for number in 1...wanted {
                let name = "customer\(number)"
                let phone = try stall.phone(name)
                let id = try await shift.charge()
                try await shift.until(id, is: .succeeded)
                try await shift.until("the customer knows") { stall.outcome(name) == .paid }
                await phone.end()
                // What the terminal keeps for a phone that comes back is let go after a minute.
                for _ in 0..<10 { try await shift.skips(.seconds(2)) }
                stall.forget(name)
                if marks.contains(number) { memory.note(after: number) }
            }
        }
        #expect(await stall.bank.executions == wanted)
        #expect(await stall.bank.paid == wanted * 1050)
        let (first, last) = (try #require(memory.all.first), try #require(memory.all.last))
        // What the books of test bank and journal hold of a payment is some kilobytes.
        let growth = (last.kilobytes - first.kilobytes) / max(1, last.payments - first.payments)
        #expect(growth < 64, "\(memory.all)")
    }
}

/// The process's resident memory at some moments.
private final class Readings: Sendable {
    struct Reading: Sendable { var payments: Int, kilobytes: Int }

    private let readings = Mutex<[Reading]>([])

    var all: [Reading] { readings.withLock { $0 } }

    func note(after payments: Int) {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        let kilobytes = Int(line.filter(\.isNumber)) ?? 0
        readings.withLock { $0.append(Reading(payments: payments, kilobytes: kilobytes)) }
        print("resident memory after \(payments) payments: \(kilobytes / 1024) MB")
    }
}
