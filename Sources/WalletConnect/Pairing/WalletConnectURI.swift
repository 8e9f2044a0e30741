/// What a QR code of a dapp says: where to meet, and under which key. The whole text is a secret.
///
/// Source: EIP-1328; WalletConnect specifications, clients/core/pairing/pairing-uri.
public struct WalletConnectURI: Sendable, Equatable {
    public let topic: Topic
    public let symKey: SymmetricSecret
    /// Opaque; never seen in use.
    public let relayData: String?
    /// Seconds since 1970; nil where the dapp did not say, which means 300 s from when it is read.
    public let expiryTimestamp: Int64?
    /// What the dapp will ask for first; empty where it did not say.
    public let methods: [String]
    /// A payment link that travels along, for wallets that can use it. As it was written, escapes undone.
    public let pay: String?

    /// Why a text is no pairing URI. None of them shows the text, which may hold a key.
    public enum Failure: Error, Sendable, Equatable {
        /// Nothing that any reader of pairing URIs would take.
        case malformed(reason: String)
        /// Version 1, which is gone, or one that is not there yet.
        case unsupportedVersion(String)
        case invalidTopic
        /// Without a key it is no invitation: dapps send it to bring the wallet to the front. See `WalletLink`.
        case missingSymKey
        case invalidSymKey
        case missingRelayProtocol
        case unsupportedRelayProtocol
        case invalidExpiry
    }

    /// A URI to show. Its topic is the hash of its key unless another is given.
    public init(
        symKey: SymmetricSecret,
        topic: Topic? = nil,
        expiryTimestamp: Int64?,
        methods: [String] = [],
        pay: String? = nil
    ) {
        (self.symKey, self.topic) = (symKey, topic ?? symKey.topic)
        (self.expiryTimestamp, self.methods, self.pay, relayData) = (expiryTimestamp, methods, pay, nil)
    }

    /// Reads what dapps emit and what cameras, clipboards and links make of it: any order of parameters, `wc:`, `wc:/` and
    /// `wc://` in any case, percent-encoded once or twice, base64 of the whole, white space around it.
    public init(parsing text: String) throws(Failure) {
        guard text.utf8.count <= 8192 else { throw .malformed(reason: "more than 8192 bytes") }
        guard let body = Self.body(of: text) else { throw .malformed(reason: "does not begin with wc:") }
        guard let at = body.firstIndex(of: "@") else { throw .malformed(reason: "no version") }
        let rest = body[body.index(after: at)...]
        let version = rest.prefix { $0 != "?" }
        guard version == "2" else { throw .unsupportedVersion(String(version.prefix(16))) }
        guard let topic = Topic(String(body[..<at])) else { throw .invalidTopic }
        let parameters = try Self.parameters(of: rest.dropFirst(version.count + 1))

        guard let key = parameters["symKey"] else { throw .missingSymKey }
        guard let symKey = SymmetricSecret(hexadecimal: key) else { throw .invalidSymKey }
        guard let relay = parameters["relay-protocol"] else { throw .missingRelayProtocol }
        guard relay == "irn" else { throw .unsupportedRelayProtocol }
        if let expiry = parameters["expiryTimestamp"] {
            guard let seconds = Int64(expiry), (0...253_402_300_799).contains(seconds) else { throw .invalidExpiry }
            expiryTimestamp = seconds
        } else {
            expiryTimestamp = nil
        }
        (self.topic, self.symKey) = (topic, symKey)
        relayData = parameters["relay-data"]
        pay = parameters["pay"]
        methods = (parameters["methods"] ?? "").split(separator: ",").map { method in
            String(method.drop { "[ ".contains($0) }.prefix { !"] ".contains($0) })
        }.filter { !$0.isEmpty }
    }

    /// What stands after the scheme; nil for a text that has none in any form.
    private static func body(of text: String) -> Substring? {
        var text = text.trimmed
        for _ in 0..<3 {
            if text.utf8.prefix(3).elementsEqual("wc:".utf8, by: { $0 | 0x20 == $1 || $0 == $1 }) {
                return text.dropFirst(3).drop { $0 == "/" }
            }
            guard let decoded = PercentCoding.decode(text), decoded != text else { break }
            text = decoded
        }
        guard let bytes = Base64.decode(text.trimmed), let decoded = String(validating: bytes, as: UTF8.self),
            decoded.hasPrefix("wc:")
        else { return nil }
        return decoded.trimmed.dropFirst(3).drop { $0 == "/" }
    }

    /// The known ones must stand once: of two keys nobody can say which is meant.
    private static func parameters(of query: Substring) throws(Failure) -> [String: String] {
        let known: Set = ["symKey", "relay-protocol", "relay-data", "expiryTimestamp", "methods", "pay"]
        var parameters: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let name = pair.prefix { $0 != "=" }
            guard known.contains(String(name)) else { continue }
            guard let value = PercentCoding.decode(String(pair.dropFirst(name.count + 1))) else {
                throw .malformed(reason: "\(name) is not UTF-8")
            }
            guard parameters.updateValue(value, forKey: String(name)) == nil else {
                throw .malformed(reason: "\(name) stands twice")
            }
        }
        return parameters
    }

    /// The text for a QR code: as short as all readers allow.
    public var absoluteString: String {
        var text = "wc:\(topic.text)@2?relay-protocol=irn&symKey=\(symKey.reveal())"
        if let expiryTimestamp { text += "&expiryTimestamp=\(expiryTimestamp)" }
        if let relayData { text += "&relay-data=\(PercentCoding.encode(relayData))" }
        if !methods.isEmpty, methods != ["wc_sessionPropose"] {
            text += "&methods=\(methods.map(PercentCoding.encode).joined(separator: "%2C"))"
        }
        if let pay { text += "&pay=\(PercentCoding.encode(pay))" }
        return text
    }

    /// The text as one query parameter of a link: percent-encoded once.
    public var deeplinkUri: String { PercentCoding.encode(absoluteString) }

    /// True from the second it says on.
    public func isExpired(atSeconds now: Int64) -> Bool { expiryTimestamp.map { now >= $0 } ?? false }
}

extension WalletConnectURI {
    /// The official SDK's spelling of `init(parsing:)`.
    public init(uriString: String) throws(Failure) { try self.init(parsing: uriString) }

    /// Reads the link that opened the app. - Throws: `missingSymKey` for a link that only brings the wallet to the front.
    public init(deeplinkUri link: String) throws(Failure) {
        switch WalletLink(link) {
        case .pair(let uri): self = uri
        case .unusable(let failure): throw failure
        default: throw .missingSymKey
        }
    }

    /// The older SDKs' spelling; nil for everything `init(parsing:)` refuses.
    public init?(string: String) {
        guard let uri = try? WalletConnectURI(parsing: string) else { return nil }
        self = uri
    }
}

extension WalletConnectURI: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "wc:\(topic)@2 (key redacted)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// Without white space at both ends.
    var trimmed: String {
        var text = self[...]
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
