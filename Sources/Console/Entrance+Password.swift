import Journal
import Logging
import Payments
import Terminal

/// A new password: by the owner who knows the old one, and by the one who can restart the terminal and read its screen.
extension Entrance {
    /// Replaces the password of the one who is signed in. The browser gets a new token; with `endingOthers` it is the only
    /// one that stays signed in.
    func changePassword(
        from current: String,
        to new: String,
        endingOthers: Bool,
        of session: Session,
        from peer: String
    ) async throws(Problem) -> (token: String, session: Session) {
        // What is checked now is what will be replaced: a change in between makes this one fail.
        guard let (owner, version) = known else { throw .notClaimed }
        if let objection = PasswordRule.objection(to: new) { throw .field("newPassword", objection.reason) }
        do throws(Problem) {
            try await check(password: current, what: "password", by: Self.ownerActor, from: peer)
        } catch {
            // Signed in they are; it is the field that is wrong.
            throw error.status == 401 ? .field("currentPassword", error.reason) : error
        }
        let first = endingOthers ? clock.wallTime().millisecondsSince1970 : owner.sessionsFrom
        guard try await store(Owner(password: try await hash(new), sessionsFrom: first), replacing: version) else {
            throw Self.changedMeanwhile
        }
        await audit(
            "password.change",
            "ok",
            endingOthers ? "everybody else is signed out" : "others stay signed in",
            by: Self.ownerActor,
            from: peer
        )
        return await replace(session, on: session.device, endingOthers: endingOthers)
    }

    /// Shows a code on the terminal's screen with which a new password can be set.
    func startReset(from peer: String) async throws(Problem) {
        switch reset.start(at: clock.elapsed()) {
        case .shown:
            await audit("reset.start", "ok", "a code is on the screen", by: .stranger, from: peer, always: true)
            await showCode()
        case .isRunning: break
        case .paused(let wait):
            await audit("reset.start", "refused", "too soon after the last one", by: .stranger, from: peer)
            throw .tooMany(wait)
        case .tooLate:
            await audit("reset.start", "refused", "switched on too long ago", by: .stranger, from: peer)
            throw Problem(
                409,
                "reset_needs_restart",
                "This works only in the first 15 minutes after the terminal was switched on.",
                "Switch the terminal off and on, then ask for the code again."
            )
        }
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
        let before = reset.code
        let verdict = reset.guess(code, at: clock.elapsed())
        if reset.code != before { await showCode() }
        switch verdict {
        case .right: break
        case .wrong:
            await audit("reset", "refused", "wrong code", by: .stranger, from: peer)
            throw Problem(
                403,
                "reset_code_wrong",
                "This is not the code on the terminal's screen.",
                "Look at the screen again. After five wrong codes a new one is needed."
            )
        case .none:
            await audit("reset", "refused", "no code is running", by: .stranger, from: peer)
            throw Problem(
                409,
                "reset_not_running",
                "There is no code on the terminal's screen, or its time is over.",
                "Ask for a new code."
            )
        }
        let hash = try await hash(password)
        let new = Owner(password: hash, sessionsFrom: clock.wallTime().millisecondsSince1970)
        guard try await store(new, replacing: version) else { throw Self.changedMeanwhile }
        reset.forgive()
        await forgive(from: peer)
        await audit("reset", "ok", "a new password; everybody is signed out", by: Self.ownerActor, from: peer)
        return await replace(nil, on: device, endingOthers: true)
    }

    /// The password's document already says who has ended, so a failing store costs no more than the new session's life
    /// after a restart.
    private func replace(
        _ session: Session?,
        on device: Device,
        endingOthers: Bool
    ) async -> (token: String, session: Session) {
        let (token, new, stored) = await sessions.replace(
            session,
            with: Session(role: .owner, on: device),
            endingOthers: endingOthers,
            at: clock.wallTime()
        )
        if case .failure(let error) = stored {
            logger.error("after a restart the owner has to sign in again", metadata: ["error": "\(error)"])
        }
        return (token, new)
    }

    private static let changedMeanwhile = Problem(
        409,
        "password_changed_meanwhile",
        "Somebody else changed the password at the same moment. Yours was not stored.",
        "Sign in with the new password, or try again."
    )

    // MARK: - Sessions

    /// Ends one of the sessions that the one who asks may end.
    func endSession(_ id: String, by asker: Session, from peer: String) async throws(Problem) {
        guard sessions.list(at: clock.wallTime()).contains(where: { $0.id == id && asker.oversees($0) }) else {
            throw Problem(404, "session_not_found", "This sign-in has ended already.", "Look at the list again.")
        }
        _ = try await end([id], "session.end", id, by: asker.who, from: peer)
    }

    /// Ends all sessions but the one that asks: for the owner everybody's, else those of the same person.
    /// - Returns: How many have ended.
    func endOthers(than session: Session, from peer: String) async throws(Problem) -> Int {
        let others = sessions.list(at: clock.wallTime()).filter { other in
            other.id != session.id && (session.role == .owner || session.isOfSamePerson(as: other))
        }
        return try await end(
            Set(others.map(\.id)),
            "session.end",
            "\(others.count) others",
            by: session.who,
            from: peer
        )
    }

    private func end(
        _ ids: Set<String>,
        _ what: String,
        _ detail: String,
        by who: Payments.Actor,
        from peer: String
    ) async throws(Problem) -> Int {
        do throws(JournalError) {
            let count = try await sessions.end(ids, at: clock.wallTime())
            await audit(what, "ok", detail, by: who, from: peer)
            return count
        } catch {
            logger.error("the end of a session is not stored", metadata: ["error": "\(error)"])
            await audit(what, "not stored", detail, by: who, from: peer)
            throw Problem(
                503,
                "ended_until_restart",
                "They are signed out, but the terminal could not store it. After a restart they would be signed in again.",
                "Do it once more when the terminal can store again."
            )
        }
    }
}
