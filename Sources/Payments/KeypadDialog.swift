/// What staff do on a keypad without any browser: type an amount and charge it, cancel, and erase the terminal.
///
/// A value that decides: no clock, no I/O. Whoever drives it tells it what is known of the terminal, the keys and the time,
/// and does what it returns. It never charges an amount of which a key may be missing.
public struct KeypadDialog: Sendable, Equatable {
    /// What it needs to know of the terminal.
    public struct Situation: Sendable, Equatable {
        /// False before the terminal is claimed and set up, while it starts, and where the owner switched the keypad off.
        public var isUnlocked: Bool
        /// Whether everything can be erased from here.
        public var mayErase: Bool
        /// Every charge is asked about once more.
        public var asksAgain: Bool
        public var currency: Currency
        /// The charge that holds the terminal; nil while none does.
        public var charge: OpenCharge?

        public init(
            isUnlocked: Bool = false,
            mayErase: Bool = false,
            asksAgain: Bool = false,
            currency: Currency = .euro,
            charge: OpenCharge? = nil
        ) {
            (self.isUnlocked, self.mayErase, self.asksAgain) = (isUnlocked, mayErase, asksAgain)
            (self.currency, self.charge) = (currency, charge)
        }
    }

    /// A charge that holds the terminal, and what staff can do about it now.
    public struct OpenCharge: Sendable, Equatable {
        public var id: ChargeID
        public var canCancel: Bool
        public var canRelease: Bool

        public init(id: ChargeID, canCancel: Bool, canRelease: Bool) {
            (self.id, self.canCancel, self.canRelease) = (id, canCancel, canRelease)
        }
    }

    /// What the screen says in place of what it would say; nil: nothing of the keypad's.
    public enum Page: Sendable, Equatable {
        case typing(AmountEntry)
        /// The same amount is charged with the next Enter.
        case confirming(AmountEntry)
        /// Charged just now; the charge's own page follows.
        case opening(Money)
        case askingToCancel(ChargeID)
        case askingToRelease(ChargeID)
        /// Money may be moving: nothing can be taken back now.
        case cannotCancel(ChargeID)
        case notCharged(Reason)
        /// Erasing needs this code, which only who sees the screen can type.
        case erasing(code: String, typed: String)
        /// Payments without a final answer.
        case cannotErase(openPayments: Int)
        /// Nobody can say how many payments are open, or it failed.
        case notErased
        case begunErasing
    }

    public enum Event: Sendable, Equatable {
        case key(CounterKey)
        /// A key may have been missed, or a device typed faster than people do: what was typed is not to be trusted.
        case keysLost
        /// The keys for erasing were held for their long time.
        case heldForErasing
        /// The answer to `countOpenPayments`; nil: nobody can say. `code` is random, digits only.
        case openPayments(Int?, code: String)
        case chargeRefused(Reason)
        case situation(Situation)
        case time
        case erasingFailed
    }

    public enum Action: Sendable, Equatable {
        case open(Money)
        case cancel(ChargeID)
        case release(ChargeID)
        /// Answer with `openPayments`.
        case countOpenPayments
        /// Count once more, then erase.
        case erase
    }

    public private(set) var situation = Situation()
    public private(set) var page: Page?
    /// When the page goes by itself, on the driver's monotonic clock. Tell `.time` then.
    public private(set) var endsAt: Duration?
    /// Since the keys for it were held, until `openPayments` answers.
    private var awaitsCount = false

    /// An amount that nobody goes on with is nobody's.
    public static let typingTime = Duration.seconds(60)
    public static let questionTime = Duration.seconds(15)
    public static let noteTime = Duration.seconds(8)
    public static let erasingTime = Duration.seconds(60)
    /// Digits of the code that erasing takes.
    public static let codeDigits = 6

    public init() {}

    /// Takes what happened at `now` and returns what to do; nil: nothing.
    public mutating func handle(_ event: Event, at now: Duration) -> Action? {
        if let endsAt, now >= endsAt { leave() }
        switch event {
        case .situation(let situation): take(situation)
        case .time: break
        case .keysLost: lose()
        case .key(let key): return press(key, now)
        case .heldForErasing: return page == .begunErasing ? nil : beginErasing()
        case .openPayments(let count, let code): answer(count, code, now)
        case .chargeRefused(let reason):
            if case .opening = page { show(.notCharged(reason), until: now + Self.noteTime) }
        case .erasingFailed: show(.notErased, until: now + Self.noteTime)
        }
        return nil
    }

    private mutating func show(_ page: Page, until end: Duration?) { (self.page, endsAt) = (page, end) }
    private mutating func leave() { (page, endsAt) = (nil, nil) }

    private mutating func take(_ new: Situation) {
        let before = situation
        situation = new
        switch page {
        case .typing(let entry), .confirming(let entry):
            // Another charge came first, the terminal went out of use, or the amount is of a currency that is none any more.
            if !new.isUnlocked || new.charge != nil || entry.currency != new.currency { leave() }
        case .opening: if new.charge != nil || !new.isUnlocked { leave() }
        case .askingToCancel(let id):
            guard new.isUnlocked, let charge = new.charge, charge.id == id, charge.canCancel else { return leave() }
        case .askingToRelease(let id):
            guard new.isUnlocked, let charge = new.charge, charge.id == id, charge.canRelease else { return leave() }
        case .cannotCancel(let id): if new.charge?.id != id || !new.isUnlocked { leave() }
        case .notCharged: if !new.isUnlocked || before.charge == nil && new.charge != nil { leave() }
        case .erasing: if !new.mayErase || new.charge != nil { leave() }
        case .cannotErase, .notErased, .begunErasing, nil: break
        }
    }

    private mutating func lose() {
        switch page {
        case .typing, .confirming, .erasing, .askingToCancel, .askingToRelease: leave()
        default: break
        }
    }

    private mutating func press(_ key: CounterKey, _ now: Duration) -> Action? {
        switch page {
        case .begunErasing, .opening: return nil
        case .erasing(let code, let typed): return type(key, code, typed, now)
        case .cannotErase, .notErased:
            leave()
            return nil
        default: break
        }
        guard situation.isUnlocked else {
            leave()
            return nil
        }
        if let charge = situation.charge { return press(key, during: charge, now) }
        switch page {
        case .typing(let entry): return press(key, entry, isConfirming: false, now)
        case .confirming(let entry): return press(key, entry, isConfirming: true, now)
        default:
            // A note that was there is read, or in the way.
            leave()
            return press(key, AmountEntry(currency: situation.currency), isConfirming: false, now)
        }
    }

    private mutating func press(
        _ key: CounterKey,
        _ entry: AmountEntry,
        isConfirming: Bool,
        _ now: Duration
    ) -> Action? {
        var entry = entry
        switch key {
        case .cancel where isConfirming: show(.typing(entry), until: now + Self.typingTime)
        case .cancel, .clear: leave()
        case .enter:
            guard entry.total.minorUnits > 0, !entry.isDoubtful else { return nil }
            if !isConfirming, situation.asksAgain || entry.earlierCount > 0 {
                show(.confirming(entry), until: now + Self.typingTime)
                return nil
            }
            show(.opening(entry.total), until: now + Self.questionTime)
            return .open(entry.total)
        default:
            let isTaken = entry.take(key)
            guard isTaken || !entry.isEmpty else { return nil }
            // Whatever is typed after a sum was shown belongs to the sum.
            if entry.isEmpty { leave() } else { show(.typing(entry), until: now + Self.typingTime) }
        }
        return nil
    }

    private mutating func press(_ key: CounterKey, during charge: OpenCharge, _ now: Duration) -> Action? {
        switch (page, key) {
        case (.askingToCancel(let id), .enter):
            leave()
            return id == charge.id ? .cancel(id) : nil
        case (.askingToRelease(let id), .enter):
            leave()
            return id == charge.id ? .release(id) : nil
        case (.askingToCancel, _), (.askingToRelease, _), (.cannotCancel, _): leave()
        case (_, .cancel):
            if charge.canCancel {
                show(.askingToCancel(charge.id), until: now + Self.questionTime)
            } else if charge.canRelease {
                show(.askingToRelease(charge.id), until: now + Self.questionTime)
            } else {
                show(.cannotCancel(charge.id), until: now + Self.noteTime)
            }
        default: break  // Digits are for the next charge, and there is one.
        }
        return nil
    }

    // MARK: - Erasing

    private mutating func beginErasing() -> Action? {
        guard situation.mayErase else { return nil }
        leave()
        awaitsCount = true
        return .countOpenPayments
    }

    private mutating func answer(_ count: Int?, _ code: String, _ now: Duration) {
        guard awaitsCount else { return }
        awaitsCount = false
        guard situation.mayErase else { return leave() }
        switch count {
        case 0?:
            guard situation.charge == nil, code.utf8.count == Self.codeDigits,
                code.utf8.allSatisfy({ (0x30...0x39).contains($0) })
            else { return show(.notErased, until: now + Self.noteTime) }
            show(.erasing(code: code, typed: ""), until: now + Self.erasingTime)
        case let count?: show(.cannotErase(openPayments: count), until: now + Self.questionTime)
        case nil: show(.notErased, until: now + Self.noteTime)
        }
    }

    private mutating func type(_ key: CounterKey, _ code: String, _ typed: String, _ now: Duration) -> Action? {
        switch key {
        case .digit(let digit) where typed.utf8.count < Self.codeDigits:
            page = .erasing(code: code, typed: typed + String(digit))
        case .backspace: page = .erasing(code: code, typed: String(typed.dropLast()))
        case .enter where typed == code:
            show(.begunErasing, until: nil)
            return .erase
        case .digit, .zeros, .point: break
        // A wrong code, too: whoever guesses begins anew with another one.
        default: leave()
        }
        return nil
    }
}
