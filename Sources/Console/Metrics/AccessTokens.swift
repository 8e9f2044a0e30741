import Foundation
import Journal
import Payments
import Terminal

/// What a token lets its holder do, and nothing else.
enum TokenScope: String, Sendable, Codable, CaseIterable {
    /// Read ``/metrics``.
    case metrics
    /// Charge, cancel, let go, look up and follow charges, and have their receipts.
    case charges
    /// The same of those charges alone that were opened by a token of this name.
    case ownCharges
    /// Read how the terminal stands, and what is wrong with it.
    case state
    /// Put messages on the screen.
    case screen
}

/// A program's way in. The token itself is shown once and never kept.
struct AccessToken: Sendable, Codable, Equatable {
    /// Names it in lists; says nothing about the token.
    let id: String
    let name: String
    /// In the order of ``TokenScope``, each once, at least one.
    let scopes: [TokenScope]
    /// SHA-256 of the token: it has 256 random bits, so that no slower hash is needed.
    let digest: [UInt8]
    /// Milliseconds since 1970.
    let createdAt: Int64
    /// To the hour, so that a program that asks every few seconds does not fill the journal.
    var usedAt: Int64?

    init(id: String, name: String, scopes: Set<TokenScope>, digest: [UInt8], createdAt: Int64) {
        (self.id, self.name, self.digest, self.createdAt) = (id, name, digest, createdAt)
        self.scopes = TokenScope.allCases.filter(scopes.contains)
    }

    private enum CodingKeys: String, CodingKey { case id, name, scope, scopes, digest, createdAt, usedAt }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        name = try values.decode(String.self, forKey: .name)
        // A token had one scope before it could have several.
        scopes =
            try values.decodeIfPresent([TokenScope].self, forKey: .scopes)
            ?? [try values.decode(TokenScope.self, forKey: .scope)]
        digest = try values.decode([UInt8].self, forKey: .digest)
        createdAt = try values.decode(Int64.self, forKey: .createdAt)
        usedAt = try values.decodeIfPresent(Int64.self, forKey: .usedAt)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id, forKey: .id)
        try values.encode(name, forKey: .name)
        try values.encode(scopes, forKey: .scopes)
        try values.encode(digest, forKey: .digest)
        try values.encode(createdAt, forKey: .createdAt)
        try values.encodeIfPresent(usedAt, forKey: .usedAt)
    }
}

/// Keeps the tokens of programs that may ask this terminal something. Source: OWASP ASVS 5.0, 7.2.2 and 13.2.1.
actor TokenDesk {
    private let journal: any Keeping
    private let clock: TerminalClock
    private var tokens: [AccessToken] = [] { didSet { good.set(tokens) } }
    /// The same for who must not wait.
    nonisolated let good = GoodTokens()
    private var version = 0
    private var strangers = AddressPace()
    private var paces: [String: TokenPace] = [:]
    /// Waits and event streams under way, by their token.
    private var uses: [Int: Use] = [:]
    private var nextUse = 0

    private struct Use {
        let token: String
        let kind: TokenUse
        let ending: AsyncStream<Never>.Continuation
    }

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
    func make(_ name: String, _ scopes: Set<TokenScope>, by actor: Payments.Actor) async throws(Problem) -> (
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
        // The journal and the audit log name who charged by it.
        guard !tokens.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
            throw .field(
                "name",
                Reason(
                    code: "name_taken",
                    message: "There is a token of that name.",
                    action: "Choose another name, or revoke that token first."
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
        // What begins so is found by whoever looks for secrets where none should be.
        let text = (scopes == [.metrics] ? "till_metrics_" : "till_lan_") + Self.random(32)
        let token = AccessToken(
            id: Self.random(6),
            name: name,
            scopes: scopes,
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
        paces[id] = nil
        for (number, use) in uses where use.token == id {
            use.ending.finish()
            uses[number] = nil
        }
    }

    /// What came of showing a token.
    enum Outcome: Sendable, Equatable { case granted(AccessToken), refused, tooOften(Duration) }

    /// Whether a text is a token, of that scope where one is named. Who shows wrong ones too often is told to wait; who has a
    /// good one never is.
    func check(_ text: String?, for scope: TokenScope? = nil, from peer: String) async -> Outcome {
        guard let found = text.flatMap({ good.token($0) }), scope.map(found.scopes.contains) ?? true else {
            return strangers.take(peer, at: clock.elapsed()).map(Outcome.tooOften) ?? .refused
        }
        await noteUse(of: found.id)
        return .granted(found)
    }

    // MARK: - How much of the terminal one token may take

    /// Takes one of a token's requests; nil where it may be answered, else how long to wait.
    func take(_ token: AccessToken) -> Duration? {
        paces[token.id, default: TokenPace(at: clock.elapsed())].take(at: clock.elapsed())
    }

    /// Begins what takes long. The stream ends when the token is revoked; nil where there is no more room for it.
    func begin(_ kind: TokenUse, _ token: AccessToken) -> (use: Int, ending: AsyncStream<Never>)? {
        let same = uses.values.filter { $0.kind == kind }
        guard tokens.contains(where: { $0.id == token.id }), same.count < kind.most,
            same.count(where: { $0.token == token.id }) < kind.mostOfOne
        else { return nil }
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        nextUse += 1
        uses[nextUse] = Use(token: token.id, kind: kind, ending: continuation)
        return (nextUse, stream)
    }

    /// Ends what ``begin(_:_:)`` began.
    func end(_ use: Int) { uses.removeValue(forKey: use)?.ending.finish() }

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

    private static func digest(_ text: String) -> [UInt8] { GoodTokens.digest(text) }

    private static func random(_ bytes: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=",
            with: ""
        )
    }
}
