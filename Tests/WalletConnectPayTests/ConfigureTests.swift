import Testing

@testable import WalletConnectPay

/// The shared client. One test at a time, since there is one of it: `Net`'s way to set it up is shown by a program.
@Suite(.serialized)
struct ConfigureTests {
    private func headers(_ gateway: ScriptedGateway) async throws -> [String: String] {
        _ = try await WalletConnectPay.instance.getPaymentOptions(paymentLink: "pay_1", accounts: [])
        let request = try #require(gateway.requests.last)
        return Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func theSharedClientIsWhatItWasLastSetUpToBe() async throws {
        #expect(WalletConnectPay.configurationError == .notConfigured)
        #expect(WalletConnectPay.isPaymentLink("pay_1"), "needs no configuration")
        #expect(WalletConnectPay.instance.isPaymentLink("pay_1"), "neither does a client that was not set up")

        let gateway = ScriptedGateway(Answer.options("[]"))
        WalletConnectPay.configure(transport: gateway)
        #expect(WalletConnectPay.configurationError == .missingAuth)
        WalletConnectPay.configure(apiKey: "", appId: "", transport: gateway)
        #expect(WalletConnectPay.configurationError == .missingAuth)
        WalletConnectPay.configure(apiKey: "k", baseUrl: "http://gateway.test", transport: gateway)
        #expect(WalletConnectPay.configurationError == .invalidBaseURL("http://gateway.test"))

        WalletConnectPay.configure(apiKey: "key-1", transport: gateway)
        let withKey = try await headers(gateway)
        #expect(withKey["Api-Key"] == "key-1" && withKey["App-Id"] == nil && withKey["Client-Id"] == nil)
        #expect(gateway.requests.last?.url.hasPrefix("https://api.pay.walletconnect.com/v1/gateway/") == true)
        let old = WalletConnectPay.instance
        #expect(WalletConnectPay.configurationError == nil)

        WalletConnectPay.configure(
            apiKey: "key-1",
            appId: "app-1",
            baseUrl: "https://gateway.test/v1/",
            logging: true,
            transport: gateway
        )
        let withApp = try await headers(gateway)
        #expect(withApp["App-Id"] == "app-1" && withApp["Client-Id"]?.utf8.count == 36 && withApp["Api-Key"] == nil)
        #expect(gateway.calls.last == "POST /gateway/payment/pay_1/options?includePaymentInfo=true")
        #expect(try await headers(gateway)["Client-Id"] == withApp["Client-Id"], "the same for the whole run")

        _ = try await old.getPaymentOptions(paymentLink: "pay_1", accounts: [])
        #expect(gateway.requests.last?.headers.contains { $0.name == "Api-Key" } == true, "a client stays as it was")
        #expect(old.isPaymentLink("pay_1") && !old.isPaymentLink("wc:1@2"))

        await withTaskGroup { group in
            for number in 0..<50 {
                group.addTask { WalletConnectPay.configure(appId: "app-\(number)", transport: gateway) }
                group.addTask { #expect(WalletConnectPay.configurationError == nil) }
            }
        }
    }

    /// The call's own error type is kept, so that a wallet can ask it whether the money is safe.
    @Test func aClientThatWasNotSetUpSendsNothingAndSaysWhy() async throws {
        defer { WalletConnectPay.configure(failing: .notConfigured) }
        WalletConnectPay.configure(failing: .notConfigured)
        do throws(ConfirmPaymentError) {
            _ = try await WalletConnectPay.instance.confirmPayment(paymentId: "pay_1", optionId: "o", signatures: [])
            Issue.record("it was sent somewhere")
        } catch {
            #expect(error == .noConnection("WalletConnectPay.configure was not called") && !error.mayHavePaid)
        }
        for error in [.missingAuth, .invalidBaseURL("ftp://x"), .noTransport("no sockets")] as [ConfigError] {
            WalletConnectPay.configure(failing: error)
            await #expect(throws: GetPaymentOptionsError.noConnection("\(error)")) {
                _ = try await WalletConnectPay.instance.getPaymentOptions(paymentLink: "pay_1", accounts: [])
            }
            await #expect(throws: GetPaymentRequestError.noConnection("\(error)")) {
                _ = try await WalletKit.instance.Pay.getRequiredPaymentActions(paymentId: "pay_1", optionId: "o")
            }
        }
        #expect(GatewayAddress(WalletConnectPay.productionURL) == .production)
    }

    /// The two ways of setting up lead to one client, and either of them does.
    @Test func walletKitPaysThroughTheSharedClient() async throws {
        defer { WalletConnectPay.configure(failing: .notConfigured) }
        WalletConnectPay.configure(failing: .notConfigured)
        #expect(WalletKit.instance.Pay.isPaymentLink("pay_1"))
        #expect(WalletKit.isPaymentLink("pay_1") && !WalletKit.isPaymentLink("wc:1@2"), "needs no configuration")

        let gateway = ScriptedGateway(
            Answer.options(
                "[\(Answer.option(actions: "[\(Answer.call("eth_signTypedData_v4", #"["0xab","{}"]"#))]"))]"
            ),
            .answer(200, #"{"status":"succeeded","isFinal":true,"pollInMs":null}"#)
        )
        WalletKit.configure(projectId: "", transport: gateway)
        #expect(WalletConnectPay.configurationError == .missingAuth)
        WalletKit.configure(
            projectId: "project-1",
            payBaseUrl: "https://gateway.test",
            payLogging: true,
            transport: gateway
        )
        let pay = WalletKit.instance.Pay
        #expect(pay.isPaymentLink("pay_1"))
        let found = try await pay.getPaymentOptions(paymentLink: "pay_1", accounts: [], includePaymentInfo: false)
        let actions = try await WalletConnectPay.instance.getRequiredPaymentActions(
            paymentId: found.paymentId,
            optionId: "opt-1"
        )
        #expect(actions.map(\.walletRpc.method) == ["eth_signTypedData_v4"], "what one way learned, the other knows")
        let result = try await pay.confirmPayment(paymentId: "pay_1", optionId: "opt-1", signatures: ["0x1"])
        #expect(result.status == .succeeded && gateway.requests.count == 2)
        #expect(gateway.requests.allSatisfy { $0.headers.contains { $0.name == "App-Id" && $0.value == "project-1" } })
        WalletKit.configure(projectId: "project-1", transport: gateway)
        _ = try await WalletKit.instance.Pay.status(of: PaymentID("pay_1")!)
        #expect(gateway.requests.last?.url.hasPrefix("https://api.pay.walletconnect.com/v1/") == true)
    }

    /// The type hides the module, and the module's types are found all the same.
    @Test func theModulesTypesAreFoundUnderTheTypesName() {
        #expect(WalletConnectPay.PaymentStatus.succeeded == PaymentStatus.succeeded)
        #expect(WalletConnectPay.PaymentOption.self == PaymentOption.self)
        #expect(WalletConnectPay::PaymentOption.self == PaymentOption.self)
    }
}
