import Ethereum
import StrictJSON

extension ExactJSON {
    /// An object with its members in this order.
    static func members(_ members: KeyValuePairs<String, ExactJSON>) -> ExactJSON {
        .object(members.map { Member($0.key, $0.value) })
    }

    static func integer(_ value: some BinaryInteger) -> ExactJSON { .number(String(value)) }

    /// Null where there is no text.
    static func text(_ value: String?) -> ExactJSON { value.map(ExactJSON.string) ?? .null }

    /// The member of that name; nil where it is absent or null, which the protocol treats alike.
    subscript(name: String) -> ExactJSON? { value(named: name).flatMap { $0 == .null ? nil : $0 } }

    var stringValue: String? { if case .string(let text) = self { text } else { nil } }
    var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    var arrayValue: [ExactJSON]? { if case .array(let values) = self { values } else { nil } }
    /// Nil unless the number is a whole one within 64 bits, written without exponent.
    var integerValue: Int64? { if case .number(let digits) = self { Int64(digits) } else { nil } }
    var isObject: Bool { if case .object = self { true } else { false } }

    /// The same document with every object's members sorted by name: two that mean the same have the same text.
    var canonical: ExactJSON {
        switch self {
        case .array(let values): .array(values.map(\.canonical))
        case .object(let members):
            .object(members.sorted { $0.name < $1.name }.map { Member($0.name, $0.value.canonical) })
        default: self
        }
    }
}
