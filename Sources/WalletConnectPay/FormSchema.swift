import FoundationEssentials

/// The questions of a form, read from its JSON Schema: for wallets that can show no page and ask by themselves.
///
/// Answers travel as `collectedData` with `confirmPayment`. A gateway may refuse to say what is to be signed before it has
/// them from its own form; that is a `fetchError` then, and nothing was paid.
/// Source: JSON Schema 2020-12, `properties`, `required`, `anyOf`; the schema that WalletConnect Pay publishes.
public struct FormSchema: Sendable, Hashable {
    /// Each property: first those that are always required, in their order, then those of the alternatives, then the others by
    /// name. `required` is true for the first alone.
    public let fields: [CollectDataField]
    /// Groups of names of which one at least has to be answered whole; empty where there is no choice.
    public let alternatives: [[String]]

    /// Nil where `text` is no JSON object.
    public init?(_ text: String) {
        guard let schema = try? JSONDecoder().decode(Schema.self, from: Data(text.utf8)) else { return nil }
        let all = [schema] + (schema.allOf?.value ?? [])
        let required = Self.uniqued(all.flatMap { $0.required?.value ?? [] })
        let choices = all.flatMap { ($0.anyOf?.value ?? []) + ($0.oneOf?.value ?? []) }
        alternatives = choices.map { $0.required?.value ?? [] }.filter { !$0.isEmpty }
        let properties = all.reduce(into: [String: Schema.Property]()) { known, part in
            for (name, property) in part.properties?.value ?? [:] { known[name] = property }
        }
        let names = Self.uniqued(required + alternatives.flatMap { $0 } + properties.keys.sorted())
        fields = names.map { name in
            CollectDataField(
                id: name,
                name: properties[name]?.title?.value ?? name,
                required: required.contains(name),
                fieldType: properties[name]?.fieldType ?? .text
            )
        }
    }

    /// What the schema requires, always or as one of several ways to answer.
    public var requiredNames: [String] {
        Self.uniqued(fields.filter(\.required).map(\.id) + alternatives.flatMap { $0 })
    }

    /// What is still to be asked: required names without an answer, and of the alternatives the one that lacks least.
    /// - Parameter answers: By the fields' names. An empty answer is none.
    public func missing(from answers: [String: String]) -> [String] {
        func unanswered(_ names: [String]) -> [String] { names.filter { answers[$0]?.isEmpty ?? true } }
        let open = alternatives.map(unanswered)
        return Self.uniqued(
            unanswered(fields.filter(\.required).map(\.id)) + (open.min { $0.count < $1.count } ?? [])
        )
    }

    private static func uniqued(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    private struct Schema: Decodable {
        var required: Readable<[String]>?
        var anyOf: Readable<[Schema]>?
        var oneOf: Readable<[Schema]>?
        var allOf: Readable<[Schema]>?
        var properties: Readable<[String: Property]>?

        struct Property: Decodable {
            var title: Readable<String>?
            var type: Readable<String>?
            var format: Readable<String>?

            var fieldType: CollectDataFieldType {
                switch (type?.value, format?.value) {
                case ("string", "date"): .date
                case ("string", _), (nil, _): .text
                case ("boolean", _): .checkbox
                case (let other?, _): .unrecognised(other)
                }
            }
        }
    }
}
