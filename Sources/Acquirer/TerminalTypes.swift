import StrictJSON
public import TapProtocol
public import WalletConnectPay

/// Who is logged in, and until when.
public struct AcquirerSession: Sendable, Equatable {
    public enum Role: String, Sendable, CaseIterable {
        case merchant, customer
    }

    /// What following calls carry. Keep it like a password.
    public let token: Secret
    public let role: Role
    /// The merchant's or the customer's.
    public let accountID: String
    /// For people.
    public let name: String
    /// Where the role is a merchant: who may use its terminals.
    public let operatorIDs: [String]
    public let expiresAtSeconds: Int

    init(_ fields: JSONFields) throws(MalformedAnswer) {
        token = Secret(try fields.text("session", 16...512))
        role = try fields.word("role")
        accountID = try fields.text("accountId")
        name = try fields.text("name")
        var operators: [String] = []
        for item in try fields.list("operatorIds", upTo: 256) {
            guard case .string(let id) = item, (1...64).contains(id.utf8.count) else {
                throw MalformedAnswer(detail: "operatorIds holds no text")
            }
            operators.append(id)
        }
        operatorIDs = operators
        expiresAtSeconds = try fields.number("expiresAt")
    }
}

/// The acquirer's signing keys. Source: BPP/1, section 7.3.
public struct AcquirerKeys: Sendable, Equatable {
    public struct Key: Sendable, Equatable {
        public let issuer: String
        /// 1 to 32 bytes.
        public let keyID: [UInt8]
        /// Ed25519, 32 bytes.
        public let publicKey: [UInt8]
        /// False for a key that signs nothing new and is trusted for what it signed.
        public let isCurrent: Bool
    }

    public let keys: [Key]

    /// As the checks of the profile take them.
    public var trusted: GatewayKeys {
        var trusted = GatewayKeys()
        for key in keys { trusted.add(issuer: key.issuer, keyID: key.keyID, ed25519: key.publicKey) }
        return trusted
    }
}

/// A terminal's keys and its limits, as it asks to have them certified.
public struct EnrolmentOrder: Sendable {
    public var terminalID: String
    /// The X25519 key of the handshake, 32 bytes.
    public var staticKey: [UInt8]
    /// Signs requests and claims, and here the proof that the terminal holds it.
    public var signer: Ed25519Signer

    public init(terminalID: String, staticKey: [UInt8], signer: Ed25519Signer) {
        (self.terminalID, self.staticKey, self.signer) = (terminalID, staticKey, signer)
    }

    /// What the proof is a signature over.
    public static func proofMessage(
        terminalID: String,
        staticKey: [UInt8],
        signingKey: [UInt8],
        atSeconds: Int
    ) -> [UInt8] {
        CBOR.array([
            .text("BPP1-ENROL"), .text(terminalID), .bytes(staticKey), .bytes(signingKey), .integer(atSeconds),
        ]).encoded
    }
}
