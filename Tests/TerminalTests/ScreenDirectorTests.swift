import Foundation
import Locks
import Logging
import Payments
import Screen
import TerminalTestSupport
import Testing
import TestSupport

@testable import Terminal

/// What stands on the screen, also when the screen does not do as it is told.
@Suite(.timeLimit(.minutes(1)))
struct ScreenDirectorTests {
    @Test func aScreenThatFailedIsDrawnAgainInGrowingGaps() async throws {
        try await withScreen(failures: 8) { desk, screen in
            for gap in [1, 2, 4, 8, 16, 30, 30, 30] {
                await desk.untilSleeping(for: .seconds(gap))
                #expect(screen.pages == 0)
                desk.clock.advance(by: .seconds(gap))
            }
            while screen.pages == 0 { try await pause() }
            #expect(screen.tries == 9)
        }
    }

    @Test func aScreenThatFailedCountsFromAnewAfterItWorked() async throws {
        try await withScreen(failures: 2) { desk, screen in
            await desk.pass(.seconds(1))
            await desk.pass(.seconds(2))
            while screen.pages == 0 { try await pause() }
            screen.fail(times: 1)
            await desk.desk.setGateway(.unreachable)
            await desk.pass(.seconds(1))
            while screen.pages == 1 { try await pause() }
        }
    }

    /// A screen that is slow to draw gets what is newest next, not everything that was.
    @Test func aSlowScreenMissesWhatWasBetween() async throws {
        try await withScreen { desk, screen in
            while screen.pages == 0 { try await pause() }
            screen.hold()
            for _ in 0..<100 {
                await desk.desk.setGateway(.unreachable)
                await desk.desk.setGateway(.ready)
                await Task.yield()
            }
            await desk.desk.setGateway(.refused)
            let before = screen.pages
            screen.letGo()
            while screen.pages == before { try await pause() }
            try await quiet(screen)
            // The one under way, the newest, and at most a few that were on their way to it. Not two hundred.
            #expect(screen.pages - before < 10)
        }
    }

    /// The seconds go on being counted whatever else is news.
    @Test func aTickIsNotLostAmongNews() async throws {
        try await withScreen { desk, screen in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            await desk.until { $0.phase.charge?.isReadableOnScreen != nil }
            for round in 0..<20 {
                // Ends with news, whose drawing and the tick's meet each other.
                for _ in 0..<20 { await desk.desk.setGateway(round.isMultiple(of: 2) ? .unreachable : .ready) }
                await desk.letPass(atMost: .seconds(1))
            }
            for _ in 0..<3 {
                let pages = screen.pages
                while screen.pages == pages { await desk.letPass(atMost: .seconds(1)) }
            }
        }
    }

    // MARK: - What it shows

    static func director(_ desk: ChargeDesk, _ clock: TerminalClock) -> ScreenDirector {
        ScreenDirector(
            desk: desk,
            display: Display(sinks: []),
            clock: clock,
            webAddress: nil,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test(arguments: [
        (JournalError.diskFull, Scene.Offline.Storage.full), (.readOnly(detail: ""), .readOnly),
        (.corrupt(detail: ""), .damaged), (.fromNewerVersion(detail: ""), .newer), (.inUse(detail: ""), .inUse),
        (.unavailable(detail: ""), .failed),
    ])
    func everyTroubleOfTheRecordHasItsOwnWordsOnTheScreen(error: JournalError, words: Scene.Offline.Storage) {
        #expect(Scene.Offline.Storage(error.reason) == words)
    }

    @Test func aChargeThatCannotBeRecordedSaysSo() async throws {
        try await withDesk { desk in
            desk.archive.fail(at: 1...Int.max)
            await #expect(throws: ChargeRefusal.journal(.diskFull)) { try await desk.desk.open(desk.request()) }
            let scene = Self.director(desk.desk, desk.clock.terminalClock).scene(
                of: await desk.desk.snapshot,
                at: desk.clock.now
            )
            let detail = JournalError.diskFull.reason.message
            #expect(scene == .offline(Scene.Offline(merchantName: "Kiosk", detail: detail, storage: .full)))
        }
    }

    /// The customer reads it before paying, and not only on the receipt.
    @Test func aTipStandsOnTheScreenBeforeItIsPaid() async throws {
        try await withDesk { desk in
            var tips = CounterTips()
            tips.mode = .allowed
            await desk.desk.use(tips: tips)
            var request = desk.request(minorUnits: 2200)
            request.tip = Money(minorUnits: 200, currency: .euro)
            let charge = try await desk.desk.open(request)
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            let director = Self.director(desk.desk, desk.clock.terminalClock)
            func scene() async -> Scene { director.scene(of: await desk.desk.snapshot, at: desk.clock.now) }
            guard case .charge(let view) = await scene() else {
                Issue.record("it is not the page to pay at")
                return
            }
            #expect(view.amountText == "€22.00" && view.tipText == "€2.00")
            try await desk.say(.reported(attempt: 1, report: .processing), of: charge.id)
            guard case .processing(let processing) = await scene() else {
                Issue.record("it is not the page of a payment under way")
                return
            }
            #expect(processing.amountText == "€22.00" && processing.tipText == "€2.00")
        }
    }

    /// Whoever reads it sees whether that day is right.
    @Test func aClockThatNobodyHasSetIsSaidWithTheDayThatItShows() async throws {
        try await withDesk { desk in
            let director = Self.director(desk.desk, desk.clock.terminalClock)
            await desk.desk.setGateway(.clock)
            let page = Scene.offline(Scene.Offline(merchantName: "Kiosk", clockText: "2026-09-21"))
            #expect(director.scene(of: await desk.desk.snapshot, at: desk.clock.now) == page)
            desk.clock.setWall(by: .seconds(-1_790_000_000))
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            let early = Scene.offline(Scene.Offline(merchantName: "Kiosk", clockText: "1970-01-01"))
            #expect(director.scene(of: await desk.desk.snapshot, at: desk.clock.now) == early, "nothing has left")
            try await desk.say(.sending(attempt: 1), of: charge.id)
            try await desk.say(.silent(attempt: 1, reason: "time-out"), of: charge.id)
            guard
                case .offline(let offline) = director.scene(of: await desk.desk.snapshot, at: desk.clock.now)
            else {
                Issue.record("it is not the page without a way to pay")
                return
            }
            #expect(offline.clockText == nil, "money may move: something has left")
        }
    }

    @Test func aPauseThatTheGatewayAsksForIsOnTheScreenWithItsEnd() async throws {
        try await withDesk { desk in
            let director = Self.director(desk.desk, desk.clock.terminalClock)
            let until = WallTime(millisecondsSince1970: 1_790_000_030_000)
            await desk.desk.setGateway(.paused(until: until))
            let zone = MerchantSettings.example.zone
            let page = Scene.offline(
                Scene.Offline(merchantName: "Kiosk", pausedUntilText: until.timeOfDay(in: zone))
            )
            #expect(director.scene(of: await desk.desk.snapshot, at: desk.clock.now) == page)
        }
    }

    @Test(arguments: [true, false]) func theCodeLeadsToTheCustomersPageWhereThatIsSet(isOnScreen: Bool) async throws {
        try await withDesk { desk in
            await desk.desk.use(CustomerPages(isOnScreen: isOnScreen, address: { "https://till.local/pay/\($0)" }))
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            // Nothing can be paid yet, so there is nothing to lead to.
            #expect(try await desk.desk.charge(charge.id).page == nil)
            try await desk.offer(charge.id)
            let snapshot = try await desk.desk.charge(charge.id)
            guard case .charge(let view) = ScreenDirector.scene(of: snapshot, trouble: nil, at: desk.clock.now) else {
                Issue.record("it is not the page of a charge")
                return
            }
            #expect(view.opensPage == isOnScreen)
            #expect(view.link == (isOnScreen ? "https://till.local/pay/\(charge.id)" : snapshot.link))
            await desk.desk.use(nil as CustomerPages?)
            #expect(try await desk.desk.charge(charge.id).page == nil)
        }
    }

    @Test func aChargeHasTheScreenWhileABackupIsWritten() async throws {
        try await withDesk { desk in
            let director = Self.director(desk.desk, desk.clock.terminalClock)
            let half = BackupProgress.writing(percent: 50)
            await desk.desk.showBackup(half)
            let page = Scene.backup(Scene.Backup(.writing, percent: 50))
            #expect(director.scene(of: await desk.desk.snapshot, at: desk.clock.now) == page)
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            // Its end comes in the middle of the charge, and is still there after it.
            let end = BackupProgress.written(file: "till-backup-2026-11-24.age")
            await desk.desk.showBackup(end)
            if case .backup = director.scene(of: await desk.desk.snapshot, at: desk.clock.now) {
                Issue.record("the customer sees a backup instead of the charge")
            }
            await desk.desk.hideBackup(half)
            #expect(await desk.desk.snapshot.backup == end, "only what is gone is taken away")
        }
    }

    @Test func aWaitForANewPasswordIsOnTheScreenAndGivesWayToACharge() async throws {
        try await withDesk { desk in
            let director = Self.director(desk.desk, desk.clock.terminalClock)
            await desk.desk.setOwnerReset(.waiting(minutes: 14))
            #expect(director.scene(of: await desk.desk.snapshot, at: desk.clock.now) == .ownerReset(.init(minutes: 14)))
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            if case .ownerReset = director.scene(of: await desk.desk.snapshot, at: desk.clock.now) {
                Issue.record("the customer sees the wait instead of the charge")
            }
            await desk.desk.setOwnerReset(nil)
            #expect(await desk.desk.snapshot.ownerReset == nil)
        }
    }

    /// One line that people compare with what the browser shows.
    @Test func theScreenShowsTheBeginningOfTheCertificatesFingerprint() {
        let digest = (0..<32).map { String(0xA0 + $0, radix: 16, uppercase: true) }.joined(separator: ":")
        #expect(ScreenDirector.beginning(of: digest) == "A0A1 A2A3 A4A5 A6A7")
        #expect(ScreenDirector.beginning(of: "") == "" && ScreenDirector.beginning(of: "AA:BB:CC") == "AABB CC")
    }

    /// Whoever plugged in a stick stands there. The code is back in a minute, or after the start.
    @Test(arguments: [ClaimInvitation.Purpose.claim, .reset])
    func anUpdateFromAStickStandsBeforeTheOwnersCodeAndNotBeforeACharge(purpose: ClaimInvitation.Purpose) async throws {
        try await withDesk { desk in
            let director = Self.director(desk.desk, desk.clock.terminalClock)
            let code = ClaimInvitation(
                purpose: purpose,
                url: "https://t",
                address: "https://t",
                code: "1",
                fingerprint: "A"
            )
            await desk.desk.setClaim(code)
            for (update, kind) in [
                (SystemUpdate.installing(version: "", percent: 40), Scene.Update.Kind.installing),
                (.restarting(version: "2"), .restarting), (.refused(.notNewer), .notNewer),
            ] {
                await desk.desk.showUpdate(update)
                let scene = director.scene(of: await desk.desk.snapshot, at: desk.clock.now)
                guard case .update(let page) = scene else {
                    Issue.record("\(scene)")
                    continue
                }
                #expect(page.kind == kind)
            }
            await desk.desk.showUpdate(.updated(version: "2"))
            if case .setup = director.scene(of: await desk.desk.snapshot, at: desk.clock.now) {
            } else {
                Issue.record("the code is not there")
            }
            await desk.desk.showUpdate(.refused(.notNewer))
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            if case .update = director.scene(of: await desk.desk.snapshot, at: desk.clock.now) {
                Issue.record("the customer sees an update instead of the charge")
            }
        }
    }

    @Test func theIdleScreenSaysWhatCameByItself() async throws {
        try await withDesk { desk in
            let late = try await desk.paidLate()
            await desk.until { $0.phase == .idle }
            guard
                case .idle(let idle) = Self.director(desk.desk, desk.clock.terminalClock)
                    .scene(of: await desk.desk.snapshot, at: desk.clock.now)
            else {
                Issue.record("it is not the idle screen")
                return
            }
            #expect(idle.notices == [Scene.Notice(.late, amountText: "€12.50", chargeCode: late.terms.code.rawValue)])
        }
    }

    // MARK: - Phones

    /// A charge that waits at the gateway and for phones, with what the station says.
    private func scene(
        _ desk: DeskUnderTest,
        offers: [Charge.Event],
        _ view: TapStatus.View = TapStatus.View()
    ) async throws -> Scene {
        let terms = try await desk.desk.open(desk.request()).charge.terms
        let charge = Charge(
            terms: terms,
            replaying: [.attemptStarted(attempt: 1, rail: .scan), .attemptStarted(attempt: 2, rail: .tap)] + offers
        )
        let snapshot = ChargeSnapshot(
            charge: charge,
            updatedAt: terms.openedAt,
            secondsLeft: 60,
            deadline: .seconds(60),
            format: .english
        )
        let other = try #require(ChargeID("01941f29-7c00-7000-8000-000000000001"))
        var tap = TapStatus(light: .ready)
        tap.views = [charge.id: view, other: TapStatus.View(shortCodes: ["9999"], formURL: "https://pay.test/form")]
        let terminal = TerminalSnapshot(
            phase: .charging(snapshot),
            gateway: .ready,
            merchantName: "Kiosk",
            tap: tap,
            at: terms.openedAt
        )
        return Self.director(desk.desk, desk.clock.terminalClock).scene(of: terminal, at: .zero)
    }

    private static let tag = "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=Kiosk"

    private static func offer(_ attempt: Attempt.ID, _ link: String?) -> Charge.Event {
        .offered(attempt: attempt, offer: Offer(paymentID: "pay_\(attempt)", link: link, expiresAt: nil))
    }

    @Test func besideThePaymentsLinkTheTagIsOnTheScreen() async throws {
        try await withDesk { desk in
            let offers = [Self.offer(1, "https://pay.test/1"), Self.offer(2, Self.tag)]
            guard case .charge(let view) = try await scene(desk, offers: offers) else {
                Issue.record("it is not a charge's screen")
                return
            }
            #expect(view.link == "https://pay.test/1" && view.tag == Self.tag && view.form == nil)
            #expect(view.shortCodes.isEmpty, "those of another charge's phone are not this one's")
        }
    }

    @Test func digitsAndFormOfTheChargesPhonesAreOnTheScreen() async throws {
        try await withDesk { desk in
            let shown = TapStatus.View(shortCodes: ["0471", "4821"], formURL: "https://pay.test/collect")
            let offers = [Self.offer(1, "https://pay.test/1"), Self.offer(2, nil)]
            guard case .charge(let view) = try await scene(desk, offers: offers, shown) else {
                Issue.record("it is not a charge's screen")
                return
            }
            #expect(view.shortCodes == ["0471", "4821"] && view.tag == nil)
            #expect(view.form == .init(link: "https://pay.test/collect", way: .tap))
        }
    }

    @Test func theScreenNamesWhoHasConfirmedThePayment() async throws {
        let paid = Report.succeeded(Evidence(paymentID: "pay", transactionID: "t", paid: nil))
        for (attempt, authority) in [(1, Scene.Authority.gateway), (2, .acquirer)] {
            try await withDesk { desk in
                let id = Attempt.ID(attempt)
                let offers = [Self.offer(id, nil), .reported(attempt: id, report: paid)]
                guard case .paid(let paid) = try await scene(desk, offers: offers) else {
                    Issue.record("it is not paid")
                    return
                }
                #expect(paid.confirmedBy == authority)
            }
        }
    }

    @Test func aScreenThatRestsIsLitAtOnceByAChargeAndByAKey() async throws {
        let night = ScreenDirector.ShopClock(time: WallTime(millisecondsSince1970: 23 * 3_600_000), zone: .gmt)
        try await withScreen(shopClock: { night }) { desk, screen in
            var rest = ScreenRest()
            rest.mode = .dark
            await desk.desk.setGateway(.ready)
            await desk.desk.use(rest: rest)
            while screen.isLit { await desk.letPass(atMost: .seconds(15)) }
            #expect(desk.clock.now >= ScreenRest.quiet)
            await desk.desk.wakeScreen()
            while !screen.isLit { try await pause() }
            while screen.isLit { await desk.letPass(atMost: .seconds(15)) }
            let before = desk.clock.now
            _ = try await desk.desk.open(desk.request())
            while !screen.isLit { try await pause() }
            #expect(desk.clock.now == before)
        }
    }

    @Test func aTerminalThatDoesNotKnowTheTimeStaysBright() async throws {
        try await withScreen { desk, screen in
            var rest = ScreenRest()
            (rest.mode, rest.from, rest.until) = (.dark, 0, 1439)
            await desk.desk.setGateway(.ready)
            await desk.desk.use(rest: rest)
            for _ in 0..<20 { await desk.letPass(atMost: .seconds(15)) }
            #expect(screen.isLit)
        }
    }

    // MARK: - The screen under test

    private func pause() async throws {
        try Task.checkCancellation()
        await Task.yield()
    }

    /// Until nothing was drawn for a while. Drawing is the screen's own work and takes real time.
    private func quiet(_ screen: Slate) async throws {
        var calm = 0
        var last = -1
        while calm < 20_000 {
            try await pause()
            calm = screen.pages == last ? calm + 1 : 0
            last = screen.pages
        }
    }

    private func withScreen(
        failures: Int = 0,
        shopClock: @escaping @Sendable () async -> ScreenDirector.ShopClock? = { nil },
        _ body: @Sendable (DeskUnderTest, Slate) async throws -> Void
    ) async throws {
        let slate = Slate(failures: failures)
        try await withDesk { desk in
            let director = ScreenDirector(
                desk: desk.desk,
                display: Display(sinks: [slate.sink()]),
                clock: desk.clock.terminalClock,
                webAddress: nil,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                shopClock: shopClock
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await director.run() }
                defer { slate.letGo() }
                try await body(desk, slate)
                group.cancelAll()
            }
        }
    }
}

/// What a screen in memory was told, and how it fails.
private final class Slate: Sendable {
    private struct State {
        var failures: Int
        var tries = 0
        var pages = 0
        var isHeld = false
        var isLit = true
    }
    private let state: Mutex<State>

    init(failures: Int) { state = Mutex(State(failures: failures)) }

    var tries: Int { state.withLock { $0.tries } }
    var pages: Int { state.withLock { $0.pages } }

    var isLit: Bool { state.withLock { $0.isLit } }

    func fail(times: Int) { state.withLock { $0.failures = times } }
    func hold() { state.withLock { $0.isHeld = true } }
    func letGo() { state.withLock { $0.isHeld = false } }

    func sink() -> Sink { Sink(self) }

    /// Draws nothing; blocks for as long as it is held, on the screen's own queue.
    final class Sink: PixelSink {
        let name = "slate"
        let surface = Surface(size: PixelSize(width: 320, height: 240))
        private let slate: Slate
        private var isNew = true

        init(_ slate: Slate) { self.slate = slate }

        func light(_ isOn: Bool) throws(ScreenError) { slate.state.withLock { $0.isLit = isOn } }

        func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
            let fails = slate.state.withLock { state in
                if isNew { state.tries += 1 }
                isNew = false
                guard state.failures > 0 else { return false }
                state.failures -= 1
                return true
            }
            if fails {
                isNew = true
                throw .closed
            }
        }

        func finish() throws(ScreenError) {
            while slate.state.withLock({ $0.isHeld }) {}
            isNew = true
            slate.state.withLock { $0.pages += 1 }
        }

        func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
            GreyImage(size: PixelSize(width: 1, height: 1), pixels: [255])
        }

        func close() {}
    }
}
