/// A network: `eip155:1`. Source: CAIP-2.
public struct Blockchain: Sendable, Hashable, CustomStringConvertible {
    /// `eip155`: 3 to 8 of `-a-z0-9`.
    public let namespace: String
    /// `1`: 1 to 32 of `-_a-zA-Z0-9`.
    public let reference: String

    /// nil for what is not CAIP-2.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isNamespace(parts[0]), Self.isReference(parts[1]) else { return nil }
        (namespace, reference) = (String(parts[0]), String(parts[1]))
    }

    public init?(namespace: String, reference: String) { self.init("\(namespace):\(reference)") }

    /// `namespace:reference`.
    public var absoluteString: String { "\(namespace):\(reference)" }
    public var description: String { absoluteString }

    static func isNamespace(_ text: some StringProtocol) -> Bool {
        (3...8).contains(text.utf8.count)
            && text.utf8.allSatisfy { isDigit($0) || isLower($0) || $0 == UInt8(ascii: "-") }
    }

    static func isReference(_ text: some StringProtocol) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { isDigit($0) || isLower($0) || isUpper($0) || "-_".utf8.contains($0) }
    }

    fileprivate static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    fileprivate static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    fileprivate static func isUpper(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
}

/// An account on a network: `eip155:1:0x…`. Source: CAIP-10.
public struct Account: Sendable, Hashable, CustomStringConvertible {
    public let blockchain: Blockchain
    /// 1 to 128 of `-.%a-zA-Z0-9`. No checksum is looked at.
    public let address: String

    /// nil for what is not CAIP-10.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let blockchain = Blockchain("\(parts[0]):\(parts[1])") else { return nil }
        self.init(blockchain: blockchain, address: String(parts[2]))
    }

    public init?(blockchain: Blockchain, address: String) {
        guard (1...128).contains(address.utf8.count),
            address.utf8.allSatisfy({
                Blockchain.isDigit($0) || Blockchain.isLower($0) || Blockchain.isUpper($0) || "-.%".utf8.contains($0)
            })
        else { return nil }
        (self.blockchain, self.address) = (blockchain, address)
    }

    /// `namespace:reference:address`.
    public var absoluteString: String { "\(blockchain):\(address)" }
    public var description: String { absoluteString }
}

extension Blockchain: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let chain = Blockchain(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not CAIP-2")
        }
        self = chain
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(absoluteString)
    }
}

extension Account: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let account = Account(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not CAIP-10")
        }
        self = account
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(absoluteString)
    }
}

extension Topic: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let topic = Topic(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a topic")
        }
        self = topic
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
