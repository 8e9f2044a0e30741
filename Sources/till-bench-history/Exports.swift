import Console
import Foundation
import Journal
import Payments
import Terminal

/// What takes as long as there are entries: files of everything, and the check of the audit log's chain.
struct LongRead {
    let name: String
    /// Milliseconds until the first bytes; nil where there are none.
    let first: Double?
    let whole: Double
    let megabytes: Double
    /// A commit's times while it ran.
    let commits: [Double]
}

/// Each long read once, with commits beside it all the time: a charge must not wait for any of them.
func longReads(_ journal: Journal, count: Int) async throws -> (alone: [Double], reads: [LongRead]) {
    try journal.fillAudit(count: count, entry: auditEntry)
    var alone: [Double] = []
    for _ in 0..<1000 {
        alone.append(try await commit(journal))
        try await Task.sleep(for: .milliseconds(5))
    }
    var reads: [LongRead] = []
    for format in [ExportFormat.csv, .json] {
        let charges = ExportWriter(HistoryExport(journal: journal, filter: ChargeFilter(), zone: .gmt), format)
        reads.append(
            try await read("charges as \(format.rawValue.uppercased())", journal) { try await charges.next() }
        )
        let entries = AuditExport(journal: journal, format: format)
        reads.append(
            try await read("audit log as \(format.rawValue.uppercased())", journal) { try await entries.next() }
        )
    }
    reads.append(
        try await read("audit log's chain checked", journal) {
            guard case .intact = try await journal.verifyAudit() else { throw JournalError.corrupt(detail: "bench") }
            return nil
        }
    )
    return (alone, reads)
}

private func read(
    _ name: String,
    _ journal: Journal,
    next: @escaping @Sendable () async throws -> [UInt8]?
) async throws -> LongRead {
    try await withThrowingTaskGroup { group in
        group.addTask {
            var times: [Double] = []
            while !Task.isCancelled {
                times.append(try await commit(journal))
                do { try await Task.sleep(for: .milliseconds(5)) } catch { break }  // The read has ended.
            }
            return times
        }
        let clock = ContinuousClock()
        let began = clock.now
        var first: Double?
        var bytes = 0
        while let part = try await next() {
            if first == nil { first = (clock.now - began) / .milliseconds(1) }
            bytes += part.count
        }
        let whole = (clock.now - began) / .milliseconds(1)
        group.cancelAll()
        let commits = try await group.next() ?? []
        return LongRead(name: name, first: first, whole: whole, megabytes: Double(bytes) / 1e6, commits: commits)
    }
}

/// A step of the journal that is on the disk when it returns, as each of a charge's is.
private func commit(_ journal: Journal) async throws -> Double {
    let clock = ContinuousClock()
    let began = clock.now
    try await journal.audit(auditEntry(0))
    return (clock.now - began) / .milliseconds(1)
}

private func auditEntry(_ number: Int) -> AuditEntry {
    AuditEntry(
        at: WallTime(millisecondsSince1970: 1_700_000_000_000 + Int64(number) * 95_000),
        who: .staff(name: number % 2 == 0 ? "Ada" : "Grace"),
        from: "192.0.2.7",
        what: "charge",
        result: "ok",
        detail: "ch_\(number)"
    )
}

/// `exports, NAME: COUNT first X ms, whole Y ms, Z MB; …`, few and many in one line.
func printLongReads(_ counts: [Int], _ figures: [(alone: [Double], reads: [LongRead])]) {
    guard let few = figures.first, let many = figures.last else { return }
    for (one, other) in zip(few.reads, many.reads) {
        print(
            String(
                format:
                    "exports, %@: %d first %.2f ms, whole %.0f ms; %d first %.2f ms, whole %.0f ms, %.1f MB; growth %.1f",
                one.name,
                counts[0],
                one.first ?? 0,
                one.whole,
                counts[counts.count - 1],
                other.first ?? 0,
                other.whole,
                other.megabytes,
                other.whole / one.whole
            )
        )
    }
    let beside = many.reads.flatMap(\.commits)
    print(
        String(
            format: "commit beside them: p50 %.2f ms, p99 %.2f ms; alone p50 %.2f ms, p99 %.2f ms",
            percentile(beside, 50),
            percentile(beside, 99),
            percentile(many.alone, 50),
            percentile(many.alone, 99)
        )
    )
}

private func percentile(_ times: [Double], _ share: Int) -> Double {
    times.isEmpty ? .nan : times.sorted()[min(times.count - 1, times.count * share / 100)]
}
