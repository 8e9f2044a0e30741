import Foundation
import GRDB
import Journal
import Payments

/// Committed transactions per second, turn by turn in one run: whatever else the machine does hits all alike.
func bench(in folder: String?, turns: Int) async throws {
    let place = "\(folder ?? NSTemporaryDirectory())/till-bench-journal-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: place) }  // Of a benchmark: a rest does no harm.
    let key = try DeviceKey.loadOrCreate(at: place + "/device.key")
    let journal = try Journal.open(directory: place + "/journal", deviceKey: key)
    let raw = try RawSQLite(place + "/raw.sqlite", schema: try schema(of: place + "/journal/journal.sqlite"))

    let time = WallTime(millisecondsSince1970: 1_795_000_000_000)
    let atOnce = 4
    var rates: (shared: [Double], alone: [Double], raw: [Double]) = ([], [], [])
    for turn in 0...turns {
        let shared = try await rate {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<atOnce {
                    group.addTask { try await Story.play(in: journal, at: time) { _, _ in } }
                }
                try await group.waitForAll()
            }
            return (Story.events.count + 1) * atOnce
        }
        let alone = try await rate {
            try await Story.play(in: journal, at: time) { _, _ in }
            return Story.events.count + 1
        }
        let plain = try await rate { try raw.story() }
        guard turn > 0 else { continue }  // The first turn warms up.
        rates.shared.append(shared)
        rates.alone.append(alone)
        rates.raw.append(plain)
    }
    let (shared, alone, plain) = (median(rates.shared), median(rates.alone), median(rates.raw))
    print(
        "committed transactions per second, the same tables and rows, WAL, synchronous=FULL, median of \(turns) turns"
    )
    print(
        String(format: "journal, %d charges at once: %.0f, C %.0f, ratio %.2f", atOnce, shared, plain, shared / plain)
    )
    print(String(format: "journal, one after the other: %.0f, C %.0f, ratio %.2f", alone, plain, alone / plain))
    try journal.close()
}

/// The statements that make the journal's tables, as they stand in its file.
private func schema(of path: String) throws -> [String] {
    try DatabaseQueue(path: path).read { db in
        try String.fetchAll(db, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    }
}

/// - Parameter body: Returns how many transactions it committed.
private func rate(_ body: () async throws -> Int) async throws -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    var count = 0
    while clock.now - start < .milliseconds(400) { count += try await body() }
    return Double(count) / ((clock.now - start) / .seconds(1))
}

private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
