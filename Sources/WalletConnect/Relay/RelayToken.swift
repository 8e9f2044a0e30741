internal import Crypto
internal import FoundationEssentials
internal import StrictJSON

/// What a client shows a relay to say who it is: a JSON Web Token, signed with its Ed25519 key.
/// Source: WalletConnect specifications, "Relay Client Authentication".
public struct RelayToken: Sendable, Equatable {
    /// The client: `did:key:z6Mk…`.
    public let issuer: String
    /// 32 random bytes as hexadecimal digits, new for each connection.
    public let subject: String
    /// The relay it is for: its address without the query. SDKs name others; it identifies nobody.
    public let audience: String
    /// Seconds since 1970.
    public let issuedAt: Int64
    /// Seconds since 1970; nil: it never expires.
    public let expiresAt: Int64?

    /// How far the two clocks may be apart, in seconds.
    public static let leewaySeconds: Int64 = 120

    /// Makes and signs one. Its claims stand in the order that other implementations use.
    /// - Parameters:
    ///   - subject: 64 hexadecimal digits, never used before.
    ///   - lifetimeSeconds: A day is usual.
    public static func signed(
        by identity: RelayIdentity,
        subject: String,
        audience: String,
        issuedAt: Int64,
        lifetimeSeconds: Int64 = 86_400
    ) throws(RelayTokenError) -> String {
        let claims = ExactJSON.object([
            .init("iss", .string(identity.issuer)), .init("sub", .string(subject)), .init("aud", .string(audience)),
            .init("iat", .number(String(issuedAt))), .init("exp", .number(String(issuedAt + lifetimeSeconds))),
        ])
        let signed = encode(Array(#"{"alg":"EdDSA","typ":"JWT"}"#.utf8)) + "." + encode(Array(claims.text.utf8))
        return signed + "." + encode(try identity.sign(Array(signed.utf8)))
    }

    /// Reads one and checks its form, key, signature and times; whom it is for is the caller's question.
    /// - Parameter now: Seconds since 1970.
    public init(checking text: String, now: Int64) throws(RelayTokenError) {
        guard text.utf8.count <= 4096 else { throw .form }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = Self.decode(parts[0]), let payload = Self.decode(parts[1]),
            let signature = Self.decode(parts[2]), let head = try? ExactJSON(parsing: header),
            let claims = try? ExactJSON(parsing: payload)
        else { throw .form }
        guard head.string("alg") == "EdDSA", head.string("typ") == "JWT" else { throw .algorithm }
        guard let issuer = claims.string("iss"), let key = DIDKey.publicKey(issuer) else { throw .issuer }
        guard let publicKey = try? Curve25519.Signing.PublicKey(rawRepresentation: key),
            publicKey.isValidSignature(signature, for: Array((parts[0] + "." + parts[1]).utf8))
        else { throw .signature }
        guard let subject = claims.string("sub"), let audience = claims.string("aud"),
            let issuedAt = claims.integer("iat")
        else { throw .form }
        expiresAt = claims.integer("exp")
        guard expiresAt != nil || claims.value(named: "exp") == nil else { throw .form }
        (self.issuer, self.subject, self.audience, self.issuedAt) = (issuer, subject, audience, issuedAt)
        let (latest, overflow) = now.addingReportingOverflow(Self.leewaySeconds)
        guard !overflow, issuedAt <= latest else { throw .early }
        if let expiresAt, expiresAt < now - Self.leewaySeconds { throw .expired }
    }

    private static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func decode(_ text: String) -> [UInt8]? {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Data(base64Encoded: standard + padding).map { Array($0) }
    }
}

/// Why a token proves nothing. None of them can be helped by sending the same token again.
public enum RelayTokenError: Error, Sendable, Equatable {
    /// Not three parts of base64url that hold the claims.
    case form
    case algorithm
    /// `iss` is no did:key of an Ed25519 key.
    case issuer
    case signature
    /// From the future: this clock or the client's is wrong.
    case early
    case expired
    /// Not 32 bytes of key.
    case key
}

extension ExactJSON {
    func string(_ name: String) -> String? {
        guard case .string(let text) = value(named: name) else { return nil }
        return text
    }

    func integer(_ name: String) -> Int64? {
        guard case .number(let digits) = value(named: name) else { return nil }
        return Int64(digits)
    }
}
