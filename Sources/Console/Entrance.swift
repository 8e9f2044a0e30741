import Foundation
import Journal
import Logging
import Payments
import Terminal

/// The way in: claiming, signing in, and what slows guessing down.
actor Entrance {
    private let journal: any Keeping
    let desk: ChargeDesk
    let sessions: Sessions
    let clock: TerminalClock
    let logger: Logger
    private let address: @Sendable () -> String
    private let codeAddress: @Sendable () -> String
    private let fingerprint: String
    private let compactFingerprint: String
    /// Whether there is an owner, for the gate, which must not wait. Set where the owner is stored.
    nonisolated let claimed = Flag(false)
    private var claim: Claim?
    var reset: Reset
    /// The pace of guesses at the claim's and the reset's code.
    private var codes = CodePace()
    /// Sticks that prove presence. Nil where the machine shows none; then only its administrator sets a new password.
    let ownerSticks: OwnerSticks?
    /// News of password resets, for webhooks. For one reader.
    nonisolated let resetNews = AsyncStream.makeStream(of: ResetNews.self)
    private var owner: Owner?
    /// Of the owner's document.
    private var ownerVersion: Int?
    private var throttle = Throttle(.password)
    private var strangers = AuditBudget()
    private var programs = AuditBudget()
    let hashRounds: Int
    private let hashing: HashingQueue

    static let ownerDocument = "owner"
    private static let throttleDocument = "throttle"
    private static let account = "owner"
    static let ownerActor = Payments.Actor.staff(name: account)

    /// - Parameters:
    ///   - address: `https://…` without a path, to read and to type.
    ///   - codeAddress: The same for the screen's code.
    init(
        journal: any Keeping,
        desk: ChargeDesk,
        sessions: Sessions,
        clock: TerminalClock,
        logger: Logger,
        address: @autoclosure @escaping @Sendable () -> String,
        codeAddress: @autoclosure @escaping @Sendable () -> String,
        fingerprint: String,
        compactFingerprint: String = "",
        ownerSticks: OwnerSticks? = nil,
        hashRounds: Int = PasswordHash.usualRounds,
        hashing: HashingQueue = HashingQueue()
    ) {
        self.journal = journal
        self.desk = desk
        self.sessions = sessions
        self.clock = clock
        self.logger = logger
        self.address = address
        self.codeAddress = codeAddress
        self.fingerprint = fingerprint
        self.compactFingerprint = compactFingerprint
        (self.hashRounds, self.hashing) = (hashRounds, hashing)
        self.ownerSticks = ownerSticks
        reset = Reset(startingWith: ownerSticks?.present() ?? [])
    }

    /// Takes up who owns the terminal and who is signed in.
    func load() async throws(JournalError) {
        if let stored = try await journal.document(Self.ownerDocument) {
            do { owner = try JSONDecoder().decode(Owner.self, from: Data(stored.bytes)) } catch {
                throw .corrupt(detail: "the owner's password cannot be read")
            }
            ownerVersion = stored.version
            claimed.set()
        }
        try await sessions.load(from: owner?.sessionsFrom)
        if let stored = try await journal.document(Self.throttleDocument) {
            // Counts that cannot be read start anew: guessing is slowed down again after three tries.
            do {
                throttle = try JSONDecoder().decode(Throttle.Kept.self, from: Data(stored.bytes)).throttle(.password)
            } catch {
                logger.error("failed tries before the start cannot be read", metadata: ["error": "\(error)"])
            }
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
        if let code = claim?.grouped { return invitation(.claim, code) }
        if let code = reset.code { return invitation(.reset, code) }
        return nil
    }

    private func invitation(_ purpose: ClaimInvitation.Purpose, _ code: String) -> ClaimInvitation {
        let (name, address, codeAddress) = (purpose == .claim ? "claim" : "reset", address(), codeAddress())
        // Browsers never send what stands behind the #.
        return ClaimInvitation(
            purpose: purpose,
            url: "\(codeAddress)/#\(name)=\(code)" + (compactFingerprint.isEmpty ? "" : "&cert=\(compactFingerprint)"),
            // Whose browser does not find names in the local network types the number.
            address: address == codeAddress ? address : "\(address) · \(codeAddress)",
            code: code,
            fingerprint: fingerprint
        )
    }

    /// The terminal is reached by another address from now on.
    func addressChanged() async { await desk.setClaim(invitation) }

    /// Puts the code that there is now on the screen, or takes it off, and says how far a new password is.
    func showCode() async {
        await desk.setClaim(invitation)
        await desk.setOwnerReset(ownerReset)
    }

    /// The state of a password reset now, as everybody is told it.
    var ownerReset: OwnerReset? {
        if let minutes = reset.minutesLeft(at: clock.elapsed()) { return .waiting(minutes: minutes) }
        return reset.code == nil ? nil : .shown
    }

    /// Whether a charge is open.
    var isCharging: Bool {
        get async {
            guard case .charging(let charge) = await desk.snapshot.phase else { return false }
            return charge.charge.holdsTerminal
        }
    }

    /// Takes one guess at a code on the screen.
    /// - Throws: ``Problem`` 429 where it comes too soon; it was not looked at then.
    func takeGuess(_ what: String, from peer: String) async throws(Problem) {
        guard let wait = codes.take(GuessSource(address: peer), at: clock.elapsed()) else { return }
        await audit(what, "refused", "too many wrong codes", by: .stranger, from: peer)
        throw .tooMany(wait)
    }

    /// Makes the one who knows the screen's code the owner. Of two at once exactly one.
    func claim(
        code: String,
        password: String,
        on device: Device = Device(),
        from peer: String
    ) async throws(Problem) -> (token: String, session: Session) {
        guard claim != nil else { throw Self.alreadyClaimed }
        if let objection = PasswordRule.objection(to: password) { throw objection }
        try await takeGuess("claim", from: peer)
        let before = claim?.code
        let isRight = claim?.guess(code, at: clock.elapsed()) == true
        if claim?.code != before { await desk.setClaim(invitation) }
        guard isRight else {
            await audit("claim", "refused", "wrong code", by: .stranger, from: peer)
            throw Problem(
                403,
                "claim_code_wrong",
                "This is not the code on the terminal's screen.",
                "Look at the screen again; the code changes from time to time."
            )
        }
        let hash = try await hash(password)
        guard try await store(Owner(password: hash), replacing: nil) else { throw Self.alreadyClaimed }
        claim = nil
        await desk.setClaim(nil)
        await audit("claim", "ok", "the terminal has an owner", by: Self.ownerActor, from: peer)
        do throws(JournalError) { return try await sessions.begin(.owner, on: device, at: clock.wallTime()) } catch {
            logger.error("the new owner is not signed in", metadata: ["error": "\(error)"])
            throw Problem(
                503,
                "claimed_not_signed_in",
                "The terminal is yours and your password is set, but you could not be signed in.",
                "Sign in with the password you chose."
            )
        }
    }

    /// Makes `new` the owner where the stored one still is `version`; nil: where there is none yet.
    /// - Returns: False where somebody else was faster. Nothing was changed then.
    func store(_ new: Owner, replacing version: Int?) async throws(Problem) -> Bool {
        do throws(JournalError) {
            let change = try await journal.setDocument(
                Self.ownerDocument,
                try encode(new),
                expecting: .version(version),
                by: Self.ownerActor,
                at: clock.wallTime()
            )
            guard case .stored(let stored) = change else { return false }
            (owner, ownerVersion) = (new, stored)
            claimed.set()
            return true
        } catch { throw Problem(503, error.reason) }
    }

    /// Who owns the terminal now, and what a change of it has to build on.
    var known: (owner: Owner, version: Int)? {
        guard let owner, let ownerVersion else { return nil }
        return (owner, ownerVersion)
    }

    func signIn(
        password: String,
        on device: Device = Device(),
        from peer: String
    ) async throws(Problem) -> (token: String, session: Session) {
        try await check(password: password, what: "login", by: .stranger, from: peer)
        // The password has come back to mind, or the owner heard that somebody else asks for a new one.
        await forgetReset(from: peer)
        do throws(JournalError) {
            return try await sessions.begin(.owner, on: device, at: clock.wallTime())
        } catch { throw Problem(503, error.reason) }
    }

    /// Asks for the password, slowed down after wrong ones.
    /// - Parameters:
    ///   - who: Who is known to ask before the password is looked at.
    ///   - session: Of whoever is signed in: its guesses are counted alone, so that no stranger makes it wait.
    func check(
        password: String,
        what: String,
        by who: Payments.Actor,
        of session: Session? = nil,
        from peer: String
    ) async throws(Problem) {
        guard let owner else { throw .notClaimed }
        let now = clock.wallTime().millisecondsSince1970
        let source = session.map(GuessSource.init(of:)) ?? GuessSource(address: peer)
        throttle.follow(clock: now)
        let pause = throttle.pause(account: Self.account, source: source, at: now)
        guard pause == .zero else {
            await audit(what, "refused", "too many tries", by: who, from: peer)
            throw .tooMany(pause)
        }
        // Counted before it is checked: tries at the same moment must not all see the same count.
        throttle.fail(account: Self.account, source: source, at: now)
        let isRight: Bool
        do throws(Problem) {
            let wrong = throttle.rank(account: Self.account, source: source)
            let asker = who == .stranger && wrong > 0 ? HashingQueue.Asker.stranger(wrong: wrong) : .known
            try hashing.requirePlace(for: asker)
            isRight = try await matches(owner.password, password, for: asker)
        } catch {
            // Nobody looked at it.
            throttle.takeBack(account: Self.account, source: source)
            throw error
        }
        guard isRight else {
            await storeThrottle()
            await audit(what, "refused", "wrong password", by: who, from: peer)
            throw Problem(401, "password_wrong", "This is not the password.", "Type it again; mind capitals.")
        }
        throttle.succeed(account: Self.account, source: source)
        await storeThrottle()
        await audit(what, "ok", "", by: Self.ownerActor, from: peer)
    }

    /// The owner is in by another way than the password: earlier wrong tries from there do not count any more.
    func forgive(from peer: String) async {
        throttle.forgive(account: Self.account, source: GuessSource(address: peer))
        await storeThrottle()
    }

    /// - Throws: ``Problem`` where the end is not stored. The session has ended all the same.
    func signOut(_ session: Session, from peer: String) async throws(Problem) {
        do throws(JournalError) { try await sessions.end(session, at: clock.wallTime()) } catch {
            logger.error("a sign-out is not stored", metadata: ["error": "\(error)"])
            await audit("logout", "not stored", "", by: session.who, from: peer)
            throw Problem(
                503,
                "signed_out_until_restart",
                "You are signed out, but the terminal could not store it. After a restart your old sign-in would count again.",
                "Sign in and out once more when the terminal can store again."
            )
        }
        await audit("logout", "ok", "", by: session.who, from: peer)
    }

    /// Who did what, when, from where, and whether it was allowed. Never a password, code or key.
    ///
    /// What strangers do is written within a budget and counted beyond it: nobody on the network can fill the storage. So is
    /// what programs do. A new charge's line is not of these: it comes with the charge's own record.
    /// - Parameter always: For what a stranger can do a few times only.
    func audit(
        _ what: String,
        _ result: String,
        _ detail: String,
        by who: Payments.Actor,
        from peer: String,
        always: Bool = false
    ) async {
        var detail = detail
        if who == .stranger, !always {
            guard let unwritten = strangers.take(at: clock.elapsed()) else { return }
            if unwritten > 0 { detail += " (and \(unwritten) more since the last entry)" }
        } else if case .till = who {
            guard let unwritten = programs.take(at: clock.elapsed()) else { return }
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
                encode(throttle.kept),
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

    /// For somebody who has shown already that they may.
    func hash(_ password: String) async throws(Problem) -> PasswordHash {
        let rounds = hashRounds
        do { return try await hashing.compute(for: .known) { try PasswordHash(password, rounds: rounds) } } catch {
            throw Self.hashingFailed
        }
    }

    private func matches(
        _ hash: PasswordHash,
        _ password: String,
        for asker: HashingQueue.Asker
    ) async throws(Problem) -> Bool {
        do { return try await hashing.compute(for: asker) { try hash.matches(password) } } catch let busy as Problem {
            throw busy
        } catch {
            throw Self.hashingFailed
        }
    }

    /// In the turn of those who are known.
    func onHashingQueue<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await hashing.compute(for: .known, work)
    }

    private static let hashingFailed: Problem = {
        var problem = Problem(
            503,
            "password_not_checked",
            "The terminal could not check the password.",
            "Try again in a moment."
        )
        problem.retryAfter = .seconds(1)
        return problem
    }()
    private static let alreadyClaimed = Problem(
        409,
        "already_claimed",
        "This terminal already has an owner.",
        "Sign in with the owner's password."
    )
}
