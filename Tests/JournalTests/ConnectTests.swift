import Foundation
import FoundationEssentials
import GRDB
@testable import Journal
import Payments
import Subprocess
import Testing
import TestSupport

/// What is kept for WalletConnect: sealed, a batch whole or not at all, and a relay's messages until their time.
struct ConnectTests {
    let folder: TemporaryFolder
    let journal: Journal

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.open()
    }

    @Test func whatIsKeptComesBackAfterARestartByItsPrefix() async throws {
        try await change(["wc2/a/1": [1], "wc2/a/2": [2], "wc2/ab": [], "wc3/a": [4]])
        try await change(["wc2/a/1": [9], "wc2/a/2": nil, "wc2/a/none": nil])
        try journal.close()
        let again = try folder.open()
        #expect(try await again.connectValues(prefix: "wc2/") == ["wc2/a/1": [9], "wc2/ab": []])
        #expect(try await again.connectValues(prefix: "wc2/a/") == ["wc2/a/1": [9]])
        #expect(try await again.connectValues(prefix: "%").isEmpty)
        #expect(try await again.connectValues(prefix: "").count == 3)
    }

    @Test func ofTwoChangesToOneNameTheLaterWins() async throws {
        try await journal.change(
            connect: [
                ConnectChange(name: "a", bytes: [1]), ConnectChange(name: "a", bytes: nil),
                ConnectChange(name: "b", bytes: nil), ConnectChange(name: "b", bytes: [2]),
            ],
            at: .example
        )
        #expect(try await journal.connectValues(prefix: "") == ["b": [2]])
    }

    @Test func noFileHoldsAKeptValueInTheClear() async throws {
        let canary = "canary-5d21-pairing-key"
        for number in 0..<60 {
            try await change(["wc2/\(number % 3)": Array("\(canary)-\(number)".utf8), "wc3/\(number % 2)": nil])
        }
        var scanned = 0
        func scan() {
            for (name, data) in folder.contents {
                scanned += data.count
                #expect(data.range(of: Data(canary.utf8)) == nil, "\(name)")
            }
        }
        scan()
        #expect(folder.contents["journal.sqlite-wal"]?.isEmpty == false)
        try journal.close()
        scan()
        #expect(scanned > 10_000)
        let shown = ConnectChange(name: "wc2/x", bytes: Array(canary.utf8))
        var dumped = ""
        dump(shown, to: &dumped)
        for text in ["\(shown)", String(reflecting: shown), dumped] { #expect(!text.contains("99")) }
    }

    /// Each is a damaged row: changed bytes, another name's bytes, a secret's bytes, nothing.
    @Test(arguments: [
        "UPDATE connect SET sealed = CAST(sealed || x'00' AS BLOB) WHERE name = 'wc2/a'",
        "UPDATE connect SET sealed = (SELECT sealed FROM connect WHERE name = 'wc2/b') WHERE name = 'wc2/a'",
        "UPDATE connect SET sealed = (SELECT sealed FROM secret) WHERE name = 'wc2/a'",
        "UPDATE connect SET sealed = x'' WHERE name = 'wc2/a'",
    ])
    func aDamagedRowIsNamedAndNothingElseIsGiven(damage: String) async throws {
        try await change(["wc2/a": [1, 2], "wc2/b": [3, 4]])
        try await journal.setSecret("wc2/a", [1, 2], by: .terminal, at: .example)
        try await journal.pool.write { db in try db.execute(sql: damage) }
        await #expect {
            _ = try await journal.connectValues(prefix: "wc2/")
        } throws: { error in
            if case JournalError.corrupt(let detail) = error { detail.contains("wc2/a") } else { false }
        }
        try await journal.forgetConnect()
        #expect(try await journal.connectValues(prefix: "").isEmpty)
        #expect(try await journal.secret("wc2/a") == [1, 2])
    }

    @Test func aMessageIsKnownUntilItsTimeAndAfterARestart() async throws {
        func knows(_ journal: Journal, _ hash: String, _ seconds: Int64) async throws -> Bool {
            let time = WallTime(millisecondsSince1970: seconds * 1000)
            return try await journal.knowsRelayMessage(topic: "t", hash: hash, at: time)
        }
        try await remember("h", until: 100, at: 1)
        #expect(try await knows(journal, "h", 100))
        #expect(try await !knows(journal, "h", 101))
        #expect(try await !knows(journal, "other", 1))
        #expect(try await !journal.knowsRelayMessage(topic: "u", hash: "h", at: WallTime(millisecondsSince1970: 0)))
        try await remember("h", until: 50, at: 2)  // A copy that is older takes nothing back.
        #expect(try await knows(journal, "h", 100))
        try journal.close()
        let again = try folder.open()
        #expect(try await knows(again, "h", 100))
    }

    @Test func whatIsPastItsTimeIsForgottenAndTheOldestBeyondTheLimit() async throws {
        for number in 0..<50 { try await remember("h\(number)", until: Int64(number), at: 0, limit: 20) }
        #expect(try await hashes() == Set((30..<50).map { "h\($0)" }))
        try await remember("new", until: 90, at: 45, limit: 20)
        #expect(try await hashes() == ["h45", "h46", "h47", "h48", "h49", "new"])
        try await remember("last", until: 99, at: 95, limit: 20)
        #expect(try await hashes() == ["last"])
    }

    /// A kill between any two writes, and within one.
    @Test(.timeLimit(.minutes(3)))
    func aBatchIsWholeOrAbsentWheneverTheProgramIsKilled() async throws {
        try journal.close()
        var (next, told) = (1, 0)
        for round in 0..<30 {
            let lines = try await linesOfWriter(from: next, killAfter: 1 + round % 7 * 3)
            #expect(!lines.contains { $0.hasPrefix("failed") || $0.hasPrefix("stopped") }, "\(lines)")
            let (safe, taken) = (last("safe", lines), last("taken", lines))
            told += (safe ?? 0) > 0 ? 1 : 0
            let journal = try folder.open()
            let there = try await batch(in: journal)
            // All that was told, and at most the one that was under way.
            let least = safe ?? next - 1
            #expect(there == least || there == least + 1, "\(there) after \(lines)")
            if let taken {
                let (topic, hash) = ("topic", "hash \(taken)")
                #expect(try await journal.knowsRelayMessage(topic: topic, hash: hash, at: .example))
            }
            try journal.close()
            next = there + 1
        }
        #expect(told > 20)
    }

    /// The storage runs full in the middle of a write.
    @Test(.timeLimit(.minutes(3)))
    func aBatchThatFindsNoRoomLeavesTheOneBefore() async throws {
        try journal.close()
        let size = try #require(folder.contents["journal.sqlite"]).count
        for _ in 0..<Tries.share(of: 15) {
            let copy = try folder.copy()
            let result = try await run(
                .path(Writer.program),
                arguments: ["connect", copy.path, "1", "\(size + Int.random(in: 1...60_000))"],
                output: .string(limit: 1 << 20),
                error: .discarded
            )
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            #expect(lines.contains { $0.hasPrefix("failed") })
            let journal = try copy.open()
            #expect(try await batch(in: journal) == last("safe", lines) ?? 0)
            try journal.close()
        }
    }

    // MARK: - Helpers

    private func change(_ values: [String: [UInt8]?]) async throws {
        try await journal.change(
            connect: values.map { ConnectChange(name: $0.key, bytes: $0.value) },
            at: .example
        )
    }

    private func remember(_ hash: String, until: Int64, at seconds: Int64, limit: Int = 1000) async throws {
        let time = WallTime(millisecondsSince1970: seconds * 1000)
        try await journal.rememberRelayMessage(topic: "t", hash: hash, until: until, limit: limit, at: time)
    }

    private func hashes() async throws -> Set<String> {
        try await journal.pool.read { try String.fetchSet($0, sql: "SELECT hash FROM relay_message") }
    }

    /// The number that the three values of the writer's last batch say; 0: there is none.
    private func batch(in journal: Journal) async throws -> Int {
        let values = try await journal.connectValues(prefix: "wc2/")
        guard !values.isEmpty else { return 0 }
        let only = values.keys.filter { $0.hasPrefix("wc2/only/") }
        let number = try #require(only.first?.split(separator: "/").last.flatMap { Int($0) })
        let word = Array("canary-\(number)-".utf8)
        #expect(values.count == 3 && Set(values.values).count == 1, "\(values.keys)")
        #expect(values.values.allSatisfy { $0.starts(with: word) })
        return number
    }

    private func last(_ word: String, _ lines: [String]) -> Int? {
        lines.last { $0.hasPrefix(word + " ") }.flatMap { Int($0.dropFirst(word.count + 1)) }
    }

    private func linesOfWriter(from number: Int, killAfter line: Int) async throws -> [String] {
        try await run(
            .path(Writer.program),
            arguments: ["connect", folder.path, "\(number)"],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution -> [String] in
            var lines: [String] = []
            for try await text in execution.standardOutput.strings() {
                lines.append(text.trimmingCharacters(in: .newlines))
                if lines.count == line { try execution.send(signal: .kill) }
            }
            return lines
        }.closureResult
    }
}
