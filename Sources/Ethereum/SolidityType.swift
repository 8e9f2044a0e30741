/// What a field holds, read from the text of its type. Source: EIP-712, "Definition of typed structured data".
indirect enum SolidityType: Sendable, Hashable {
    case uint(bits: Int)
    case int(bits: Int)
    /// `bytes1` to `bytes32`.
    case fixedBytes(Int)
    case bytes, string, bool, address
    case structure(String)
    /// Without a count, any number of elements.
    case array(SolidityType, count: Int?)

    /// Arrays of arrays of…: more than this are refused.
    static let arrayDepthLimit = 8

    /// Nil for a text that is no type, such as `a b` or `Person[`. What is no built-in type, `uint7` too, is taken for a
    /// struct's name, whether there is one or not.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        let base = bytes.prefix { $0 != UInt8(ascii: "[") }
        guard var type = SolidityType(base: String(decoding: base, as: UTF8.self)) else { return nil }
        var rest = bytes[base.endIndex...]
        var depth = 0
        while !rest.isEmpty {
            guard rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let digits = rest[(rest.startIndex + 1)..<end]
            depth += 1
            guard depth <= Self.arrayDepthLimit else { return nil }
            if digits.isEmpty {
                type = .array(type, count: nil)
            } else {
                guard let count = Self.positiveNumber(digits), count <= 1_000_000 else { return nil }
                type = .array(type, count: count)
            }
            rest = rest[(end + 1)...]
        }
        self = type
    }

    private init?(base: String) {
        if let atomic = Self.atomic(base) {
            self = atomic
        } else {
            guard Self.isIdentifier(base) else { return nil }
            self = .structure(base)
        }
    }

    /// The struct that the type is, or is an array of.
    var structureName: String? {
        switch self {
        case .structure(let name): name
        case .array(let element, _): element.structureName
        default: nil
        }
    }

    static func isIdentifier(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let first = bytes.first, bytes.count <= 256, !isDigit(first) else { return false }
        return bytes.allSatisfy { byte in
            let letter = byte | 0x20  // Lower case; a byte past ASCII stays past it.
            return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) || isDigit(byte)
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
        }
    }

    /// True for the names that Solidity keeps for itself, in use or not: no struct may take one.
    static func looksBuiltIn(_ name: String) -> Bool {
        if ["bool", "address", "string", "function", "fixed", "ufixed", "byte"].contains(name) { return true }
        for prefix in ["uint", "int", "bytes"] where name.hasPrefix(prefix) {
            if name.utf8.dropFirst(prefix.utf8.count).allSatisfy(isDigit) { return true }
        }
        return false
    }

    private static func atomic(_ text: String) -> SolidityType? {
        switch text {
        case "bool": return .bool
        case "address": return .address
        case "string": return .string
        case "bytes": return .bytes
        default: break
        }
        if text.hasPrefix("uint"), let bits = bits(text.utf8.dropFirst(4)) { return .uint(bits: bits) }
        if text.hasPrefix("int"), let bits = bits(text.utf8.dropFirst(3)) { return .int(bits: bits) }
        if text.hasPrefix("bytes"), let count = positiveNumber(Array(text.utf8.dropFirst(5))[...]), count <= 32 {
            return .fixedBytes(count)
        }
        return nil
    }

    private static func bits(_ digits: some Sequence<UInt8>) -> Int? {
        guard let bits = positiveNumber(Array(digits)[...]), bits <= 256, bits.isMultiple(of: 8) else { return nil }
        return bits
    }

    /// One to seven digits without a leading zero.
    private static func positiveNumber(_ digits: ArraySlice<UInt8>) -> Int? {
        guard (1...7).contains(digits.count), digits.first != UInt8(ascii: "0"), digits.allSatisfy(isDigit) else {
            return nil
        }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

extension SolidityType: CustomStringConvertible {
    var description: String {
        switch self {
        case .uint(let bits): "uint\(bits)"
        case .int(let bits): "int\(bits)"
        case .fixedBytes(let count): "bytes\(count)"
        case .bytes: "bytes"
        case .string: "string"
        case .bool: "bool"
        case .address: "address"
        case .structure(let name): name
        case .array(let element, let count): "\(element)[\(count.map(String.init) ?? "")]"
        }
    }
}
