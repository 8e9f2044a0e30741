import Journal
import Logging
import Payments
import Terminal

/// A step of a password reset, as webhooks are told of it.
enum ResetNews: Sendable, Equatable {
    /// A stick is in; the code comes after the wait.
    case waiting(minutes: Int)
    /// The code is on the screen.
    case shown
    /// Nothing came of it, and why.
    case ended(Reset.End)
    /// The owner has a new password, and everybody was signed out.
    case done

    /// As messages name it.
    var type: String {
        switch self {
        case .waiting: "terminal.reset_waiting"
        case .shown: "terminal.reset_shown"
        case .ended: "terminal.reset_ended"
        case .done: "terminal.password_reset"
        }
    }

    var data: JSON {
        switch self {
        case .waiting(let minutes): .object(["minutes": .integer(Int64(minutes))])
        case .ended(let end): .object(["why": .string(end.rawValue)])
        case .shown, .done: .object([:])
        }
    }
}

extension Reset {
    /// Why a new password was not set.
    enum End: String, Sendable {
        /// The stick was pulled out.
        case withdrawn
        /// The owner refused it.
        case refused
        /// The owner signed in with the password.
        case signedIn = "signed_in"
        /// Nobody used the code in its time.
        case over
    }
}

/// A new password for an owner who forgot the old one: a stick in the terminal, a wait, a code on its screen.
/// Decided in docs/decisions/0031-presence.md.
extension Entrance {
    /// The origin of an act by stick in the audit log.
    private static let place = "stick"
    private static let pause = Duration.seconds(2)

    /// Looks for sticks until cancelled.
    func watchForOwner() async {
        guard let ownerSticks else { return }
        while true {
            do { try await clock.sleep(Self.pause) } catch { return }  // The terminal stops.
            await look(at: ownerSticks.present())
        }
    }

    /// Does what the sticks that are in now ask for.
    func look(at sticks: Set<String>) async {
        guard claimed.value else { return }
        let isCharging = await isCharging
        let change = reset.look(at: sticks, isCharging: isCharging, now: clock.elapsed())
        switch change {
        case .began:
            await note("reset.start", "ok", "a stick for a new owner password is in; the code waits")
            await tell(.waiting(minutes: Int(Reset.wait / .seconds(60))))
        case .opened:
            await note("reset.code", "ok", "the code is on the screen")
            await tell(.shown)
        case .withdrawn:
            await note("reset.end", "ok", "the stick was pulled out")
            await tell(.ended(.withdrawn))
        case .over:
            await note("reset.end", "ok", "nobody used the code")
            await tell(.ended(.over))
        case nil:
            // The minutes that are left, and whatever two changes at once have left behind. What is the same is told to nobody.
            await desk.setOwnerReset(ownerReset)
        }
    }

    private func tell(_ news: ResetNews) async {
        resetNews.continuation.yield(news)
        await showCode()
    }

    private func note(_ what: String, _ result: String, _ detail: String) async {
        await audit(what, result, detail, by: .terminal, from: Self.place)
    }

    /// Ends what somebody began with a stick. No stick counts for an hour afterwards.
    /// - Returns: False where nothing was under way.
    func refuseReset(by who: Payments.Actor, from peer: String) async -> Bool {
        guard reset.refuse(at: clock.elapsed()) else { return false }
        await audit("reset.refuse", "ok", "no stick counts for an hour", by: who, from: peer)
        await tell(.ended(.refused))
        return true
    }

    /// The owner has signed in with the password: what somebody began with a stick is over.
    func forgetReset(from peer: String) async {
        guard reset.forget() else { return }
        await audit("reset.end", "ok", "the owner signed in with the password", by: Self.ownerActor, from: peer)
        await tell(.ended(.signedIn))
    }

    /// Sets a new password with the screen's code, and signs everybody else out. Of two at once exactly one.
    func finishReset(
        code: String,
        password: String,
        on device: Device = Device(),
        from peer: String
    ) async throws(Problem) -> (token: String, session: Session) {
        guard let (_, version) = known else { throw .notClaimed }
        if let objection = PasswordRule.objection(to: password) { throw objection }
        guard reset.code != nil else {
            await audit("reset", "refused", "no code is running", by: .stranger, from: peer)
            throw Self.noCode
        }
        // Money comes first, and whoever stands at the terminal then is a customer.
        guard await !isCharging else {
            throw Problem(
                409,
                "reset_waits_for_charge",
                "A charge is open. No new password is set while a customer pays.",
                "Wait until it has ended, then send the code again."
            )
        }
        try await takeGuess("reset", from: peer)
        switch reset.guess(code, at: clock.elapsed()) {
        case .right: break
        case .wrong:
            await audit("reset", "refused", "wrong code", by: .stranger, from: peer)
            throw Problem(
                403,
                "reset_code_wrong",
                "This is not the code on the terminal's screen.",
                "Look at the screen again, and type all eight characters."
            )
        case .none:
            await audit("reset", "refused", "no code is running", by: .stranger, from: peer)
            throw Self.noCode
        }
        await showCode()
        let hash = try await hash(password)
        let new = Owner(password: hash, sessionsFrom: clock.wallTime().millisecondsSince1970)
        guard try await store(new, replacing: version) else { throw Self.changedMeanwhile }
        await forgive(from: peer)
        await audit("reset", "ok", "a new password; everybody is signed out", by: Self.ownerActor, from: peer)
        resetNews.continuation.yield(.done)
        return await replace(nil, on: device, endingOthers: true)
    }

    private static let noCode = Problem(
        409,
        "reset_not_running",
        "There is no code on the terminal's screen, or its time is over.",
        "Plug the stick in again, and wait for a new code."
    )
}
