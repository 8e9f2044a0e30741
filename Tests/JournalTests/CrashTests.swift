import Foundation
import FoundationEssentials
import Glibc
@testable import Journal
import Payments
import Subprocess
import SystemPackage
import Testing
import TestSupport

/// The program that appends until it is ended, as it was built for this test run.
enum Writer {
    static let program = FilePath(BuildFolder.program("till-bench-journal"))

    /// What a run said before it ended.
    struct Account: Sendable {
        /// Entries that stood in the journal when it was opened; nil: it did not come so far.
        var entriesAtStart: Int64?
        /// The last charge of which something was safe, and how many of its entries.
        var lastCharge: ChargeID?
        var safeOfLastCharge = 0
        var safe: Int64 = 0
        var failures: [String] = []

        mutating func hear(_ line: String) {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "ready": entriesAtStart = words.last.flatMap { Int64($0) }
            case "safe":
                safe += 1
                lastCharge = ChargeID(words[1])
                safeOfLastCharge = Int(words[2]) ?? 0
            default: failures.append(line)
            }
        }
    }

    /// Runs the writer and kills it some time after its `line`-th line, as a power cut would: no handler runs.
    static func killed(in folder: String, afterLine line: Int, then wait: Duration) async throws -> Account {
        try await run(
            .path(program),
            arguments: ["append", folder],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution -> Account in
            var account = Account()
            var count = 0
            return try await withThrowingTaskGroup(of: Void.self) { group in
                func kill() {
                    group.addTask {
                        try await Task.sleep(for: wait)
                        try execution.send(signal: .kill)
                    }
                }
                if line == 0 { kill() }
                for try await text in execution.standardOutput.strings() {
                    account.hear(text.trimmingCharacters(in: .newlines))
                    count += 1
                    if count == line { kill() }
                }
                return account
            }
        }.closureResult
    }

    /// Runs the writer to its end.
    static func ended(in folder: String, limit: Int) async throws -> Account {
        let result = try await run(
            .path(program),
            arguments: ["append", folder, "\(limit)"],
            output: .string(limit: 1 << 20),
            error: .discarded
        )
        var account = Account()
        for line in result.standardOutput.split(separator: "\n") { account.hear(String(line)) }
        return account
    }
}

struct CrashTests {
    /// Source: reliability practice "acknowledged is present, unacknowledged is absent or whole".
    @Test(.timeLimit(.minutes(10)))
    func whatWasAcknowledgedSurvivesAKillAtAnyPoint() async throws {
        var folder = try TemporaryFolder()
        var (rounds, acknowledged, entries) = (0, 0, Int64(0))
        while rounds < Tries.share(of: 120) {
            if rounds % 20 == 0 {
                folder = try TemporaryFolder()
                entries = 0
            }
            let account = try await Writer.killed(
                in: folder.path,
                afterLine: Int.random(in: 0...60),
                then: .microseconds(Int.random(in: 0...4000))
            )
            rounds += 1
            acknowledged += Int(account.safe)
            #expect(account.failures.isEmpty)
            if let start = account.entriesAtStart { #expect(start == entries) }

            let journal = try folder.open()
            let check = try await journal.verifyChain()
            let before = entries
            entries = Int64(check.count)
            // All that was acknowledged, and at most the one that was under way.
            #expect((before + account.safe...before + account.safe + 1).contains(entries), "\(check) \(account)")
            if let last = account.lastCharge {
                let events = try await journal.events(of: last)
                #expect((account.safeOfLastCharge...account.safeOfLastCharge + 1).contains(events.count))
                let replayed = Charge(
                    terms: try #require(try await journal.charge(last)).charge.terms,
                    replaying: events.compactMap(\.event)
                )
                #expect(try await journal.charge(last)?.charge == replayed)
            }
            #expect(!journal.startup.didRebuild)
            #expect(try await journal.verifyProjections() == nil)
            try journal.close()
        }
        print("\(rounds) kills, \(acknowledged) acknowledged entries, none lost")
        #expect(acknowledged > rounds)
    }

    /// The storage runs full at a byte in the middle of a write, for many bytes.
    @Test(.timeLimit(.minutes(10)))
    func aWriteThatFailsAtAnyByteLeavesNothingHalfWritten() async throws {
        let made = try TemporaryFolder()
        try made.open().close()
        let size = try #require(made.contents["journal.sqlite"]).count
        for _ in 0..<Tries.share(of: 30) {
            let folder = try made.copy()
            let account = try await Writer.ended(
                in: folder.path,
                limit: size + Int.random(in: 1...60_000)
            )
            #expect(!account.failures.isEmpty)
            let journal = try folder.open()
            let check = try await journal.verifyChain()
            #expect(check.count == Int(account.safe), "\(check) \(account)")
            #expect(!journal.startup.didRebuild)
            #expect(try await journal.verifyProjections() == nil)
            try await journal.play(Charge.Event.paid)
            try journal.close()
        }
    }
}
