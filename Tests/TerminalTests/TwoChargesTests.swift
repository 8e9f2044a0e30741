import Locks
import Logging
import Payments
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

/// An earlier charge that is still open beside the one on the screen, and a wall clock that somebody sets.
@Suite(.timeLimit(.minutes(1)))
struct TwoChargesTests {
    // MARK: - An earlier payment arrives

    /// The word on the earlier payment comes from a question of the background, or from a rail that was slow to end.
    @Test(arguments: [true, false])
    func aLatePaymentOfAReleasedChargeDoesNotMoveTheNewOne(isAskedFor: Bool) async throws {
        let paid = Charge.Event.reported(attempt: 1, report: .succeeded(Self.evidence))
        let rail = ScriptedRail { link in if isAskedFor { await link.record(paid) } }
        try await withTerminal(rail: rail) { desk in
            let first = try await releasedCharge(desk)
            let second = try await desk.desk.open(desk.request(minorUnits: 990))
            await desk.untilRail { $0.contains(.pursue(second.id)) }
            try await offer("pay_2", of: second.id, desk)
            let before = try await desk.desk.charge(second.id)
            let callsBefore = rail.calls.filter { $0 != .ask(first) }

            if isAskedFor {
                await desk.untilSleeping(for: .seconds(15))
                desk.clock.advance(by: .seconds(15))
            } else {
                await rail.link(first)?.record(paid)
            }
            try await desk.untilHistory { $0.contains { $0.id == first && $0.charge.state == .succeeded } }

            let after = try await desk.desk.charge(second.id)
            #expect(after.charge == before.charge && after.link == before.link && after.deadline == before.deadline)
            #expect(after.charge.state == .requiresAction && after.link == "https://pay.test/pay_2")
            #expect(await desk.desk.snapshot.phase.charge?.id == second.id, "the new one stays on the screen")
            #expect(rail.calls.filter { $0 != .ask(first) } == callsBefore, "nothing was asked of the new one's rail")

            let history = try await desk.desk.history(before: nil, limit: 10, state: nil)
            let earlier = try #require(history.first { $0.id == first })
            #expect(earlier.charge.isLate && earlier.charge.reason?.code == "paid_late")
            #expect(earlier.charge.evidence == Self.evidence)
            #expect(history.first { $0.id == second.id }?.charge.isLate == false)

            // The new one is paid as if nothing had been.
            let evidence = Evidence(paymentID: "pay_2", transactionID: nil, paid: nil)
            await rail.link(second.id)?.record(.reported(attempt: 1, report: .succeeded(evidence)))
            let result = try await desk.desk.charge(second.id).charge
            #expect(result.state == .succeeded && !result.isLate && result.evidence == evidence)
        }
    }

    @Test func anEarlierPaymentThatFailsAfterAllLeavesTheNewOneAlone() async throws {
        let rail = ScriptedRail()
        try await withTerminal(rail: rail) { desk in
            let first = try await releasedCharge(desk)
            let second = try await desk.desk.open(desk.request(minorUnits: 990))
            await desk.untilRail { $0.contains(.pursue(second.id)) }
            let before = try await desk.desk.charge(second.id).charge
            await rail.link(first)?.record(.reported(attempt: 1, report: .failed(code: nil)))
            let after = try await desk.desk.charge(second.id).charge
            #expect(after == before)
            await #expect(throws: ChargeRefusal.busy(second.id)) { try await desk.desk.open(desk.request()) }
            let record = try await desk.desk.history(before: nil, limit: 10, state: .failed)
            #expect(record.map(\.id) == [first] && record.first?.charge.isLate == false)
        }
    }

    @Test func takingTheNewOneBackDoesNotTouchTheEarlier() async throws {
        let rail = ScriptedRail()
        try await withTerminal(rail: rail) { desk in
            let first = try await releasedCharge(desk)
            let second = try await desk.desk.open(desk.request(minorUnits: 990))
            await desk.untilRail { $0.contains(.pursue(second.id)) }
            try await offer("pay_2", of: second.id, desk)
            let before = try await desk.desk.charge(first).charge
            _ = try await desk.desk.cancel(second.id, by: .staff(name: "Ada"))
            await desk.untilRail { $0.contains(.withdraw(second.id)) }
            #expect(!rail.calls.contains(.withdraw(first)))
            let after = try await desk.desk.charge(first).charge
            #expect(after == before)
        }
    }

    // MARK: - Somebody sets the wall clock

    @Test(arguments: [Duration.seconds(86_400), .seconds(-86_400), .seconds(299), .seconds(301), .seconds(-1)])
    func settingTheWallClockDoesNotMoveARunningDeadline(jump: Duration) async throws {
        let wall = WallClock()
        let rail = ScriptedRail { link in await link.record(.silent(attempt: link.id, reason: "time-out")) }
        try await withTerminal(rail: rail, wall: wall) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await offer("pay_1", of: charge.id, desk)
            await desk.untilSleeping(for: .seconds(300))
            wall.jump(by: jump)
            let jumped = try await desk.desk.charge(charge.id)
            #expect(jumped.secondsLeft == 300)
            desk.clock.advance(by: .seconds(299))
            let last = try await desk.desk.charge(charge.id)
            #expect(last.secondsLeft == 1 && !last.charge.isPastDeadline)
            #expect(desk.clock.hasSleeper(for: .seconds(1)), "it still waits for the same moment")
            desk.clock.advance(by: .seconds(1))
            await desk.until { $0.phase.charge?.charge.isPastDeadline == true }
        }
    }

    /// How far the wall clock is from where it was when the charge was opened, and what is left of its 300 seconds.
    @Test(arguments: [(0, 300), (100, 200), (299, 1), (-1, 300), (-86_400, 300), (-2_000_000_000, 300)])
    func aRestartNeverGivesMoreTimeThanTheChargeHad(jump: Int, left: Int) async throws {
        let (archive, wall) = (MemoryArchive(), WallClock())
        let opened = try await openAndStop(archive, wall)
        wall.jump(by: .seconds(jump))
        let rail = ScriptedRail { link in await link.record(.silent(attempt: link.id, reason: "time-out")) }
        try await withTerminal(archive: archive, rail: rail, wall: wall) { desk in
            let resumed = try await desk.desk.charge(opened)
            #expect(resumed.secondsLeft == left)
            await desk.untilSleeping(for: .seconds(left))
            desk.clock.advance(by: .seconds(left))
            await desk.until { $0.phase.charge?.charge.isPastDeadline == true }
        }
    }

    @Test(arguments: [300, 86_400, 2_000_000_000])
    func aChargeWhoseTimeIsOverAtTheStartIsAskedAboutAndLetGo(jump: Int) async throws {
        let (archive, wall) = (MemoryArchive(), WallClock())
        let opened = try await openAndStop(archive, wall)
        wall.jump(by: .seconds(jump))
        let rail = ScriptedRail { link in await link.record(.silent(attempt: link.id, reason: "time-out")) }
        try await withTerminal(archive: archive, rail: rail, wall: wall) { desk in
            let charge = try await desk.desk.charge(opened)
            #expect(charge.charge.isPastDeadline && charge.charge.state == .unknown && charge.link == nil)
            #expect(rail.calls.contains(.ask(opened)))
            _ = try await desk.desk.open(desk.request())
        }
    }
}

// MARK: - The terminal under test

/// A wall clock that stands still until somebody sets it, apart from the time that passes.
private final class WallClock: Sendable {
    private let time = Mutex(WallTime(millisecondsSince1970: 1_790_000_000_000))

    var now: WallTime { time.withLock { $0 } }

    func jump(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

extension DeskUnderTest {
    fileprivate func untilHistory(_ isReached: ([ChargeSnapshot]) -> Bool) async throws {
        while try await !isReached(desk.history(before: nil, limit: 10, state: nil)) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

extension TwoChargesTests {
    fileprivate static let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)

    private func offer(_ payment: String, of id: ChargeID, _ desk: DeskUnderTest) async throws {
        let link = try #require(desk.rail.link(id))
        await link.record(.sending(attempt: 1))
        let offer = Offer(paymentID: payment, link: "https://pay.test/\(payment)", expiresAt: nil)
        await link.record(.offered(attempt: 1, offer: offer))
    }

    /// A charge that was offered, then nobody answered any more, and staff went on.
    private func releasedCharge(_ desk: DeskUnderTest) async throws -> ChargeID {
        let charge = try await desk.desk.open(desk.request())
        await desk.untilRail { $0 == [.pursue(charge.id)] }
        try await offer("pay_1", of: charge.id, desk)
        await desk.rail.link(charge.id)?.record(.silent(attempt: 1, reason: "time-out"))
        let released = try await desk.desk.release(charge.id, by: .staff(name: "Ada"))
        #expect(released.charge.state == .unknown)
        return charge.id
    }

    /// A charge that waits for its customer when the terminal stops.
    private func openAndStop(_ archive: MemoryArchive, _ wall: WallClock) async throws -> ChargeID {
        try await withTerminal(archive: archive, rail: ScriptedRail(), wall: wall) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await offer("pay_1", of: charge.id, desk)
            return charge.id
        }
    }

    /// Runs a desk for as long as `body` does, from when it takes charges.
    private func withTerminal<Value: Sendable>(
        archive: MemoryArchive = MemoryArchive(),
        rail: ScriptedRail,
        wall: WallClock = WallClock(),
        _ body: (DeskUnderTest) async throws -> Value
    ) async throws -> Value {
        let clock = ManualClock()
        let time = clock.terminalClock
        let desk = ChargeDesk(
            archive: archive,
            clock: TerminalClock(elapsed: time.elapsed, sleep: time.sleep, wallTime: { wall.now }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        await desk.use(.example, drivers: [rail])
        let under = DeskUnderTest(desk: desk, archive: archive, rail: rail, clock: clock)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await desk.run() }
            await under.until { if case .starting = $0.phase { false } else { true } }
            let value = try await body(under)
            await desk.use(nil, drivers: [])  // The scripted rail keeps its links, which keep the desk.
            group.cancelAll()
            return value
        }
    }
}
