import Foundation
import Testing
import WalletConnect
import WalletConnectPay
import WebSocket

/// The documents' own code compiles, and does what they say. One at a time: it asks the clients that a whole app shares.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct SnippetTests {
    private static let link = "https://pay.walletconnect.com/?pid=pay_1"

    private func use(_ gateway: AnsweringGateway = AnsweringGateway()) {
        WalletConnectPay.configure(appId: "project-1", transport: gateway)
    }

    @Test func aWalletSetsUpWithEitherCredential() {
        for setUp in [setUpWithAppID, setUpWithKey] {
            WalletConnectPay.configure(apiKey: "", transport: AnsweringGateway())
            #expect(WalletConnectPay.configurationError == .missingAuth)
            setUp()
            #expect(WalletConnectPay.configurationError == nil)
        }
    }

    @Test func paymentLinksAreToldFromOthers() {
        use()
        for text in [Self.link, "pay_1", "wc:1@2?pay=x", "wc:1@2?symKey=2", "hello"] {
            let found = isPayment(text)
            #expect(found.before == looksLikePayment(text) && found.after == found.before)
            var started: [String] = []
            open(text) { started.append($0) }
            #expect(started == (found.before ? [text] : []))
        }
    }

    @Test func optionsAreListed() async {
        use()
        #expect(await listOptions(Self.link, "0xAb") == ["Corner Shop: EUR 1250", "USDC on Base"])
        use(AnsweringGateway(collectData: AnsweringGateway.fields))
        let lines = await listOptions(Self.link, "0xAb")
        #expect(lines.suffix(2) == ["opt-1 requires data", "Date of birth (date)"])
        #expect(await listOptions("hello", "0xAb").first?.hasPrefix("failed: invalidRequest") == true)
    }

    @Test func actionsAreSignedAndConfirmedInTheirOrder() async throws {
        use(AnsweringGateway(collectData: AnsweringGateway.fields))
        let response = try await WalletConnectPay.instance.getPaymentOptions(paymentLink: Self.link, accounts: [])
        let signatures = try await signActions(response, response.options[0])
        #expect(signatures == [#"eip155:8453 eth_signTypedData_v4 {"primaryType":"Transfer"}"#])
        let collected = answers(response, typed: "Jane")
        #expect(collected == [CollectDataFieldResult(id: "dob", value: "1990-01-15")])
        #expect(try await confirm(response, response.options[0], signatures, collected) == "paid")
    }

    @Test func theFormsAddressTakesWhatTheWalletKnows() async throws {
        use(AnsweringGateway(collectData: AnsweringGateway.form))
        let response = try await WalletConnectPay.instance.getPaymentOptions(paymentLink: Self.link, accounts: [])
        let address = try #require(try formAddress(response.options[0]))
        #expect(address.hasPrefix(AnsweringGateway.url + "&prefill="))
        let schema = try #require(response.options[0].collectData?.schema)
        #expect(DataCollection.requiredNames(schema: schema) == ["fullName", "dob", "pobAddress"])
        #expect(
            DataCollection.buildPrefillUrl(baseUrl: AnsweringGateway.url, prefillData: ["a": "b"]).contains("prefill=")
        )
    }

    @Test func theFormsMessagesAreRead() {
        #expect(heard(#"{"type":"IC_COMPLETE","success":true}"#) == "complete")
        #expect(heard(#"{"type":"IC_ERROR"}"#) == "Unknown error")
        // The library's reader also takes what this one passes over.
        #expect(heard(#""{\"type\":\"IC_COMPLETE\"}""#) == nil)
        #expect(DataCollection.message(#""{\"type\":\"IC_COMPLETE\"}""#) == .complete)
    }

    @Test func theCompleteExamplesPay() async throws {
        use(AnsweringGateway(collectData: AnsweringGateway.form))
        var shown: [String] = []
        let manager = PaymentManager { shown.append($0) }
        try await manager.processPayment(paymentLink: Self.link, walletAddress: "0xAb", signer: AnySigner())
        #expect(shown == [AnsweringGateway.url])
        use(AnsweringGateway(collectData: AnsweringGateway.fields))
        try await FieldPaymentManager().processPayment(
            paymentLink: Self.link,
            walletAddress: "0xAb",
            signer: AnySigner()
        )
        try await WalletKitPaymentManager().processPayment(
            paymentLink: Self.link,
            walletAddress: "0xAb",
            signer: AnySigner()
        )
        let result = try await payInFourCalls(Self.link, "0xAb")
        #expect(result.status == .succeeded && result.info?.txId == "0x46")
    }

    @Test func everyDocumentedErrorHasItsName() async {
        use()
        let options: [GetPaymentOptionsError] = [
            .paymentNotFound(""), .paymentExpired(""), .invalidRequest(""), .invalidAccount(""), .complianceFailed(""),
            .http(""), .internalError(""),
        ]
        let requests: [GetPaymentRequestError] = [
            .optionNotFound(""), .paymentNotFound(""), .invalidAccount(""), .http(""),
        ]
        let confirmations: [ConfirmPaymentError] = [
            .paymentNotFound(""), .paymentExpired(""), .invalidOption(""), .invalidSignature(""), .routeExpired(""),
            .http(""),
        ]
        for error in options { #expect("\(error)".hasPrefix(name(error))) }
        for error in requests { #expect("\(error)".hasPrefix(name(error))) }
        for error in confirmations { #expect("\(error)".hasPrefix(name(error))) }
        #expect(await whyNoOptions("hello") == "no payment link")
    }

    @Test func everyDocumentedFieldHasItsType() async throws {
        use(AnsweringGateway(collectData: AnsweringGateway.fields))
        let response = try await WalletConnectPay.instance.getPaymentOptions(paymentLink: Self.link, accounts: [])
        #expect(fields(of: response, ConfirmPaymentResultResponse(status: .succeeded, isFinal: true)) > 0)
    }

    /// Nothing is set up for sessions here, and each call says so under its own error type.
    @Test func sessionsAreAnsweredByTheDocumentsCalls() async throws {
        let uri =
            "wc:\(String(repeating: "ab", count: 32))@2?relay-protocol=irn&symKey=\(String(repeating: "cd", count: 32))"
        await #expect(throws: PairingError.stopped) { try await pair(uri) }
        try await pair("hello")
        await #expect(throws: SignError.stopped) { try await reject(proposalId: "1") }
        let account = try #require(Account("eip155:1:0xab"))
        await #expect(throws: SignError.stopped) { try await respond(RPCID(1), "0x", account) }
        var told: [String] = []
        await follow { told.append($0) }
        #expect(told == ["pairing false", "disconnected"])
        // They need a proposal, which only a dapp can make: tests of the client call them with one.
        let _: (Session.Proposal, [String: SessionNamespace]) async throws -> Void = approve
        let _: (Session.Proposal, [Blockchain], [Account]) throws -> [String: SessionNamespace] = namespaces
    }

    /// Both modules have a `WalletKit`; calls are told apart by what is asked of it.
    @Test func sessionsAndPaymentsGoTogether() async throws {
        use()
        #expect(try await pairOrPay(Self.link)?.paymentId == "pay_1")
        #expect(try await pairOrPay("hello") == nil)
        // It would set up the client that the other tests find unset.
        let _: (any KeyValueStore) async throws -> OnlineClient = setUpBoth
    }

    @Test func aWalletGoesBackAfterItsApproval() {
        let _:
            (Session.Proposal, [String: SessionNamespace], @escaping WalletConnectRouter.Opener) async throws ->
                WalletConnectRouter.Outcome = approveAndGoBack
    }
}
