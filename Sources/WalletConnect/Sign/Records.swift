internal import FoundationEssentials
internal import StrictJSON

/// What is kept across restarts, one value a name. Everything here is for storage and never for a log.
protocol StoredRecord: Codable, Sendable {
    static var folder: String { get }
    /// Unique within the folder.
    var name: String { get }
}

extension StoredRecord {
    var storageName: String { Self.storageName(name) }
    static func storageName(_ name: String) -> String { "wc2/\(folder)/\(name)" }
}

struct PairingRecord: StoredRecord, Equatable {
    static let folder = "pairing"
    let topic: Topic
    let key: StoredSecret
    /// Made here and shown, rather than scanned.
    let isProposer: Bool
    var expiry: Int64
    var active = false
    var state = PairingState.awaitingProposal
    var peer: AppMetadata?
    var transport = Transport.scan
    /// Over for everybody, but kept to recognise a wallet that answers too late.
    var isOver = false

    var name: String { topic.text }

    var value: Pairing {
        Pairing(topic: topic, active: active, expiry: expiry, state: state, peer: peer, transport: transport)
    }
}

/// A proposal that waits for the user.
struct ProposalRecord: StoredRecord, Equatable {
    static let folder = "proposal"
    let requestID: RPCID
    let publicKey: PublicKey
    let pairingTopic: Topic
    let proposer: AppMetadata
    let required: [String: ProposalNamespace]
    let optional: [String: ProposalNamespace]
    let sessionProperties: [String: String]?
    let scopedProperties: StoredJSON?
    let expiry: Int64
    let attestation: String?
    let transport: Transport

    var name: String { publicKey.text }

    var value: Session.Proposal {
        Session.Proposal(
            id: publicKey.text,
            pairingTopic: pairingTopic,
            proposer: proposer,
            requiredNamespaces: required,
            optionalNamespaces: optional,
            sessionProperties: sessionProperties,
            scopedProperties: scopedProperties?.json,
            expiry: expiry,
            context: VerifyContext(
                claimedURL: proposer.url,
                attestedOrigin: attestation.flatMap(Attestation.origin(in:))
            ),
            transport: transport
        )
    }
}

/// A proposal of ours that waits for a wallet.
struct OfferRecord: StoredRecord, Equatable {
    static let folder = "offer"
    let requestID: RPCID
    /// The same key asked by `wc_sessionAuthenticate`, where that was sent too.
    var authenticateID: RPCID?
    var authenticate: AuthRequestRecord?
    let pairingTopic: Topic
    let key: AgreementKey
    let required: [String: ProposalNamespace]
    let optional: [String: ProposalNamespace]
    let sessionProperties: [String: String]?
    let expiry: Int64
    var phase = Phase.open
    /// Known once a wallet answered.
    var responder: PublicKey?
    var sessionTopic: Topic?
    var sessionKey: StoredSecret?
    /// Until when the session must have come of the approval; nil in what older versions wrote.
    var settleBy: Int64?
    /// True where it was sent within a link; nil in what older versions wrote.
    var isByLink: Bool?

    enum Phase: String, Codable, Sendable { case open, settling, over }

    var name: String { key.publicKey.text }
}

struct SessionRecord: StoredRecord, Equatable {
    static let folder = "session"
    let topic: Topic
    let key: StoredSecret
    let pairingTopic: Topic
    let selfKey: PublicKey
    let peerKey: PublicKey
    let peer: AppMetadata
    let isController: Bool
    var acknowledged: Bool
    var namespaces: [String: SessionNamespace]
    let required: [String: ProposalNamespace]
    let sessionProperties: [String: String]?
    var expiry: Int64
    var settleID: RPCID
    /// IDs carry the time, so an update or event below the last one is an old one that comes late.
    var lastUpdate: UInt64 = 0
    var lastEvent: UInt64 = 0
    /// Over for everybody, but answers to open requests are still taken: they can mean money.
    var isOver = false
    /// The peer's universal link, where requests and answers travel within links.
    var peerLink: String?

    var name: String { topic.text }

    var value: Session {
        Session(
            topic: topic,
            pairingTopic: pairingTopic,
            peer: peer,
            namespaces: namespaces,
            requiredNamespaces: required,
            expiry: expiry,
            isController: isController,
            acknowledged: acknowledged,
            sessionProperties: sessionProperties
        )
    }
}

/// A request of ours whose answer may still come.
struct SentRecord: StoredRecord, Equatable {
    static let folder = "sent"
    let id: RPCID
    let topic: Topic
    let method: Method
    /// For `wc_sessionRequest`.
    var call: String?
    var chain: Blockchain?
    let expiry: Int64
    var gaveUp = false
    var expired = false

    var name: String { Self.name(topic, id) }
    static func name(_ topic: Topic, _ id: RPCID) -> String { "\(topic.text)/\(sha256Hexadecimal(id.text).prefix(32))" }
}

/// A request that waits for the user, or was answered and may be asked again.
struct ReceivedRecord: StoredRecord, Equatable {
    static let folder = "received"
    let id: RPCID
    let topic: Topic
    let call: String
    let params: StoredJSON
    let chain: Blockchain
    let expiry: Int64?
    let at: Int64
    /// The answer as it was sent, for a peer that asks the same again under the same ID.
    var answer: String?
    var isOver = false

    var name: String { SentRecord.name(topic, id) }

    var value: Request {
        Request(id: id, topic: topic, method: call, params: params.json, chainId: chain, expiryTimestamp: expiry)
    }
}

/// A message the relay has not confirmed. The same text is sent every time, so that relay and peer see one message.
struct OutboxRecord: StoredRecord, Equatable {
    static let folder = "outbox"
    let number: UInt64
    let topic: Topic
    let message: String
    let tag: Int
    let ttl: Int
    let prompt: Bool
    let expiry: Int64

    var name: String {
        let digits = String(number)
        return String(repeating: "0", count: 20 - digits.utf8.count) + digits
    }

    var publication: RelayPublication {
        RelayPublication(topic: topic, message: message, tag: tag, ttlSeconds: ttl, prompt: prompt)
    }
}

/// A message that was handled, so that its copies are not.
struct SeenRecord: StoredRecord, Equatable {
    static let folder = "seen"
    let topic: Topic
    let hash: String
    let at: Int64

    var name: String { "\(topic.text)/\(hash)" }
}

/// JSON within a record, as text.
struct StoredJSON: Sendable, Equatable, Codable {
    let json: ExactJSON

    init(_ json: ExactJSON) { self.json = json }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        json = try ExactJSON(parsing: text, limits: .init(bytes: 2 * RPCMessage.limitBytes, depth: 64))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(json.text)
    }
}

/// What an attestation says without looking whether it may.
enum Attestation {
    /// The origin in a token's middle part; nil for anything that is no such token.
    static func origin(in token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= 8192, parts.count == 3, let bytes = Base64.decode(String(parts[1])),
            let json = try? ExactJSON(parsing: bytes)
        else { return nil }
        return json.value(named: "origin")?.string?.cut(toBytes: 1024)
    }
}
