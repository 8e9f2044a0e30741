/// A JSON document that keeps what others lose: the digits of every number and the order of every object's members.
///
/// Typed data counts in 256 bits, and most JSON readers turn a bare number into floating point. A wallet that signs what
/// such a reader saw signs something else than it was asked to.
public indirect enum ExactJSON: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number's own text, valid by the grammar of RFC 8259.
    case number(String)
    case string(String)
    case array([ExactJSON])
    /// Names are unique: two values under one name would let the screen show one and the hash take the other.
    case object([Member])

    /// One name and value of an object.
    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: ExactJSON

        public init(_ name: String, _ value: ExactJSON) { (self.name, self.value) = (name, value) }
    }

    /// How much of a document from outside is read before it is refused.
    public struct Limits: Sendable, Equatable {
        public var bytes: Int
        /// Arrays and objects within each other. 1 to 200; reading takes stack for each.
        public var depth: Int

        public init(bytes: Int, depth: Int) { (self.bytes, self.depth) = (bytes, depth) }

        /// 128 KiB, 32 deep: production's typed data has under 2 KiB and is 4 deep.
        public static let standard = Limits(bytes: 131_072, depth: 32)
    }

    /// Why a text is no JSON document that may be used. `offset` counts bytes from the start.
    public enum Failure: Error, Sendable, Equatable {
        case tooLarge(limitBytes: Int)
        case tooDeep(limit: Int)
        case notUTF8
        case syntax(offset: Int, expected: String)
        case duplicateName(offset: Int)
    }

    /// Reads one whole document after RFC 8259, with nothing behind it but white space.
    public init(parsing text: String, limits: Limits = .standard) throws(Failure) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }

    /// Reads UTF-8. Invalid sequences and escaped halves of a surrogate pair are refused, not replaced.
    public init(parsing bytes: [UInt8], limits: Limits = .standard) throws(Failure) {
        guard bytes.count <= limits.bytes else { throw .tooLarge(limitBytes: limits.bytes) }
        var parser = ExactJSONParser(bytes: bytes, depthLimit: min(max(limits.depth, 1), 200))
        self = try parser.document()
    }

    /// The value under `name`, compared byte by byte; nil for no such member and for anything but an object.
    public func value(named name: String) -> ExactJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The document without white space. Only `"`, `\` and control characters are escaped, as serde_json does it.
    public var text: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): bytes.append(contentsOf: text.utf8)
        case .string(let text): Self.write(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0x08: bytes.append(contentsOf: "\\b".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            case 0x0C: bytes.append(contentsOf: "\\f".utf8)
            case 0x0D: bytes.append(contentsOf: "\\r".utf8)
            case 0..<0x20: bytes.append(contentsOf: ("\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
