import Testing
import WalletConnectPay

/// The shared client. One test in the whole process, since there is one of it: `Net`'s way to set it up is shown by a program.
struct ConfigureTests {
    private func headers(_ gateway: ScriptedGateway) async throws -> [String: String] {
        _ = try await WalletConnectPay.instance.getPaymentOptions(paymentLink: "pay_1", accounts: [])
        let request = try #require(gateway.requests.last)
        return Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func theSharedClientIsWhatItWasLastSetUpToBe() async throws {
        #expect(throws: ConfigError.notConfigured) { try WalletConnectPay.instance }
        #expect(WalletConnectPay.isPaymentLink("pay_1"), "needs no configuration")

        let gateway = ScriptedGateway(Answer.options("[]"))
        WalletConnectPay.configure(transport: gateway)
        #expect(throws: ConfigError.missingAuth) { try WalletConnectPay.instance }
        WalletConnectPay.configure(apiKey: "", appId: "", transport: gateway)
        #expect(throws: ConfigError.missingAuth) { try WalletConnectPay.instance }
        WalletConnectPay.configure(apiKey: "k", baseUrl: "http://gateway.test", transport: gateway)
        #expect(throws: ConfigError.invalidBaseURL("http://gateway.test")) { try WalletConnectPay.instance }

        WalletConnectPay.configure(apiKey: "key-1", transport: gateway)
        let withKey = try await headers(gateway)
        #expect(withKey["Api-Key"] == "key-1" && withKey["App-Id"] == nil && withKey["Client-Id"] == nil)
        #expect(gateway.requests.last?.url.hasPrefix("https://api.pay.walletconnect.com/v1/gateway/") == true)
        let old = try WalletConnectPay.instance

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
                group.addTask { #expect(throws: Never.self) { try WalletConnectPay.instance } }
            }
        }
    }

    /// The type hides the module, and the module's types are found all the same.
    @Test func theModulesTypesAreFoundUnderTheTypesName() {
        #expect(WalletConnectPay.PaymentStatus.succeeded == PaymentStatus.succeeded)
        #expect(WalletConnectPay.PaymentOption.self == PaymentOption.self)
        #expect(WalletConnectPay::PaymentOption.self == PaymentOption.self)
    }
}
