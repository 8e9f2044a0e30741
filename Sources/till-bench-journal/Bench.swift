import Foundation
import Journal
import Payments

/// Committed transactions per second, turn by turn in one run: whatever else the machine does hits all alike.
func bench(in folder: String?) async throws {
    let place = "\(folder ?? NSTemporaryDirectory())/till-bench-journal-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: place) }
    let key = try DeviceKey.loadOrCreate(at: place + "/device.key")
    let journal = try Journal.open(directory: place + "/journal", deviceKey: key)
    let entry = try RawSQLite(place + "/raw-entry.sqlite", alsoUpdatesCharge: false)
    let both = try RawSQLite(place + "/raw-both.sqlite", alsoUpdatesCharge: true)

    let time = WallTime(millisecondsSince1970: 1_795_000_000_000)
    let turns = 9
    var rates: (journal: [Double], entry: [Double], both: [Double]) = ([], [], [])
    for turn in 0...turns {
        let journalRate = try await rate {
            try await Story.play(in: journal, at: time) { _, _ in }
            return Story.events.count + 1
        }
        let entryRate = try await rate { try entry.story() }
        let bothRate = try await rate { try both.story() }
        guard turn > 0 else { continue }  // The first turn warms up.
        rates.journal.append(journalRate)
        rates.entry.append(entryRate)
        rates.both.append(bothRate)
    }
    let (ours, raw, same) = (median(rates.journal), median(rates.entry), median(rates.both))
    print("committed transactions per second, one after the other, WAL, synchronous=FULL, median of \(turns) turns")
    print(String(format: "  Journal.append                              %7.0f", ours))
    print(String(format: "  SQLite in C, the entry alone                %7.0f   ratio %.2f", raw, ours / raw))
    print(String(format: "  SQLite in C, the entry and the charge's row %7.0f   ratio %.2f", same, ours / same))
    try journal.close()
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
