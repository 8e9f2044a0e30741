import Crypto

/// How an owner takes an unclaimed terminal over: with a code that only its screen shows. A value; time comes from outside.
///
/// A code lives 15 minutes and dies with its fifth wrong guess; the next one then comes after a pause that doubles each
/// time. 8 characters of 32 are 40 bits. Source: OWASP ASVS 5.0, 6.4.1; ETSI EN 303 645, 5.1-5.
struct Claim: Sendable {
    static let lifetime = Duration.seconds(15 * 60)
    static let triesPerCode = 5
    /// Without I, O, 0 and 1, which look like others.
    private static let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")

    /// What a guess came to.
    enum Verdict: Sendable, Equatable {
        case right
        case wrong
        /// No code can be tried for so long.
        case paused(Duration)
    }

    private(set) var code: String
    private var madeAt: Duration
    private var wrongGuesses = 0
    private var pause = Duration.seconds(30)
    private var pausedUntil = Duration.zero

    init(at now: Duration) {
        code = Self.newCode()
        madeAt = now
    }

    /// As it is shown: `K7QM-3XFD`.
    var grouped: String { code.prefix(4) + "-" + code.dropFirst(4) }

    /// When the code has to be replaced, on the same clock as `now`.
    var expiresAt: Duration { madeAt + Self.lifetime }

    /// Takes a guess: case, spaces and dashes do not matter. Compared in constant time.
    mutating func guess(_ text: String, at now: Duration) -> Verdict {
        if now < pausedUntil { return .paused(pausedUntil - now) }
        renewIfExpired(at: now)
        let typed = text.uppercased().filter { $0 != " " && $0 != "-" }
        if Self.isEqual(typed, code) { return .right }
        wrongGuesses += 1
        if wrongGuesses >= Self.triesPerCode {
            pausedUntil = now + pause
            pause = min(pause * 2, .seconds(3600))
            renew(at: now)
        }
        return .wrong
    }

    /// True where the code changed.
    @discardableResult
    mutating func renewIfExpired(at now: Duration) -> Bool {
        guard now >= expiresAt else { return false }
        renew(at: now)
        return true
    }

    private mutating func renew(at now: Duration) {
        code = Self.newCode()
        madeAt = now
        wrongGuesses = 0
    }

    private static func newCode() -> String { randomCode(length: 8) }

    /// So many characters, 5 bits each.
    static func randomCode(length: Int) -> String {
        // 256 is a multiple of 32: every character is as likely as the others.
        unsafe SymmetricKey(size: .init(bitCount: 8 * length)).withUnsafeBytes { bytes in
            String(unsafe bytes.map { alphabet[Int($0) % alphabet.count] })
        }
    }

    private static func isEqual(_ one: String, _ other: String) -> Bool {
        SHA256.hash(data: Array(one.utf8)) == SHA256.hash(data: Array(other.utf8))
    }
}
