import Payments
import Terminal
import WebServer

/// Step-up authentication: access that outlives a session needs the password or the PIN of the last ten minutes. A stolen session,
/// or a browser that was left alone, makes none. Source: OWASP ASVS 5.0, 7.5.1 and 7.5.3.
enum Proof {
    /// For so long after a sign-in, or after the password or PIN was typed once more.
    static let lifetime: Int64 = 10 * 60 * 1000

    static let needed = Problem(
        403,
        "proof_needed",
        "This lasts longer than your sign-in, so the terminal asks once more who you are. Nothing was changed.",
        "Enter your password, or your PIN, then do it again."
    )
}

extension Session {
    /// Whether its person has shown who they are within ``Proof/lifetime``. A proof makes a new session, so that its beginning
    /// says when.
    func isProved(at now: WallTime) -> Bool {
        (0...Proof.lifetime).contains(now.millisecondsSince1970 - createdAt)
    }
}

extension Route {
    /// Whether it makes something that lasts longer than a session, or ends all of it. A change to a person is looked at by what
    /// it changes.
    var needsProof: Bool {
        switch self {
        case .makeToken, .makeWebhook, .addPerson, .makeSignInCode, .makeCounter, .saveConnect, .endAccess,
            .saveStaffRules:
            true
        default: false
        }
    }
}

extension Console {
    /// - Throws: ``Problem`` where whoever asks has not shown lately who they are.
    func requireProof(_ pass: Gate.Pass) throws(Problem) {
        guard let session = pass.session, session.isProved(at: clock.wallTime()) else { throw Proof.needed }
    }

    /// Takes the password or the PIN of whoever is signed in once more. The browser gets a new token, and the old one ends: a
    /// copy of it is worth nothing from then on.
    func prove(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let password = form.optionalText("password", limit: 1000)
        let pin = form.optionalText("pin", limit: 20)
        try form.finish()
        guard let session = pass.session else { throw .notSignedIn }
        let field = session.role == .owner ? "password" : "pin"
        guard let secret = session.role == .owner ? password : pin, !secret.isEmpty else {
            throw .field(
                field,
                Reason(
                    code: "required",
                    message: "The password or the PIN is missing.",
                    action: "Enter your own: the owner the password, everybody else the PIN."
                )
            )
        }
        do throws(Problem) {
            if session.role == .owner {
                try await entrance.check(
                    password: secret,
                    what: "proof",
                    by: session.who,
                    of: session,
                    from: request.peerAddress
                )
            } else {
                do throws(Problem) { try await staff.prove(secret, of: session) } catch {
                    await entrance.audit(
                        "proof",
                        "refused",
                        error.reason.code,
                        by: session.who,
                        from: request.peerAddress
                    )
                    throw error
                }
                await entrance.audit("proof", "ok", "", by: session.who, from: request.peerAddress)
            }
        } catch {
            // Signed in they are; it is the field that is wrong.
            throw error.status == 401 ? .field(field, error.reason) : error
        }
        // Signed out meanwhile, by whoever owns the terminal: nobody comes back by this.
        guard sessions.isAlive(session, at: clock.wallTime()) else { throw .notSignedIn }
        let (token, renewed) = await entrance.renew(session)
        return await signedIn(token, renewed, status: 200, request)
    }
}

extension StaffDesk {
    /// Takes the PIN of whoever is signed in once more.
    func prove(_ digits: String, of session: Session) async throws(Problem) {
        guard let id = session.person, let person = person(id), person.isEnabled else { throw .notSignedIn }
        guard hasPIN(person), let kept = person.pin else { throw Self.cannotSignIn }
        try await check(digits, kept, of: id, at: GuessSource(of: session))
        await storeActivity()
        guard self.person(id)?.pin == kept else { throw Self.cannotSignIn }
    }
}
