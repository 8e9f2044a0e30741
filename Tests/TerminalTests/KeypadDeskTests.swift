import Journal
import Keypad
import Locks
import Logging
import Payments
import Screen
import TerminalTestSupport
import Testing
import TestSupport

@testable import Terminal

/// Keys at the counter: what is charged, what is asked, what stands on the screen and in the audit log.
@Suite(.timeLimit(.minutes(1)))
struct KeypadDeskTests {
    @Test func anAmountIsTypedShownAndCharged() async throws {
        try await withKeypad { desk, keypad in
            await keypad.type("125")
            await desk.until { $0.keypad == Scene.Keypad(.typing, amountText: "€1.25") }
            await keypad.type("0e")
            let charge = await desk.charge()
            #expect(charge.terms.amount == Money(minorUnits: 1250, currency: .euro))
            #expect(charge.terms.openedBy == .keypad)
            await desk.until { $0.keypad == nil }
            #expect(desk.archive.place(of: charge.id) == "keypad")
        }
    }

    @Test func aSumStandsOnTheScreenWithItsParts() async throws {
        try await withKeypad { desk, keypad in
            await keypad.type("500+250e")
            let sum = Scene.Keypad.Sum(count: 2, newestText: "€2.50")
            await desk.until { $0.keypad == Scene.Keypad(.confirming, amountText: "€7.50", sum: sum) }
            #expect(desk.archive.allCharges.isEmpty)
            await keypad.type("e")
            #expect(await desk.charge().terms.amount.minorUnits == 750)
        }
    }

    @Test func anOpenChargeIsCancelledAfterAQuestion() async throws {
        try await withKeypad { desk, keypad in
            await keypad.type("1250e")
            let charge = await desk.charge()
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            await keypad.type("x")
            let page = Scene.Keypad(.cancel, amountText: "€12.50", chargeCode: charge.terms.code.rawValue)
            await desk.until { $0.keypad == page }
            #expect(desk.archive.events(of: charge.id).contains(.cancelRequested(by: .keypad)) == false)
            await keypad.type("e")
            await desk.until { $0.phase.charge?.charge.isCancelRequested == true }
            #expect(desk.archive.events(of: charge.id).contains(.cancelRequested(by: .keypad)))
            await keypad.untilAudited(["charge.cancel ok \(charge.id)"])
            #expect(keypad.entries.allSatisfy { $0.who == .keypad })
        }
    }

    /// Nobody who walks away from a question keeps a customer from seeing the code.
    @Test func aQuestionGoesByItselfAndTheCodeComesBack() async throws {
        try await withKeypad { desk, keypad in
            await keypad.type("1250e")
            let charge = await desk.charge()
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            await keypad.type("x")
            await desk.until { $0.keypad?.kind == .cancel }
            while await desk.desk.snapshot.keypad != nil, !Task.isCancelled {
                if let sleep = desk.clock.shortestSleep, sleep <= .seconds(1) { desk.clock.advance(by: sleep) }
                await Task.yield()
            }
            #expect(desk.clock.now >= .seconds(15) && desk.clock.now < .seconds(20))
        }
    }

    @Test func nobodyIsAskedToGoOnWhileTheAnswerIsOnItsWay() async throws {
        try await withKeypad { desk, keypad in
            await keypad.type("1250e")
            let charge = await desk.charge()
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            try await desk.say(.reported(attempt: 1, report: .processing), of: charge.id)
            await keypad.type("x")
            await desk.until { $0.keypad?.kind == .tooLate }
            await keypad.type("x")
            await desk.until { $0.keypad == nil }
            desk.clock.advance(by: .seconds(20))
            await keypad.type("x")
            await desk.until { $0.keypad?.kind == .release }
        }
    }

    @Test func typingTheNextAmountTakesTheLastResultOffTheScreen() async throws {
        try await withKeypad { desk, keypad in
            await keypad.type("1250e")
            let charge = await desk.charge()
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.pay(charge.id)
            await desk.until { $0.phase.charge?.charge.state == .succeeded }
            await keypad.type("5")
            await desk.until { $0.keypad?.kind == .typing }
            #expect(await desk.desk.snapshot.phase == .idle)
        }
    }

    @Test func whatTheDeskRefusesIsSaid() async throws {
        var settings = MerchantSettings.example
        settings.limits.maximumMinorUnits = 1000
        try await withKeypad(settings: settings) { desk, keypad in
            await keypad.type("1001e")
            await desk.until { $0.keypad?.kind == .notCharged }
            let page = await desk.desk.snapshot.keypad
            #expect(page?.whatHappened?.contains("€10.00") == true)
            #expect(desk.archive.allCharges.isEmpty && keypad.entries.isEmpty)
        }
    }

    @Test func aTerminalThatIsNotSetUpHearsNoKey() async throws {
        try await withKeypad(settings: nil) { desk, keypad in
            await keypad.type("1250e")
            await keypad.settle()
            #expect(await desk.desk.snapshot.keypad == nil)
            #expect(desk.archive.allCharges.isEmpty)
        }
    }

    @Test func theOwnerSwitchesItOffAndOn() async throws {
        try await withKeypad { desk, keypad in
            var rules = CounterKeypad()
            rules.mode = .off
            await keypad.type("12")
            await desk.until { $0.keypad != nil }
            await desk.desk.use(keypad: rules)
            await desk.until { $0.keypad == nil }
            await keypad.type("50e")
            await keypad.settle()
            #expect(desk.archive.allCharges.isEmpty)
            rules.mode = .confirm
            await desk.desk.use(keypad: rules)
            await keypad.type("50e")
            await desk.until { $0.keypad?.kind == .confirming }
            await keypad.type("e")
            #expect(await desk.charge().terms.amount.minorUnits == 50)
        }
    }

    /// An amount of which a key may be missing is another amount.
    @Test func lostKeysTakeTheAmountBack() async throws {
        try await withKeypad { desk, keypad in
            await keypad.type("12")
            await desk.until { $0.keypad != nil }
            keypad.events.yield(.lost)
            await desk.until { $0.keypad == nil }
            await keypad.type("e")
            await keypad.settle()
            #expect(desk.archive.allCharges.isEmpty)
        }
    }

    // MARK: - Erasing

    @Test func erasingTakesTheCodeFromTheScreen() async throws {
        try await withKeypad { desk, keypad in
            keypad.events.yield(.heldForErasing)
            await desk.until { $0.keypad?.kind == .erase }
            let code = try #require(await desk.desk.snapshot.keypad?.code)
            #expect(code.utf8.count == 6)
            await keypad.type(code + "e")
            await desk.until { $0.keypad?.kind == .erasing }
            while keypad.erasings == 0 { await Task.yield() }
        }
    }

    @Test func openPaymentsAreInTheWayOfErasing() async throws {
        try await withKeypad(openPayments: 2) { desk, keypad in
            keypad.events.yield(.heldForErasing)
            await desk.until { $0.keypad == Scene.Keypad(.cannotErase, openPayments: 2) }
            await keypad.untilAudited(["wipe refused 2 payments are open"])
            #expect(keypad.erasings == 0)
        }
    }

    @Test func whoMayNotEraseIsNotAsked() async throws {
        try await withKeypad { desk, keypad in
            var rules = CounterKeypad()
            rules.mayErase = false
            await desk.desk.use(keypad: rules)
            await keypad.settle()
            keypad.events.yield(.heldForErasing)
            await keypad.settle()
            #expect(await desk.desk.snapshot.keypad == nil)
        }
    }

    // MARK: - The keypad under test

    private final class KeypadUnderTest: Sendable {
        let events: AsyncStream<KeypadEvent>.Continuation
        private let state = Mutex((entries: [AuditEntry](), erasings: 0))

        init(_ events: AsyncStream<KeypadEvent>.Continuation) { self.events = events }

        var entries: [AuditEntry] { state.withLock { $0.entries } }
        var erasings: Int { state.withLock { $0.erasings } }

        func note(_ entry: AuditEntry) { state.withLock { $0.entries.append(entry) } }
        func erase() { state.withLock { $0.erasings += 1 } }

        /// `e` is Enter, `x` Num, `+` itself.
        func type(_ keys: String) async {
            for key in keys {
                switch key {
                case "e": events.yield(.pressed(.enter))
                case "x": events.yield(.pressed(.cancel))
                case "+": events.yield(.pressed(.plus))
                default: events.yield(.pressed(.digit(UInt8(key.wholeNumberValue ?? 0))))
                }
            }
        }

        /// Until nothing more comes of what was typed.
        func settle() async { for _ in 0..<2000 { await Task.yield() } }

        func untilAudited(_ lines: [String]) async {
            while entries.map({ "\($0.what) \($0.result) \($0.detail)" }) != lines, !Task.isCancelled {
                await Task.yield()
            }
        }
    }

    private func withKeypad(
        settings: MerchantSettings? = .example,
        openPayments: Int = 0,
        _ body: @Sendable (DeskUnderTest, KeypadUnderTest) async throws -> Void
    ) async throws {
        try await withDesk(settings: settings) { desk in
            let (events, continuation) = AsyncStream.makeStream(of: KeypadEvent.self)
            let keypad = KeypadUnderTest(continuation)
            let keys = KeypadDesk(
                desk: desk.desk,
                clock: desk.clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                audit: { (entry) throws(JournalError) in keypad.note(entry) },
                openPayments: { openPayments },
                erase: { () throws(JournalError) in keypad.erase() }
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await keys.run(events) }
                try await body(desk, keypad)
                continuation.finish()
                for try await _ in group {}
            }
            #expect(await desk.desk.snapshot.keypad == nil)
        }
    }
}

extension DeskUnderTest {
    /// The charge on the screen, once there is one.
    fileprivate func charge() async -> Charge {
        for await snapshot in await desk.snapshots() { if let charge = snapshot.phase.charge { return charge.charge } }
        preconditionFailure("the desk has ended")  // The suite's time limit is shorter.
    }
}
