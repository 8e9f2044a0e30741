/// The type of one value on the bus.
///
/// Source: D-Bus specification 0.42, "Type system".
public indirect enum BusType: Sendable, Hashable {
    case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double
    case string, objectPath, signature, fileDescriptor, variant
    case array(BusType)
    case structure([BusType])
    /// An array of entries. The key is a basic type.
    case dictionary(key: BusType, value: BusType)

    /// As it is written in a signature, such as `a{sv}`.
    public var code: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .fileDescriptor: "h"
        case .variant: "v"
        case .array(let element): "a" + element.code
        case .structure(let members): "(" + members.map(\.code).joined() + ")"
        case .dictionary(let key, let value): "a{" + key.code + value.code + "}"
        }
    }

    var isBasic: Bool {
        switch self {
        case .variant, .array, .structure, .dictionary: false
        default: true
        }
    }

    /// The types of a whole signature, such as `sa{sv}`, which may be empty.
    ///
    /// - Returns: `nil` if it is no signature, is longer than 255 bytes, or nests deeper than ``BusLimits/depth``.
    public static func parse(_ signature: String) -> [BusType]? {
        guard signature.utf8.count <= 255 else { return nil }
        var rest = Array(signature.utf8)[...]
        var types: [BusType] = []
        while !rest.isEmpty {
            guard let type = parse(&rest, depth: 0) else { return nil }
            types.append(type)
        }
        return types
    }

    private static let basic: [UInt8: BusType] = [
        UInt8(ascii: "y"): .byte, UInt8(ascii: "b"): .boolean, UInt8(ascii: "n"): .int16, UInt8(ascii: "q"): .uint16,
        UInt8(ascii: "i"): .int32, UInt8(ascii: "u"): .uint32, UInt8(ascii: "x"): .int64, UInt8(ascii: "t"): .uint64,
        UInt8(ascii: "d"): .double, UInt8(ascii: "s"): .string, UInt8(ascii: "o"): .objectPath,
        UInt8(ascii: "g"): .signature, UInt8(ascii: "h"): .fileDescriptor, UInt8(ascii: "v"): .variant,
    ]

    private static func parse(_ rest: inout ArraySlice<UInt8>, depth: Int) -> BusType? {
        guard depth <= BusLimits.depth, let code = rest.popFirst() else { return nil }
        if let type = basic[code] { return type }
        switch code {
        case UInt8(ascii: "a"):
            guard rest.first == UInt8(ascii: "{") else {
                return parse(&rest, depth: depth + 1).map { .array($0) }
            }
            rest.removeFirst()
            guard let key = parse(&rest, depth: depth + 1), key.isBasic, let value = parse(&rest, depth: depth + 1),
                rest.popFirst() == UInt8(ascii: "}")
            else { return nil }
            return .dictionary(key: key, value: value)
        case UInt8(ascii: "("):
            var members: [BusType] = []
            while let next = rest.first, next != UInt8(ascii: ")") {
                guard let member = parse(&rest, depth: depth + 1) else { return nil }
                members.append(member)
            }
            guard rest.popFirst() != nil, !members.isEmpty else { return nil }
            return .structure(members)
        default: return nil
        }
    }
}

/// What one message may hold, in both directions. Beyond it a message is refused, never cut.
public enum BusLimits {
    /// Containers within containers, variants counted.
    public static let depth = 16
    /// Single values of a message, containers counted. A byte array counts as one.
    public static let values = 65_536
    /// Bytes of a message.
    public static let messageBytes = 1 << 20
    /// Bytes that wait to be sent. A bus that does not read makes calls fail and not the process grow.
    public static let outgoingBytes = 8 << 20
    /// Calls without an answer yet.
    public static let openCalls = 4_096
}
