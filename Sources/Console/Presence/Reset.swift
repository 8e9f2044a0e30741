import Payments

/// The way back in for an owner who forgot the password: a stick in the terminal, a wait that everybody sees, and then a code
/// on the terminal's own screen. A value; time and the sticks come from outside.
///
/// The screen faces customers, and a start of the program proves nothing, so that neither opens a way in. A stick that is in at
/// the start does not count until it was pulled out: no crash, power cut, update or restore begins or shortens a wait. The code
/// is a ``Claim``'s: 40 bits, 15 minutes. It works once. Decided in docs/decisions/0031-presence.md.
struct Reset: Sendable {
    /// From the stick to the code.
    static let wait = Duration.seconds(15 * 60)
    /// For so long no stick counts after the owner has refused.
    static let afterRefusal = Duration.seconds(60 * 60)

    /// The result of a look at the sticks.
    enum Change: Sendable, Equatable {
        /// A stick came; the wait has begun.
        case began
        /// The stick has gone, and the wait or the code with it.
        case withdrawn
        /// The code can be shown.
        case opened
        /// Nobody used the code in its time.
        case over
    }

    /// The result of a guess.
    enum Verdict: Sendable, Equatable {
        /// The code is used up.
        case right
        case wrong
        /// No code can be guessed.
        case none
    }

    private enum Stage: Sendable {
        case none
        case waiting(stick: String, until: Duration)
        case open(stick: String, Claim)
    }

    private var stage = Stage.none
    /// Sticks that do not count until they were pulled out.
    private var spent: Set<String>
    private var quietUntil: Duration?

    /// - Parameter sticks: Those that are in when the program starts.
    init(startingWith sticks: Set<String>) { spent = sticks }

    /// The code as the screen shows it; nil while there is none.
    var code: String? {
        guard case .open(_, let claim) = stage else { return nil }
        return claim.grouped
    }

    /// Whole minutes until the code, at least 1; nil where nothing waits.
    func minutesLeft(at now: Duration) -> Int? {
        guard case .waiting(_, let until) = stage else { return nil }
        return max(1, Int(((until - now) / .seconds(60)).rounded(.up)))
    }

    /// Whether a wait or a code is on its way.
    var isUnderWay: Bool {
        if case .none = stage { return false }
        return true
    }

    /// - Parameters:
    ///   - sticks: The sticks for a new password that are in now.
    ///   - isCharging: Whether a charge is open. Nothing begins and no code appears then.
    mutating func look(at sticks: Set<String>, isCharging: Bool, now: Duration) -> Change? {
        spent.formIntersection(sticks)
        switch stage {
        case .none:
            if let quietUntil, now < quietUntil {
                spent = sticks
                return nil
            }
            guard !isCharging, let stick = sticks.subtracting(spent).min() else { return nil }
            spent = sticks
            stage = .waiting(stick: stick, until: now + Self.wait)
            return .began
        case .waiting(let stick, let until):
            guard sticks.contains(stick) else {
                stage = .none
                return .withdrawn
            }
            guard now >= until, !isCharging else { return nil }
            stage = .open(stick: stick, Claim(at: now))
            return .opened
        case .open(let stick, let claim):
            guard sticks.contains(stick) else {
                stage = .none
                return .withdrawn
            }
            guard now >= claim.expiresAt else { return nil }
            stage = .none
            return .over
        }
    }

    /// Takes a guess as ``Claim/guess(_:at:)`` does.
    mutating func guess(_ text: String, at now: Duration) -> Verdict {
        guard case .open(let stick, var claim) = stage, now < claim.expiresAt else { return .none }
        let isRight = claim.guess(text, at: now)
        stage = isRight ? .none : .open(stick: stick, claim)
        return isRight ? .right : .wrong
    }

    /// The owner says that nobody is to set a new password.
    /// - Returns: False where nothing was under way.
    mutating func refuse(at now: Duration) -> Bool {
        guard isUnderWay else { return false }
        (stage, quietUntil) = (.none, now + Self.afterRefusal)
        return true
    }

    /// The owner has signed in: nothing is to be reset.
    /// - Returns: False where nothing was under way.
    mutating func forget() -> Bool {
        guard isUnderWay else { return false }
        stage = .none
        return true
    }
}
