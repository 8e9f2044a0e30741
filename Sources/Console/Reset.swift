import Payments

/// The way back in for an owner who forgot the password: a code on the terminal's own screen. A value; time comes from
/// outside.
///
/// In a shop the screen faces customers, so reading it proves less than it does at the claim. A code is therefore only
/// given in the first minutes after the terminal was switched on: whoever asks has had a hand on its plug. The code is a
/// ``Claim``'s: 40 bits, 15 minutes, five tries. It works once, and after one that was not used the next one waits.
struct Reset: Sendable {
    /// How long after the start a code can be asked for.
    static let window = Duration.seconds(15 * 60)
    private static let longestPause = Duration.seconds(15 * 60)

    /// What asking for a code came to.
    enum Start: Sendable, Equatable {
        case shown
        /// One is on the screen already; it stays.
        case isRunning
        case paused(Duration)
        /// The terminal was switched on too long ago.
        case tooLate
    }

    /// What a guess came to.
    enum Verdict: Sendable, Equatable {
        /// The code is used up.
        case right
        case wrong
        /// No code can be guessed.
        case none
    }

    private let switchedOnAt: Duration
    private var claim: Claim?
    private var pause = Duration.seconds(30)
    private var pausedUntil = Duration.zero

    init(switchedOnAt: Duration) { self.switchedOnAt = switchedOnAt }

    /// What the screen shows, as it is shown; nil while there is no code.
    var code: String? { claim?.grouped }

    /// When the code is over.
    var expiresAt: Duration? { claim?.expiresAt }

    mutating func start(at now: Duration) -> Start {
        expire(at: now)
        guard claim == nil else { return .isRunning }
        guard now - switchedOnAt < Self.window else { return .tooLate }
        guard now >= pausedUntil else { return .paused(pausedUntil - now) }
        claim = Claim(at: now)
        return .shown
    }

    /// Takes a guess as ``Claim/guess(_:at:)`` does. The fifth wrong one ends the code.
    mutating func guess(_ text: String, at now: Duration) -> Verdict {
        expire(at: now)
        guard var guessed = claim else { return .none }
        let code = guessed.code
        switch guessed.guess(text, at: now) {
        case .right:
            claim = nil
            return .right
        case .wrong, .paused:
            claim = guessed
            if guessed.code != code { endUnused(at: now) }
            return .wrong
        }
    }

    /// True where a code was over and is none any more.
    @discardableResult
    mutating func expire(at now: Duration) -> Bool {
        guard let claim, now >= claim.expiresAt else { return false }
        endUnused(at: now)
        return true
    }

    /// The owner is back in: nothing waits any more, and there is no code.
    mutating func forgive() {
        (claim, pause, pausedUntil) = (nil, .seconds(30), .zero)
    }

    private mutating func endUnused(at now: Duration) {
        claim = nil
        pausedUntil = now + pause
        pause = min(pause * 2, Self.longestPause)
    }
}
