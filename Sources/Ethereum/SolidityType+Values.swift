import StrictJSON

/// Reading single values from JSON, each in the forms that gateways and wallets really send.
extension SolidityType {
    /// The 32 bytes of a value that is neither struct nor array.
    func encode(atomic value: ExactJSON) throws(TypedDataError) -> Bytes32 {
        switch self {
        case .uint(let bits): return Bytes32(try Self.unsigned(value, bits: bits))
        case .int(let bits): return Bytes32(try Self.signed(value, bits: bits))
        case .address:
            let address = try Self.readAddress(value)
            return try Self.padded([UInt8](repeating: 0, count: 12) + address.bytes)
        case .bool:
            guard case .bool(let flag) = value else { throw TypedDataError(.notA("true or false")) }
            return Bytes32(UInt256(flag ? 1 : 0))
        case .string:
            guard case .string(let text) = value else { throw TypedDataError(.notA("a text")) }
            return keccak256(text)
        case .bytes: return keccak256(try Self.readBytes(value))
        case .fixedBytes(let count):
            let bytes = try Self.readBytes(value)
            guard bytes.count == count else { throw TypedDataError(.length(bytes: bytes.count, expected: count)) }
            return try Self.padded(bytes + [UInt8](repeating: 0, count: 32 - count))
        case .structure, .array: throw TypedDataError(.unknownType(description))
        }
    }

    private static func padded(_ bytes: [UInt8]) throws(TypedDataError) -> Bytes32 {
        do throws(Bytes32.Failure) {
            return try Bytes32(bytes)
        } catch {
            throw TypedDataError(.length(bytes: bytes.count, expected: 32))
        }
    }

    /// A whole number that fits `bits` without a sign.
    static func unsigned(_ value: ExactJSON, bits: Int) throws(TypedDataError) -> UInt256 {
        let (isNegative, magnitude) = try integer(value, type: .uint(bits: bits))
        guard !isNegative || magnitude == .zero, magnitude.significantBits <= bits else {
            throw TypedDataError(.outOfRange(type: "uint\(bits)"))
        }
        return magnitude
    }

    /// A whole number that fits `bits` in two's complement, extended to 256 bits.
    private static func signed(_ value: ExactJSON, bits: Int) throws(TypedDataError) -> UInt256 {
        let (isNegative, magnitude) = try integer(value, type: .int(bits: bits))
        // -2^(bits-1) has no positive counterpart.
        let largest = isNegative && magnitude != .zero ? magnitude.subtractingWrapping(1) : magnitude
        guard largest.significantBits < bits else { throw TypedDataError(.outOfRange(type: "int\(bits)")) }
        return isNegative ? UInt256.zero.subtractingWrapping(magnitude) : magnitude
    }

    /// A JSON number without fraction and exponent, or a text: decimal or `0x`, with a minus where it applies.
    private static func integer(
        _ value: ExactJSON,
        type: SolidityType
    ) throws(TypedDataError) -> (isNegative: Bool, magnitude: UInt256) {
        let text: String
        switch value {
        case .number(let digits), .string(let digits): text = digits
        default: throw TypedDataError(.notA("a whole number"))
        }
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        do throws(UInt256.Failure) {
            return (
                isNegative,
                try UInt256(parsing: isNegative ? String(decoding: text.utf8.dropFirst(), as: UTF8.self) : text)
            )
        } catch .overflow {
            throw TypedDataError(.outOfRange(type: type.description))
        } catch {
            throw TypedDataError(.notA("a whole number"))
        }
    }

    static func readAddress(_ value: ExactJSON) throws(TypedDataError) -> EthereumAddress {
        guard case .string(let text) = value else { throw TypedDataError(.notA("an address")) }
        do throws(EthereumAddress.Failure) {
            return try EthereumAddress(parsing: text)
        } catch {
            throw TypedDataError(.address(error))
        }
    }

    private static func readBytes(_ value: ExactJSON) throws(TypedDataError) -> [UInt8] {
        guard case .string(let text) = value, let bytes = Hexadecimal.bytes(text) else {
            throw TypedDataError(.notA("0x and an even count of hexadecimal digits"))
        }
        return bytes
    }
}
