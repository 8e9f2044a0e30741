import Foundation
import Testing

@testable import WalletConnectPay

/// Links: the lenient look equals the official SDK's, the strict reading takes nothing that could lead elsewhere.
struct LinkTests {
    private struct Vectors: Decodable {
        struct Case: Decodable {
            var input: String
            var sdk: Bool
        }
        var cases: [Case]
    }

    @Test func theLenientLookEqualsTheOfficialSDKs() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/is-payment-link.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
        #expect(vectors.cases.count > 20)
        for vector in vectors.cases {
            #expect(PaymentLink.isPaymentLink(vector.input) == vector.sdk, "\(vector.input)")
        }
    }

    @Test(arguments: [
        "https://pay.walletconnect.com/?pid=pay_123", "https://pay.walletconnect.com/pay_123", "pay_123",
        "https://staging.pay.walletconnect.com/?a=b&pid=pay_123",
        "https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3Dpay_123",
        "https%253A%252F%252Fpay.walletconnect.com%252Fpay_123", "pay%5F123",
        "wc:abc@2?pay=https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3Dpay_123&symKey=1",
        "HTTPS://PAY.walletconnect.com/pay_123",
    ])
    func everyFormOfALinkNamesItsPayment(text: String) throws {
        #expect(try PaymentLink(text).paymentID.rawValue == "pay_123")
    }

    @Test(arguments: [
        "", "https://pay.walletconnect.com.evil.test/pay_123", "https://fakepay.walletconnect.com/pay_123",
        "https://evil.test/pay_123", "http://pay.walletconnect.com/pay_123",
        "https://pay.walletconnect.com:444/pay_123",
        "https://user@pay.walletconnect.com/pay_123", "https://pay.walletconnect.com@evil.test/pay_123",
        "https://pay.walletconnect.com\\@evil.test/pay_123", "https://pay.walletconnect.com/", "https://applepay.com/",
        "pay_", "pay_12/../3", "pay_1?x", "repay_plan.pdf", "wc:abc@2?symKey=1", "wc:abc@2?pay=wc%3Aabc%402",
        "wc:abc@2?pay=https%3A%2F%2Fevil.test%2Fpay_1", "javascript:pay_123", "https://pаy.walletconnect.com/pay_123",
        String(repeating: "%25", count: 2000) + "pay_123",
    ])
    func whatCouldLeadElsewhereIsRefused(text: String) {
        #expect(throws: PaymentLink.Refusal.self) { try PaymentLink(text) }
    }

    private struct Extraction: Decodable {
        struct Case: Decodable {
            var input: String
            var paymentId: String?
        }
        var fromSdkTests: [Case]
        var derivedFromSource: [Case]
    }

    /// What the official SDK extracts a payment's name from, this does too, except over what others could read or change on
    /// the way; and never anything else: the SDK takes any word for a name, and any address for a link.
    @Test func theStrictReadingNamesWhatTheOfficialSDKNamesOrNothing() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/payment-id.json")
        let vectors = try JSONDecoder().decode(Extraction.self, from: Data(contentsOf: file))
        let stricter = [
            "http://pay.walletconnect.com/pay_123", "https://pay.walletconnect.com:8443/?pid=pay_1",
            "https://user@pay.walletconnect.com/?pid=pay_1",
        ]
        var named = 0
        for vector in vectors.fromSdkTests + vectors.derivedFromSource {
            if let id = vector.paymentId.flatMap({ PaymentID($0) }), !stricter.contains(vector.input) {
                #expect(try PaymentLink(vector.input).paymentID == id, "\(vector.input)")
                named += 1
            } else {
                #expect(throws: PaymentLink.Refusal.self, "\(vector.input)") { try PaymentLink(vector.input) }
            }
        }
        #expect(named == 13)
    }

    @Test(arguments: [
        "https://applepay.com/", "https://alipay.com/order/1", "https://www.bitpay.com/i/ABC",
        "https://shop.test/?googlepay=1", "https://shop.test/?pay=card", "https://evil.example/pay_1",
        "repay_plan.pdf", "https://fakepay.walletconnect.com/pay_1",
        "https://evil.pay.walletconnect.com.attacker.com/?pid=pay_1", "wc:abc@2?PAY=https://pay.walletconnect.com/",
    ])
    func whatOnlyLooksLikeALinkIsRefusedByTheStrictReading(text: String) {
        #expect(PaymentLink.isPaymentLink(text) && WalletConnectPay.isPaymentLink(text))
        #expect(throws: PaymentLink.Refusal.self) { try PaymentLink(text) }
    }

    @Test func anyBytesAreReadWithoutATrap() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "https://", "pay.walletconnect.com", "/", "?pid=", "pay_", "%", "25", "wc:", "@", "&pay=", "é", "\u{0}",
            ":",
        ]
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0...8, using: &generator))
                .map { _ in pieces.randomElement(using: &generator)! }.joined()
            if let link = try? PaymentLink(text) { #expect(PaymentID(link.paymentID.rawValue) != nil) }
            _ = PaymentLink.isPaymentLink(text)
        }
    }
}
