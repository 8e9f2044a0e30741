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
    /// Milliseconds since 1970.
    var createdAt: Int64
    var usedAt: Int64

    /// Idle for longer ends it.
    static let idleLimit: Int64 = 12 * 3600 * 1000
    /// Older than this ends it, however busy.
    static let absoluteLimit: Int64 = 7 * 24 * 3600 * 1000

    func isOver(at now: Int64) -> Bool {
        now - usedAt > Self.idleLimit || now - createdAt > Self.absoluteLimit || now < createdAt - 3_600_000
    }
}

/// Who is signed in. Kept in memory for speed and in the journal for restarts.
final class Sessions: Sendable {
    private let journal: Journal
    private let sessions = Mutex<[[UInt8]: Session]>([:])
    private static let document = "sessions"
    static let most = 50

    init(journal: Journal) { self.journal = journal }

    func load() async throws(JournalError) {
        guard let stored = try await journal.document(Self.document) else { return }
        // Sessions that cannot be read any more are signed out, which is safe.
        let list = (try? JSONDecoder().decode([Session].self, from: Data(stored.bytes))) ?? []
        sessions.withLock { $0 = Dictionary(list.map { ($0.tokenHash, $0) }) { first, _ in first } }
    }

    /// Signs in and returns the token for the cookie: 256 random bits.
    func begin(_ role: Role, at now: WallTime) async throws(JournalError) -> (token: String, session: Session) {
        let token = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { bytes in
            unsafe bytes.map { byte in Self.hexadecimal(byte) }.joined()
        }
        let time = now.millisecondsSince1970
        let session = Session(tokenHash: Self.hash(token), role: role, createdAt: time, usedAt: time)
        sessions.withLock { sessions in
            sessions = sessions.filter { !$0.value.isOver(at: time) }
            if sessions.count >= Self.most, let oldest = sessions.values.min(by: { $0.usedAt < $1.usedAt }) {
                sessions[oldest.tokenHash] = nil
            }
            sessions[session.tokenHash] = session
        }
        try await store(at: now)
        return (token, session)
    }

    /// The session of a cookie, where it is one and has not ended.
    func session(of token: String?, at now: WallTime) -> Session? {
        guard let token, token.utf8.count == 64 else { return nil }
        let hash = Self.hash(token)
        let time = now.millisecondsSince1970
        return sessions.withLock { sessions in
            guard var session = sessions[hash] else { return nil }
            guard !session.isOver(at: time) else {
                sessions[hash] = nil
                return nil
            }
            session.usedAt = time
            sessions[hash] = session
            return session
        }
    }

    func isAlive(_ session: Session, at now: WallTime) -> Bool {
        sessions.withLock { $0[session.tokenHash].map { !$0.isOver(at: now.millisecondsSince1970) } ?? false }
    }

    func end(_ session: Session, at now: WallTime) async throws(JournalError) {
        sessions.withLock { $0[session.tokenHash] = nil }
        try await store(at: now)
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

    private func store(at now: WallTime) async throws(JournalError) {
        let list = sessions.withLock { Array($0.values) }
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(list)) } catch {
            throw .unavailable(detail: "sessions cannot be written: \(error)")
        }
        _ = try await journal.setDocument(Self.document, bytes, expecting: .any, by: .terminal, at: now)
    }

    private static func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}
