/// A value on the bus.
///
/// Whatever holds elements says their type, since an empty array has one too.
public indirect enum BusValue: Sendable, Equatable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(ObjectPath)
    /// A signature as a value: any number of whole types.
    case signature([BusType])
    case fileDescriptor(BusDescriptor)
    /// An array of bytes (`ay`), which is never an ``array(of:_:)``.
    case bytes([UInt8])
    case array(of: BusType, [BusValue])
    case dictionary(key: BusType, value: BusType, [Entry])
    case structure([BusValue])
    case variant(BusValue)

    /// One pair of a dictionary. The bus keeps their order and does not forbid a key to come twice.
    public struct Entry: Sendable, Equatable {
        public let key: BusValue
        public let value: BusValue

        public init(_ key: BusValue, _ value: BusValue) { (self.key, self.value) = (key, value) }
    }

    public var type: BusType {
        switch self {
        case .byte: .byte
        case .boolean: .boolean
        case .int16: .int16
        case .uint16: .uint16
        case .int32: .int32
        case .uint32: .uint32
        case .int64: .int64
        case .uint64: .uint64
        case .double: .double
        case .string: .string
        case .objectPath: .objectPath
        case .signature: .signature
        case .fileDescriptor: .fileDescriptor
        case .bytes: .array(.byte)
        case .array(let element, _): .array(element)
        case .dictionary(let key, let value, _): .dictionary(key: key, value: value)
        case .structure(let members): .structure(members.map(\.type))
        case .variant: .variant
        }
    }
}

/// Making and reading the shapes that services use most.
extension BusValue {
    /// An array of text (`as`).
    public static func strings(_ texts: some Sequence<String>) -> BusValue {
        .array(of: .string, texts.map { .string($0) })
    }

    /// Named values (`a{sv}`), sorted by name.
    public static func properties(_ values: [String: BusValue]) -> BusValue {
        .dictionary(
            key: .string,
            value: .variant,
            values.sorted { $0.key < $1.key }.map { Entry(.string($0.key), .variant($0.value)) }
        )
    }

    /// The text of a string or an object path.
    public var text: String? {
        switch self {
        case .string(let text): text
        case .objectPath(let path): path.text
        default: nil
        }
    }

    /// Any integer that fits.
    public var integer: Int? {
        switch self {
        case .byte(let value): Int(value)
        case .int16(let value): Int(value)
        case .uint16(let value): Int(value)
        case .int32(let value): Int(value)
        case .uint32(let value): Int(value)
        case .int64(let value): Int(exactly: value)
        case .uint64(let value): Int(exactly: value)
        default: nil
        }
    }

    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }

    public var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }

    public var path: ObjectPath? { if case .objectPath(let value) = self { value } else { nil } }

    public var descriptor: BusDescriptor? { if case .fileDescriptor(let value) = self { value } else { nil } }

    /// The texts of an array of strings. `nil` for anything else.
    public var strings: [String]? {
        guard case .array(of: .string, let elements) = self else { return nil }
        return elements.compactMap(\.text)
    }

    /// A dictionary with text keys, variants opened. A key that comes twice has its last value.
    public var properties: [String: BusValue]? {
        guard case .dictionary(_, _, let entries) = self else { return nil }
        var result: [String: BusValue] = [:]
        for entry in entries {
            guard let key = entry.key.text else { return nil }
            result[key] = entry.value.opened
        }
        return result
    }

    /// What a variant holds, and any other value itself.
    public var opened: BusValue { if case .variant(let value) = self { value.opened } else { self } }
}

/// Whether a value can be put on the bus. libdbus ends the process over one that cannot.
extension BusValue {
    /// What is left of a message's limits.
    struct Room {
        var values = BusLimits.values
        var bytes = BusLimits.messageBytes
    }

    func check(depth: Int, _ room: inout Room) throws(BusError) {
        room.values -= 1
        room.bytes -= size
        guard depth <= BusLimits.depth, room.values >= 0, room.bytes >= 0 else {
            throw .notSent(reason: "a value is larger or deeper than the limits of a message")
        }
        switch self {
        case .string(let text):
            guard !text.utf8.contains(0) else { throw .notSent(reason: "a text holds a zero byte") }
        case .signature(let types):
            guard BusType.parse(types.map(\.code).joined()) == types else {
                throw .notSent(reason: "a signature that cannot be written")
            }
        case .array(let element, let values):
            try BusValue.check(type: .array(element))
            guard element != .byte else { throw .notSent(reason: "an array of bytes is .bytes") }
            for value in values { try value.check(as: element, depth: depth + 1, &room) }
        case .dictionary(let key, let value, let entries):
            try BusValue.check(type: .dictionary(key: key, value: value))
            for entry in entries {
                try entry.key.check(as: key, depth: depth + 1, &room)
                try entry.value.check(as: value, depth: depth + 1, &room)
            }
        case .structure(let members):
            guard !members.isEmpty else { throw .notSent(reason: "an empty structure") }
            for member in members { try member.check(depth: depth + 1, &room) }
        case .variant(let value): try value.check(depth: depth + 1, &room)
        default: break
        }
    }

    /// Bytes on the wire, about.
    private var size: Int {
        switch self {
        case .string(let text): text.utf8.count + 5
        case .objectPath(let path): path.text.utf8.count + 5
        case .bytes(let bytes): bytes.count + 8
        default: 8
        }
    }

    private func check(as wanted: BusType, depth: Int, _ room: inout Room) throws(BusError) {
        guard type == wanted else { throw .notSent(reason: "\(type.code) in place of \(wanted.code)") }
        try check(depth: depth, &room)
    }

    static func check(_ values: [BusValue]) throws(BusError) {
        var room = Room()
        for value in values { try value.check(depth: 0, &room) }
    }

    private static func check(type: BusType) throws(BusError) {
        guard BusType.parse(type.code) == [type] else { throw .notSent(reason: "no type: \(type.code)") }
    }
}
