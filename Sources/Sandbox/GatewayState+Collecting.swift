import Ethereum
import StrictJSON

/// The travel rule: what the gateway wants to know of a customer before it lets them pay, when it is told to ask.
///
/// The form itself is not served: a test fills it in by `POST /control/collect`, or sends `collectedData` in confirm.
/// Source: WalletConnect Pay API, `CollectData`; production captures.
extension GatewayState {
    /// What there is to fill in; null when nothing is asked for, or all is known.
    func collectData(_ payment: SandboxPayment, for accounts: [CustomerAccount]) -> ExactJSON {
        guard isWaitingForData(payment), !accounts.isEmpty else { return .null }
        let names = accounts.map { $0.text.replacing(":", with: "%3A") }.joined(separator: "%2C")
        return .members([
            "fields": .array([
                Self.field("text", "fullName", "Full name"), Self.field("date", "dob", "Date of birth"),
            ]),
            "schema": Self.schema,
            "url": .string("\(configuration.linkBase)collect/?pid=\(payment.id)&accounts=\(names)"),
        ])
    }

    private func isWaitingForData(_ payment: SandboxPayment) -> Bool {
        configuration.collectsData && !payment.isIdentified && payment.word == .requiresAction
    }

    /// - Throws: 400 in production's words while the form is not filled in.
    func checkIdentified(_ payment: SandboxPayment) throws(APIError) {
        if isWaitingForData(payment) { throw .invalid("IC data required but not found") }
    }

    /// Takes the fields that came with a confirmation, the older way of filling in the form.
    mutating func takeCollectedData(_ json: ExactJSON?, _ payment: SandboxPayment) throws(APIError) {
        guard isWaitingForData(payment), let json else { return }
        guard let fields = json["fields"]?.arrayValue else { throw .malformed("Missing field: collectedData.fields") }
        var values: [String: String] = [:]
        for field in fields {
            guard let id = field["id"]?.stringValue, let value = field["value"]?.stringValue else {
                throw .malformed("A collected field has an id and a value, both strings")
            }
            values[id] = value
        }
        guard values["fullName"]?.isEmpty == false, values["dob"]?.wholeMatch(of: /\d{4}-\d{2}-\d{2}/) != nil else {
            throw .invalid("Validation error: collected data need fullName and dob (YYYY-MM-DD)")
        }
        payments[payment.id]?.isIdentified = true
    }

    private static func field(_ type: String, _ id: String, _ name: String) -> ExactJSON {
        .members(["type": .string(type), "id": .string(id), "name": .string(name), "required": .bool(true)])
    }

    private static func required(_ names: String...) -> ExactJSON { .array(names.map(ExactJSON.string)) }

    /// Source: as captured from production, without its texts for people.
    private static let schema = ExactJSON.members([
        "$schema": .string("https://json-schema.org/draft/2020-12/schema"), "type": .string("object"),
        "additionalProperties": .bool(false), "required": required("fullName", "dob", "tosConfirmed"),
        "anyOf": .array([
            .members(["required": required("pobCountry", "pobAddress")]),
            .members(["required": required("porCountry", "porAddress")]),
        ]),
        "properties": .members([
            "fullName": .members(["type": .string("string"), "minLength": .integer(1)]),
            "dob": .members(["type": .string("string"), "format": .string("date")]),
            "pobCountry": country, "pobAddress": address, "porCountry": country, "porAddress": address,
            "tosConfirmed": .members(["type": .string("boolean"), "const": .bool(true)]),
        ]),
    ])
    private static let country = ExactJSON.members(["type": .string("string"), "pattern": .string("^[A-Z]{2}$")])
    private static let address = ExactJSON.members(["type": .string("string"), "maxLength": .integer(200)])
}
