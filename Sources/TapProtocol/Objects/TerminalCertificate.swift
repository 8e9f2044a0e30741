/// The gateway's word about a terminal: whose it is, its keys, and how much it may ask for.
/// Source: BPP/1, section 9, `cert`.
public struct TerminalCertificate: SignedPayload {
    public static let context = SigningContext.certificate
    public static let algorithm = SigningAlgorithm.edDSA

    public enum Environment: Int, Sendable { case test, live }

    /// Chooses the set of trusted keys.
    public var issuer: String
    public var terminalID: String
    public var merchantID: String
    /// What the customer is shown. At most 64 bytes.
    public var merchantName: String
    public var notBeforeSeconds: Int
    public var notAfterSeconds: Int
    /// The terminal's X25519 key, 32 bytes: its identity in the handshake.
    public var staticKey: [UInt8]
    /// The terminal's Ed25519 key, 32 bytes: signs requests and claims.
    public var signingKey: [UInt8]
    public var environment: Environment
    /// What it may ask for, 1 to 32 codes.
    public var currencies: [String]
    /// Largest total in each of the currencies, in minor units.
    public var maximumAmount: Int
    /// ISO 18245 merchant category.
    public var merchantCategory: Int
    /// ISO 3166-1 alpha-2.
    public var country: String

    public var requestKey: VerificationKey { .ed25519(signingKey) }

    public init(map: CBORMap) throws(MalformedObject) {
        var fields = ObjectFields(map)
        issuer = try fields.text(1)
        terminalID = try fields.text(2)
        merchantID = try fields.text(3)
        merchantName = try fields.text(4)
        notBeforeSeconds = try fields.number(5)
        notAfterSeconds = try fields.number(6)
        staticKey = try fields.bytes(7, count: 32)
        signingKey = try fields.bytes(8, count: 32)
        guard let environment = Environment(rawValue: try fields.number(9)) else { throw .outOfRange(key: 9) }
        self.environment = environment
        currencies = []
        for code in try fields.list(10, 1...32) { currencies.append(try ObjectFields.currency(code, 10)) }
        maximumAmount = try fields.number(11)
        merchantCategory = try fields.number(12, 0...9999)
        country = try fields.text(13, 2...2)
        try fields.finish()
    }

    public var map: CBORMap {
        [
            1: .text(issuer), 2: .text(terminalID), 3: .text(merchantID), 4: .text(merchantName),
            5: .integer(notBeforeSeconds), 6: .integer(notAfterSeconds), 7: .bytes(staticKey), 8: .bytes(signingKey),
            9: .integer(environment.rawValue), 10: .array(currencies.map(CBOR.text)), 11: .integer(maximumAmount),
            12: .integer(merchantCategory), 13: .text(country),
        ]
    }
}
