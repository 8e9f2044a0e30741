import Locks
import Logging
import Payments
import TerminalTestSupport
import Testing
import TestSupport

@testable import Terminal

/// Whoever watches over the program hears of it for as long as charges can be taken, and no longer.
@Suite(.timeLimit(.minutes(1)))
struct HeartbeatTests {
    private let clock = ManualClock()
    private let archive = MemoryArchive()
    private let beats = Beats()

    private final class Beats: Sendable {
        private let state = Mutex(0)
        var count: Int { state.withLock { $0 } }
        func beat() { state.withLock { $0 += 1 } }
    }

    /// Runs a heart that is expected to beat within 30 seconds beside `body`.
    private func beating(_ body: () async throws -> Void) async throws {
        let desk = ChargeDesk(archive: archive, clock: clock.terminalClock, logger: Logger(label: "test"))
        let heart = Heartbeat(desk, watchdog: .seconds(30), clock: clock.terminalClock)
        let beats = beats
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await heart.run { beats.beat() } }
            defer { group.cancelAll() }
            try await body()
        }
    }

    @Test func itBeatsThreeTimesWithinTheWatchdogsTime() async throws {
        try await beating {
            for number in 1...4 {
                while !clock.hasSleeper(for: .seconds(10)) { await Task.yield() }
                #expect(beats.count == number)
                clock.advance(by: .seconds(10))
            }
        }
    }

    @Test func aJournalThatHangsEndsTheBeatUntilItAnswers() async throws {
        let hold = archive.hold()
        try await beating {
            for _ in 0..<1000 { await Task.yield() }
            clock.advance(by: .seconds(100))
            for _ in 0..<1000 { await Task.yield() }
            #expect(beats.count == 0)
            hold.finish()
            while beats.count == 0 { await Task.yield() }
        }
    }

    @Test func anEventThatCannotBeWrittenDownEndsTheBeatUntilItIs() async throws {
        let desk = ChargeDesk(archive: archive, clock: clock.terminalClock, logger: Logger(label: "test"))
        let heart = Heartbeat(desk, watchdog: .seconds(30), clock: clock.terminalClock)
        let (beats, clock, archive) = (beats, clock, archive)
        let hanging = archive.hold()
        await withDiscardingTaskGroup { group in
            group.addTask {
                var generator = SystemRandomNumberGenerator()
                await desk.apply(.resumed, to: ChargeID(at: clock.terminalClock.wallTime(), using: &generator))
            }
            while !archive.isAwaited { await Task.yield() }
            // Whatever is asked from here on is answered.
            archive.hold().finish()
            group.addTask { await heart.run { beats.beat() } }
            for _ in 0..<1000 { await Task.yield() }
            #expect(beats.count == 0)
            hanging.finish()
            while beats.count == 0 { await Task.yield() }
            group.cancelAll()
        }
    }

    @Test func whatTheTerminalDoesIsSaidWithoutNamesAndAmounts() async {
        let desk = ChargeDesk(archive: archive, clock: clock.terminalClock, logger: Logger(label: "test"))
        #expect(await desk.snapshot.summary == "starting: asks how earlier payments ended")
    }
}
