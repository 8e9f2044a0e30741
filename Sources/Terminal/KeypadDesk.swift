public import Journal
public import Keypad
public import Logging
public import Payments
import Screen

/// What staff do on the keypad: takes keys, asks the ``KeypadDialog`` what they mean, and has the charge desk do it.
///
/// Nothing waits for it: keys that come while it waits for the journal are few or lost, and the desk knows nothing of keys.
public actor KeypadDesk {
    /// Where its requests come from, as the audit log says it.
    private static let place = "keypad"

    private let desk: ChargeDesk
    private let audit: @Sendable (AuditEntry) async throws(JournalError) -> Void
    private let clock: TerminalClock
    private let logger: Logger
    private let openPayments: @Sendable () async -> Int?
    private let erase: (@Sendable () throws(JournalError) -> Void)?
    private let onboarding: OnboardingDesk?

    private var dialog = KeypadDialog()
    /// When the last page of the keypad's own went from the screen.
    private var uncovered = Duration.zero
    private let jobs = AsyncStream.makeStream(of: KeypadDialog.Action.self, bufferingPolicy: .bufferingOldest(4))
    /// Rung when a page begins that goes by itself.
    private let bell = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// One page at a time on its way to the screen.
    private let showing = Turnstile()

    /// - Parameters:
    ///   - audit: Keeps an entry of the audit log.
    ///   - openPayments: How many payments no authority has ended; nil where nobody can say.
    ///   - erase: Begins to erase everything and has the program end; nil where that cannot be done from here.
    ///   - onboarding: Asks about phones that want to connect the terminal to Wi-Fi.
    public init(
        desk: ChargeDesk,
        clock: TerminalClock,
        logger: Logger,
        audit: @escaping @Sendable (AuditEntry) async throws(JournalError) -> Void,
        openPayments: @escaping @Sendable () async -> Int?,
        erase: (@Sendable () throws(JournalError) -> Void)?,
        onboarding: OnboardingDesk? = nil
    ) {
        self.onboarding = onboarding
        (self.desk, self.clock, self.logger, self.audit) = (desk, clock, logger, audit)
        (self.openPayments, self.erase) = (openPayments, erase)
    }

    /// Takes keys until cancelled, or until there will be no more.
    public func run(_ events: AsyncStream<KeypadEvent>) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.followDesk() }
            group.addTask { await self.work() }
            group.addTask { await self.watchTime() }
            for await event in events { await take(event) }
            group.cancelAll()
        }
        await desk.setKeypad(nil)
    }

    private func take(_ event: KeypadEvent) async {
        switch event {
        case .pressed(let key):
            await desk.wakeScreen()
            // What is being typed has the screen, and the keys.
            if dialog.page == nil, await onboarding?.take(key, uncovered: uncovered) == true { return }
            // What the terminal is doing now, and not a moment ago: an Enter is for what stands on the screen.
            await learn(await desk.snapshot)
            await tell(.key(key))
        case .lost: await tell(.keysLost)
        case .heldForErasing:
            await learn(await desk.snapshot)
            await tell(.heldForErasing)
        case .connected(let name):
            logger.notice("a keypad is there", metadata: ["keypad": "\(name)"])
            await onboarding?.keypadCame()
        case .disconnected:
            logger.notice("a keypad is gone")
            await onboarding?.keypadWent()
        }
    }

    private func tell(_ event: KeypadDialog.Event) async {
        let (now, wasCovered) = (clock.elapsed(), dialog.page != nil)
        if let action = dialog.handle(event, at: now) { jobs.continuation.yield(action) }
        // What stood under it can be read from now on.
        if wasCovered, dialog.page == nil { uncovered = now }
        // Whoever types the next amount is done with the last customer.
        if case .typing = dialog.page, !wasCovered { await desk.putAwayResult() }
        if dialog.endsAt != nil { bell.continuation.yield() }
        await showing.enter()
        defer { showing.leave() }
        let (format, snapshot) = (await desk.format, await desk.snapshot)
        await desk.setKeypad(dialog.page.flatMap { scene($0, format, snapshot) })
    }

    // MARK: - What the terminal does

    private func followDesk() async {
        for await snapshot in await desk.snapshots() { await learn(snapshot) }
    }

    private func learn(_ snapshot: TerminalSnapshot) async {
        let situation = KeypadDialog.Situation(snapshot, await desk.keypadRules, await desk.settings, erase != nil)
        if situation != dialog.situation { await tell(.situation(situation)) }
    }

    private func watchTime() async {
        for await _ in bell.stream {
            while let end = dialog.endsAt {
                let left = end - clock.elapsed()
                guard left > .zero else {
                    await tell(.time)
                    break
                }
                // The page may be another one by then, which goes sooner.
                do { try await clock.sleep(min(left, .seconds(1))) } catch { return }
            }
        }
    }

    // MARK: - What is to be done

    private func work() async {
        for await action in jobs.stream {
            switch action {
            case .open(let amount): await open(amount)
            case .cancel(let id):
                await change("charge.cancel", id) { () async throws(ChargeRefusal) in
                    try await self.desk.cancel(id, by: .keypad)
                }
            case .release(let id):
                await change("charge.release", id) { () async throws(ChargeRefusal) in
                    try await self.desk.release(id, by: .keypad)
                }
            case .countOpenPayments: await count()
            case .erase: await eraseEverything()
            }
        }
    }

    private func open(_ amount: Money) async {
        do throws(ChargeRefusal) {
            _ = try await desk.open(ChargeRequest(amount: amount, by: .keypad, from: Self.place))
            await learn(await desk.snapshot)
        } catch {
            let reason = error.reason(format: await desk.format)
            logger.notice("the keypad's charge is refused", metadata: ["reason": "\(reason.code)"])
            await tell(.chargeRefused(reason))
        }
    }

    private func change(
        _ what: String,
        _ id: ChargeID,
        _ body: () async throws(ChargeRefusal) -> ChargeSnapshot
    ) async {
        do throws(ChargeRefusal) {
            _ = try await body()
            await note(what, "ok", id.rawValue)
        } catch {
            // The screen says meanwhile what was faster.
            logger.notice("the keypad asked too late", metadata: ["what": "\(what)", "charge": "\(id)"])
        }
    }

    private func count() async {
        let count = await openPayments()
        if count != 0 {
            await note("wipe", "refused", count.map { "\($0) payments are open" } ?? "open payments are not known")
        }
        var generator = SystemRandomNumberGenerator()
        let digits = (0..<KeypadDialog.codeDigits).map { _ in String(Int.random(in: 0...9, using: &generator)) }
        await tell(.openPayments(count, code: digits.joined()))
    }

    private func eraseEverything() async {
        // Once more: since the code was shown a charge may have begun.
        guard let erase, await openPayments() == 0 else {
            await note("wipe", "refused", "payments are open")
            return await tell(.erasingFailed)
        }
        do throws(JournalError) { try erase() } catch {
            logger.critical("nothing was erased", metadata: ["error": "\(error)"])
            await note("wipe", "failed", "")
            await tell(.erasingFailed)
        }
    }

    private func note(_ what: String, _ result: String, _ detail: String) async {
        let entry = AuditEntry(
            at: clock.wallTime(),
            who: .keypad,
            from: Self.place,
            what: what,
            result: result,
            detail: detail
        )
        do throws(JournalError) { try await audit(entry) } catch {
            logger.critical("the audit log takes no entry", metadata: ["what": "\(what)", "error": "\(error)"])
        }
    }
}

extension KeypadDialog.Situation {
    fileprivate init(
        _ snapshot: TerminalSnapshot,
        _ rules: CounterKeypad,
        _ settings: MerchantSettings?,
        _ canErase: Bool
    ) {
        var charge: KeypadDialog.OpenCharge?
        if case .charging(let shown) = snapshot.phase, shown.charge.holdsTerminal {
            charge = .init(
                id: shown.id,
                canCancel: shown.canCancel,
                canRelease: shown.canRelease && shown.releaseInSeconds == 0
            )
        }
        let isClaimed =
            switch snapshot.phase {
            case .starting, .unclaimed: false
            case .setup, .idle, .resetting, .charging: true
            }
        self.init(
            isUnlocked: isClaimed && settings != nil && rules.mode != .off,
            mayErase: isClaimed && rules.mayErase && canErase,
            asksAgain: rules.mode == .confirm,
            currency: settings?.currency ?? .euro,
            charge: charge
        )
    }
}

/// What a page looks like.
private func scene(_ page: KeypadDialog.Page, _ format: AmountFormat, _ snapshot: TerminalSnapshot) -> Scene.Keypad? {
    func amount(_ kind: Scene.Keypad.Kind, _ entry: AmountEntry) -> Scene.Keypad {
        let newest = Money(minorUnits: entry.minorUnits, currency: entry.currency)
        let count = entry.earlierCount + (entry.minorUnits > 0 ? 1 : 0)
        return Scene.Keypad(
            kind,
            amountText: format.text(entry.total),
            sum: entry.earlierCount == 0 ? nil : .init(count: count, newestText: format.text(newest))
        )
    }
    func charge(_ kind: Scene.Keypad.Kind, _ id: ChargeID) -> Scene.Keypad? {
        guard case .charging(let charge) = snapshot.phase, charge.id == id else { return nil }
        return Scene.Keypad(kind, amountText: charge.amountText, chargeCode: charge.charge.terms.code.rawValue)
    }
    switch page {
    case .typing(let entry): return amount(entry.isDoubtful ? .notAnAmount : .typing, entry)
    case .confirming(let entry): return amount(.confirming, entry)
    case .opening: return nil
    case .askingToCancel(let id): return charge(.cancel, id)
    case .askingToRelease(let id): return charge(.release, id)
    case .cannotCancel(let id): return charge(.tooLate, id)
    case .notCharged(let reason):
        return Scene.Keypad(.notCharged, whatHappened: reason.message, whatToDo: reason.action)
    case .erasing(let code, let typed): return Scene.Keypad(.erase, code: code, typed: typed)
    case .cannotErase(let count): return Scene.Keypad(.cannotErase, openPayments: count)
    case .notErased: return Scene.Keypad(.notErased)
    case .begunErasing: return Scene.Keypad(.erasing)
    }
}
