import Ethereum
import Payments
import StrictJSON

/// The travel rule: what the gateway wants to know of a customer before it lets them pay, when it is told to ask.
///
/// The customer fills in the page under `/collect/`; a test may also say `POST /control/collect`, or send
/// `collectedData` in confirm, the older way.
/// Source: WalletConnect Pay API, `CollectData`; production captures.
extension GatewayState {
    /// What there is to fill in; null when nothing is asked for, or all is known.
    /// - Parameter base: What the page's address starts with.
    func collectData(_ payment: SandboxPayment, for accounts: [CustomerAccount], base: String) -> ExactJSON {
        guard isWaitingForData(payment), !accounts.isEmpty else { return .null }
        let fields = ExactJSON.array([
            Self.field("text", "fullName", "Full name"), Self.field("date", "dob", "Date of birth"),
        ])
        guard !configuration.collectsFields else { return .members(["fields": fields]) }
        let names = accounts.map { $0.text.replacing(":", with: "%3A") }.joined(separator: "%2C")
        return .members([
            "fields": fields, "schema": Self.schema,
            "url": .string("\(base)collect/?pid=\(payment.id)&accounts=\(names)"),
        ])
    }

    /// Where the wallet that asks reaches the form: this gateway under the name that the wallet knows it by.
    func formBase(_ request: GatewayRequest) -> String {
        if let base = configuration.formBase { return base }
        guard let host = request.header("Host"), host.utf8.allSatisfy(Self.isHostByte) else {
            return configuration.linkBase
        }
        return "http://\(host)/"
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._:[]".utf8.contains(byte)
        }
    }

    private func isWaitingForData(_ payment: SandboxPayment) -> Bool {
        (configuration.collectsData || configuration.collectsFields) && !payment.isIdentified
            && payment.word == .requiresAction
    }

    /// - Throws: 400 in production's words while the form is not filled in.
    func checkIdentified(_ payment: SandboxPayment) throws(APIError) {
        if isWaitingForData(payment) { throw .invalid("IC data required but not found") }
    }

    /// Takes the fields that came with a confirmation, the older way of filling in the form.
    mutating func takeCollectedData(_ json: ExactJSON?, _ payment: SandboxPayment) throws(APIError) {
        guard let json else { return }
        guard let fields = json["fields"]?.arrayValue else { throw .malformed("Missing field: collectedData.fields") }
        var values: [String: String] = [:]
        for field in fields {
            guard let id = field["id"]?.stringValue, let value = field["value"]?.stringValue else {
                throw .malformed("A collected field has an id and a value, both strings")
            }
            values[id] = value
        }
        guard isWaitingForData(payment) else { return }
        guard values["fullName"]?.isEmpty == false, values["dob"].map(Self.isDate) == true else {
            throw .invalid("Validation error: collected data need fullName and dob (YYYY-MM-DD)")
        }
        payments[payment.id]?.isIdentified = true
    }

    private static func isDate(_ text: String) -> Bool {
        text.wholeMatch(of: /\d{4}-\d{2}-\d{2}/) != nil && parsedTimestamp(text + "T00:00:00Z") != nil
    }

    // MARK: - The form

    mutating func formCall(_ request: GatewayRequest, _ route: Route) throws(APIError) -> GatewayAnswer {
        guard route.endpoint == .formSubmit else { return formPage(route) }
        let payment = try known(route)
        guard payment.word == .requiresAction else {
            throw payment.word == .expired ? .paymentExpired : .invalidState("Payment is \(payment.word.rawValue)")
        }
        try Self.checkForm(try request.object())
        payments[payment.id]?.isIdentified = true
        return GatewayAnswer(200, .members(["success": .bool(true)]))
    }

    private mutating func formPage(_ route: Route) -> GatewayAnswer {
        var start = FormPage.Start.gone
        if let payment = route.payment.flatMap({ payments[$0] }), payment.word == .requiresAction {
            start = isWaitingForData(payment) ? .open : .done
        }
        let nonce = hex(random.bytes(16))
        return GatewayAnswer(
            page: FormPage.html(start, nonce: nonce, postsObjects: configuration.formPostsObjects),
            status: start == .gone ? 404 : 200,
            headers: FormPage.headers(nonce: nonce)
        )
    }

    /// Holds what the page sent against the schema below.
    private static func checkForm(_ json: ExactJSON) throws(APIError) {
        var issues = FieldIssues()
        func check(_ name: String, _ message: String, _ isGood: (String) -> Bool) {
            if json[name]?.stringValue.map(isGood) != true { issues.add(name, message) }
        }
        check("fullName", "Enter your full name.") { (1...200).contains($0.unicodeScalars.count) }
        check("dob", "Enter a date: year, month, day.", isDate)
        let prefix = json["pobCountry"] != nil || json["pobAddress"] != nil ? "pob" : "por"
        check(prefix + "Country", "Enter two letters, for example CH.") { $0.wholeMatch(of: /[A-Z]{2}/) != nil }
        check(prefix + "Address", "Enter an address.") { (1...200).contains($0.unicodeScalars.count) }
        if json["tosConfirmed"] != .bool(true) { issues.add("tosConfirmed", "Accept the terms to go on.") }
        if case .object(let members) = json {
            for member in members where !fieldNames.contains(member.name) { issues.add(member.name, "Unknown field") }
        }
        try issues.check()
    }

    private static let fieldNames = [
        "fullName", "dob", "pobCountry", "pobAddress", "porCountry", "porAddress", "tosConfirmed",
    ]

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
