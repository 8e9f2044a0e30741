import Foundation
import Testing

@testable import WalletConnectPay

/// The travel rule's form and fields, as a wallet meets them.
struct DataCollectionTests {
    private static let url = "https://pay.walletconnect.com/collect/?pid=pay_1&accounts=eip155%3A1%3A0xab"
    private static let form = CollectDataAction(fields: [], url: url, schema: #"{"required":["dob"]}"#)
    private static let field = CollectDataField(id: "dob", name: "Date of birth", required: true, fieldType: .date)
    private static let fields = CollectDataAction(fields: [field], url: nil, schema: nil)
    private static let both = CollectDataAction(fields: [field], url: url, schema: "{}")

    private func requirement(
        _ all: CollectDataAction?,
        _ own: CollectDataAction?,
        other: CollectDataAction? = nil
    ) -> DataCollection.Requirement {
        func option(_ id: String, _ collect: CollectDataAction?) -> PaymentOption {
            PaymentOption(
                id: id,
                account: "eip155:1:0xab",
                amount: PayAmount(unit: "x", value: "1"),
                etaS: 5,
                expiresAt: nil,
                collectData: collect,
                steps: []
            )
        }
        let options = [option("1", own), option("2", other)]
        let response = PaymentOptionsResponse(
            paymentId: "pay_1",
            info: nil,
            options: options,
            collectData: all,
            resultInfo: nil
        )
        return DataCollection.requirement(for: options[0], in: response)
    }

    /// Source: WalletConnect Pay SDK for Swift, decision matrix.
    @Test func theDocumentsTableDecides() {
        #expect(requirement(Self.form, Self.form) == .form(url: Self.url, Self.form))
        #expect(requirement(Self.form, nil) == .none)
        #expect(requirement(Self.form, nil, other: Self.form) == .none)
        #expect(requirement(nil, nil) == .none)
        #expect(requirement(nil, Self.form) == .form(url: Self.url, Self.form), "what an option says of itself counts")
        #expect(requirement(Self.both, Self.both) == .form(url: Self.url, Self.both), "the form is the newer way")
    }

    @Test func fieldsWithoutAnyFormHoldForEveryOption() {
        #expect(requirement(Self.fields, nil) == .fields([Self.field]))
        #expect(requirement(Self.fields, Self.fields) == .fields([Self.field]))
        #expect(
            requirement(Self.fields, nil, other: Self.fields) == .none,
            "options that tell for themselves do so all"
        )
    }

    @Test func aQuestionThatCannotBeAskedIsNotTakenForNone() {
        let empty = CollectDataAction(fields: [], url: nil, schema: "{}")
        #expect(requirement(empty, empty) == .unrecognised)
        #expect(requirement(nil, CollectDataAction(fields: [], url: "", schema: nil)) == .unrecognised)
    }

    @Test(arguments: [
        ("https://h.test/c", "https://h.test/c?prefill="), ("https://h.test/c?", "https://h.test/c?prefill="),
        ("https://h.test/c?a=1", "https://h.test/c?a=1&prefill="),
        ("https://h.test/c?a=1&", "https://h.test/c?a=1&prefill="), (url, url + "&prefill="),
        ("https://h.test/c?prefill=old&a=1", "https://h.test/c?a=1&prefill="),
        ("https://h.test/c?a=prefill=1&prefills=2", "https://h.test/c?a=prefill=1&prefills=2&prefill="),
    ])
    func aPrefillIsAddedToWhatTheAddressHas(base: String, prefix: String) throws {
        // Chosen so that its base64 has `+`, `/` and `=`.
        let data = ["fullName": "Zoë ~~??>>ÿÿÿþþþ", "pobAddress": "1 Main St, \"NY\" / 10001"]
        let text = DataCollection.buildPrefillUrl(baseUrl: base, prefillData: data)
        #expect(text.hasPrefix(prefix))
        let encoded = String(text.dropFirst(prefix.count))
        #expect(encoded.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "%") })
        let base64 = try #require(encoded.removingPercentEncoding)
        #expect(base64.contains("+") && base64.contains("/") && base64.hasSuffix("="), "the traps are in it")
        let json = try #require(Data(base64Encoded: base64))
        #expect(try JSONDecoder().decode([String: String].self, from: json) == data)
    }

    @Test func aFragmentStaysAtTheEndAndAThemeIsAdded() {
        #expect(DataCollection.buildPrefillUrl(baseUrl: "https://h.test/#f", prefillData: [:]) == "https://h.test/#f")
        #expect(
            DataCollection.buildPrefillUrl(baseUrl: "https://h.test/?a=1#f?", prefillData: [:], theme: .dark)
                == "https://h.test/?a=1&theme=dark#f?"
        )
        #expect(
            DataCollection.buildPrefillUrl(baseUrl: "https://h.test/#f", prefillData: ["a": "b"], theme: .light)
                == "https://h.test/?prefill=eyJhIjoiYiJ9&theme=light#f"
        )
        #expect(
            DataCollection.buildPrefillUrl(
                baseUrl: "https://h.test/?theme=dark&prefill=x",
                prefillData: [:],
                theme: .light
            ) == "https://h.test/?prefill=x&theme=light",
            "what the wallet does not say anew stays"
        )
    }

    @Test func aSchemaNamesWhatItRequires() {
        #expect(DataCollection.requiredNames(schema: #"{"required":["fullName","dob"],"x":1}"#) == ["fullName", "dob"])
        for schema in ["", "[]", "{}", #"{"required":"dob"}"#] {
            #expect(DataCollection.requiredNames(schema: schema).isEmpty)
        }
    }

    private static let published = """
        {"type":"object","required":["fullName","dob","tosConfirmed"],
         "anyOf":[{"required":["pobCountry","pobAddress"]},{"required":["porCountry","porAddress"]}],
         "properties":{"fullName":{"type":"string","title":"Full name"},"dob":{"type":"string","format":"date"},
          "pobCountry":{"type":"string"},"pobAddress":{"type":"string"},"nickname":{"type":"string"},
          "porCountry":{"type":"string"},"porAddress":{"type":"string"},"tosConfirmed":{"type":"boolean"},
          "height":{"type":"number"}}}
        """

    /// A wallet that knows the place of birth fills it in: the form asks for one of two places.
    @Test func aSchemaNamesAlsoWhatItRequiresInOneOfSeveralWays() {
        #expect(
            DataCollection.requiredNames(schema: Self.published)
                == ["fullName", "dob", "tosConfirmed", "pobCountry", "pobAddress", "porCountry", "porAddress"]
        )
        #expect(
            DataCollection.requiredNames(schema: #"{"allOf":[{"required":["a"]}],"oneOf":[{"required":["b","a"]}]}"#)
                == ["a", "b"]
        )
        #expect(DataCollection.requiredNames(schema: #"{"required":["a"],"anyOf":7,"properties":[]}"#) == ["a"])
    }

    /// A wallet without a web view asks the form's questions by itself.
    @Test func aSchemasQuestionsCanBeAskedWithoutItsForm() throws {
        let schema = try #require(FormSchema(Self.published))
        let fields = schema.fields.map { "\($0.id) \($0.name) \($0.fieldType.word) \($0.required)" }
        #expect(
            fields == [
                "fullName Full name text true", "dob dob date true", "tosConfirmed tosConfirmed checkbox true",
                "pobCountry pobCountry text false", "pobAddress pobAddress text false",
                "porCountry porCountry text false", "porAddress porAddress text false", "height height number false",
                "nickname nickname text false",
            ]
        )
        #expect(schema.alternatives == [["pobCountry", "pobAddress"], ["porCountry", "porAddress"]])
        var answers = ["fullName": "A", "dob": "1990-01-15", "tosConfirmed": ""]
        #expect(schema.missing(from: answers) == ["tosConfirmed", "pobCountry", "pobAddress"])
        answers["tosConfirmed"] = "true"
        answers["porAddress"] = "Bern"
        #expect(schema.missing(from: answers) == ["porCountry"])
        answers["porCountry"] = "CH"
        #expect(schema.missing(from: answers).isEmpty)
        for text in ["", "[]", "7", "\"{}\""] { #expect(FormSchema(text) == nil) }
        #expect(FormSchema("{}")?.fields.isEmpty == true)
    }

    /// Some forms post an object, and a bridge may hand on the JSON of what it got.
    @Test(
        arguments: [
            (#""{\"type\":\"IC_COMPLETE\",\"success\":true}""#, .complete),
            (#""{\"type\":\"IC_ERROR\",\"error\":\"Try again\"}""#, .failed("Try again")),
            (#"{"type":"IC_ERROR","error":{"message":"odd"}}"#, .failed("Unknown error")),
            (#"{"type":"IC_COMPLETE","success":"yes"}"#, .complete), (#""IC_COMPLETE""#, nil), (#""""#, nil),
            ("[object Object]", nil), ("undefined", nil),
        ] as [(String, DataCollection.Message?)]
    )
    func aMessageIsReadHoweverTheBridgeWritesIt(text: String, message: DataCollection.Message?) {
        #expect(DataCollection.message(text) == message)
    }

    @Test(
        arguments: [
            (#"{"type":"IC_COMPLETE","success":true}"#, .complete), (#"{"type":"IC_COMPLETE"}"#, .complete),
            (#"{"type":"IC_COMPLETE","success":false}"#, .failed("Unknown error")),
            (#"{"type":"IC_ERROR","error":"Try again"}"#, .failed("Try again")),
            (#"{"type":"IC_ERROR"}"#, .failed("Unknown error")), (#"{"type":"IC_LATER"}"#, nil),
            (#"{"success":true}"#, nil), ("IC_COMPLETE", nil), ("", nil), ("[]", nil), (#"{"type":7}"#, nil),
        ] as [(String, DataCollection.Message?)]
    )
    func theFormsMessagesAreRead(text: String, message: DataCollection.Message?) {
        #expect(DataCollection.message(text) == message)
    }

    @Test(arguments: [
        ("https://pay.walletconnect.com/collect/", true), ("https://staging.pay.walletconnect.com/x", true),
        ("https://pay.walletconnect.com.evil.test/", false), ("http://pay.walletconnect.com/", false),
        ("https://walletconnect.com/terms", false), ("https://pay.walletconnect.com@evil.test/", false),
        ("javascript:alert(1)", false),
    ])
    func onlyTheFormsOwnPagesStayInside(url: String, stays: Bool) {
        #expect(DataCollection.staysInside(url) == stays)
    }

    /// Forms ask for it themselves.
    @Test func answersThatTheWalletPassesOnNeedTheCustomersConsent() {
        #expect(requirement(Self.fields, nil).needsConsent)
        #expect(!requirement(Self.both, Self.both).needsConsent && !requirement(nil, nil).needsConsent)
    }

    /// The script itself runs in a browser's page: `Tests/API/test_form.py`.
    @Test(arguments: ["", ".", "a.", "1a", "a b", "alert(1)", "a;b", "ä"])
    func aBridgeForwardsToAFunctionsNameOnly(name: String) {
        #expect(DataCollection.bridgeScript(forwardingTo: name) == nil)
        for good in ["tillBridge", "_a1", "window.$bridge.tell"] {
            #expect(
                DataCollection.bridgeScript(forwardingTo: good)?.contains("\n\(good)(String(typeof message") == true
            )
        }
    }

    /// The schema is handed on as text, whether the gateway wrote it as an object or as a text.
    @Test(arguments: [#"{"required":["dob"],"maxLength":200}"#, #""{\"required\":[\"dob\"],\"maxLength\":200}""#])
    func bothGenerationsAreReadFromTheWire(schema: String) async throws {
        let new = #"{"schema":\#(schema),"url":"https://pay.walletconnect.com/collect/"}"#
        let old = #"{"fields":[{"type":"date","id":"dob","name":"Date of birth","required":true}]}"#
        let options = "[\(Answer.option(actions: "[]", collectData: new)),\(Answer.option("2", actions: "[]"))]"
        let gateway = ScriptedGateway(
            Answer.options(options, collectData: new),
            Answer.options("[\(Answer.option(actions: "[]"))]", collectData: old)
        )
        let client = try gateway.client()
        let first = try await client.getPaymentOptions(paymentLink: "pay_1", accounts: [])
        #expect(first.collectData?.schema == #"{"required":["dob"],"maxLength":200}"#)
        #expect(first.collectData?.fields == [] && first.options[0].collectData == first.collectData)
        #expect(DataCollection.requirement(for: first.options[1], in: first) == .none)
        let second = try await client.getPaymentOptions(paymentLink: "pay_1", accounts: [])
        #expect(second.collectData == Self.fields)
        #expect(DataCollection.requirement(for: second.options[0], in: second) == .fields([Self.field]))
    }
}
