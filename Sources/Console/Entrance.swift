import Dispatch
import Foundation
import Journal
import Logging
import Payments
import Terminal

/// The way in: claiming, signing in, and what slows guessing down.
actor Entrance {
    private let journal: Journal
    private let desk: ChargeDesk
    private let sessions: Sessions
    private let clock: TerminalClock
    private let logger: Logger
    private let address: String
    private let fingerprint: String
    private var claim: Claim?
    private var owner: PasswordHash?
    private var throttle = Throttle()
    private var strangers = AuditBudget()
    /// scrypt takes 64 MiB and 100 ms: one at a time, on a queue of its own.
    private let hashing = DispatchQueue(label: "till.password")

    private static let ownerDocument = "owner"
    private static let throttleDocument = "throttle"
    private static let account = "owner"
    static let ownerActor = Payments.Actor.staff(name: account)

    /// - Parameter address: `https://…` without a path, as the screen shows it.
    init(
        journal: Journal,
        desk: ChargeDesk,
        sessions: Sessions,
        clock: TerminalClock,
        logger: Logger,
        address: String,
        fingerprint: String
    ) {
        self.journal = journal
        self.desk = desk
        self.sessions = sessions
        self.clock = clock
        self.logger = logger
        self.address = address
        self.fingerprint = fingerprint
    }

    var isClaimed: Bool { owner != nil }

    func load() async throws(JournalError) {
        if let stored = try await journal.document(Self.ownerDocument) {
            do { owner = try JSONDecoder().decode(PasswordHash.self, from: Data(stored.bytes)) } catch {
                throw .corrupt(detail: "the owner's password cannot be read")
            }
        }
        if let stored = try await journal.document(Self.throttleDocument) {
            // Counts that cannot be read start anew: guessing is slowed down again after three tries.
            throttle = (try? JSONDecoder().decode(Throttle.self, from: Data(stored.bytes))) ?? Throttle()
        }
        if owner == nil { claim = Claim(at: clock.elapsed()) }
        await desk.setClaim(invitation)
    }

    /// Replaces the claim code each time it has expired, until claimed or cancelled.
    func keepClaimFresh() async {
        while let claim {
            do { try await clock.sleep(max(.seconds(1), claim.expiresAt - clock.elapsed())) } catch { return }
            if self.claim?.renewIfExpired(at: clock.elapsed()) == true { await desk.setClaim(invitation) }
        }
    }

    private var invitation: ClaimInvitation? {
        claim.map {
            ClaimInvitation(
                url: "\(address)/#claim=\($0.grouped)",
                address: address,
                code: $0.grouped,
                fingerprint: fingerprint
            )
        }
    }

    /// Makes the one who knows the screen's code the owner. Of two at once exactly one.
    func claim(code: String, password: String, from peer: String) async throws(Problem) -> (
        token: String, session: Session
    ) {
        guard claim != nil else { throw Self.alreadyClaimed }
        if let objection = PasswordRule.objection(to: password) { throw objection }
        let before = claim?.code
        let verdict = claim?.guess(code, at: clock.elapsed())
        if claim?.code != before { await desk.setClaim(invitation) }
        switch verdict {
        case .right: break
        case .paused(let wait):
            await audit("claim", "refused", "too many wrong codes", by: .stranger, from: peer)
            throw .tooMany(wait)
        case .wrong, nil:
            await audit("claim", "refused", "wrong code", by: .stranger, from: peer)
            throw Problem(
                403,
                "claim_code_wrong",
                "This is not the code on the terminal's screen.",
                "Look at the screen again; the code changes from time to time."
            )
        }
        let hash = try await hash(password)
        do throws(JournalError) {
            let bytes = try encode(hash)
            let change = try await journal.setDocument(
                Self.ownerDocument,
                bytes,
                expecting: nil,
                by: Self.ownerActor,
                at: clock.wallTime()
            )
            guard case .stored = change else { throw JournalError.inUse(detail: "claimed") }
            owner = hash
            claim = nil
            await desk.setClaim(nil)
            await audit("claim", "ok", "the terminal has an owner", by: Self.ownerActor, from: peer)
            return try await sessions.begin(.owner, at: clock.wallTime())
        } catch {
            if case .inUse(detail: "claimed") = error { throw Self.alreadyClaimed }
            throw Problem(503, error.reason)
        }
    }

    func signIn(password: String, from peer: String) async throws(Problem) -> (token: String, session: Session) {
        try await check(password: password, what: "login", by: .stranger, from: peer)
        do throws(JournalError) {
            return try await sessions.begin(.owner, at: clock.wallTime())
        } catch { throw Problem(503, error.reason) }
    }

    /// Asks for the password, slowed down after wrong ones.
    /// - Parameter who: Who is known to ask before the password is looked at.
    func check(password: String, what: String, by who: Payments.Actor, from peer: String) async throws(Problem) {
        guard let owner else { throw .notClaimed }
        let now = clock.wallTime().millisecondsSince1970
        let pause = throttle.pause(account: Self.account, source: peer, at: now)
        guard pause == .zero else {
            await audit(what, "refused", "too many tries", by: who, from: peer)
            throw .tooMany(pause)
        }
        // Counted before it is checked: tries at the same moment must not all see the same count.
        throttle.fail(account: Self.account, source: peer, at: now)
        guard try await matches(owner, password) else {
            await storeThrottle()
            await audit(what, "refused", "wrong password", by: who, from: peer)
            throw Problem(401, "password_wrong", "This is not the password.", "Type it again; mind capitals.")
        }
        throttle.succeed(account: Self.account, source: peer)
        await storeThrottle()
        await audit(what, "ok", "", by: Self.ownerActor, from: peer)
    }

    func signOut(_ session: Session, from peer: String) async throws(Problem) {
        do throws(JournalError) { try await sessions.end(session, at: clock.wallTime()) } catch {
            throw Problem(503, error.reason)
        }
        await audit("logout", "ok", "", by: Self.ownerActor, from: peer)
    }

    /// Who did what, when, from where, and whether it was allowed. Never a password, code or key.
    ///
    /// What strangers do is written within a budget and counted beyond it: nobody on the network can fill the storage.
    func audit(
        _ what: String,
        _ result: String,
        _ detail: String,
        by who: Payments.Actor,
        from peer: String
    ) async {
        var detail = detail
        if who == .stranger {
            guard let unwritten = strangers.take(at: clock.elapsed()) else { return }
            if unwritten > 0 { detail += " (and \(unwritten) more since the last entry)" }
        }
        let entry = AuditEntry(
            at: clock.wallTime(),
            who: who,
            from: peer,
            what: what,
            result: result,
            detail: detail
        )
        do throws(JournalError) { try await journal.audit(entry) } catch {
            logger.critical("the audit log takes no entry", metadata: ["what": "\(what)", "error": "\(error)"])
        }
    }

    private func storeThrottle() async {
        do throws(JournalError) {
            _ = try await journal.setDocument(
                Self.throttleDocument,
                encode(throttle),
                expecting: .any,
                by: .terminal,
                at: clock.wallTime()
            )
        } catch {
            logger.error("failed tries are not remembered over a restart", metadata: ["error": "\(error)"])
        }
    }

    private nonisolated func encode(_ value: some Encodable) throws(JournalError) -> [UInt8] {
        do { return Array(try JSONEncoder().encode(value)) } catch {
            throw .unavailable(detail: "it cannot be written as JSON: \(error)")
        }
    }

    private func hash(_ password: String) async throws(Problem) -> PasswordHash {
        do { return try await onHashingQueue { try PasswordHash(password) } } catch { throw Self.hashingFailed }
    }

    private func matches(_ hash: PasswordHash, _ password: String) async throws(Problem) -> Bool {
        do { return try await onHashingQueue { try hash.matches(password) } } catch { throw Self.hashingFailed }
    }

    private func onHashingQueue<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            hashing.async { continuation.resume(with: Result { try work() }) }
        }
    }

    private static let hashingFailed = Problem(
        503,
        "password_not_checked",
        "The terminal could not check the password.",
        "Try again in a moment."
    )
    private static let alreadyClaimed = Problem(
        409,
        "already_claimed",
        "This terminal already has an owner.",
        "Sign in with the owner's password."
    )
}
