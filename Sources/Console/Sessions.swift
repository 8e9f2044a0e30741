import Crypto
import Foundation
import Journal
import Locks
import Payments

/// What somebody who is signed in may be.
enum Role: String, Sendable, Codable, CaseIterable {
    case owner, manager, cashier, till, metrics
}

/// One signed-in browser.
struct Session: Sendable, Codable, Equatable {
    /// SHA-256 of the token; the token itself is only in the browser's cookie.
    var tokenHash: [UInt8]
    var role: Role
    /// Whom it belongs to, as the journal names them; nil: the owner.
    var name: String?
    /// Which of the staff; nil: the owner.
    var person: String?
    /// What it runs on, where that is known.
    var browser: String?
    var system: String?
    /// Idle for as many minutes ends it; nil: only ``idleLimit`` does.
    var lockMinutes: Int?
    /// Milliseconds since 1970.
    var createdAt: Int64
    var usedAt: Int64

    /// Idle for longer ends it.
    static let idleLimit: Int64 = 12 * 3600 * 1000
    /// Older than this ends it, however busy.
    static let absoluteLimit: Int64 = 7 * 24 * 3600 * 1000

    /// Names it for its owner without telling anything of the token: made from the token's hash, one way.
    var id: String {
        HMAC<SHA256>.authenticationCode(for: Array("session".utf8), using: SymmetricKey(data: tokenHash))
            .prefix(6).map { Sessions.hexadecimal($0) }.joined()
    }

    /// On whose behalf it acts.
    var who: Payments.Actor { name.map { .staff(name: $0) } ?? Entrance.ownerActor }

    /// Whether `other` is shown to this one, who may then end it: the owner sees all, a manager the cashiers' and their own.
    func oversees(_ other: Session) -> Bool {
        switch role {
        case .owner: true
        case .manager: other.role == .cashier || isOfSamePerson(as: other)
        case .cashier: isOfSamePerson(as: other)
        case .till, .metrics: false
        }
    }

    func isOfSamePerson(as other: Session) -> Bool { role == .owner ? other.role == .owner : person == other.person }

    func isOver(at now: Int64) -> Bool {
        // What a document says may be any number: one from a backup comes from outside.
        let idle = lockMinutes.map { min(Self.idleLimit, Int64(max(0, min($0, 1440))) * 60_000) } ?? Self.idleLimit
        let time = WallTime(millisecondsSince1970: now)
        let unused = WallTime(millisecondsSince1970: usedAt).duration(to: time)
        let age = WallTime(millisecondsSince1970: createdAt).duration(to: time)
        return unused > .milliseconds(idle) || age > .milliseconds(Self.absoluteLimit) || age < .seconds(-3600)
    }
}

/// Who is signed in. Kept in memory for speed and in the journal for restarts.
final class Sessions: Sendable {
    private struct State {
        var sessions: [[UInt8]: Session] = [:]
        /// Of the document that was written or read last.
        var version: Int?
        /// Who waits for a session's end.
        var watchers: [Int: (hash: [UInt8], continuation: AsyncStream<Never>.Continuation)] = [:]
        var nextWatcher = 0

        /// Those whose session has gone, who are not kept here any more.
        mutating func orphans() -> [AsyncStream<Never>.Continuation] {
            let gone = watchers.filter { sessions[$0.value.hash] == nil }
            for watcher in gone.keys { watchers[watcher] = nil }
            return gone.values.map(\.continuation)
        }
    }

    private let journal: any Keeping
    private let state = Mutex(State())
    private static let document = "sessions"
    static let most = 200

    /// Says something whenever somebody may have been signed out. For one reader.
    let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation

    init(journal: any Keeping) {
        self.journal = journal
        (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Changes who is signed in; whoever waits for the end of one that has gone hears it at once.
    private func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, orphans) = state.withLock { state in
            let value = body(&state)
            return (value, state.orphans())
        }
        for orphan in orphans { orphan.finish() }
        changed.yield()
        return value
    }

    /// Ends when the session is ended: signed out, its person gone, or its time found to be over.
    func ending(of session: Session) -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let watcher: Int? = state.withLock { state in
            guard state.sessions[session.tokenHash] != nil else { return nil }
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = (session.tokenHash, continuation)
            return state.nextWatcher
        }
        guard let watcher else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.forget(watcher) }
        return stream
    }

    private func forget(_ watcher: Int) { state.withLock { $0.watchers[watcher] = nil } }

    /// - Parameter first: What began earlier has ended, in milliseconds since 1970.
    func load(from first: Int64? = nil) async throws(JournalError) {
        guard let stored = try await journal.document(Self.document) else { return }
        // Sessions that cannot be read any more are signed out, which is safe.
        let list = (try? JSONDecoder().decode([Session].self, from: Data(stored.bytes))) ?? []
        state.withLock { state in
            let list = list.filter { $0.createdAt >= first ?? .min }
            state.sessions = Dictionary(list.map { ($0.tokenHash, $0) }) { first, _ in first }
            state.version = stored.version
        }
    }

    /// Signs in and returns the token for the cookie: 256 random bits.
    /// - Throws: Nobody is signed in then.
    func begin(
        _ role: Role,
        on device: Device = Device(),
        at now: WallTime
    ) async throws(JournalError) -> (token: String, session: Session) {
        let (token, session) = add(Session(role: role, on: device), at: now)
        try await keep(session, at: now)
        return (token, session)
    }

    /// Writes a session that was added.
    /// - Throws: Nobody is signed in then.
    func keep(_ session: Session, at now: WallTime) async throws(JournalError) {
        do throws(JournalError) { try await store(at: now) } catch {
            // Nobody will ever have its token.
            change { $0.sessions[session.tokenHash] = nil }
            throw error
        }
    }

    /// Signs in at once; ``keep(_:at:)`` has to follow.
    /// - Parameter session: Who it is. Its token and times are made here.
    func add(_ session: Session, at now: WallTime) -> (token: String, session: Session) {
        let token = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { bytes in
            unsafe bytes.map { byte in Self.hexadecimal(byte) }.joined()
        }
        let time = now.millisecondsSince1970
        var session = session
        (session.tokenHash, session.createdAt, session.usedAt) = (Self.hash(token), time, time)
        change { state in
            state.sessions = state.sessions.filter { !$0.value.isOver(at: time) }
            if state.sessions.count >= Self.most,
                let oldest = state.sessions.values.min(by: { $0.usedAt < $1.usedAt })
            {
                state.sessions[oldest.tokenHash] = nil
            }
            state.sessions[session.tokenHash] = session
        }
        return (token, session)
    }

    /// The session of a cookie, where it is one and has not ended.
    func session(of token: String?, at now: WallTime) -> Session? {
        guard let token, token.utf8.count == 64 else { return nil }
        let hash = Self.hash(token)
        let time = now.millisecondsSince1970
        let (session, isOver): (Session?, Bool) = state.withLock { state in
            guard var session = state.sessions[hash] else { return (nil, false) }
            guard !session.isOver(at: time) else { return (nil, true) }
            session.usedAt = time
            state.sessions[hash] = session
            return (session, false)
        }
        // Each request comes by here: whoever waits for ends is looked at only where there is one.
        if isOver { change { $0.sessions[hash] = nil } }
        return session
    }

    /// Whether a cookie is a session's that has not ended. It does not count as used by that.
    func has(_ token: String?, at now: WallTime) -> Bool {
        guard let token, token.utf8.count == 64 else { return false }
        let hash = Self.hash(token)
        return state.withLock { $0.sessions[hash].map { !$0.isOver(at: now.millisecondsSince1970) } ?? false }
    }

    func isAlive(_ session: Session, at now: WallTime) -> Bool {
        state.withLock { $0.sessions[session.tokenHash].map { !$0.isOver(at: now.millisecondsSince1970) } ?? false }
    }

    /// Ends it here at once.
    /// - Throws: It has ended, and would live again after a restart; the next change that is stored ends it for good.
    func end(_ session: Session, at now: WallTime) async throws(JournalError) {
        change { $0.sessions[session.tokenHash] = nil }
        try await store(at: now)
    }

    /// Ends those that one of `ids` names, all at once.
    /// - Returns: How many there were.
    /// - Throws: As ``end(_:at:)``.
    func end(_ ids: Set<String>, at now: WallTime) async throws(JournalError) -> Int {
        let count = change { state in
            let before = state.sessions.count
            state.sessions = state.sessions.filter { !ids.contains($0.value.id) }
            return before - state.sessions.count
        }
        if count > 0 { try await store(at: now) }
        return count
    }

    /// Ends every session for which `isOver`, here at once; ``save(at:)`` makes it last.
    func drop(where isOver: (Session) -> Bool) {
        change { state in state.sessions = state.sessions.filter { !isOver($0.value) } }
    }

    /// Writes who is signed in now.
    func save(at now: WallTime) async throws(JournalError) { try await store(at: now) }

    /// Everybody who is signed in, the one used last first.
    func list(at now: WallTime) -> [Session] {
        state.withLock { Array($0.sessions.values) }
            .filter { !$0.isOver(at: now.millisecondsSince1970) }
            .sorted { ($0.usedAt, $0.createdAt, $0.id) > ($1.usedAt, $1.createdAt, $1.id) }
    }

    /// Gives a browser a new token after it proved again who it is. The old one, and all others if `endingOthers`, end in
    /// the same step.
    /// - Returns: The new session, and whether it outlives a restart.
    func replace(
        _ old: Session?,
        with new: Session,
        endingOthers: Bool,
        at now: WallTime
    ) async -> (token: String, session: Session, stored: Result<Void, JournalError>) {
        change { state in
            if endingOthers { state.sessions = [:] } else if let old { state.sessions[old.tokenHash] = nil }
        }
        let (token, session) = add(new, at: now)
        do throws(JournalError) {
            try await store(at: now)
            return (token, session, .success(()))
        } catch { return (token, session, .failure(error)) }
    }

    /// Proves that a request comes from a page that could read the session's answers: made from the cookie's token, which
    /// no other page can read, so that it holds over a restart.
    static func csrfToken(of token: String) -> String {
        HMAC<SHA256>.authenticationCode(for: Array("csrf".utf8), using: SymmetricKey(data: Array(token.utf8)))
            .map { hexadecimal($0) }.joined()
    }

    static func isValid(csrfToken: String?, of token: String) -> Bool {
        guard let csrfToken else { return false }
        let expected = Array(Self.csrfToken(of: token).utf8)
        let given = Array(csrfToken.utf8)
        return given.count == expected.count && zip(given, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Writes who is signed in now. Of two writes at once the later one writes what both did.
    private func store(at now: WallTime) async throws(JournalError) {
        while true {
            let (list, version) = state.withLock { (Array($0.sessions.values), $0.version) }
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(list)) } catch {
                throw .unavailable(detail: "sessions cannot be written: \(error)")
            }
            let change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version),
                by: .terminal,
                at: now
            )
            switch change {
            case .stored(let version):
                state.withLock { $0.version = max(version, $0.version ?? 0) }
                return
            case .conflict(let current):
                // Another write came between: what it wrote may be older than what is known here.
                state.withLock { $0.version = current?.version }
            }
        }
    }

    private static func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }

    static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}
