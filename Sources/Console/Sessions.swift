import Crypto
import Foundation
import Journal
import Payments
import Synchronization

/// What somebody who is signed in may be. Only an owner can exist until staff can be added.
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

    func isOver(at now: Int64) -> Bool {
        now - usedAt > Self.idleLimit || now - createdAt > Self.absoluteLimit || now < createdAt - 3_600_000
    }
}

/// Who is signed in. Kept in memory for speed and in the journal for restarts.
final class Sessions: Sendable {
    private struct State {
        var sessions: [[UInt8]: Session] = [:]
        /// Of the document that was written or read last.
        var version: Int?
    }

    private let journal: any Keeping
    private let state = Mutex(State())
    private static let document = "sessions"
    static let most = 50

    init(journal: any Keeping) { self.journal = journal }

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
    func begin(_ role: Role, at now: WallTime) async throws(JournalError) -> (token: String, session: Session) {
        let (token, session) = add(role, at: now)
        do throws(JournalError) { try await store(at: now) } catch {
            // Nobody will ever have its token.
            state.withLock { $0.sessions[session.tokenHash] = nil }
            throw error
        }
        return (token, session)
    }

    private func add(_ role: Role, at now: WallTime) -> (token: String, session: Session) {
        let token = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { bytes in
            unsafe bytes.map { byte in Self.hexadecimal(byte) }.joined()
        }
        let time = now.millisecondsSince1970
        let session = Session(tokenHash: Self.hash(token), role: role, createdAt: time, usedAt: time)
        state.withLock { state in
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
        return state.withLock { state in
            guard var session = state.sessions[hash] else { return nil }
            guard !session.isOver(at: time) else {
                state.sessions[hash] = nil
                return nil
            }
            session.usedAt = time
            state.sessions[hash] = session
            return session
        }
    }

    func isAlive(_ session: Session, at now: WallTime) -> Bool {
        state.withLock { $0.sessions[session.tokenHash].map { !$0.isOver(at: now.millisecondsSince1970) } ?? false }
    }

    /// Ends it here at once.
    /// - Throws: It has ended, and would live again after a restart; the next change that is stored ends it for good.
    func end(_ session: Session, at now: WallTime) async throws(JournalError) {
        state.withLock { $0.sessions[session.tokenHash] = nil }
        try await store(at: now)
    }

    /// Ends those that one of `ids` names, all at once.
    /// - Returns: How many there were.
    /// - Throws: As ``end(_:at:)``.
    func end(_ ids: Set<String>, at now: WallTime) async throws(JournalError) -> Int {
        let count = state.withLock { state in
            let before = state.sessions.count
            state.sessions = state.sessions.filter { !ids.contains($0.value.id) }
            return before - state.sessions.count
        }
        if count > 0 { try await store(at: now) }
        return count
    }

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
        _ role: Role,
        endingOthers: Bool,
        at now: WallTime
    ) async -> (token: String, session: Session, stored: Result<Void, JournalError>) {
        state.withLock { state in
            if endingOthers { state.sessions = [:] } else if let old { state.sessions[old.tokenHash] = nil }
        }
        let (token, session) = add(role, at: now)
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
