/// Why bytes are not the object or the message that they should be. Answer ERROR 0x01.
public enum MalformedObject: Error, Sendable, Equatable {
    case cbor(CBORError)
    case cose(COSEError)
    /// Not the container that belongs here.
    case notTheStructure
    case missing(key: Int)
    case wrongType(key: Int)
    /// Longer, shorter, larger or smaller than the profile allows.
    case outOfRange(key: Int)
    /// A key of the profile's own range that this kind of object does not have. Source: BPP/1, rule E2.
    case unknownKey(Int)
}

/// The members of a map, taken out one by one; what is left at the end decides whether the map is understood.
struct ObjectFields {
    private var rest: [CBORMap.Member]

    init(_ map: CBORMap) { rest = map.members }

    init(_ item: CBOR) throws(MalformedObject) {
        guard case .map(let map) = item else { throw .notTheStructure }
        self.init(map)
    }

    /// Largest whole number that every language's floating point keeps. Source: BPP/1, section 17.
    static let largest = 1 << 53 - 1

    mutating func optional(_ key: Int) -> CBOR? {
        guard let place = rest.firstIndex(where: { $0.key == key }) else { return nil }
        return rest.remove(at: place).value
    }

    mutating func required(_ key: Int) throws(MalformedObject) -> CBOR {
        guard let value = optional(key) else { throw .missing(key: key) }
        return value
    }

    mutating func text(_ key: Int, _ lengths: ClosedRange<Int> = 1...64) throws(MalformedObject) -> String {
        try Self.text(try required(key), key, lengths)
    }

    mutating func optionalText(
        _ key: Int,
        _ lengths: ClosedRange<Int> = 1...64
    ) throws(MalformedObject) -> String? {
        guard let value = optional(key) else { return nil }
        return try Self.text(value, key, lengths)
    }

    static func text(
        _ value: CBOR,
        _ key: Int,
        _ lengths: ClosedRange<Int> = 1...64
    ) throws(MalformedObject) -> String {
        guard case .text(let text) = value else { throw .wrongType(key: key) }
        guard lengths ~= text.utf8.count else { throw .outOfRange(key: key) }
        return text
    }

    mutating func bytes(_ key: Int, _ lengths: ClosedRange<Int>) throws(MalformedObject) -> [UInt8] {
        guard case .bytes(let bytes) = try required(key) else { throw .wrongType(key: key) }
        guard lengths ~= bytes.count else { throw .outOfRange(key: key) }
        return bytes
    }

    mutating func bytes(_ key: Int, count: Int) throws(MalformedObject) -> [UInt8] { try bytes(key, count...count) }

    mutating func hash(_ key: Int) throws(MalformedObject) -> ObjectHash {
        guard let hash = ObjectHash(try bytes(key, count: 32)) else { throw .outOfRange(key: key) }
        return hash
    }

    mutating func paymentID(_ key: Int = 1) throws(MalformedObject) -> PaymentID {
        guard let id = PaymentID(bytes: try bytes(key, count: 16)) else { throw .outOfRange(key: key) }
        return id
    }

    mutating func number(
        _ key: Int,
        _ range: ClosedRange<Int> = 0...ObjectFields.largest
    ) throws(MalformedObject) -> Int {
        try Self.number(try required(key), key, range)
    }

    mutating func optionalNumber(
        _ key: Int,
        _ range: ClosedRange<Int> = 0...ObjectFields.largest
    ) throws(MalformedObject) -> Int? {
        guard let value = optional(key) else { return nil }
        return try Self.number(value, key, range)
    }

    static func number(_ value: CBOR, _ key: Int, _ range: ClosedRange<Int>) throws(MalformedObject) -> Int {
        switch value {
        case .unsigned, .negative: break
        default: throw .wrongType(key: key)
        }
        guard let number = value.asInteger, range ~= number else { throw .outOfRange(key: key) }
        return number
    }

    mutating func bool(_ key: Int) throws(MalformedObject) -> Bool {
        guard case .bool(let value) = try required(key) else { throw .wrongType(key: key) }
        return value
    }

    mutating func list(_ key: Int, _ counts: ClosedRange<Int>) throws(MalformedObject) -> [CBOR] {
        guard case .array(let items) = try required(key) else { throw .wrongType(key: key) }
        guard counts ~= items.count else { throw .outOfRange(key: key) }
        return items
    }

    /// A currency's code: three to eight capital letters. Source: BPP/1, section 17.
    mutating func currency(_ key: Int) throws(MalformedObject) -> String { try Self.currency(try required(key), key) }

    static func currency(_ value: CBOR, _ key: Int) throws(MalformedObject) -> String {
        let code = try text(value, key, 3...8)
        guard code.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else { throw .outOfRange(key: key) }
        return code
    }

    /// Passes when every key of the profile's range was taken. Keys over 127 belong to nobody and are skipped.
    func finish() throws(MalformedObject) {
        for member in rest where member.key < 128 { throw .unknownKey(member.key) }
    }
}
