/// One data item of the narrow CBOR that BPP/1 puts on the wire: integers, bytes, texts, booleans, arrays and maps with
/// integer keys. No floats, tags, null or indefinite lengths exist here, so none can be written by mistake.
///
/// Source: RFC 8949; BPP/1, section 8.
public enum CBOR: Sendable, Hashable {
    case unsigned(UInt64)
    /// The number -1 - n, as CBOR counts it.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case bool(Bool)
    case array([CBOR])
    case map(CBORMap)

    /// A whole number of either sign.
    public static func integer(_ value: Int) -> CBOR {
        value < 0 ? .negative(UInt64(bitPattern: Int64(~value))) : .unsigned(UInt64(value))
    }

    /// The number, where it is one and fits.
    public var asInteger: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// Two texts with the same meaning to a reader and other bytes are different on the wire.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        switch (lhs, rhs) {
        case (.unsigned(let left), .unsigned(let right)), (.negative(let left), .negative(let right)): left == right
        case (.bytes(let left), .bytes(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.bool(let left), .bool(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.map(let left), .map(let right)): left == right
        default: false
        }
    }
}

/// A map whose keys are whole numbers, always in the one order that deterministic CBOR allows.
public struct CBORMap: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    public struct Member: Sendable, Hashable {
        public let key: Int
        public var value: CBOR

        public init(key: Int, value: CBOR) { (self.key, self.value) = (key, value) }
    }

    /// Sorted, each key once.
    public private(set) var members: [Member] = []

    public init() {}

    /// Leaves out the keys whose value is nil. Of two values for one key the last stays.
    public init(dictionaryLiteral elements: (Int, CBOR?)...) {
        for (key, value) in elements { self[key] = value }
    }

    public subscript(key: Int) -> CBOR? {
        get { members.first { $0.key == key }?.value }
        set {
            let place = members.firstIndex { !Self.isOrdered($0.key, key) } ?? members.endIndex
            let exists = place < members.endIndex && members[place].key == key
            switch (newValue, exists) {
            case (let value?, true): members[place].value = value
            case (let value?, false): members.insert(Member(key: key, value: value), at: place)
            case (nil, true): members.remove(at: place)
            case (nil, false): break
            }
        }
    }

    /// Adds a member behind the last one; false where its key does not belong there.
    mutating func append(key: Int, value: CBOR) -> Bool {
        if let last = members.last, !Self.isOrdered(last.key, key) { return false }
        members.append(Member(key: key, value: value))
        return true
    }

    /// True where `first` stands before `second`: by the bytes of the encoded key, so 0, 1, 2 … and then -1, -2, -3 …
    /// Source: RFC 8949, section 4.2.1.
    static func isOrdered(_ first: Int, _ second: Int) -> Bool {
        switch (first >= 0, second >= 0) {
        case (true, true): first < second
        case (false, false): first > second
        case (let isPositive, _): isPositive
        }
    }
}
