public import StrictJSON

internal import FoundationEssentials

/// Any JSON value, with the digits of its numbers as they were written.
public typealias AnyCodable = ExactJSON

extension ExactJSON {
    /// The value as a type of the caller's, under the official SDK's name. A number that does not fit that type is an error; one
    /// that only its digits can hold is read as `ExactJSON`.
    /// - Throws: What a JSON decoder throws where the value is of another form.
    public func get<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // In an array, for decoders that take no bare values.
        guard let value = try JSONDecoder().decode([Value].self, from: Data("[\(text)]".utf8)).first else {
            throw DecodingError.valueNotFound(type, DecodingError.Context(codingPath: [], debugDescription: "no value"))
        }
        return value
    }
}

extension ExactJSON {
    /// An object without the members that are nil, in the order given.
    static func of(_ members: KeyValuePairs<String, ExactJSON?>) -> ExactJSON {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }

    static func number(_ value: some BinaryInteger) -> ExactJSON { .number(String(value)) }

    static func strings(_ values: some Sequence<String>) -> ExactJSON { .array(values.map { .string($0) }) }

    /// An object with its names in order, so that equal maps make equal texts.
    static func map<Value>(_ values: [String: Value], _ transform: (Value) -> ExactJSON) -> ExactJSON {
        .object(values.sorted { $0.key < $1.key }.map { Member($0.key, transform($0.value)) })
    }

    var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// A whole number that fits; nil for fractions, exponents and texts.
    var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text)
    }

    var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    var elements: [ExactJSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    var members: [Member]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The texts of an array of nothing but texts.
    var texts: [String]? {
        guard let elements else { return nil }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count ? texts : nil
    }

    /// The member, unless it is missing or null.
    func present(_ name: String) -> ExactJSON? {
        guard let value = value(named: name), value != .null else { return nil }
        return value
    }
}
