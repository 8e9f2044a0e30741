import Crypto
import Foundation
import Journal
import Payments
import Terminal

/// What a token lets its holder do, and nothing else.
enum TokenScope: String, Sendable, Codable, CaseIterable {
    /// Read ``/metrics``.
    case metrics
}

/// A program's way in. The token itself is shown once and never kept.
struct AccessToken: Sendable, Codable, Equatable {
    /// Names it in lists; says nothing about the token.
    let id: String
    let name: String
    let scope: TokenScope
    /// SHA-256 of the token: it has 256 random bits, so that no slower hash is needed.
    let digest: [UInt8]
    /// Milliseconds since 1970.
    let createdAt: Int64
    /// To the hour, so that a program that asks every few seconds does not fill the journal.
    var usedAt: Int64?
}

/// Keeps the tokens of programs that may ask this terminal something. Source: OWASP ASVS 5.0, 7.2.2 and 13.2.1.
actor TokenDesk {
    private let journal: any Keeping
    private let clock: TerminalClock
    private var tokens: [AccessToken] = []
    private var version = 0
    private var strangers = AddressPace()

    static let most = 16
    private static let document = "tokens"
    private static let coarse: Int64 = 3_600_000

    init(journal: any Keeping, clock: TerminalClock) { (self.journal, self.clock) = (journal, clock) }

    /// False where another version of the program wrote what is kept: then no token is good, and none is made or revoked, so
    /// that what is kept stays as it is.
    private(set) var isReadable = true

    /// Reads what was made earlier. Payments do not wait for tokens: what cannot be read only keeps programs out.
    func load() async throws(JournalError) {
        guard let stored = try await journal.document(Self.document) else { return }
        do { tokens = try JSONDecoder().decode([AccessToken].self, from: Data(stored.bytes)) } catch {
            isReadable = false
        }
        version = stored.version
    }

    private func checkReadable() throws(Problem) {
        guard isReadable else {
            throw Problem(
                503,
                "tokens_unreadable",
                "The tokens were written by another version of the program and cannot be read. None of them is accepted.",
                "Update the terminal, or restore a backup."
            )
        }
    }

    /// Oldest first.
    var list: [AccessToken] { tokens }

    /// Makes a token and returns it with its text, which nobody can ask for again.
    func make(_ name: String, _ scope: TokenScope, by actor: Payments.Actor) async throws(Problem) -> (
        AccessToken, text: String
    ) {
        try checkReadable()
        let name = name.trimmingCharacters(in: .whitespaces)
        guard (1...40).contains(name.count) else {
            throw .field(
                "name",
                Reason(
                    code: "required",
                    message: "The name is missing or too long.",
                    action: "Say what the token is for."
                )
            )
        }
        guard tokens.count < Self.most else {
            throw Problem(
                409,
                "too_many_tokens",
                "There are \(Self.most) tokens already.",
                "Revoke one that is not used."
            )
        }
        let text = "till_\(scope.rawValue)_" + Self.random(32)
        let token = AccessToken(
            id: Self.random(6),
            name: name,
            scope: scope,
            digest: Self.digest(text),
            createdAt: clock.wallTime().millisecondsSince1970
        )
        try await store(tokens + [token], by: actor)
        return (token, text)
    }

    /// Makes a token void at once.
    func revoke(_ id: String, by actor: Payments.Actor) async throws(Problem) {
        try checkReadable()
        guard tokens.contains(where: { $0.id == id }) else {
            throw Problem(404, "token_not_found", "There is no such token.", "Look at the list again.")
        }
        try await store(tokens.filter { $0.id != id }, by: actor)
    }

    /// What came of showing a token.
    enum Outcome: Sendable, Equatable { case granted, refused, tooOften(Duration) }

    /// Whether a text is a token of that scope. Who shows wrong ones too often is told to wait.
    func check(_ text: String?, for scope: TokenScope, from peer: String) async -> Outcome {
        let digest = text.map(Self.digest) ?? []
        var found: Int?
        // All are compared, each in the same time.
        for (index, token) in tokens.enumerated() where token.scope == scope && Self.isSame(token.digest, digest) {
            found = index
        }
        guard let found else {
            return strangers.take(peer, at: clock.elapsed()).map(Outcome.tooOften) ?? .refused
        }
        await noteUse(of: tokens[found].id)
        return .granted
    }

    private func noteUse(of id: String) async {
        let now = clock.wallTime().millisecondsSince1970
        guard let index = tokens.firstIndex(where: { $0.id == id }), now - (tokens[index].usedAt ?? 0) >= Self.coarse
        else { return }
        var changed = tokens
        changed[index].usedAt = now
        // When it was used is worth less than the answer: what cannot be stored is tried with the next use.
        try? await store(changed, by: .terminal)
    }

    private func store(_ changed: [AccessToken], by actor: Payments.Actor) async throws(Problem) {
        let change: DocumentChange
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(changed)) } catch {
                throw JournalError.unavailable(detail: "the tokens cannot be written: \(error)")
            }
            change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version == 0 ? nil : version),
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Console.problem(.journal(error)) }
        guard case .stored(let version) = change else { throw Console.problem(.conflict) }
        (tokens, self.version) = (changed, version)
    }

    private static func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    private static func random(_ bytes: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=",
            with: ""
        )
    }
}
