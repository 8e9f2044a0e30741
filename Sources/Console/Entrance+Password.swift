import Journal
import Logging
import Payments
import Terminal

/// A new password by the owner who knows the old one, and the sessions of everybody.
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
            try await check(password: current, what: "password", by: Self.ownerActor, of: session, from: peer)
        } catch {
            // Signed in they are; it is the field that is wrong.
            throw error.status == 401 ? .field("currentPassword", error.reason) : error
        }
        // The same once more changes nothing for whoever knows it.
        guard current != new else {
            throw .field(
                "newPassword",
                Reason(
                    code: "password_same",
                    message: "This is the password that you have. Nothing was changed.",
                    action: "Choose another one."
                )
            )
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

    /// The password's document already says who has ended, so a failing store costs no more than the new session's life
    /// after a restart.
    func replace(
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

    static let changedMeanwhile = Problem(
        409,
        "password_changed_meanwhile",
        "Somebody else changed the password at the same moment. Yours was not stored.",
        "Sign in with the new password, or try again."
    )

    /// Gives whoever has just shown who they are a new token; the old one ends in the same step.
    func renew(_ session: Session) async -> (token: String, session: Session) {
        let (token, new, stored) = await sessions.replace(
            session,
            with: Session(role: session.role, name: session.name, person: session.person, on: session.device),
            endingOthers: false,
            at: clock.wallTime()
        )
        if case .failure(let error) = stored {
            logger.error("after a restart somebody has to sign in again", metadata: ["error": "\(error)"])
        }
        return (token, new)
    }

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
