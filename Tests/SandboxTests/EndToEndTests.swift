import Ethereum
import Locks
import Payments
import Testing
import WalletConnectPay

@testable import Sandbox

/// A till's client and a customer's wallet at a gateway behind a real socket.
@Suite(.timeLimit(.minutes(2)))
struct EndToEndTests {
    private struct GatewayClients {
        let merchant: MerchantClient
        let wallet: CustomerWallet
        let url: String
        let server: GatewayServer

        func wallet(_ key: PrivateKey) throws -> CustomerWallet {
            let client = try PayClient(
                baseURL: url,
                appID: "tests",
                clientID: "c1",
                transport: LoopbackTransport()
            )
            return CustomerWallet(key: key, client: client, now: SandboxClock.system.now)
        }
    }

    private func withClients(
        _ configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (GatewayClients) async throws -> Void
    ) async throws {
        var configuration = GatewayConfiguration(merchantID: "mrch_e2e", apiKey: "wcp_e2e")
        configuration.merchantName = "Corner Shop"
        configuration.settleAfter = .milliseconds(20)
        configure(&configuration)
        let server = try GatewayServer(configuration: configuration, port: 0, clock: .system)
        let serving = Task { try await server.run() }
        let transport = LoopbackTransport()
        let client = try PayClient(baseURL: server.url, appID: "tests", clientID: "c1", transport: transport)
        let clients = GatewayClients(
            merchant: try MerchantClient(
                baseURL: server.url,
                credentials: MerchantCredentials(merchantID: "mrch_e2e", apiKey: Secret("wcp_e2e")),
                transport: transport
            ),
            wallet: CustomerWallet(key: PrivateKey(), client: client, now: SandboxClock.system.now),
            url: server.url,
            server: server
        )
        do {
            try await body(clients)
        } catch {
            serving.cancel()
            throw error
        }
        serving.cancel()
        try? await serving.value
    }

    private func order(_ cents: Int64 = 1250, _ currency: String = "EUR") throws -> NewPayment {
        try NewPayment(
            reference: "TILL-1",
            amount: .fiat(code: currency, minorUnits: cents),
            expiresAtSeconds: SandboxClock.system.now().secondsSince1970 + 300
        )
    }

    @Test func aChargeIsPaidByAFreshWalletAndTheTillSeesItInOneHeldQuestion() async throws {
        try await withClients { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            async let firstChange = clients.merchant.status(of: created.paymentID, waitingUpTo: .seconds(20))
            while await clients.server.gateway.openPolls < 1 { await Task.yield() }
            let bill = try await clients.wallet.look(at: created.link, .init())
            #expect(bill.merchantName == "Corner Shop")
            #expect(CustomerWallet.text(bill.amount) == "12.50 EUR")
            #expect(CustomerWallet.text(bill.price) == "13.50 USDC on Base")
            let end = try await clients.wallet.confirm(try await clients.wallet.sign(bill), waitingUpTo: .seconds(20))
            #expect(end.status == .succeeded)
            #expect(try await firstChange.status == .processing)
            let report = try await clients.merchant.status(of: created.paymentID, waitingUpTo: nil)
            #expect(report.status == .succeeded)
            #expect(report.result?.transactionID == end.result?.transactionID)
            let page = try await clients.merchant.payments(PaymentQuery(reference: "TILL-1", limit: 10))
            #expect(page.payments.map(\.paymentID) == [created.paymentID])
            #expect(page.payments.first?.transactionID == end.result?.transactionID)
            let details = try await clients.merchant.payment(created.paymentID)
            #expect(details.settlementTransactionID == end.result?.transactionID)
        }
    }

    @Test(
        arguments: [
            (1, "USDC"), (10, "USDC"), (137, "USDC"), (42161, "USDC"), (1, "USDT"), (56, "USDC"), (42161, "USDT"),
        ]
            as [(UInt64, String)]
    )
    func aWalletPaysOnEveryNetworkInEitherWay(chain: UInt64, symbol: String) async throws {
        try await withClients { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            var wishes = CustomerWallet.Wishes()
            (wishes.chainID, wishes.symbol) = (chain, symbol)
            let signed = try await clients.wallet.sign(try await clients.wallet.look(at: created.link, wishes))
            let isPermit = TokenCatalog.token(chainID: chain, symbol: symbol)?.method == .permit2
            #expect(signed.isApproved == isPermit)
            #expect(try await clients.wallet.confirm(signed, waitingUpTo: .seconds(20)).status == .succeeded)
        }
    }

    @Test func repeatingACreateMakesNoSecondPayment() async throws {
        try await withClients { clients in
            let order = try order()
            let first = try await clients.merchant.create(order, idempotencyKey: "k1")
            #expect(try await clients.merchant.create(order, idempotencyKey: "k1") == first)
            await #expect(throws: MerchantError.self) {
                try await clients.merchant.create(self.order(1251), idempotencyKey: "k1")
            }
        }
    }

    @Test func aDroppedAnswerIsSilenceAndTheSameKeyFindsThePayment() async throws {
        try await withClients({ $0.faults = [Fault(endpoint: .create, effect: .drop, times: 1)] }) { clients in
            let impatient = try MerchantClient(
                baseURL: clients.url,
                credentials: MerchantCredentials(merchantID: "mrch_e2e", apiKey: Secret("wcp_e2e")),
                transport: LoopbackTransport(patience: 1)
            )
            let order = try order()
            do throws(MerchantError) {
                _ = try await impatient.create(order, idempotencyKey: "k1")
                Issue.record("answered")
            } catch {
                #expect(error.mayHaveTakenEffect)
            }
            let created = try await clients.merchant.create(order, idempotencyKey: "k1")
            let page = try await clients.merchant.payments(PaymentQuery(reference: "TILL-1"))
            #expect(page.payments.map(\.paymentID) == [created.paymentID])
        }
    }

    @Test func aCancelledPaymentCannotBePaid() async throws {
        try await withClients { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            let bill = try await clients.wallet.look(at: created.link, .init())
            let signed = try await clients.wallet.sign(bill)
            #expect(try await clients.merchant.cancel(created.paymentID) == .cancelled)
            await #expect(throws: WalletRefusal.over(.cancelled)) {
                try await clients.wallet.look(at: created.link, .init())
            }
            await #expect(throws: WalletRefusal.self) {
                try await clients.wallet.confirm(signed, waitingUpTo: .seconds(5))
            }
        }
    }

    @Test func aWalletRefusesWhatItWasNotSentToPay() async throws {
        try await withClients { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            var wishes = CustomerWallet.Wishes()
            wishes.merchantName = "Other Shop"
            await #expect(throws: WalletRefusal.suspicious("the merchant is 'Corner Shop', not 'Other Shop'")) {
                try await clients.wallet.look(at: created.link, wishes)
            }
            wishes.merchantName = nil
            wishes.amount = .fiat(code: "EUR", minorUnits: 1251)
            await #expect(throws: WalletRefusal.self) { try await clients.wallet.look(at: created.link, wishes) }
            await #expect(throws: WalletRefusal.self) {
                try await clients.wallet.look(
                    at: "https://pay.walletconnect.com.evil.test/?pid=\(created.paymentID)",
                    .init()
                )
            }
            #expect(
                try await clients.merchant.status(of: created.paymentID, waitingUpTo: nil).status == .requiresAction
            )
        }
    }

    @Test func aWalletWithoutMoneyPaysNothing() async throws {
        try await withClients({ $0.faucetTokens = 1 }) { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            await #expect(throws: WalletRefusal.nothingToPayWith) {
                try await clients.wallet.look(at: created.link, .init())
            }
        }
    }

    @Test(arguments: [("failed", PaymentStatus.failed), ("declined_user", .failed), ("expired", .expired)])
    func aPaymentThatEndsBadlyIsToldToBothSides(outcome: String, status: PaymentStatus) async throws {
        let fault = Fault(endpoint: .confirm, effect: .outcome(outcome))
        try await withClients({ $0.faults = [fault] }) { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            let signed = try await clients.wallet.sign(try await clients.wallet.look(at: created.link, .init()))
            #expect(try await clients.wallet.confirm(signed, waitingUpTo: .seconds(20)).status == status)
            let report = try await clients.merchant.status(of: created.paymentID, waitingUpTo: nil)
            #expect(report.status == status)
            #expect(report.failureCode == (outcome == "declined_user" ? "declined_user" : nil))
        }
    }

    @Test func stoppingTheGatewayEndsHeldQuestionsAtOnce() async throws {
        try await withClients { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            let question = Task { try? await clients.merchant.status(of: created.paymentID, waitingUpTo: .seconds(20)) }
            while await clients.server.gateway.openPolls < 1 { await Task.yield() }
            _ = question
        }
    }

    /// 12.50 euro are 13.50 USDC at the gateway's rate, and 12.50 EURC at none.
    @Test(arguments: [
        ("USDC", "13500000", "23500000"), ("USDC", "13500000", "3500000"), ("EURC", "12500000", "12500001"),
        ("EURC", "12500000", "12499999"),
    ])
    func aWalletPaysNoPriceThatIsNotFair(symbol: String, fair: String, asked: String) async throws {
        try await withClients { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            let liar = LyingTransport(at: "/options", true: #""value":"\#(fair)""#, false: #""value":"\#(asked)""#)
            let client = try PayClient(baseURL: clients.url, appID: "tests", clientID: "c1", transport: liar)
            let wallet = CustomerWallet(key: PrivateKey(), client: client, now: SandboxClock.system.now)
            var wishes = CustomerWallet.Wishes()
            (wishes.chainID, wishes.symbol) = (8453, symbol)
            do throws(WalletRefusal) {
                _ = try await wallet.look(at: created.link, wishes)
                Issue.record("looked at \(asked)")
            } catch {
                guard case .suspicious(let what) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(what.contains("fair price"))
            }
            #expect(liar.hasLied)
        }
    }

    /// The wallet's own checks, against a gateway that lies in one answer.
    @Test(arguments: [
        (#""value\":\"0xcdfe60\""#, #""value\":\"0xcdfe61\""#), (#"\"to\":\"0x35e6"#, #"\"to\":\"0x35e7"#),
        (#"\"chainId\":\"0x2105"#, #"\"chainId\":\"0x1"#), (#"USD Coin"#, #"USD coin"#),
        (#"\"verifyingContract\":\"0x8335"#, #"\"verifyingContract\":\"0x8336"#),
        (#"\"validBefore\":\"0x"#, #"\"validBefore\":\"0x1"#), (#"eip155:8453"#, #"eip155:1"#),
        (#"eth_signTypedData_v4"#, #"eth_sign"#), ("ReceiveWithAuthorization", "TransferWithAuthorization"),
    ])
    func aWalletSignsNothingThatTheGatewayAltered(truth: String, lie: String) async throws {
        try await withClients { clients in
            let created = try await clients.merchant.create(order(), idempotencyKey: "k1")
            let liar = LyingTransport(true: truth, false: lie)
            let client = try PayClient(baseURL: clients.url, appID: "tests", clientID: "c1", transport: liar)
            let wallet = CustomerWallet(key: PrivateKey(), client: client, now: SandboxClock.system.now)
            var wishes = CustomerWallet.Wishes()
            (wishes.chainID, wishes.symbol) = (8453, "USDC")
            let bill = try await wallet.look(at: created.link, wishes)
            do throws(WalletRefusal) {
                _ = try await wallet.sign(bill)
                Issue.record("signed \(lie)")
            } catch {
                guard case .suspicious = error else {
                    Issue.record("\(error)")
                    return
                }
            }
            #expect(liar.hasLied)
        }
    }
}

/// Passes everything on, but alters one kind of answer.
private final class LyingTransport: HTTPTransport {
    private let honest = LoopbackTransport()
    private let path: String
    private let truth: String
    private let lie: String
    private let lied = Mutex(false)

    init(at path: String = "/fetch", true truth: String, false lie: String) {
        (self.path, self.truth, self.lie) = (path, truth, lie)
    }

    var hasLied: Bool { lied.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        var response = try await honest.send(request)
        guard request.url.contains(path) else { return response }
        let text = String(decoding: response.body, as: UTF8.self)
        response.body = Array(text.replacing(truth, with: lie).utf8)
        if text.contains(truth) { lied.withLock { $0 = true } }
        return response
    }
}
