/// Exactly 32 bytes: a hash, a digest to sign, or an ERC-3009 nonce.
public struct Bytes32: Sendable, Hashable, CustomStringConvertible {
    /// The bytes read as a number, most significant first.
    public let number: UInt256

    /// Why a value is not 32 bytes.
    public enum Failure: Error, Sendable, Equatable {
        case length(bytes: Int)
        case notHexadecimal
    }

    public init(_ number: UInt256) { self.number = number }

    /// - Throws: `length` for any other count than 32.
    public init(_ bytes: some Collection<UInt8>) throws(Failure) {
        guard bytes.count == 32, let number = try? UInt256(bigEndian: bytes) else {
            throw .length(bytes: bytes.count)
        }
        self.number = number
    }

    /// Reads `0x` and 64 digits. Shorter texts are refused: whether to pad left or right is anyone's guess.
    public init(parsing text: String) throws(Failure) {
        guard let bytes = Hexadecimal.bytes(text) else { throw .notHexadecimal }
        try self.init(bytes)
    }

    /// 32 bytes drawn at random: a nonce that no earlier authorization used.
    public static func random(using generator: inout some RandomNumberGenerator) -> Bytes32 {
        Bytes32(UInt256(words: (generator.next(), generator.next(), generator.next(), generator.next())))
    }

    public var bytes: [UInt8] { number.bigEndianBytes }

    /// `0x` and 64 lower-case digits.
    public var hexadecimal: String { Hexadecimal.text(bytes) }

    public var description: String { hexadecimal }
}
