import Foundation
import Testing
import WalletConnectPay

@testable import Screen

/// A payment link is one text, whether a wallet reads it from a code or its system hands it over.
struct LinkFromQRTests {
    private static let size = PixelSize(width: 800, height: 480)

    /// What a camera reads from the screen while it shows this link.
    private func scanned(_ link: String) async throws -> [String] {
        let record = RecordingSink.Record()
        try await Display(sinks: [RecordingSink(Self.size, record: record)]).show(Sample.charge(link))
        let grey = record.pixels.map { UInt8((($0 >> 16 & 0xFF) + ($0 >> 8 & 0xFF) + ($0 & 0xFF)) / 3) }
        return try #require(QRReader()).texts(in: GreyImage(size: Self.size, pixels: grey))
    }

    @Test(arguments: [
        "https://pay.walletconnect.com/?pid=pay_aca2ecc101M2NV63B0VGX7DD8QEN90G1WH",
        "https://pay.walletconnect.com/pay_aca2ecc101M2NV63B0VGX7DD8QEN90G1WH",
        "pay_aca2ecc101M2NV63B0VGX7DD8QEN90G1WH",
        "wc:abc@2?symKey=1&pay=https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3Dpay_aca2ecc101M2NV63B0VGX7DD8QEN90G1WH",
    ])
    func aCodeAndADeepLinkNameTheSamePayment(link: String) async throws {
        let content = try #require(try await scanned(link).first)
        let opened = try #require(URL(string: link)).absoluteString
        #expect(WalletKit.isPaymentLink(content) && WalletKit.isPaymentLink(opened))
        let payment = try PaymentLink(content).paymentID
        #expect(payment.rawValue == "pay_aca2ecc101M2NV63B0VGX7DD8QEN90G1WH")
        #expect(try PaymentLink(opened).paymentID == payment)
    }
}
