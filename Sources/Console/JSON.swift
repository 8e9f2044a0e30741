import Foundation
import Payments

/// A JSON value as the console reads and writes it: whole numbers only, since nothing here may be rounded.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The value as JSON text, keys sorted.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }
                .map { Self.quoted($0.key) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    /// A text as a value, nil as null.
    static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
    static func optional(_ number: Int?) -> JSON { number.map { .integer(Int64($0)) } ?? .null }

    /// Source: RFC 8259, section 7. `<` too, so that the text is harmless where it is pasted into a page.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\u{0}"..<"\u{20}", "<", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension JSON: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }
}

/// The fields of a request's body, taken one by one with their types; what is left over was not asked for.
struct Form: Sendable {
    private var members: [String: JSON]
    private(set) var errors: [String: Payments.Reason] = [:]

    /// - Throws: ``Problem`` where the body is no JSON object.
    init(_ body: [UInt8]) throws(Problem) {
        guard let object = try? JSONDecoder().decode(JSON.self, from: Data(body)), case .object(let members) = object
        else {
            throw Problem(
                400,
                "invalid_json",
                "The request is not a JSON object with whole numbers. Nothing was done.",
                "Send it as the documentation of this address says."
            )
        }
        self.members = members
    }

    /// A text of at most `limit` characters without control characters. Missing counts as empty unless `optional`.
    mutating func text(_ name: String, limit: Int) -> String {
        optionalText(name, limit: limit) ?? ""
    }

    mutating func optionalText(_ name: String, limit: Int) -> String? {
        switch members.removeValue(forKey: name) {
        case nil, .null: return nil
        case .string(let text):
            guard text.count <= limit, text.utf8.count <= 4 * limit else {
                errors[name] = Payments.Reason(
                    code: "too_long",
                    message: "This has more than \(limit) characters.",
                    action: "Shorten it."
                )
                return nil
            }
            guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
                errors[name] = Payments.Reason(
                    code: "invalid_characters",
                    message: "This has characters that cannot be shown.",
                    action: "Type it again instead of pasting it."
                )
                return nil
            }
            return text
        default:
            errors[name] = Payments.Reason(
                code: "wrong_type",
                message: "This must be a text.",
                action: "Send it as a text."
            )
            return nil
        }
    }

    mutating func integer(_ name: String) -> Int64? {
        switch members.removeValue(forKey: name) {
        case nil, .null: return nil
        case .integer(let number): return number
        default:
            errors[name] = Payments.Reason(
                code: "wrong_type",
                message: "This must be a whole number.",
                action: "Send it without quotes, point or exponent."
            )
            return nil
        }
    }

    /// - Throws: ``Problem`` where a field had the wrong form, or one was sent that nobody asked for.
    mutating func finish() throws(Problem) {
        for name in members.keys {
            errors[String(name.prefix(40))] = Payments.Reason(
                code: "unknown_field",
                message: "There is no such field.",
                action: "Leave it out."
            )
        }
        guard let (_, reason) = errors.min(by: { $0.key < $1.key }) else { return }
        var problem = Problem(422, reason)
        problem.fields = errors
        throw problem
    }
}
