import Foundation
import Logging
import Payments
import Sandbox
import Terminal
import Testing

@Suite(.serialized)
struct JournalRestTests {
    /// SQLite takes the log over into the file at 1000 pages, in the middle of what is written then: it never gets that long.
    @Test func nobodyWhoPaysWaitsForTheLogToBePutAway() async throws {
        let (resting, restless) = (try await longestLog(isRested: true), try await longestLog(isRested: false))
        #expect(restless >= 1000, "without a rest SQLite puts it away by itself: \(restless) pages")
        #expect(resting < 800, "\(resting) pages")
        print("the log's longest in \(Self.payments) payments: \(resting) pages, and \(restless) without a rest")
    }

    private static let payments = 24

    /// In pages. The file stays as long as it ever was.
    private func longestLog(isRested: Bool) async throws -> Int {
        let bed = try TapTestBed()
        let pages = Pages()
        try await bed.run { shift in
            let rest = JournalRest(desk: shift.desk, journal: shift.journal, logger: Logger(label: "test"))
            try await withThrowingTaskGroup { group in
                if isRested { group.addTask { await rest.run() } }
                for number in 1...Self.payments { try await shift.isPaid(by: "customer\(number)") }
                group.cancelAll()
            }
            let size = try FileManager.default.attributesOfItem(atPath: bed.folder + "/journal.sqlite-wal")[.size]
            await pages.note((size as? Int ?? 0) / (24 + 4096))
        }
        return await pages.count
    }

    private actor Pages {
        var count = 0
        func note(_ count: Int) { self.count = count }
    }
}
