import Dispatch
import GRDB
@testable import Journal
import Locks
import Payments
import Testing
import TestSupport

struct ConcurrencyTests {
    let folder: TemporaryFolder
    let journal: Journal

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.open()
    }

    @Test func sixtyFourTasksWriteOneChain() async throws {
        let charges = try await withThrowingTaskGroup(of: Charge.self) { group in
            for number in 0..<64 {
                group.addTask { [journal] in
                    try await journal.audit(.example(number))
                    return try await journal.play(Charge.Event.paid)
                }
                group.addTask { [journal] in
                    _ = try await journal.verifyChain()
                    return try await journal.play([])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for charge in charges { #expect(try await journal.charge(charge.id)?.charge == charge) }
        #expect(try await journal.verifyChain() == journal.wholeChain())
        #expect(try await journal.verifyChain().count == 64 * 7)
        #expect(try await journal.verifyAudit().count == 64)
    }

    /// What waits for the writer at the same time shares a transaction; a refusal is still one's own.
    @Test func ofManyThatWaitTogetherOnlyTheWrongOneIsRefused() async throws {
        let charges = try await withThrowingTaskGroup(of: Charge.self) { group in
            for _ in 0..<8 { group.addTask { [journal] in try await journal.play([]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let stranger = Charge(terms: .example())
        let start = try await journal.verifyChain().count
        let gate = DispatchSemaphore(value: 0)
        journal.pool.asyncWriteWithoutTransaction { _ in gate.wait() }
        let refusals = await withTaskGroup(of: JournalError?.self) { group in
            for charge in charges + [stranger] {
                group.addTask { [journal] in
                    do throws(JournalError) { try await journal.append(.resumed, to: charge, at: .example) } catch {
                        return error
                    }
                    return nil
                }
            }
            while journal.queue.withLock({ $0.jobs.count < 9 }) { await Task.yield() }
            gate.signal()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(refusals.compactMap(\.self).count == 1)
        #expect(try await journal.verifyChain() == journal.wholeChain())
        #expect(try await journal.verifyChain().count == start + 8)
        #expect(try await journal.events(of: stranger.id).isEmpty)
    }

    @Test func ofManyChangesToOneVersionExactlyOneWins() async throws {
        for version in 0..<8 {
            let changes = try await withThrowingTaskGroup(of: DocumentChange.self) { group in
                for number in 0..<64 {
                    group.addTask { [journal] in
                        try await journal.setDocument(
                            "settings",
                            [UInt8(number)],
                            expecting: version == 0 ? nil : version,
                            by: .terminal,
                            at: .example
                        )
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let current = try await journal.document("settings")
            #expect(changes.filter { $0 == .stored(version: version + 1) }.count == 1)
            #expect(changes.filter { $0 == .conflict(current: current) }.count == 63)
        }
    }

    @Test func ofManyChargesUnderOneKeyExactlyOneIsOpened() async throws {
        let key = IdempotencyKey(key: "k", requestDigest: [1])
        let opened = await withTaskGroup(of: ChargeID?.self) { group in
            for _ in 0..<64 {
                group.addTask { [journal] in
                    let terms = ChargeTerms.example()
                    do { try await journal.open(terms, under: key) } catch { return nil }
                    return terms.id
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }.compactMap(\.self)
        #expect(opened.count == 1)
        #expect(try await journal.chargeOpened(under: "k")?.id == opened.first)
        #expect(try await journal.charges(before: nil, limit: 100, state: nil).map(\.charge.id) == opened)
    }

    @Test func aCancelledTaskStillWritesWhatItWasAskedTo() async throws {
        let charge = try await journal.play([])
        let task = Task { [journal] in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await journal.append(.cancelRequested(by: .customer), to: charge, at: .example)
        }
        try await task.value
        #expect(try await journal.events(of: charge.id).count == 2)
    }

    /// A slow storage must not stop what has nothing to do with it.
    @Test(.timeLimit(.minutes(1)))
    func tasksGoOnWhileTheStorageIsSlow() async throws {
        let charge = try await journal.play([])
        let storage = DispatchSemaphore(value: 0)
        journal.pool.asyncWriteWithoutTransaction { _ in storage.wait() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask { [journal] in try await journal.append(.resumed, to: charge, at: .example) }
            }
            for _ in 0..<64 { await Task { await Task.yield() }.value }
            storage.signal()
            try await group.waitForAll()
        }
        #expect(try await journal.events(of: charge.id).count == 65)
    }
}
