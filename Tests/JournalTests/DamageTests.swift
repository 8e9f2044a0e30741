import Foundation
import Glibc
@testable import Journal
import Payments
import Testing
import TestSupport

/// Storage that changes or loses bytes: the journal says so, or what it tells is what was written.
struct DamageTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// What a damaged journal tells; nil where it names the damage.
    private func told(_ folder: TemporaryFolder, charges: Int = 4) async throws -> Everything? {
        let files = folder.journalFiles
        let journal: Journal
        do { journal = try folder.open() } catch {
            try expectNamed(error)
            // Nothing that could be restored from was touched.
            #expect(folder.journalFiles == files)
            return nil
        }
        defer { try? journal.close() }
        do { return try await journal.everything(charges: charges) } catch let error as JournalError {
            try expectNamed(error)
            return nil
        }
    }

    private func expectNamed(_ error: JournalError) throws {
        switch error {
        case .corrupt, .fromNewerVersion: break
        default: Issue.record("unclear: \(error)")
        }
    }

    @Test func aChangedByteInTheFileIsNamedOrHarmless() async throws {
        let journal = try folder.open()
        try await journal.fill(charges: 4)
        let truth = try await journal.everything(charges: 4)
        try journal.close()
        let bytes = Array(try #require(folder.contents["journal.sqlite"]))
        // Most of a small file is empty; bytes that hold something tell more.
        let written = bytes.indices.filter { bytes[$0] != 0 }
        var offsets = Array(stride(from: 0, to: 110, by: 2))
        offsets += (0..<Tries.share(of: 150)).map { _ in written.randomElement() ?? 0 }
        var named = 0
        for offset in offsets {
            let copy = try folder.copy()
            let mask = UInt8(1) << UInt8.random(in: 0..<8)
            try copy.change(copy.database) { $0[offset] ^= mask }
            if let told = try await told(copy) {
                #expect(told == truth, "offset \(offset), mask \(mask)")
            } else {
                named += 1
            }
        }
        print("\(named) of \(offsets.count) changed bytes were named, the others were harmless")
        #expect(named > 0)
    }

    @Test func aChangedColumnNameIsDamageAndNoRiddle() async throws {
        let journal = try folder.open()
        try await journal.fill(charges: 1)
        try journal.close()
        try folder.change(folder.database) { data in
            var changed = 0
            while let name = data.range(of: Data("identifier".utf8)) {
                data.replaceSubrange(name, with: Data("identifies".utf8))
                changed += 1
            }
            #expect(changed > 0)
        }
        #expect(try await told(folder, charges: 1) == nil)
    }

    /// SQLite would take such a log up to the changed byte and drop the rest without a word.
    @Test func aChangedByteInTheLogIsNamedOrCostsNoMoreThanTheLastChange() async throws {
        let journal = try folder.open()
        try await journal.fill(charges: 4)
        let truth = try await journal.everything(charges: 4)
        let crashed = try folder.copy()
        let size = try #require(crashed.contents["journal.sqlite-wal"]).count
        var offsets = Array(stride(from: 0, to: 60, by: 2))
        offsets += (0..<Tries.share(of: 70)).map { _ in Int.random(in: 60..<size) }
        offsets += (0..<Tries.share(of: 20)).map { _ in Int.random(in: size - 20_000..<size) }
        var (named, harmless) = (0, 0)
        for offset in offsets {
            let copy = try crashed.copy()
            try copy.change(copy.log) { $0[offset] ^= 1 << UInt8.random(in: 0..<8) }
            guard let told = try await told(copy) else {
                named += 1
                continue
            }
            harmless += told == truth ? 1 : 0
            // The last change was an audit entry.
            var expected = truth
            if told.audit != truth.audit { expected.audit.removeFirst() }
            #expect(told == expected, "offset \(offset)")
        }
        print("\(named) of \(offsets.count) changed bytes of the log were named, \(harmless) were harmless")
        #expect(named > offsets.count / 2)
    }

    /// The place that the log has beforehand is taken once, and holds nothing that a start could trip over.
    @Test func aLogWithItsPlaceTakenIsReadLikeAnother() async throws {
        let journal = try folder.open()
        try await journal.reserveLog()
        let unused = try folder.copy()
        #expect(try await told(unused, charges: 0)?.chain?.brokenAt == nil)
        try await journal.fill(charges: 4)
        try await journal.reserveLog()
        let truth = try await journal.everything(charges: 4)
        let crashed = try folder.copy()
        let log = try #require(crashed.contents["journal.sqlite-wal"])
        #expect(log.count == WriteAheadLog.usualBytes)
        let used = try #require(log.lastIndex { $0 != 0 }) + 1
        #expect(used < log.count / 2)
        #expect(try await told(try crashed.copy()) == truth)
        // A power cut while the place was taken.
        for length in [used, used + 1, used + 4119, Int.random(in: used..<log.count)] {
            let copy = try crashed.copy()
            try copy.change(copy.log) { $0 = $0.prefix(length) }
            #expect(try await told(copy) == truth, "\(length) of \(log.count) bytes")
        }
        // A storage that wrote something else there.
        let copy = try crashed.copy()
        try copy.change(copy.log) { $0[Int.random(in: used..<log.count)] = 1 }
        #expect(try await told(copy) == truth)
    }

    @Test func appendsGoWhereTheLogHasItsPlace() async throws {
        let journal = try folder.open()
        try await journal.reserveLog()
        func blocks() -> Int {
            var status = stat()
            return unsafe stat(folder.log, &status) == 0 ? Int(status.st_blocks) * 512 : 0
        }
        #expect(blocks() >= WriteAheadLog.usualBytes, "written, and no hole")
        // Some 3000 pages: the log is taken over into the file on the way.
        for number in 0..<120 {
            try await journal.setSecret(
                "secret \(number)",
                [UInt8](repeating: 7, count: 60_000),
                by: .terminal,
                at: .example
            )
        }
        #expect(
            Storage.size(folder.log).map { $0 <= WriteAheadLog.usualBytes } == true,
            "\(Storage.size(folder.log) ?? 0)"
        )
    }

    @Test func aFileThatLostItsEndIsNamed() async throws {
        let journal = try folder.open()
        try await journal.fill(charges: 4)
        try journal.close()
        let size = try #require(folder.contents["journal.sqlite"]).count
        for length in [0, 1, 99, 100, 512, 4095, 4096, 8192, size / 2, size - 4096, size - 1] {
            let copy = try folder.copy()
            try copy.change(copy.database) { $0 = $0.prefix(length) }
            #expect(try await told(copy) == nil, "\(length) of \(size) bytes")
        }
    }

    /// As a power cut leaves it where the end of the log was not yet on the storage: an earlier state, whole.
    @Test func aLogThatLostItsEndGivesAnEarlierStateWholeAndIsNamed() async throws {
        let journal = try folder.open()
        try await journal.play([])
        try journal.close()
        let again = try folder.open()
        var states: [Everything] = []
        for _ in 0..<12 {
            states.append(try await again.everything(charges: 0).withoutTheCheck)
            try await again.play([.attemptStarted(attempt: 1, rail: .scan)])
        }
        states.append(try await again.everything(charges: 0).withoutTheCheck)
        let crashed = try folder.copy()
        let size = try #require(crashed.contents["journal.sqlite-wal"]).count
        var counts: Set<Int> = []
        for length in [0, 1, 31, 32, 33, size] + (0..<Tries.share(of: 40)).map({ _ in Int.random(in: 0..<size) }) {
            let copy = try crashed.copy()
            try copy.change(copy.log) { $0 = $0.prefix(length) }
            let told = try #require(try await told(copy, charges: 0), "\(length) of \(size) bytes")
            // 25 were written: what is not there is named from its first entry.
            let count = told.events.reduce(0) { $0 + $1.count }
            #expect(told.chain?.brokenAt == (count == 25 ? nil : Int64(count + 1)), "\(length) of \(size) bytes")
            // Between two states lies one where the charge is open and its first event is not there yet.
            if count % 2 == 1 {
                #expect(states.contains(told.withoutTheCheck), "\(length) of \(size) bytes")
            }
            counts.insert(count)
        }
        #expect(counts.count > 5)
        #expect(counts.max() == 25)
    }
}
