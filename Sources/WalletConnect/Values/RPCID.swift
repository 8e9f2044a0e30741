internal import StrictJSON

/// What ties an answer to its request. Numbers of up to 19 digits and texts are both in use.
///
/// Two IDs are equal when their digits are: some peers send a number back as text, or with an `n` behind it.
public struct RPCID: Sendable {
    /// The digits, or the text of an ID that is no number.
    public let text: String
    /// As it was received, for an answer must carry it back unchanged.
    let wire: ExactJSON

    /// An ID as this library makes them: at most 2^53 - 1, so that every peer can hold it.
    public init(_ number: Int64) { (text, wire) = (String(number), .number(String(number))) }

    /// Reads what `description` shows; nil for what no peer could have sent.
    public init?(_ text: String) {
        if let number = Int64(text) { self.init(number) } else { self.init(json: .string(text)) }
    }

    /// A whole number of at most 19 digits, or a text of 1 to 64 bytes; nil for anything else.
    init?(json: ExactJSON) {
        switch json {
        case .number(let digits):
            let unsigned = digits.utf8.first == UInt8(ascii: "-") ? digits.dropFirst() : digits[...]
            guard (1...19).contains(unsigned.utf8.count), unsigned.utf8.allSatisfy(Self.isDigit) else { return nil }
            text = digits
        case .string(let string):
            guard (1...64).contains(string.utf8.count) else { return nil }
            let digits = string.utf8.dropLast()
            let isBigInteger =
                string.utf8.last == UInt8(ascii: "n") && !digits.isEmpty && digits.allSatisfy(Self.isDigit)
            text = isBigInteger ? String(string.dropLast()) : string
        default: return nil
        }
        wire = json
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The number, where it is one below 2^64: IDs carry the time, so later requests have larger ones.
    public var number: UInt64? { UInt64(text) }
}

extension RPCID: Hashable {
    public static func == (lhs: RPCID, rhs: RPCID) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension RPCID: CustomStringConvertible {
    public var description: String { text }
}

extension RPCID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let json = try? ExactJSON(parsing: text), let id = RPCID(json: json) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a request's ID")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wire.text)
    }
}
