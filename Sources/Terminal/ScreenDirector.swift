public import FoundationEssentials
public import Logging
import Packing
public import Payments
public import Screen

/// Puts the desk's snapshots on the screen, and counts the customer's seconds down while one is waiting.
///
/// Wakes only for news, once a second while a charge waits for its customer, and to try again on a screen that failed.
public struct ScreenDirector: Sendable {
    private let desk: ChargeDesk
    private let display: Display
    private let clock: TerminalClock
    private let webAddress: @Sendable () -> String?
    private let logger: Logger
    private let looksEvery: Duration?
    private let shopClock: @Sendable () async -> ShopClock?

    /// What time it is in the shop.
    public struct ShopClock: Sendable {
        public var time: WallTime
        public var zone: TimeZone

        public init(time: WallTime, zone: TimeZone) { (self.time, self.zone) = (time, zone) }
    }

    /// - Parameters:
    ///   - webAddress: Where staff reach the page, as text on the idle screen; asked for with each picture.
    ///   - looksEvery: How often a screen is looked at that can be plugged in or change its size; nil: never.
    ///   - shopClock: For a screen that rests at night; nil while nobody knows the time, and then it does not rest.
    public init(
        desk: ChargeDesk,
        display: Display,
        clock: TerminalClock,
        webAddress: @autoclosure @escaping @Sendable () -> String?,
        logger: Logger,
        looksEvery: Duration? = nil,
        shopClock: @escaping @Sendable () async -> ShopClock? = { nil }
    ) {
        self.shopClock = shopClock
        self.looksEvery = looksEvery
        self.desk = desk
        self.display = display
        self.clock = clock
        self.webAddress = webAddress
        self.logger = logger
    }

    /// Shows what the desk says until cancelled.
    public func run() async {
        // It carries nothing: a ring that is still to be answered stands for every later one, and the newest snapshot
        // lies on the desk of whoever answers.
        let (bell, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let board = Board()
        let snapshots = await desk.snapshots()
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await snapshot in snapshots {
                    await board.pin(snapshot)
                    continuation.yield()
                }
                continuation.finish()
            }
            if let looksEvery {
                group.addTask {
                    // What has not changed is not drawn again.
                    while (try? await clock.sleep(looksEvery)) != nil { continuation.yield() }
                }
            }
            var pause = Duration.zero
            for await _ in bell {
                guard let (snapshot, number) = await board.take() else { continue }
                let now = clock.elapsed()
                let turns = await board.turns(of: snapshot, at: now)
                let (failure, mayRest) = await show(snapshot, turns, at: now, quiet: board.quiet(snapshot, at: now))
                if !mayRest { await board.stir(at: now) }
                if await board.isOther(failure) {
                    await desk.screenStands(failure)
                    if let failure {
                        logger.error("the screen does not show what it should", metadata: ["error": "\(failure)"])
                    } else {
                        logger.notice("the screen shows what it should again")
                    }
                }
                let isShown = failure == nil
                pause = isShown ? .zero : min(max(pause * 2, .seconds(1)), Self.longestPause)
                let again = isShown ? nil : clock.elapsed() + pause
                // Hours begin and end on a minute.
                let hours = mayRest && snapshot.rest.mode != .never ? now + .seconds(15) : nil
                let wakes = [nextSecond(of: snapshot, after: now), turns?.next(after: now), again, hours]
                guard let next = wakes.compactMap({ $0 }).min() else { continue }
                let wait = max(.zero, next - clock.elapsed())
                group.addTask {
                    do { try await clock.sleep(wait) } catch { return }  // The terminal stops.
                    // Where something newer was shown meanwhile, that has its own second.
                    if await board.isNewest(number) { continuation.yield() }
                }
            }
            group.cancelAll()
        }
    }

    /// Between tries on a screen that does not take what it should show.
    private static let longestPause = Duration.seconds(30)

    /// The newest snapshot, and how often one was taken from here.
    private actor Board {
        private var newest: TerminalSnapshot?
        private var taken = 0
        private var turns: FormTurns?
        private var failure: ScreenError?
        private var stirredAt: Duration?
        private var wakes = 0

        /// How long nothing has happened.
        func quiet(_ snapshot: TerminalSnapshot, at now: Duration) -> Duration {
            if snapshot.wakes != wakes { stir(at: now) }
            wakes = snapshot.wakes
            if stirredAt == nil { stirredAt = now }
            return now - (stirredAt ?? now)
        }

        func stir(at now: Duration) { stirredAt = now }

        /// Whether this is another than the last one: a screen that stays away is said once.
        func isOther(_ failure: ScreenError?) -> Bool {
            defer { self.failure = failure }
            return failure != self.failure
        }

        /// Whose turn it is from the moment on at which this form was first shown; nil without one.
        func turns(of snapshot: TerminalSnapshot, at now: Duration) -> FormTurns? {
            guard case .charging(let charge) = snapshot.phase,
                let form = snapshot.tap.views[charge.id]?.formURL ?? charge.connect?.formURL
            else {
                turns = nil
                return nil
            }
            if turns?.form != form { turns = FormTurns(form: form, since: now) }
            return turns
        }

        func pin(_ snapshot: TerminalSnapshot) { newest = snapshot }

        func take() -> (snapshot: TerminalSnapshot, number: Int)? {
            taken += 1
            return newest.map { ($0, taken) }
        }

        func isNewest(_ number: Int) -> Bool { taken == number }
    }

    /// Why the screen does not show what it should, nil where it does; and whether what it shows may rest.
    private func show(
        _ snapshot: TerminalSnapshot,
        _ turns: FormTurns?,
        at now: Duration,
        quiet: Duration
    ) async -> (failure: ScreenError?, mayRest: Bool) {
        let text = ScreenText.inLanguage(snapshot.language ?? "")
        let bright = scene(of: snapshot, at: now, turns).said(in: text)
        let mayRest = ScreenRest.mayRest(bright) && snapshot.phase == .idle
        var scene = bright
        if mayRest, snapshot.rest.mode != .never, let clock = await shopClock() {
            let isDue = snapshot.rest.isDue(at: clock.time, in: clock.zone)
            scene = snapshot.rest.applied(to: bright, isDue: isDue, quiet: quiet)
        }
        await display.speak(text)
        do throws(ScreenError) {
            let shown = try await display.show(scene)
            if shown.hasScreen, case .charge = scene, scene.qrText != nil, case .charging(let charge) = snapshot.phase {
                await desk.screenShows(charge.id, isReadable: shown.qrVerified || shown.linkIsText)
            }
            return (nil, mayRest)
        } catch {
            if case .charge = scene, scene.qrText != nil, case .charging(let charge) = snapshot.phase {
                await desk.screenShows(charge.id, isReadable: false)
            }
            return (error, mayRest)
        }
    }

    /// When the number of seconds shown at `now` is another; nil where none is shown or it has reached zero.
    private func nextSecond(of snapshot: TerminalSnapshot, after now: Duration) -> Duration? {
        guard case .charging(let charge) = snapshot.phase, let deadline = charge.deadline,
            charge.link != nil || charge.charge.state == .requiresAction
        else {
            return nil
        }
        let left = deadline - now
        guard left > .zero else { return nil }
        return deadline - .seconds(left.components.seconds) + .milliseconds(1)
    }

    // MARK: - What a snapshot looks like

    /// - Parameter now: The clock's monotonic reading, which the shown seconds count from.
    func scene(of snapshot: TerminalSnapshot, at now: Duration, _ turns: FormTurns? = nil) -> Scene {
        // Whoever is asked for a code looks for it here, and a payment's end is said first.
        let isFree = snapshot.phase == .idle || snapshot.phase == .setup
        let update = isFree || snapshot.showsUpdateBeforeCode ? snapshot.update : nil
        if let update, update.holdsTerminal { return update.page }
        if let page = snapshot.keypad { return .keypad(page) }
        if let update { return update.page }
        // Nobody reaches the page while there is no network, so that not even its claim code is missed.
        if let onboarding = snapshot.onboarding, snapshot.showsOnboarding { return .onboarding(onboarding) }
        if isFree, case .waiting(let minutes) = snapshot.ownerReset { return .ownerReset(.init(minutes: minutes)) }
        if isFree, let backup = snapshot.backup { return .backup(backup.page) }
        return switch snapshot.phase {
        case .starting(let checking): .starting(checkingPayments: checking)
        case .unclaimed(let invitation), .resetting(let invitation):
            .setup(
                Scene.Setup(
                    purpose: invitation.purpose == .claim ? .claim : .reset,
                    claimAddress: invitation.url,
                    addressText: invitation.address,
                    claimCode: invitation.code,
                    fingerprintText: Self.beginning(of: invitation.fingerprint)
                )
            )
        case .setup:
            .idle(Scene.Idle(merchantName: "Till", webAddressText: webAddress(), progress: Self.progress(snapshot)))
        case .idle: idle(snapshot)
        case .charging(let charge):
            Self.scene(
                of: charge,
                trouble: snapshot.trouble,
                tap: snapshot.tap.views[charge.id] ?? TapStatus.View(),
                turn: turns?.turn(at: now) ?? .form,
                logo: snapshot.logo,
                clockText: snapshot.gateway == .clock ? snapshot.dayText : nil,
                pausedUntilText: snapshot.pausedUntilText,
                at: now
            )
        }
    }

    /// So much of a certificate's fingerprint that people compare it, and that nobody makes another certificate with the same
    /// beginning: 64 bits.
    static func beginning(of fingerprint: String) -> String {
        let bytes = fingerprint.split(separator: ":").prefix(8)
        // Groups of four digits, which stand in one line.
        return stride(from: bytes.startIndex, to: bytes.endIndex, by: 2)
            .map { bytes[$0..<min($0 + 2, bytes.endIndex)].joined() }.joined(separator: " ")
    }

    private static func progress(_ snapshot: TerminalSnapshot) -> Scene.Progress? {
        snapshot.setUp.map { Scene.Progress(step: $0.step, count: $0.count) }
    }

    private func idle(_ snapshot: TerminalSnapshot) -> Scene {
        let name = snapshot.merchantName ?? ""
        if let trouble = snapshot.trouble {
            return .offline(Scene.Offline(merchantName: name, trouble))
        }
        if let message = snapshot.message { return .message(message.scene) }
        let readiness: Scene.Light.Readiness
        switch snapshot.gateway {
        case .ready: readiness = .ready
        case .unknown: readiness = .connecting
        case .unreachable, .refused: return .offline(Scene.Offline(merchantName: name))
        case .clock: return .offline(Scene.Offline(merchantName: name, clockText: snapshot.dayText))
        case .paused:
            return .offline(Scene.Offline(merchantName: name, pausedUntilText: snapshot.pausedUntilText))
        }
        return .idle(
            Scene.Idle(
                merchantName: name,
                logo: snapshot.logo,
                lights: [Scene.Light(.scan, readiness)] + tapLight(snapshot.tap) + connectLight(snapshot.connect),
                webAddressText: webAddress(),
                notices: snapshot.notices.map { notice in
                    Scene.Notice(
                        notice.kind == .paidTwice ? .paidTwice : .late,
                        amountText: notice.amountText,
                        chargeCode: notice.code.rawValue
                    )
                },
                progress: Self.progress(snapshot)
            )
        )
    }

    private func tapLight(_ tap: TapStatus) -> [Scene.Light] {
        switch tap.light {
        case .off: []
        case .ready: [Scene.Light(.tap, .ready)]
        case .hindered: [Scene.Light(.tap, .unavailable)]
        }
    }

    private func connectLight(_ connect: ConnectStatus) -> [Scene.Light] {
        switch connect.light {
        case .off: []
        case .connecting: [Scene.Light(.connect, .connecting)]
        case .ready: [Scene.Light(.connect, .ready)]
        case .hindered: [Scene.Light(.connect, .unavailable)]
        }
    }

    static func scene(
        of snapshot: ChargeSnapshot,
        trouble: Reason?,
        tap: TapStatus.View = TapStatus.View(),
        turn: Scene.ChargeView.Turn = .form,
        logo: Picture? = nil,
        clockText: String? = nil,
        pausedUntilText: String? = nil,
        at now: Duration
    ) -> Scene {
        let charge = snapshot.charge
        let (name, amount, code) = (charge.terms.merchantName, snapshot.amountText, charge.terms.code.rawValue)
        // What is shown is what is recorded: an answer that is not leaves nothing but "not known yet".
        if snapshot.isAnswerMissing { return .unknown(Scene.Unknown(amountText: amount, chargeCode: code)) }
        switch charge.state {
        case .created:
            // No link yet. Nothing of an earlier charge may stay; what is wrong, if anything, is said.
            if let trouble {
                return .offline(Scene.Offline(merchantName: name, trouble))
            }
            // Not where something may have left before.
            if let clockText, !charge.isUnresolved {
                return .offline(Scene.Offline(merchantName: name, clockText: clockText))
            }
            return charge.isUnresolved
                ? .offline(Scene.Offline(merchantName: name, pausedUntilText: pausedUntilText))
                : .idle(Scene.Idle(merchantName: name, logo: logo))
        case .requiresAction:
            guard snapshot.link != nil || charge.waitsForPhone || snapshot.waitsForWallet else {
                // Being taken back, or found without a link: nothing that could be paid is shown.
                return processing(snapshot, tap)
            }
            let left = snapshot.deadline.map { Int(max(.zero, $0 - now).components.seconds) }
            let page = snapshot.page.flatMap { $0.isOnScreen ? $0.address : nil }
            return .charge(
                Scene.ChargeView(
                    merchantName: name,
                    amountText: amount,
                    tipText: snapshot.tipText,
                    link: page ?? snapshot.link,
                    opensPage: page != nil,
                    opensForm: page == nil && snapshot.isLinkForm,
                    tag: charge.waitsForPhone ? charge.tagLink : nil,
                    form: tap.formURL.map { .init(link: $0, way: .tap) }
                        ?? snapshot.formBesideLink.map { .init(link: $0, way: .connect) },
                    turn: turn,
                    waysToPay: charge.waysToPay.filter { snapshot.offers($0) },
                    shortCodes: tap.shortCodes,
                    secondsLeft: left,
                    chargeCode: code,
                    note: charge.isUnresolved ? .gatewaySilent : snapshot.note,
                    logo: logo
                )
            )
        case .processing where charge.isPromised:
            return .promised(
                Scene.Promised(
                    merchantName: name,
                    amountText: amount,
                    tipText: snapshot.tipText,
                    chargeCode: code
                )
            )
        case .processing: return processing(snapshot, tap)
        case .succeeded:
            return .paid(
                Scene.Paid(
                    merchantName: name,
                    amountText: amount,
                    tipText: snapshot.tipText,
                    chargeCode: code,
                    arrivedLate: charge.isLate,
                    confirmedBy: charge.confirmedBy.map { $0 == .acquirer ? .acquirer : .gateway }
                )
            )
        case .failed, .expired, .cancelled:
            return .notPaid(notPaid(snapshot, amount, code))
        case .unknown:
            return .unknown(Scene.Unknown(amountText: amount, chargeCode: code))
        }
    }

    private static func processing(_ snapshot: ChargeSnapshot, _ tap: TapStatus.View) -> Scene {
        .processing(
            Scene.Processing(
                merchantName: snapshot.charge.terms.merchantName,
                amountText: snapshot.amountText,
                tipText: snapshot.tipText,
                chargeCode: snapshot.charge.terms.code.rawValue,
                shortCode: tap.shortCodes.count == 1 ? tap.shortCodes.first : nil
            )
        )
    }

    private static func notPaid(_ snapshot: ChargeSnapshot, _ amount: String, _ code: String) -> Scene.NotPaid {
        let charge = snapshot.charge
        let kind: Scene.NotPaid.Kind =
            switch charge.state {
            case .expired: .expired
            case .cancelled: .cancelled
            default: charge.wasRefused ? .refused : .failed
            }
        return Scene.NotPaid(kind: kind, amountText: amount, chargeCode: code)
    }
}

extension Scene {
    /// The same as the customer reads it, in the screen's language. Reasons are for staff, who read them on the page: in every
    /// language the screen's own words for the state take their place. What a wallet or the keypad said is in English, and gives
    /// way to the screen's own words in every other language.
    func said(in text: ScreenText) -> Scene {
        if case .offline(var offline) = self {
            offline.detail = nil
            return .offline(offline)
        }
        guard text.languageTag != ScreenText.english.languageTag else { return self }
        switch self {
        case .charge(var charge):
            if case .wallet = charge.note { charge.note = .wallet(text.walletDidNotPay) }
            return .charge(charge)
        case .keypad(var keypad):
            (keypad.whatHappened, keypad.whatToDo) = (nil, nil)
            return .keypad(keypad)
        case .starting, .idle, .setup, .processing, .paid, .promised, .notPaid, .unknown, .offline, .message, .update,
            .backup, .onboarding, .ownerReset:
            return self
        }
    }
}

extension TerminalSnapshot {
    /// What day the terminal believes it is, `YYYY-MM-DD`.
    fileprivate var dayText: String {
        let date = Date(timeIntervalSince1970: Double(at.secondsSince1970))
        return date.formatted(Date.ISO8601FormatStyle().year().month().day())
    }

    /// Until when the gateway wants to be left alone, `14:05` in the shop's time zone; nil where it may be asked.
    fileprivate var pausedUntilText: String? {
        guard case .paused(let until) = gateway else { return nil }
        return until.timeOfDay(in: zone)
    }

    /// Whoever plugged a stick in stands there, and the code is gone with the next start anyway, or back in a minute.
    fileprivate var showsUpdateBeforeCode: Bool {
        switch (phase, update) {
        case (.unclaimed, .installing), (.unclaimed, .restarting), (.unclaimed, .refused): true
        case (.resetting, .installing), (.resetting, .restarting), (.resetting, .refused): true
        default: false
        }
    }
}

extension ChargeSnapshot {
    /// Whether the link is the form of a wallet that has connected.
    fileprivate var isLinkForm: Bool { link != nil && link == connect?.formURL }

    /// The form of a wallet that has connected, where the code is another's.
    fileprivate var formBesideLink: String? { paymentLink == nil ? nil : connect?.formURL }

    /// Beside another's code the form says itself what it is for.
    fileprivate var note: Scene.ChargeView.Note? { formBesideLink == nil ? connect?.note : nil }

    /// A wallet has connected and is being asked.
    fileprivate var waitsForWallet: Bool { isPayable && connect.map { $0.step != .invited } ?? false }

    /// Whether the customer can use this way now: by radio, or by the code that is shown.
    fileprivate func offers(_ way: Scene.WayToPay) -> Bool {
        switch way {
        case .tap: true
        case .scan: railsOfCode.contains(.scan)
        case .connect: railsOfCode.contains(.connect)
        }
    }
}

extension ConnectView {
    fileprivate var note: Scene.ChargeView.Note? {
        switch step {
        case .form: .form
        case .choosing where trouble == nil, .asked where trouble == nil, .paying: .walletAsks(wallet ?? "")
        case .invited, .choosing, .asked: trouble.map { .wallet("\($0.message) \($0.action)") }
        }
    }
}

extension Charge {
    /// A phone held near can pay it now.
    fileprivate var waitsForPhone: Bool { canCancel && !isClaimed && waysToPay.contains(.tap) }

    /// The ways that are open to the customer, the one that needs no radio first.
    fileprivate var waysToPay: [Scene.WayToPay] {
        let offered = attempts.filter { attempt in if case .offered = attempt.phase { true } else { false } }
        return Rail.allCases.compactMap { rail in
            guard offered.contains(where: { $0.rail == rail }) else { return nil }
            return switch rail {
            case .scan: .scan
            case .tap: .tap
            case .connect: .connect
            }
        }
    }
}

extension Scene.Offline {
    init(merchantName: String, _ trouble: Reason) {
        self.init(merchantName: merchantName, detail: trouble.message, storage: Storage(trouble))
    }
}

extension Scene.Offline.Storage {
    /// What the screen says of the journal's own troubles; nil for any other.
    public init?(_ reason: Reason) {
        switch reason.code {
        case "storage_full": self = .full
        case "storage_read_only": self = .readOnly
        case "journal_damaged", "journal_gone": self = .damaged
        case "journal_newer": self = .newer
        case "journal_in_use": self = .inUse
        case "storage_failed", "storage_lost_write": self = .failed
        default: return nil
        }
    }
}
