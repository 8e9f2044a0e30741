internal import Crypto
internal import FoundationEssentials
import StrictJSON
public import WalletConnectPay

/// Why the token of a delegated login cannot be opened. Nobody is logged in; ask the back end for a new one.
public enum DelegatedLoginError: Error, Sendable, Equatable, CaseIterable {
    /// Not a JWE in its compact form, or larger than a token is.
    case notAToken
    /// Encrypted in another way than ECDH-ES with A256GCM over P-256, or with more than this side understands.
    case otherAlgorithm
    /// Not for this key, or changed on its way.
    case notForThisKey
}

/// The key of one delegated login. It lives as long as the login takes, and never leaves memory.
///
/// Source: RFC 7516 (compact form), RFC 7518, sections 4.6 (ECDH-ES, direct) and 5.3 (A256GCM).
public struct DelegatedKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    private let key: P256.KeyAgreement.PrivateKey

    public init() { key = P256.KeyAgreement.PrivateKey() }

    /// Nil where 32 bytes are no key.
    init?(scalar: [UInt8]) {
        guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: scalar) else { return nil }
        self.key = key
    }

    /// The public key for whoever makes the token. Source: RFC 7517, RFC 7518, section 6.2.
    public var jwk: String {
        let point = Array(key.publicKey.rawRepresentation)
        return ExactJSON.members([
            "kty": .string("EC"), "crv": .string("P-256"), "x": .base64URL(Array(point.prefix(32))),
            "y": .base64URL(Array(point.suffix(32))), "use": .string("enc"), "alg": .string("ECDH-ES"),
        ]).text
    }

    /// Opens what was encrypted to this key.
    public func open(_ token: String) throws(DelegatedLoginError) -> Secret {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= 8192, parts.count == 5, parts[1].isEmpty,
            let header = Base64URL.decode(parts[0]), let nonce = Base64URL.decode(parts[2]), nonce.count == 12,
            let content = Base64URL.decode(parts[3]), let tag = Base64URL.decode(parts[4]), tag.count == 16
        else { throw .notAToken }
        let (sender, partyInfo) = try Self.sender(header)
        guard let shared = try? key.sharedSecretFromKeyAgreement(with: sender) else { throw .otherAlgorithm }
        let contentKey = JWEKey.derive(shared: unsafe shared.withUnsafeBytes { unsafe Array($0) }, partyInfo)
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(nonce: nonce, ciphertext: content, tag: tag),
            let plain = try? AES.GCM.open(box, using: contentKey, authenticating: Array(parts[0].utf8)),
            let text = String(validating: plain, as: UTF8.self)
        else { throw .notForThisKey }
        return Secret(text)
    }

    /// What both sides of an agreement come to, for published examples. Nil where `sender` is no key.
    func derived(from sender: ExactJSON, _ info: JWEKey.PartyInfo, algorithm: String, bits: Int) -> [UInt8]? {
        guard let sender = JWEKey.publicKey(sender), let shared = try? key.sharedSecretFromKeyAgreement(with: sender)
        else { return nil }
        let bytes = unsafe shared.withUnsafeBytes { unsafe Array($0) }
        let derived = JWEKey.derive(shared: bytes, info, algorithm: algorithm, bits: bits)
        return unsafe derived.withUnsafeBytes { unsafe Array($0) }
    }

    private static func sender(
        _ header: [UInt8]
    ) throws(DelegatedLoginError) -> (P256.KeyAgreement.PublicKey, JWEKey.PartyInfo) {
        guard let json = try? ExactJSON(parsing: header, limits: .init(bytes: 4096, depth: 4)) else { throw .notAToken }
        // `crit` names what must be understood, `zip` compresses: neither is.
        guard json.value(named: "alg") == .string("ECDH-ES"), json.value(named: "enc") == .string("A256GCM"),
            json.value(named: "crit") == nil, json.value(named: "zip") == nil, let sender = json.value(named: "epk"),
            let key = JWEKey.publicKey(sender)
        else { throw .otherAlgorithm }
        var info = JWEKey.PartyInfo()
        for (name, place) in [("apu", \JWEKey.PartyInfo.apu), ("apv", \JWEKey.PartyInfo.apv)] {
            guard let value = json.value(named: name) else { continue }
            guard case .string(let text) = value, let bytes = Base64URL.decode(text) else { throw .notAToken }
            info[keyPath: place] = bytes
        }
        return (key, info)
    }

    public var description: String { "DelegatedKey(redacted)" }
    public var debugDescription: String { description }
}

/// The other side of a delegated login: an acquirer's.
public enum DelegatedToken {
    /// Encrypts a token to whoever holds the key behind a JWK. Nil where the JWK is none of P-256.
    public static func seal(_ token: Secret, to jwk: String) -> String? {
        guard let json = try? ExactJSON(parsing: jwk, limits: .init(bytes: 4096, depth: 4)),
            let receiver = JWEKey.publicKey(json)
        else { return nil }
        let sender = P256.KeyAgreement.PrivateKey()
        guard let shared = try? sender.sharedSecretFromKeyAgreement(with: receiver) else { return nil }
        let point = Array(sender.publicKey.rawRepresentation)
        let header = Base64URL.encode(
            Array(
                ExactJSON.members([
                    "alg": .string("ECDH-ES"), "enc": .string("A256GCM"),
                    "epk": .members([
                        "kty": .string("EC"), "crv": .string("P-256"), "x": .base64URL(Array(point.prefix(32))),
                        "y": .base64URL(Array(point.suffix(32))),
                    ]),
                ]).text.utf8
            )
        )
        let key = JWEKey.derive(shared: unsafe shared.withUnsafeBytes { unsafe Array($0) }, JWEKey.PartyInfo())
        guard
            let box = try? AES.GCM.seal(Array(token.reveal().utf8), using: key, authenticating: Array(header.utf8))
        else { return nil }
        let parts = [Array(box.nonce), Array(box.ciphertext), Array(box.tag)].map(Base64URL.encode)
        return "\(header)..\(parts.joined(separator: "."))"
    }
}

/// How both sides of ECDH-ES come to the same key.
enum JWEKey {
    struct PartyInfo: Sendable {
        var apu: [UInt8] = []
        var apv: [UInt8] = []
    }

    /// One round of the concatenation function, enough for 256 bits. Source: RFC 7518, section 4.6.2; NIST SP 800-56A,
    /// section 5.8.1.
    static func derive(
        shared: [UInt8],
        _ info: PartyInfo,
        algorithm: String = "A256GCM",
        bits: Int = 256
    ) -> SymmetricKey {
        var hash = SHA256()
        hash.update(data: number(1) + shared)
        for part in [Array(algorithm.utf8), info.apu, info.apv] { hash.update(data: number(part.count) + part) }
        hash.update(data: number(bits))
        return SymmetricKey(data: Array(hash.finalize().prefix(bits / 8)))
    }

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// Nil for anything but a point of P-256. Source: RFC 7518, section 6.2.1.
    static func publicKey(_ json: ExactJSON) -> P256.KeyAgreement.PublicKey? {
        guard json.value(named: "kty") == .string("EC"), json.value(named: "crv") == .string("P-256"),
            case .string(let x)? = json.value(named: "x"), case .string(let y)? = json.value(named: "y"),
            let x = Base64URL.decode(x), let y = Base64URL.decode(y), x.count == 32, y.count == 32
        else { return nil }
        return try? P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
    }
}
