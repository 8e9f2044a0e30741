import Foundation
import GRDB
import Journal
import Payments

/// Committed transactions per second, turn by turn in one run: whatever else the machine does hits all alike.
///
/// Runs on the shared pool, as the terminal's parts do: on the main thread each append would wait for that thread's run loop, too.
@concurrent func bench(in folder: String?, turns: Int) async throws {
    let place = "\(folder ?? NSTemporaryDirectory())/till-bench-journal-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: place) }  // Of a benchmark: a rest does no harm.
    let key = try DeviceKey.loadOrCreate(at: place + "/device.key")
    let journal = try Journal.open(directory: place + "/journal", deviceKey: key)
    let tables = try schema(of: place + "/journal/journal.sqlite")
    let raw = try RawSQLite(place + "/raw.sqlite", schema: tables)
    let queued = QueuedSQLite(try RawSQLite(place + "/queued.sqlite", schema: tables))

    var clock = ShopClock()
    let atOnce = 4
    var measured: [Turn] = []
    for turn in 0...turns {
        let shared = try await rate {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<atOnce {
                    let time = clock.next()
                    group.addTask { try await Story.play(in: journal, at: time) { _, _ in } }
                }
                try await group.waitForAll()
            }
            return (Story.events.count + 1) * atOnce
        }
        let alone = try await rate {
            try await Story.play(in: journal, at: clock.next()) { _, _ in }
            return Story.events.count + 1
        }
        let plain = try await rate {
            for _ in 0...Story.events.count { try raw.transaction() }
            return Story.events.count + 1
        }
        let away = try await rate {
            for _ in 0...Story.events.count { try await queued.transaction() }
            return Story.events.count + 1
        }
        guard turn > 0 else { continue }  // The first turn warms up.
        measured.append(Turn(shared: shared, alone: alone, raw: plain, queued: away))
    }
    print(
        "committed transactions per second, the same tables and rows, WAL, synchronous=FULL, median of \(turns) turns"
    )
    report("journal, \(atOnce) charges at once", measured.map(\.shared), measured.map(\.raw))
    report("journal, one after the other", measured.map(\.alone), measured.map(\.raw))
    report("SQLite in C on a queue of its own", measured.map(\.queued), measured.map(\.raw))
    let (ours, base) = (median(measured.map(\.alone.bytes)), median(measured.map(\.raw.bytes)))
    print(String(format: "bytes written for a transaction: journal %.0f, C %.0f", ours, base))
    try journal.close()
}

/// Each charge is opened at a millisecond of its own, as in a shop: their names then come in the order of time.
private struct ShopClock {
    private var milliseconds: Int64 = 1_795_000_000_000

    mutating func next() -> WallTime {
        milliseconds += 1
        return WallTime(millisecondsSince1970: milliseconds)
    }
}

/// The statements that make the journal's tables, as they stand in its file.
private func schema(of path: String) throws -> [String] {
    try DatabaseQueue(path: path).read { db in
        try String.fetchAll(db, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    }
}

private struct Turn {
    var shared, alone, raw, queued: Rate
}

private struct Rate {
    var perSecond: Double
    /// Bytes that a transaction writes, with its share of the WAL checkpoint.
    var bytes: Double
}

/// The ratio is the middle one of the turns' own.
private func report(_ name: String, _ ours: [Rate], _ base: [Rate]) {
    print(
        String(
            format: "%@: %.0f, C %.0f, ratio %.2f",
            name,
            median(ours.map(\.perSecond)),
            median(base.map(\.perSecond)),
            median(zip(ours, base).map { $0.perSecond / $1.perSecond })
        )
    )
}

/// - Parameter body: Returns how many transactions it committed.
private func rate(_ body: () async throws -> Int) async throws -> Rate {
    let clock = ContinuousClock()
    let (start, before) = (clock.now, bytesWritten())
    var count = 0
    while clock.now - start < .milliseconds(400) { count += try await body() }
    let seconds = (clock.now - start) / .seconds(1)
    return Rate(perSecond: Double(count) / seconds, bytes: Double(bytesWritten() - before) / Double(count))
}

/// By this process, to any file. Source: proc_pid_io(5), `wchar`.
private func bytesWritten() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/io", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
    return line.flatMap { Int($0.dropFirst("wchar: ".count)) } ?? 0
}

private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
