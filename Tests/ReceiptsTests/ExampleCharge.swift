import Payments

@testable import Receipts

/// An example of a charge, made from its events: charges as they can end.
struct ExampleCharge {
    static let id = "01937f2e-8c00-7abc-8def-0123456789ab"
    /// 2026-11-22 13:33:05 UTC.
    static let opened = WallTime(millisecondsSince1970: 1_795_354_385_000)
    static let shop = Receipt.Shop(
        terminal: "Till 2",
        header: ["Marktplatz 5, Wien", "VAT ATU12345678"],
        footer: ["Thank you!"],
        secondsAheadOfUTC: { _ in 3600 }
    )

    var merchantName = "Café Zoë"
    var reference: String? = "Table 4"
    var tip: Int64?
    var amount: Int64 = 1250
    var events: [Charge.Event] = []

    var charge: Charge {
        var generator = SystemRandomNumberGenerator()
        let terms = ChargeTerms(
            id: ChargeID(Self.id) ?? ChargeID(at: Self.opened, using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: amount, currency: .euro),
            tip: tip.map { Money(minorUnits: $0, currency: .euro) },
            reference: reference,
            merchantID: "merchant-1",
            merchantName: merchantName,
            operatorID: "operator-1",
            gatewayURL: "https://gateway.test",
            openedBy: .terminal,
            openedAt: Self.opened,
            timeLimitSeconds: 300
        )
        return Charge(terms: terms, replaying: events)
    }

    func receipt(isCopy: Bool = false, shop: Receipt.Shop = ExampleCharge.shop) -> Receipt {
        Receipt(of: charge, shop: shop, now: Self.opened.advanced(by: .seconds(90)), isCopy: isCopy)
    }

    static let offer = Offer(paymentID: "pay_0123456789", link: nil, expiresAt: nil)
    static let paid = TokenAmount(digits: "13570000", decimals: 6, symbol: "USDC", network: "Base")
    static let evidence = Evidence(paymentID: "pay_0123456789", transactionID: "0xfeed", paid: paid)
    static let offered: [Charge.Event] = [
        .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1), .offered(attempt: 1, offer: offer),
    ]
    static func told(_ report: Report) -> [Charge.Event] { offered + [.reported(attempt: 1, report: report)] }
    static let tapped: [Charge.Event] = [
        .attemptStarted(attempt: 1, rail: .tap), .sending(attempt: 1), .offered(attempt: 1, offer: offer),
        .claimWanted(attempt: 1, tipMinorUnits: 0), .claimed(attempt: 1),
    ]
}
