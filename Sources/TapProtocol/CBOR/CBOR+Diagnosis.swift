extension CBOR {
    /// A message for a log: in CBOR's diagnostic notation, with what is secret or somebody's own left out, and never long.
    ///
    /// Numbers, keys and true or false stand as they are. Of bytes only the payment's name and the first four of a hash do,
    /// of texts only currencies; a comment says how long the rest is. What is signed inside is opened once, without its
    /// signature; of a customer's pass and voucher nothing is said. Source: RFC 8949, section 8; the comments and `<<…>>` are of RFC 8610, appendix G.
    /// - Parameter limit: Characters, at most.
    public static func diagnosis(of bytes: [UInt8], limit: Int = 1_000) -> String {
        guard let item = try? CBOR(decoding: bytes) else { return "/ \(bytes.count) bytes that are no message /" }
        var text = ""
        item.describe(into: &text, limit: limit, isOpening: true)
        guard text.count > limit else { return text }
        return String(text.prefix(limit)) + " / … /"
    }

    private func describe(into text: inout String, limit: Int, isOpening: Bool) {
        // What comes is cut anyway.
        guard text.utf8.count <= limit else { return }
        switch self {
        case .unsigned(let value): text += String(value)
        case .negative(let value): text += value == .max ? "-18446744073709551616" : "-\(value + 1)"
        case .bool(let value): text += value ? "true" : "false"
        case .bytes(let bytes): Self.describe(bytes, into: &text, limit: limit, isOpening: isOpening)
        case .text(let value):
            let isCurrency = 3...8 ~= value.utf8.count && value.utf8.allSatisfy { 0x41...0x5A ~= $0 }
            text += isCurrency ? "\"\(value)\"" : "\"\" / \(value.utf8.count) /"
        case .array(let items):
            text += "["
            for (place, item) in items.enumerated() {
                if place > 0 { text += ", " }
                item.describe(into: &text, limit: limit, isOpening: isOpening)
            }
            text += "]"
        case .map(let map):
            text += "{"
            for (place, member) in map.members.enumerated() {
                text += (place > 0 ? ", " : "") + "\(member.key): "
                if member.key == 1, case .bytes(let bytes) = member.value, Self.isName(bytes) {
                    text += "h'\(Self.digits(bytes))'"
                } else if member.key < 0 {
                    text += "/ of a key /"
                } else {
                    member.value.describe(into: &text, limit: limit, isOpening: isOpening)
                }
            }
            text += "}"
        }
    }

    private static func describe(_ bytes: [UInt8], into text: inout String, limit: Int, isOpening: Bool) {
        guard isOpening, let object = try? COSESign1(decoding: bytes),
            case .map(let all)? = try? CBOR(decoding: object.payload)
        else {
            text += "h'\(bytes.count == 32 ? digits(bytes.prefix(4)) : "")' / \(bytes.count) /"
            return
        }
        // A pass names a customer's device and limits.
        if case .map? = all[3] { return text += "<< / a pass / >>" }
        var shown = all
        // Behind the nonce stands what the customer's voucher has paid so far.
        if object.algorithm == .es256 { for member in all.members where member.key > 11 { shown[member.key] = nil } }
        text += "<<"
        CBOR.map(shown).describe(into: &text, limit: limit, isOpening: false)
        text += ">>"
    }

    /// A payment's name is a UUIDv7. Source: BPP/1, check P9.
    private static func isName(_ bytes: [UInt8]) -> Bool {
        bytes.count == 16 && bytes[6] >> 4 == 7 && bytes[8] >> 6 == 2
    }

    private static func digits(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
