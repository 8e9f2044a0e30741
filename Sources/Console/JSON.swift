/// A JSON value as the console writes it: whole numbers only, since nothing here may be rounded.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The value as JSON text, keys sorted.
    var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .string(let value): Self.quote(value, to: &text)
        case .array(let values):
            text += "["
            for (place, value) in values.enumerated() {
                if place > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (place, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if place > 0 { text += "," }
                Self.quote(member.key, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// A text as a value, nil as null.
    static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
    static func optional(_ number: Int?) -> JSON { number.map { .integer(Int64($0)) } ?? .null }

    /// Source: RFC 8259, section 7. `<` too, so that the text is harmless where it is pasted into a page.
    private static func quote(_ value: String, to text: inout String) {
        text += "\""
        defer { text += "\"" }
        // Almost every text is as it is written. U+2028 and U+2029 begin with E2 80.
        guard value.utf8.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x3C || $0 == 0x5C || $0 == 0xE2 }) else {
            text += value
            return
        }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{0}"..<"\u{20}", "<", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
