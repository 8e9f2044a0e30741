import Dispatch
import Foundation
import Journal
import Locks
import Logging
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// Hashes take 64 MiB each: one at a time, in a short line.
@Suite(.timeLimit(.minutes(2)))
struct HashingQueueTests {
    /// Written by many at once.
    private final class Noted<Value: Sendable>: Sendable {
        private let value: Mutex<Value>

        init(_ value: Value) { self.value = Mutex(value) }

        func withLock<Result: Sendable>(_ work: (inout Value) -> Result) -> Result {
            value.withLock { value in work(&value) }
        }
    }

    /// Holds the queue until it is let go.
    private func hold(_ queue: HashingQueue) async -> (hold: DispatchSemaphore, task: Task<Void, any Error>) {
        let (begun, beginning) = AsyncStream<Never>.makeStream()
        let hold = DispatchSemaphore(value: 0)
        let task = Task {
            try await queue.compute(for: .stranger(wrong: 1)) {
                beginning.finish()
                hold.wait()
            }
        }
        for await _ in begun {}
        return (hold, task)
    }

    @Test func strangersHaveFewPlacesAndWhoIsKnownGoesFirst() async throws {
        let queue = HashingQueue()
        let (hold, first) = await hold(queue)
        let order = Noted<[String]>([])
        let strangers = (0..<HashingQueue.mostStrangers).map { number in
            Task {
                try await queue.compute(for: .stranger(wrong: 1)) { order.withLock { $0.append("stranger \(number)") } }
            }
        }
        while queue.strangersWaiting < HashingQueue.mostStrangers { await Task.yield() }
        #expect(throws: HashingQueue.busy) { try queue.requirePlace(for: .stranger(wrong: 1)) }
        #expect(HashingQueue.busy.status == 503 && HashingQueue.busy.response.headers["Retry-After"] != nil)
        try queue.requirePlace(for: .known)
        let known = Task { try await queue.compute(for: .known) { order.withLock { $0.append("owner") } } }
        while queue.knownWaiting < 1 { await Task.yield() }
        hold.signal()
        try await first.value
        for task in strangers + [known] { try await task.value }
        #expect(order.withLock { $0.first } == "owner")
        #expect(order.withLock { $0.count } == HashingQueue.mostStrangers + 1)
        try queue.requirePlace(for: .stranger(wrong: 1))
    }

    @Test func whoWasWrongLeastOftenGoesFirstAndWhoWasWrongMostIsSentAway() async throws {
        let queue = HashingQueue()
        let (hold, first) = await hold(queue)
        let order = Noted<[Int]>([])
        // One more than may wait, the least wanted first.
        let most = HashingQueue.mostStrangers
        var guesses: [Task<Void, any Error>] = []
        for wrong in (1...most + 1).reversed() {
            let before = queue.strangersWaiting
            guesses.append(
                Task { try await queue.compute(for: .stranger(wrong: wrong)) { order.withLock { $0.append(wrong) } } }
            )
            while queue.strangersWaiting == before, before < most { await Task.yield() }
        }
        await #expect(throws: HashingQueue.busy) { try await guesses[0].value }
        #expect(throws: HashingQueue.busy) { try queue.requirePlace(for: .stranger(wrong: most)) }
        try queue.requirePlace(for: .stranger(wrong: 1))
        hold.signal()
        try await first.value
        for guess in guesses.dropFirst() { try await guess.value }
        #expect(order.withLock { $0 } == Array(1...most))
    }

    @Test func oneHashAtATime() async throws {
        let queue = HashingQueue()
        let running = Noted((now: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let work: @Sendable () -> Void = {
                        running.withLock {
                            $0.now += 1
                            $0.most = max($0.most, $0.now)
                        }
                        running.withLock { $0.now -= 1 }
                    }
                    guard number % 2 == 0 else {
                        // Where too many wait it is sent away.
                        do { try await queue.compute(for: .stranger(wrong: 1), work) } catch let busy as Problem {
                            #expect(busy == HashingQueue.busy)
                        }
                        return
                    }
                    try await queue.compute(for: .known, work)
                }
            }
            try await group.waitForAll()
        }
        #expect(running.withLock { $0.most } == 1)
    }

    /// The line is full: whoever is told to come again has not guessed.
    @Test func aSignInThatFindsNoPlaceIsNoWrongTry() async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"correct horse battery"}"#)
            let queue = HashingQueue()
            let entrance = Entrance(
                journal: page.journal,
                desk: page.desk,
                sessions: page.console.sessions,
                clock: page.clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                address: "https://till.local",
                codeAddress: "https://till.local",
                fingerprint: "",
                hashRounds: 256,
                hashing: queue
            )
            try await entrance.load()
            let (hold, first) = await hold(queue)
            let most = HashingQueue.mostStrangers
            let guesses = (0..<most).map { number in
                Task { try? await entrance.signIn(password: "wrong", from: "10.0.0.\(number)") }
            }
            while queue.strangersWaiting < most { await Task.yield() }
            for _ in 0..<20 {
                await #expect(throws: HashingQueue.busy) {
                    _ = try await entrance.signIn(password: "correct horse battery", from: "192.168.1.20")
                }
            }
            hold.signal()
            try await first.value
            for guess in guesses { _ = await guess.value }
            _ = try await entrance.signIn(password: "correct horse battery", from: "192.168.1.20")
        }
    }
}
