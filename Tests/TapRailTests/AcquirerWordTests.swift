import Acquirer
import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing
import WalletConnectPay

/// What the acquirer's answers mean to the rail.
struct AcquirerWordTests {
    /// A merchant's acquirer that names a status and has no receipt to show for it.
    private struct WithoutReceipt: HTTPTransport {
        let word: Acquirer.PaymentWord

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            let body =
                if request.url.hasSuffix("/login") {
                    #"{"session":"0123456789abcdef","role":"merchant","accountId":"m1","name":"Coffee Shop","operatorIds":[],"#
                        + #""expiresAt":4000000000}"#
                } else {
                    #"{"paymentId":"\#(AcquirerWordTests.name)","status":"\#(word.rawValue)","merchantId":"m1","#
                        + #""amount":1050,"tip":0,"total":1050,"currency":"EUR","exponent":2,"operatorId":null,"#
                        + #""terminalId":"t1","reference":null,"instrumentId":null,"attempts":[],"receipt":null,"#
                        + #""updatedAt":1790000000000}"#
                }
            return HTTPResponse(
                status: 200,
                headers: [(name: "Content-Type", value: "application/json")],
                body: Array(body.utf8)
            )
        }
    }

    static let name = "019a0000-0000-7000-8000-000000000001"

    private func word(for word: Acquirer.PaymentWord) async throws -> TapWord {
        let url = "https://acquirer.example"
        let client = try AcquirerClient(baseURL: url, transport: WithoutReceipt(word: word))
        let account = TapAccount(client: client, identifier: "shop", password: Secret("secret"))
        let acquirer = TapAcquirerClient(account: account, url: url, terminalID: "t1") { 1_790_000_000 }
        return await acquirer.status(of: try #require(PaymentID(Self.name)))
    }

    /// An unknown payment is handed in again, and given back once its time is over: with it, money that was taken.
    @Test(arguments: [Acquirer.PaymentWord.completed, .failed])
    func anEndWithoutItsReceiptIsNoUnknownPayment(word: Acquirer.PaymentWord) async throws {
        #expect(try await self.word(for: word) == .inProgress(askAgainAfter: nil))
    }

    @Test func withoutAReceiptOnlyWhatWasNeverExecutedIsUnknown() async throws {
        #expect(try await word(for: .initiated) == .unknownPayment)
        #expect(try await word(for: .acceptedOffline) == .unknownPayment)
        #expect(try await word(for: .inProgress) == .inProgress(askAgainAfter: nil))
        #expect(try await word(for: .cancelled) == .voided)
    }
}
