import Crypto

/// How an owner takes an unclaimed terminal over: with a code that only its screen shows. A value; time comes from outside.
///
/// A code lives 15 minutes. Wrong guesses do not end it: a stranger who makes them must not keep the one who reads it from
/// typing it. A ``CodePace`` bounds them. 8 characters of 32 are 40 bits. Source: OWASP ASVS 5.0, 6.4.1; ETSI EN 303 645, 5.1-5.
struct Claim: Sendable {
    static let lifetime = Duration.seconds(15 * 60)
    /// Without I, O, 0 and 1, which look like others.
    private static let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")

    private(set) var code: String
    private var madeAt: Duration

    init(at now: Duration) {
        code = Self.newCode()
        madeAt = now
    }

    /// As it is shown: `K7QM-3XFD`.
    var grouped: String { code.prefix(4) + "-" + code.dropFirst(4) }

    /// When the code has to be replaced, on the same clock as `now`.
    var expiresAt: Duration { madeAt + Self.lifetime }

    /// Whether a guess is right: case, spaces and dashes do not matter. Compared in constant time. A code that is over is
    /// replaced first.
    mutating func guess(_ text: String, at now: Duration) -> Bool {
        renewIfExpired(at: now)
        let typed = text.uppercased().filter { $0 != " " && $0 != "-" }
        return Self.isEqual(typed, code)
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
