/// The 20 bytes that name an account or a contract.
public struct EthereumAddress: Sendable, Hashable {
    /// Always 20.
    public let bytes: [UInt8]

    /// Why a value is no address. All cases mean: do not send money there.
    public enum Failure: Error, Sendable, Equatable {
        /// An address has 20 bytes: 40 digits.
        case length(bytes: Int)
        /// Not `0x` and hexadecimal digits.
        case notHexadecimal
        /// Written in mixed case, and the case is not that of the checksum: probably a typing error.
        case checksum
    }

    /// The address of nobody, which tokens refuse to pay.
    public static let zero = EthereumAddress(lowest160Bits: .zero)

    /// - Throws: `length` for any other count than 20.
    public init(_ bytes: some Collection<UInt8>) throws(Failure) {
        guard bytes.count == 20 else { throw .length(bytes: bytes.count) }
        self.bytes = Array(bytes)
    }

    /// Reads `0x` and 40 digits, all in one case or in the mixed case of the checksum.
    ///
    /// Source: EIP-55; gateways write lower case, people and contracts' documentation the checksum.
    public init(parsing text: String) throws(Failure) {
        guard let digits = Hexadecimal.digits(afterPrefixOf: text), let bytes = Hexadecimal.bytes(fromDigits: digits)
        else { throw .notHexadecimal }
        try self.init(bytes)
        let hasLower = digits.contains { (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
        let hasUpper = digits.contains { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) }
        if hasLower && hasUpper {
            guard checksummed.utf8.dropFirst(2).elementsEqual(digits) else { throw .checksum }
        }
    }

    /// The last 20 bytes of a number, for constants in source and for the hash of a public key.
    init(lowest160Bits number: UInt256) { bytes = Array(number.bigEndianBytes.suffix(20)) }

    /// Mixed case that carries a checksum, for people. Source: EIP-55.
    public var checksummed: String {
        let digits = Array(lowercased.utf8.dropFirst(2))
        let hash = keccak256(digits).bytes
        var characters = Array("0x".utf8)
        for (index, digit) in digits.enumerated() {
            let nibble = index.isMultiple(of: 2) ? hash[index / 2] >> 4 : hash[index / 2] & 15
            let isLetter = digit >= UInt8(ascii: "a")
            characters.append(isLetter && nibble >= 8 ? digit & ~0x20 : digit)
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// Lower case, as the gateway writes addresses into what wallets sign.
    public var lowercased: String { Hexadecimal.text(bytes) }
}

extension EthereumAddress: CustomStringConvertible {
    public var description: String { checksummed }
}

extension EthereumAddress: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do {
            try self.init(parsing: text)
        } catch {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an address: \(error)")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(checksummed)
    }
}
