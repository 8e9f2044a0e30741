import Acquirer
import Crypto
import StrictJSON
import TapProtocol

/// The acquirer's keys, all from one seed: it signs with the last, and stands by what the others signed.
struct AcquirerKeyring: Sendable {
    let issuer: String
    private let seed: [UInt8]
    private(set) var signers: [Ed25519Signer]

    init(issuer: String, seed: [UInt8]) {
        (self.issuer, self.seed) = (issuer, seed)
        signers = [Self.signer(seed, 0)]
    }

    /// Signs what leaves from now on with a new key.
    mutating func rotate() { signers.append(Self.signer(seed, signers.count)) }

    /// A key that nobody was told of, for faults.
    var stranger: Ed25519Signer { Self.signer(seed + [0xFF], 0) }

    private static func signer(_ seed: [UInt8], _ number: Int) -> Ed25519Signer {
        let key = Array(SHA256.hash(data: seed + Array("signing \(number)".utf8)))
        guard let signer = try? Ed25519Signer(seed: key) else {
            // Every 32 bytes are an Ed25519 seed. Source: RFC 8032, section 5.1.5.
            preconditionFailure("32 bytes are no Ed25519 seed")
        }
        return signer
    }

    /// Certificates and passes are checked with these: every key that ever signed.
    var trusted: GatewayKeys {
        var keys = GatewayKeys()
        for signer in signers {
            if case .ed25519(let key) = signer.publicKey { keys.add(issuer: issuer, keyID: signer.keyID, ed25519: key) }
        }
        return keys
    }

    var json: ExactJSON {
        let last = signers.count - 1
        return .array(
            signers.enumerated().reversed().map { number, signer in
                var key: [UInt8] = []
                if case .ed25519(let bytes) = signer.publicKey { key = bytes }
                return .members([
                    "issuer": .string(issuer), "kid": .base64(signer.keyID), "alg": .string("EdDSA"),
                    "publicKey": .base64(key), "current": .bool(number == last),
                ])
            }
        )
    }

    /// Signs an object with the present key, or as a stranger.
    func signed<Payload: SignedPayload>(_ payload: Payload) throws(AcquirerRefusal) -> Signed<Payload> {
        try Self.signed(payload, with: signers[signers.count - 1])
    }

    static func signed<Payload: SignedPayload>(
        _ payload: Payload,
        with signer: Ed25519Signer
    ) throws(AcquirerRefusal) -> Signed<Payload> {
        do throws(SigningFailure) {
            return try Signed(signing: payload, with: signer)
        } catch {
            throw .malformed(error.reason)
        }
    }

    // MARK: - Tokens

    /// A text that only this acquirer can have made: what it says, and a code over it.
    func token(_ content: ExactJSON) -> String {
        let body = Base64URL.encode(Array(content.text.utf8))
        return body + "." + Base64URL.encode(code(body))
    }

    /// What a token of this acquirer says.
    func content(of token: String) -> ExactJSON? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= 1024, parts.count == 2, let code = Base64URL.decode(parts[1]),
            HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Array(parts[0].utf8), using: tokenKey),
            let body = Base64URL.decode(parts[0])
        else { return nil }
        return try? ExactJSON(parsing: body)
    }

    private var tokenKey: SymmetricKey { SymmetricKey(data: SHA256.hash(data: seed + Array("tokens".utf8))) }

    private func code(_ body: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(body.utf8), using: tokenKey))
    }
}

extension ExactJSON {
    static func base64(_ bytes: [UInt8]) -> ExactJSON { .string(Base64URL.encode(bytes)) }
}
