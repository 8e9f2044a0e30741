import Ethereum
import Foundation
import Net
import Payments
import Testing
import WalletConnectPay

@testable import Sandbox

/// The calls of the official SDK against a gateway behind a real socket.
@Suite(.timeLimit(.minutes(2)))
struct OfficialCallsTests {
    private struct GatewayClients {
        let merchant: MerchantClient
        let client: PayClient
        let url: String
        let key = PrivateKey()

        var account: String { "eip155:8453:\(key.address.checksummed)" }

        func order() async throws -> CreatedPayment {
            let order = try NewPayment(
                reference: "TILL-1",
                amount: .fiat(code: "EUR", minorUnits: 1250),
                expiresAtSeconds: nil
            )
            return try await merchant.create(order, idempotencyKey: UUID().uuidString)
        }

        func sign(_ actions: [WalletConnectPay.Action]) throws -> [String] {
            try actions.map { action in
                guard action.walletRpc.method == "eth_signTypedData_v4" else {
                    return "0x" + String(repeating: "ab", count: 32)
                }
                let params = try JSONDecoder().decode([String].self, from: Data(action.walletRpc.params.utf8))
                return key.sign(try TypedData(json: params[1]).digest).hexadecimal
            }
        }

        /// As the customer would, in the form's page.
        func fillIn(_ payment: String) async throws {
            let request = HTTPRequest(
                method: .post,
                url: "\(url)/control/collect",
                headers: [HTTPRequest.Header("Authorization", "Bearer control")],
                body: Array(#"{"paymentId":"\#(payment)"}"#.utf8)
            )
            #expect(try await LoopbackTransport().send(request).status == 200)
        }
    }

    private func withClients(
        _ configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (GatewayClients) async throws -> Void
    ) async throws {
        var configuration = GatewayConfiguration(merchantID: "mrch_1", apiKey: "wcp_1")
        configuration.settleAfter = .milliseconds(20)
        configuration.controlToken = "control"
        configure(&configuration)
        let server = try GatewayServer(configuration: configuration, port: 0, clock: .system)
        let serving = Task { try await server.run() }
        let transport = try HTTPClientTransport(hosts: .only(["127.0.0.1"], allowsLoopbackHTTP: true))
        let clients = GatewayClients(
            merchant: try MerchantClient(
                baseURL: server.url,
                credentials: MerchantCredentials(merchantID: "mrch_1", apiKey: Secret("wcp_1")),
                transport: transport
            ),
            client: try PayClient(
                baseURL: server.url,
                credentials: .app(id: "tests", clientID: "c1"),
                transport: transport
            ),
            url: server.url
        )
        let result: Result<Void, any Error>
        do { result = .success(try await body(clients)) } catch { result = .failure(error) }
        serving.cancel()
        try? await serving.value
        try await transport.shutdown()
        try result.get()
    }

    @Test(arguments: [0, 86_400, -86_400])
    func aPaymentIsMadeWhateverTheGatewaysClockSays(skewSeconds: Int) async throws {
        try await withClients({ $0.skewSeconds = skewSeconds }) { clients in
            let created = try await clients.order()
            let response = try await clients.client.getPaymentOptions(
                paymentLink: created.link,
                accounts: [clients.account]
            )
            #expect(response.info?.merchant.name == "Sandbox Shop" && response.info?.buyer == nil)
            let option = try #require(response.options.first { $0.amount.display.assetSymbol == "USDC" })
            #expect(option.actions.isEmpty, "the gateway has yet to spell it out")
            let actions = try await clients.client.getRequiredPaymentActions(
                paymentId: response.paymentId,
                optionId: option.id
            )
            let result = try await clients.client.confirmPayment(
                paymentId: response.paymentId,
                optionId: option.id,
                signatures: try clients.sign(actions),
                maxPollMs: 60_000
            )
            #expect(result.status == .succeeded && result.isFinal && result.pollInMs == nil)
            #expect(result.info?.optionAmount.value == option.amount.value && result.info?.txId.isEmpty == false)
            let after = try await clients.client.getPaymentOptions(
                paymentLink: created.link,
                accounts: [clients.account]
            )
            #expect(after.options.isEmpty && after.info?.status == .succeeded)
            #expect(after.info?.buyer?.accountCaip10 == clients.account)
        }
    }

    @Test func aFormIsFilledInBeforeThereIsAnythingToSign() async throws {
        func asProduction(_ configuration: inout GatewayConfiguration) {
            (configuration.collectsData, configuration.formBase) = (true, configuration.linkBase)
        }
        try await withClients(asProduction) { clients in
            let created = try await clients.order()
            let response = try await clients.client.getPaymentOptions(
                paymentLink: created.link,
                accounts: [clients.account]
            )
            let option = try #require(response.options.first)
            guard case .form(let url, let action) = DataCollection.requirement(for: option, in: response) else {
                Issue.record("no form")
                return
            }
            #expect(DataCollection.staysInside(url) && url.contains("pid=\(response.paymentId)"))
            let names = ["fullName", "dob", "tosConfirmed", "pobCountry", "pobAddress", "porCountry", "porAddress"]
            #expect(DataCollection.requiredNames(schema: action.schema ?? "") == names)
            #expect(action.fields.map(\.fieldType) == [.text, .date] && action.fields.allSatisfy(\.required))
            await #expect(throws: GetPaymentRequestError.fetchError("400: IC data required but not found")) {
                _ = try await clients.client.getRequiredPaymentActions(
                    paymentId: response.paymentId,
                    optionId: option.id
                )
            }
            try await clients.fillIn(response.paymentId)
            let actions = try await clients.client.getRequiredPaymentActions(
                paymentId: response.paymentId,
                optionId: option.id
            )
            let result = try await clients.client.confirmPayment(
                paymentId: response.paymentId,
                optionId: option.id,
                signatures: try clients.sign(actions),
                maxPollMs: 60_000
            )
            #expect(result.status == .succeeded)
        }
    }

    /// Ethereum's USDT: an approval and a permit, known at once and in this order.
    @Test func fieldsTravelWithAConfirmationOfSeveralResults() async throws {
        try await withClients({ $0.collectsData = true }) { clients in
            let created = try await clients.order()
            let account = "eip155:1:\(clients.key.address.checksummed)"
            let response = try await clients.client.getPaymentOptions(paymentLink: created.link, accounts: [account])
            let option = try #require(response.options.first { $0.amount.display.assetSymbol == "USDT" })
            let actions = try await clients.client.getRequiredPaymentActions(
                paymentId: response.paymentId,
                optionId: option.id
            )
            #expect(actions.map(\.walletRpc.method) == ["eth_sendTransaction", "eth_signTypedData_v4"])
            #expect(actions == option.actions)
            let signatures = try clients.sign(actions)
            func confirm(_ signatures: [String], _ data: [CollectDataFieldResult]?) async throws -> PaymentStatus {
                try await clients.client.confirmPayment(
                    paymentId: response.paymentId,
                    optionId: option.id,
                    signatures: signatures,
                    collectedData: data,
                    maxPollMs: 60_000
                ).status
            }
            let answers = [
                CollectDataFieldResult(id: "fullName", value: "Jane Example"),
                CollectDataFieldResult(id: "dob", value: "1990-01-15"),
            ]
            await #expect(throws: ConfirmPaymentError.invalidOption("400: IC data required but not found")) {
                _ = try await confirm(signatures, nil)
            }
            await #expect(throws: ConfirmPaymentError.self, "in another order") {
                _ = try await confirm(signatures.reversed(), answers)
            }
            #expect(try await confirm(signatures, answers) == .succeeded)
        }
    }

    @Test func theGatewaysRefusalsAreTheDocumentsErrors() async throws {
        try await withClients { clients in
            let created = try await clients.order()
            let (client, id) = (clients.client, created.paymentID.rawValue)
            await #expect(throws: GetPaymentOptionsError.paymentNotFound("404: Payment not found")) {
                _ = try await client.getPaymentOptions(paymentLink: "pay_nobody", accounts: [clients.account])
            }
            await #expect(throws: GetPaymentRequestError.paymentNotFound("404: Payment not found")) {
                _ = try await client.getRequiredPaymentActions(paymentId: "pay_nobody", optionId: "x")
            }
            await #expect(throws: ConfirmPaymentError.paymentNotFound("404: Payment not found")) {
                _ = try await client.confirmPayment(paymentId: "pay_nobody", optionId: "x", signatures: [])
            }
            await #expect(throws: GetPaymentRequestError.optionNotFound("400: Validation error: Option not found")) {
                _ = try await client.getRequiredPaymentActions(paymentId: id, optionId: "x")
            }
            await #expect(throws: ConfirmPaymentError.invalidOption("400: Validation error: Option not found")) {
                _ = try await client.confirmPayment(paymentId: id, optionId: "x", signatures: [])
            }
            let response = try await client.getPaymentOptions(paymentLink: id, accounts: [clients.account])
            let option = try #require(response.options.first)
            let actions = try await client.getRequiredPaymentActions(paymentId: id, optionId: option.id)
            let stranger = GatewayClients(merchant: clients.merchant, client: client, url: clients.url)
            let forged = try stranger.sign(actions)
            await #expect(throws: ConfirmPaymentError.invalidSignature("422: Invalid signature")) {
                _ = try await client.confirmPayment(paymentId: id, optionId: option.id, signatures: forged)
            }
            #expect(try await clients.merchant.cancel(created.paymentID) == .cancelled)
            let over = try await client.getPaymentOptions(paymentLink: id, accounts: [clients.account])
            #expect(over.options.isEmpty && over.info?.status == .cancelled)
        }
    }

    @Test func aPaymentWhoseEndIsHeldBackTimesOutAndIsNotFailed() async throws {
        try await withClients({ $0.settleAfter = nil }) { clients in
            let created = try await clients.order()
            let response = try await clients.client.getPaymentOptions(
                paymentLink: created.link,
                accounts: [clients.account]
            )
            let option = try #require(response.options.first)
            let actions = try await clients.client.getRequiredPaymentActions(
                paymentId: response.paymentId,
                optionId: option.id
            )
            let signatures = try clients.sign(actions)
            do throws(ConfirmPaymentError) {
                _ = try await clients.client.confirmPayment(
                    paymentId: response.paymentId,
                    optionId: option.id,
                    signatures: signatures,
                    maxPollMs: 300
                )
                Issue.record("it ended")
            } catch {
                guard case .pollingTimeout = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(error.mayHavePaid)
            }
            #expect(try await clients.client.status(of: created.paymentID).status == .processing)
        }
    }
}
