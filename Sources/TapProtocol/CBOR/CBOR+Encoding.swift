extension CBOR {
    /// The one encoding that a deterministic decoder takes. Source: RFC 8949, section 4.2.1.
    public var encoded: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .unsigned(let value): Self.appendHead(.unsigned, value, to: &bytes)
        case .negative(let value): Self.appendHead(.negative, value, to: &bytes)
        case .bytes(let content):
            Self.appendHead(.bytes, UInt64(content.count), to: &bytes)
            bytes += content
        case .text(let content):
            Self.appendHead(.text, UInt64(content.utf8.count), to: &bytes)
            bytes += content.utf8
        case .bool(let value): bytes.append(value ? 0xF5 : 0xF4)
        case .array(let items):
            Self.appendHead(.array, UInt64(items.count), to: &bytes)
            for item in items { item.append(to: &bytes) }
        case .map(let map):
            Self.appendHead(.map, UInt64(map.members.count), to: &bytes)
            for member in map.members {
                CBOR.integer(member.key).append(to: &bytes)
                member.value.append(to: &bytes)
            }
        }
    }

    /// The kinds of data items, as the upper three bits of the first byte say them. Source: RFC 8949, section 3.1.
    enum MajorType: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, simple
    }

    private static func appendHead(_ type: MajorType, _ argument: UInt64, to bytes: inout [UInt8]) {
        let upper = type.rawValue << 5
        let width: Int
        switch argument {
        case 0..<24:
            bytes.append(upper | UInt8(argument))
            return
        case ...0xFF: (width, _) = (1, bytes.append(upper | 24))
        case ...0xFFFF: (width, _) = (2, bytes.append(upper | 25))
        case ...0xFFFF_FFFF: (width, _) = (4, bytes.append(upper | 26))
        default: (width, _) = (8, bytes.append(upper | 27))
        }
        for place in (0..<width).reversed() { bytes.append(UInt8(truncatingIfNeeded: argument >> (8 * place))) }
    }
}
