import Crypto
import Foundation
import Journal
import Logging
import Payments
import Terminal

/// Who works here, how they sign in, and what slows guessing at their PINs down.
///
/// Nothing here touches the owner's password or what slows guesses at it: no number of wrong PINs or codes keeps the owner
/// out.
actor StaffDesk {
    /// Who asks for a change.
    struct Asker: Sendable {
        let role: Role
        let who: Payments.Actor

        init(role: Role, who: Payments.Actor) { (self.role, self.who) = (role, who) }

        /// Whether it may change somebody of that role: the owner everybody, a manager cashiers.
        func manages(_ other: Role) -> Bool { role == .owner || role == .manager && other == .cashier }
    }

    let journal: any Keeping
    let sessions: Sessions
    let clock: TerminalClock
    let logger: Logger
    let address: @Sendable () -> String
    let compactFingerprint: String
    private let pinRounds: Int
    private let hashing: HashingQueue

    private(set) var book = StaffBook()
    private var version: Int?
    private(set) var changedAt: WallTime?
    private(set) var changedBy: Payments.Actor?
    private var key: PINKey?
    var browsers: [KnownBrowser] = []
    var activity = StaffActivity()
    /// By person: one at a time.
    var codes: [String: SignInCode] = [:]
    /// Those who show codes that are none.
    var strangers = AddressPace()
    /// False where another version of the program wrote what is kept: then only the owner can sign in, and nothing of it is
    /// changed.
    private(set) var isReadable = true

    static let document = "staff"
    static let browsersDocument = "staff.browsers"
    static let activityDocument = "staff.activity"
    static let secret = "staff.pins"

    init(
        journal: any Keeping,
        sessions: Sessions,
        clock: TerminalClock,
        logger: Logger,
        address: @autoclosure @escaping @Sendable () -> String,
        compactFingerprint: String,
        pinRounds: Int = StaffPIN.usualRounds,
        hashing: HashingQueue = HashingQueue()
    ) {
        (self.journal, self.sessions, self.clock, self.logger) = (journal, sessions, clock, logger)
        (self.address, self.compactFingerprint, self.pinRounds) = (address, compactFingerprint, pinRounds)
        self.hashing = hashing
    }

    /// Takes up who works here. After ``Sessions`` was loaded: whose session may not go on is signed out.
    func load() async throws(JournalError) {
        if let stored = try await journal.document(Self.document) {
            do { book = try JSONDecoder().decode(StaffBook.self, from: Data(stored.bytes)) } catch {
                logger.error("who works here cannot be read: only the owner can sign in")
                isReadable = false
            }
            (version, changedAt, changedBy) = (stored.version, stored.changedAt, stored.changedBy)
        }
        if let name = book.pinKey {
            do throws(JournalError) {
                key = try await journal.secret(Self.secret).map { PINKey(name: name, bytes: $0) }
            } catch {
                logger.error("the PINs cannot be checked: they have to be set anew", metadata: ["error": "\(error)"])
            }
        }
        browsers = try await read(Self.browsersDocument) ?? []
        activity = try await read(Self.activityDocument) ?? StaffActivity()
        let people = Dictionary(book.people.map { ($0.id, $0) }) { first, _ in first }
        sessions.drop { session in
            guard session.role != .owner else { return false }
            guard let person = session.person.flatMap({ people[$0] }) else { return true }
            return !person.isEnabled || person.role != session.role || person.name != session.name
                || session.createdAt < person.sessionsFrom
        }
    }

    /// What cannot be read starts anew: guessing is slowed down again, and browsers have to be let in again.
    private func read<Value: Decodable>(_ name: String) async throws(JournalError) -> Value? {
        guard let stored = try await journal.document(name) else { return nil }
        do { return try JSONDecoder().decode(Value.self, from: Data(stored.bytes)) } catch {
            logger.error("a document cannot be read", metadata: ["document": "\(name)", "error": "\(error)"])
            return nil
        }
    }

    func person(_ id: String) -> StaffPerson? { book.people.first { $0.id == id } }

    /// Whether a PIN of theirs can be checked.
    func hasPIN(_ person: StaffPerson) -> Bool { key != nil && person.pin?.key == key?.name }

    /// The largest charge of whoever is signed in; nil: only the terminal's own limit.
    func maximum(of session: Session?) -> Int64? { session.flatMap { book.rules.maximum(of: $0.role) } }

    // MARK: - Changes

    /// What a change builds on: between looking and storing others may have changed something too.
    private struct Draft {
        var book: StaffBook
        let version: Int?
    }

    private var draft: Draft { Draft(book: book, version: version) }

    /// What a form says of a person; nil stays as it is.
    struct Wish: Sendable {
        var name: String?
        var role: String?
        var pin: String?
        var isEnabled: Bool?
    }

    func add(_ wish: Wish, by asker: Asker) async throws(Problem) -> StaffPerson {
        try checkReadable()
        guard book.people.count < StaffBook.most else {
            throw Problem(
                409,
                "too_many_people",
                "There are \(StaffBook.most) people already. Nobody was added.",
                "Remove somebody who does not work here any more."
            )
        }
        let name = try free(name: wish.name ?? "", for: nil)
        let role = try Self.role(wish.role)
        guard asker.manages(role) else { throw Self.notYours }
        let now = clock.wallTime().millisecondsSince1970
        let id = RandomText.make(bytes: 6)
        var changed = draft
        let made = try await pin(wish.pin, of: id, in: &changed)
        let person = StaffPerson(
            id: id,
            name: name,
            role: role,
            isEnabled: wish.isEnabled ?? true,
            pin: made.pin,
            sessionsFrom: now,
            createdAt: now,
            createdBy: asker.who.name,
            changedAt: now,
            changedBy: asker.who.name
        )
        changed.book.people.append(person)
        try await store(changed, with: made.key, by: asker.who)
        return person
    }

    /// - Returns: The person now, and whether their sessions have ended by it.
    func change(_ id: String, _ wish: Wish, by asker: Asker) async throws(Problem) -> (StaffPerson, ended: Bool) {
        try checkReadable()
        var changed = draft
        guard let index = book.people.firstIndex(where: { $0.id == id }) else { throw Self.notFound }
        let before = book.people[index]
        var person = before
        guard asker.manages(person.role) else { throw Self.notYours }
        if let name = wish.name { person.name = try free(name: name, for: id) }
        if let role = wish.role {
            person.role = try Self.role(role)
            guard asker.manages(person.role) else { throw Self.notYours }
        }
        if let isEnabled = wish.isEnabled { person.isEnabled = isEnabled }
        let made = try await pin(wish.pin, of: id, in: &changed)
        if let pin = made.pin { person.pin = pin }
        guard person != before else { return (before, false) }
        let now = clock.wallTime().millisecondsSince1970
        (person.changedAt, person.changedBy) = (now, asker.who.name)
        // Whoever is signed in is so under the name, the role and the PIN of before.
        person.sessionsFrom = now
        changed.book.people[index] = person
        try await store(changed, with: made.key, by: asker.who)
        await endSessions(of: id)
        if made.pin != nil { await forgive(id) }
        return (person, true)
    }

    func remove(_ id: String, by asker: Asker) async throws(Problem) -> StaffPerson {
        try checkReadable()
        guard let person = person(id) else { throw Self.notFound }
        guard asker.manages(person.role) else { throw Self.notYours }
        var changed = draft
        changed.book.people.removeAll { $0.id == id }
        try await store(changed, by: asker.who)
        await endSessions(of: id)
        await forgive(id)
        await forgetBrowsers { $0.person == id }
        return person
    }

    /// Switches everybody off and ends their sessions and codes. Each can be switched on again.
    /// - Returns: How many were on.
    func switchOffEverybody(by who: Payments.Actor) async throws(Problem) -> Int {
        try checkReadable()
        var changed = draft
        let now = clock.wallTime().millisecondsSince1970
        var count = 0
        for index in changed.book.people.indices where changed.book.people[index].isEnabled {
            changed.book.people[index].isEnabled = false
            changed.book.people[index].sessionsFrom = now
            changed.book.people[index].changedAt = now
            changed.book.people[index].changedBy = who.name
            count += 1
        }
        guard count > 0 else { return 0 }
        try await store(changed, by: who)
        codes = [:]
        sessions.drop { $0.role != .owner }
        do throws(JournalError) { try await sessions.save(at: clock.wallTime()) } catch {
            // The document says already from when on sessions count.
            logger.error("the end of sessions is not stored", metadata: ["error": "\(error)"])
        }
        return count
    }

    func save(_ rules: StaffRules, by who: Payments.Actor) async throws(Problem) {
        try checkReadable()
        var changed = draft
        changed.book.rules = rules
        try await store(changed, by: who)
    }

    /// A new PIN, by the one whose it is and who knows the old one.
    func changePIN(from old: String, to new: String, of session: Session) async throws(Problem) -> (
        token: String, session: Session
    ) {
        try checkReadable()
        guard let id = session.person, let person = person(id) else { throw .notSignedIn }
        if let kept = person.pin, hasPIN(person) {
            do throws(Problem) { try await check(old, kept, of: id, at: GuessSource(of: session)) } catch {
                throw error.status == 401 ? .field("currentPIN", error.reason) : error
            }
        }
        var changed = draft
        let made = try await pin(new, of: id, in: &changed, field: "newPIN")
        guard let index = changed.book.people.firstIndex(where: { $0.id == id && $0.isEnabled }) else {
            throw .notSignedIn
        }
        let now = clock.wallTime()
        changed.book.people[index].pin = made.pin
        changed.book.people[index].changedAt = now.millisecondsSince1970
        changed.book.people[index].changedBy = session.who.name
        changed.book.people[index].sessionsFrom = now.millisecondsSince1970
        try await store(changed, with: made.key, by: session.who)
        sessions.drop { $0.person == id }
        let current = changed.book.people[index]
        return try await open(current, on: session.device)
    }

    // MARK: - Storing

    /// Makes a PIN, and the key for it where there is none yet. Both nil where no PIN is wanted.
    private func pin(
        _ digits: String?,
        of id: String,
        in changed: inout Draft,
        field: String = "pin"
    ) async throws(Problem) -> (pin: StaffPIN?, key: PINKey?) {
        guard let digits, !digits.isEmpty else { return (nil, nil) }
        if let objection = PINRule.objection(to: digits) { throw .field(field, objection) }
        let isNew = key == nil
        let key = key ?? PINKey()
        changed.book.pinKey = key.name
        let rounds = pinRounds
        let made = try await hashed { try StaffPIN(digits, of: id, with: key, rounds: rounds) }
        return (made, isNew ? key : nil)
    }

    private func store(_ changed: Draft, with newKey: PINKey? = nil, by who: Payments.Actor) async throws(Problem) {
        let now = clock.wallTime()
        let change: DocumentChange
        do throws(JournalError) {
            change = try await journal.setDocument(
                Self.document,
                try Self.encode(changed.book),
                expecting: .version(changed.version),
                with: newKey.map { SecretChange(name: Self.secret, bytes: $0.bytes) },
                by: who,
                at: now
            )
        } catch { throw Problem(503, error.reason) }
        guard case .stored(let stored) = change else { throw Self.changedMeanwhile }
        (book, version, changedAt, changedBy) = (changed.book, stored, now, who)
        if let newKey { key = newKey }
    }

    /// Ends them here in the same step as the change; a failing store costs nothing, since the document already says from
    /// when on sessions count.
    private func endSessions(of id: String) async {
        codes[id] = nil
        sessions.drop { $0.person == id }
        do throws(JournalError) { try await sessions.save(at: clock.wallTime()) } catch {
            logger.error("the end of sessions is not stored", metadata: ["error": "\(error)"])
        }
    }

    private func forgive(_ id: String) async {
        activity.throttle.forget { $0 == "account:\(id)" || $0.hasPrefix("source:") && $0.hasSuffix("/\(id)") }
        await storeActivity()
    }

    func storeActivity() async {
        do throws(JournalError) {
            _ = try await journal.setDocument(
                Self.activityDocument,
                try Self.encode(activity),
                expecting: .any,
                by: .terminal,
                at: clock.wallTime()
            )
        } catch {
            logger.error("failed PINs are not remembered over a restart", metadata: ["error": "\(error)"])
        }
    }

    static func encode(_ value: some Encodable) throws(JournalError) -> [UInt8] {
        do { return Array(try JSONEncoder().encode(value)) } catch {
            throw .unavailable(detail: "it cannot be written as JSON: \(error)")
        }
    }

    // MARK: - Checks

    /// Asks for a PIN, slowed down after wrong ones: for that person at that browser after three, for the person at all browsers
    /// together by a pace, which a browser where they have signed in does not depend on.
    func check(_ digits: String, _ kept: StaffPIN, of id: String, at source: GuessSource) async throws(Problem) {
        guard let key else { throw Self.cannotSignIn }
        let now = clock.wallTime().millisecondsSince1970
        activity.throttle.follow(clock: now)
        let pause = activity.throttle.pause(account: id, source: source, at: now)
        guard pause == .zero else { throw .tooMany(pause) }
        try hashing.requirePlace(for: .known)
        // Counted before it is checked: tries at the same moment must not all see the same count.
        activity.throttle.fail(account: id, source: source, at: now)
        guard digits.utf8.count <= 8, try await hashed({ try kept.matches(digits, of: id, with: key) }) else {
            await storeActivity()
            throw Problem(401, "pin_wrong", "This is not the PIN.", "Type it again.")
        }
        activity.throttle.succeed(account: id, source: source)
    }

    private func free(name: String, for id: String?) throws(Problem) -> String {
        let name = try StaffPerson.checked(name: name)
        let form = StaffPerson.form(of: name)
        guard form != "owner", !book.people.contains(where: { $0.id != id && StaffPerson.form(of: $0.name) == form })
        else {
            throw .field(
                "name",
                Reason(
                    code: "person_name_taken",
                    message: "Somebody here has this name already.",
                    action: "Add a letter or a surname, so that lists say who it was."
                )
            )
        }
        return name
    }

    private static func role(_ text: String?) throws(Problem) -> Role {
        switch text.flatMap(Role.init(rawValue:)) {
        case .manager: return .manager
        case .cashier: return .cashier
        case .owner, .till, .metrics, nil:
            throw .field(
                "role",
                Reason(code: "role_unknown", message: "There is no such role.", action: "Use manager or cashier.")
            )
        }
    }

    private func hashed<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws(Problem) -> Value
    {
        // Only a known browser may try PINs.
        do { return try await hashing.compute(for: .known, work) } catch {
            throw Problem(503, "pin_not_checked", "The terminal could not check the PIN.", "Try again in a moment.")
        }
    }

    func checkReadable() throws(Problem) {
        guard isReadable else {
            throw Problem(
                503,
                "staff_unreadable",
                "Who works here was written by another version of the program and cannot be read. Only the owner can sign in.",
                "Update the terminal, or restore a backup."
            )
        }
    }

    static let notFound = Problem(404, "person_not_found", "There is no such person.", "Look at the list again.")
    static let notYours = Problem(
        403,
        "not_allowed",
        "A manager adds and changes cashiers only. Nothing was changed.",
        "Ask the owner to do it."
    )
    static let cannotSignIn = Problem(
        409,
        "person_cannot_sign_in",
        "This person cannot sign in here with a PIN at the moment.",
        "Ask the owner or a manager for a sign-in code or a new PIN."
    )
    private static let changedMeanwhile = Problem(
        409,
        "staff_changed",
        "Somebody else changed the staff at the same moment. Your change was not stored.",
        "Look at the list again, then change it."
    )
}
