import Dispatch
import Foundation
import GRDB
import Glibc
@testable import Journal
import Payments
import Testing
import TestSupport

/// Storage that refuses: nothing is half recorded, the error says what it is, and the journal works again afterwards.
struct FaultTests {
    let folder: TemporaryFolder
    let journal: Journal

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.open()
    }

    /// A storage that hangs neither takes a write nor refuses it.
    @Test func aWriteWithoutAnAnswerIsSeenToWait() async throws {
        let folder = try TemporaryFolder()
        let journal = try folder.open()
        #expect(journal.stalledFor == nil)
        let hold = DispatchSemaphore(value: 0)
        let (begun, beginning) = AsyncStream<Never>.makeStream()
        let write = Task {
            try await journal.writing { _ in
                beginning.finish()
                hold.wait()
            }
        }
        for await _ in begun {}
        let second = Task { try await journal.audit(.example(1)) }
        let first = try #require(journal.stalledFor)
        while try #require(journal.stalledFor) <= first + .milliseconds(20) { await Task.yield() }
        hold.signal()
        try await write.value
        try await second.value
        while journal.stalledFor != nil { await Task.yield() }
        try journal.close()
    }

    @Test func aFullDatabaseRefusesEachNthPageWhole() async throws {
        try await journal.fill(charges: 2)
        for spare in 0..<12 {
            let pages = try await journal.pool.read { try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0 }
            try await limitPages(to: pages + spare)
            var before = try await journal.everything(charges: 2)
            var refusal: JournalError?
            while refusal == nil {
                before = try await journal.everything(charges: 2)
                let terms = ChargeTerms.example(reference: String(repeating: "r", count: 900))
                do throws(JournalError) { try await journal.open(terms, under: nil, from: "192.0.2.7") } catch {
                    refusal = error
                }
            }
            #expect(refusal == .diskFull)
            #expect(try await journal.everything(charges: 2) == before)
            try await limitPages(to: 1_000_000)
            try await journal.play(Charge.Event.paid)
            #expect(try await journal.verifyChain() == journal.wholeChain())
        }
    }

    private func limitPages(to count: Int) async throws {
        try await journal.pool.writeWithoutTransaction { db in
            _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(count)")
        }
    }

    /// `/dev/full` in place of the log: each write finds no room.
    @Test func aFullDiskRefusesAndTheNextWriteAfterItSucceeds() async throws {
        let charge = try await journal.play(Charge.Event.paid)
        let key = IdempotencyKey(key: "k", requestDigest: [1])
        let refused = ChargeTerms.example()
        try await withLog(replacedBy: "/dev/full") {
            await #expect(throws: JournalError.diskFull) { try await journal.open(refused, under: key) }
            await #expect(throws: JournalError.diskFull) {
                try await journal.append(.resumed, to: charge, at: .example)
            }
            await #expect(throws: JournalError.diskFull) { try await journal.audit(.example(1)) }
            let known = try await journal.charge(charge.id)
            #expect(known?.charge == charge)
        }
        #expect(try await journal.charge(refused.id) == nil)
        #expect(try await journal.chargeOpened(under: "k") == nil)
        try await journal.play(Charge.Event.paid, refused, under: key)
        #expect(try await journal.verifyChain().count == 12)
        let crashed = try folder.copy()
        #expect(try await crashed.open().verifyChain().count == 12)
    }

    @Test func aDocumentAndItsSecretAreStoredTogetherOrNotAtAll() async throws {
        func save(_ word: String, expecting version: Int?) async throws(JournalError) -> DocumentChange {
            let secret = SecretChange(name: "key", bytes: Array("key of \(word)".utf8))
            let body = Array(word.utf8)
            return try await journal.setDocument(
                "d",
                body,
                expecting: version,
                with: secret,
                by: .terminal,
                at: .example
            )
        }
        func expectStored(_ word: String) async throws {
            #expect(try await journal.document("d")?.bytes == Array(word.utf8))
            #expect(try await journal.secret("key") == Array("key of \(word)".utf8))
        }
        #expect(try await save("one", expecting: nil) == .stored(version: 1))
        try await expectStored("one")
        try await withLog(replacedBy: "/dev/full") {
            await #expect(throws: JournalError.diskFull) { try await save("two", expecting: 1) }
            try await expectStored("one")
        }
        guard case .conflict = try await save("three", expecting: nil) else {
            Issue.record("a change of an older version was stored")
            return
        }
        try await expectStored("one")
        #expect(try await save("four", expecting: 1) == .stored(version: 2))
        try await expectStored("four")
    }

    @Test func whoeverUsesAClosedJournalGetsAnErrorAndNothingIsWritten() async throws {
        let charge = try await journal.play(Charge.Event.paid)
        try await withThrowingDiscardingTaskGroup { group in
            for number in 0..<40 {
                group.addTask { [journal] in
                    // Taken before the end or refused; never half of it.
                    do throws(JournalError) { try await journal.audit(.example(number)) } catch {
                        guard case .unavailable = error else { throw error }
                    }
                }
            }
            try journal.close()
        }
        for _ in 0..<2 {
            await #expect {
                try await journal.append(.resumed, to: charge, at: .example)
            } throws: { error in
                if case JournalError.unavailable = error { true } else { false }
            }
            await #expect(throws: JournalError.self) { _ = try await journal.charge(charge.id) }
            try journal.close()
        }
        #expect(try await folder.open().verifyChain().count == 6)
    }

    /// A device that swallows writes and fails to sync. An append returns only after a sync, so it fails; and because the
    /// system may have dropped what it could not sync, nothing is written until the journal was opened anew.
    @Test func aFailedSyncIsNoSuccessAndEndsWriting() async throws {
        let charge = try await journal.play(Charge.Event.paid)
        func expectRefusal() async {
            await #expect {
                try await journal.append(.resumed, to: charge, at: .example)
            } throws: { error in
                if case JournalError.lostWrite = error { true } else { false }
            }
            guard case .lostWrite? = await journal.writeFault() else {
                Issue.record("it is not said that only a restart helps")
                return
            }
        }
        try await withLog(replacedBy: "/dev/zero") { await expectRefusal() }
        await expectRefusal()
        #expect(try await journal.charge(charge.id)?.charge == charge)
        try journal.close()
        let again = try folder.open()
        #expect(try await again.verifyChain().count == 6)
        try await again.append(.resumed, to: charge, at: .example)
        #expect(try await again.verifyChain().count == 7)
    }

    /// SQLite leaves out pages whose bytes are the same: a probe that changes nothing writes nothing, and reports success.
    @Test func whoeverAsksWhetherItCanBeWrittenIsNotToldYesWhileNoWriteWorks() async throws {
        let charge = try await journal.play(Charge.Event.paid)
        #expect(await journal.writeFault() == nil)
        try await withLog(replacedBy: "/dev/full") {
            await #expect(throws: JournalError.diskFull) {
                try await journal.append(.resumed, to: charge, at: .example)
            }
            for _ in 0..<3 { #expect(await journal.writeFault() == .diskFull) }
        }
        for _ in 0..<3 { #expect(await journal.writeFault() == nil) }
        try journal.close()
        // Nothing was written since the start: whoever asks is the first to find out.
        let again = try folder.open()
        try await withLog(of: again, replacedBy: "/dev/full") { #expect(await again.writeFault() == .diskFull) }
        #expect(await again.writeFault() == nil)
    }

    enum Harm: CaseIterable { case deletedLog, deletedDatabase, replacedDatabase, cutDatabase, cutLog }

    /// SQLite goes on writing into a file that has no name any more, and reports success.
    @Test(arguments: Harm.allCases)
    func aRecordThatIsDeletedReplacedOrCutUnderTheProgramIsNoticedAtTheNextEntry(harm: Harm) async throws {
        let charge = try await journal.play(Charge.Event.paid)
        try harm.happen(to: folder)
        await #expect {
            try await journal.append(.resumed, to: charge, at: .example)
        } throws: { error in
            if case JournalError.replaced = error { true } else { false }
        }
        for fault in [await journal.writeFault(), await journal.recordFault()] {
            guard case .replaced? = fault else {
                Issue.record("health does not say so: \(String(describing: fault))")
                continue
            }
        }
    }

    /// SQLite calls a page that could not be read a damaged one. `/proc/self/mem` answers the first read with EIO.
    @Test func aPageThatTheStorageCannotReadIsNotCalledADamagedRecord() throws {
        let corrupt = DatabaseError(resultCode: .SQLITE_CORRUPT)
        guard case .corrupt = JournalError(corrupt, in: folder.path) else {
            Issue.record("what can be read and is damaged is called so")
            return
        }
        let broken = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: broken.database, withDestinationPath: "/proc/self/mem")
        guard case .unavailable(let detail) = JournalError(corrupt, in: broken.path) else {
            Issue.record("a storage that cannot be read is called a damaged record")
            return
        }
        #expect(detail.contains("cannot be read"))
    }

    @Test func aStorageThatTakesNoWritesIsNamed() async throws {
        let charge = try await journal.play([])
        try await journal.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = ON") }
        await #expect {
            try await journal.append(.resumed, to: charge, at: .example)
        } throws: { error in
            if case JournalError.readOnly = error { true } else { false }
        }
        try await journal.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = OFF") }
        try await journal.append(.resumed, to: charge, at: .example)
        #expect(try await journal.verifyChain().count == 2)
    }

    /// A real file system of half a megabyte.
    @Test(.enabled(if: SmallDisk.isPossible, "mounting a small file system needs root"))
    func aFullFileSystemRefusesAndFreedRoomIsUsed() async throws {
        let disk = try SmallDisk(bytes: 512 * 1024)
        let key = try DeviceKey.loadOrCreate(at: folder.path + "/device.key")
        let journal = try Journal.open(directory: disk.path, deviceKey: key)
        let charge = try await journal.play(Charge.Event.paid)
        let ballast = disk.path + "/ballast"
        var entries = 6
        for _ in 0..<3 {
            try disk.fill(ballast)
            var refusal: JournalError?
            while refusal == nil {
                do throws(JournalError) {
                    try await journal.append(.resumed, to: charge, at: .example)
                    entries += 1
                } catch { refusal = error }
            }
            #expect(refusal == .diskFull)
            #expect(try await journal.verifyChain().count == entries)
            try FileManager.default.removeItem(atPath: ballast)
            try await journal.append(.resumed, to: charge, at: .example)
            entries += 1
        }
        #expect(try await journal.verifyChain().count == entries)
        try journal.close()
        try disk.fill(ballast)
        #expect(throws: JournalError.diskFull) { try Journal.open(directory: disk.path, deviceKey: key).close() }
        try FileManager.default.removeItem(atPath: ballast)
        let again = try Journal.open(directory: disk.path, deviceKey: key)
        #expect(try await again.verifyChain().count == entries)
        try again.close()
    }

    /// Puts a device in place of the log, for every descriptor that this process has of it.
    private func withLog(
        of other: Journal? = nil,
        replacedBy device: String,
        _ body: () async throws -> Void
    ) async throws {
        let journal = other ?? journal
        // What is read comes from the file itself then: the device has nothing to read.
        try await journal.pool.writeWithoutTransaction { try journal.emptyLog($0) }
        let replacement = unsafe open(device, O_RDWR | O_CLOEXEC)
        try #require(replacement >= 0)
        // All are found before the first is copied: a copy is not to be taken for another one.
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let descriptors = names.compactMap(Int32.init).filter { descriptor in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return target == folder.log
        }
        let saved = descriptors.map { (descriptor: $0, copy: fcntl($0, F_DUPFD_CLOEXEC, 0)) }
        for descriptor in descriptors { dup2(replacement, descriptor) }
        #expect(!saved.isEmpty)
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        for (descriptor, copy) in saved {
            dup2(copy, descriptor)
            close(copy)
        }
        close(replacement)
        try result.get()
    }
}

extension FaultTests.Harm {
    fileprivate func happen(to folder: TemporaryFolder) throws {
        let files = FileManager.default
        switch self {
        case .deletedLog: try files.removeItem(atPath: folder.log)
        case .deletedDatabase: try files.removeItem(atPath: folder.database)
        case .replacedDatabase:
            let copy = folder.path + "/copy"
            try files.copyItem(atPath: folder.database, toPath: copy)
            #expect(unsafe rename(copy, folder.database) == 0)
        case .cutDatabase: #expect(unsafe truncate(folder.database, 4096) == 0)
        case .cutLog: #expect(unsafe truncate(folder.log, 4096) == 0)
        }
    }
}

/// A file system in memory, of few bytes.
private final class SmallDisk {
    static let isPossible: Bool = {
        do { _ = try SmallDisk(bytes: 65_536) } catch { return false }
        return true
    }()

    private let folder: TemporaryFolder
    var path: String { folder.path + "/disk" }

    init(bytes: Int) throws {
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/disk", withIntermediateDirectories: true)
        let options = Array("size=\(bytes)".utf8CString)
        guard unsafe mount("tmpfs", folder.path + "/disk", "tmpfs", 0, options) == 0 else {
            throw JournalError.unavailable(detail: "mount")
        }
    }

    func fill(_ file: String) throws {
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 1, count: 4096)
        while unsafe write(descriptor, bytes, bytes.count) > 0 {}
    }

    deinit { unsafe umount2(path, Int32(MNT_DETACH)) }
}
