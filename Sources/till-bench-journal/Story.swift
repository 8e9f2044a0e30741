import Journal
import Payments

/// A charge as it goes on a good day: six transactions.
struct Story {
    static let events: [Charge.Event] = [
        .attemptStarted(attempt: 1, rail: .scan),
        .sending(attempt: 1),
        .offered(
            attempt: 1,
            offer: Offer(
                paymentID: "pay_01K9ZQ3M7E8V5T2R4W6X8Y0A1B",
                link: "https://pay.example.com/?pid=pay_01K9ZQ3M7E8V5T2R4W6X8Y0A1B",
                expiresAt: WallTime(millisecondsSince1970: 1_795_000_000_000)
            )
        ),
        .reported(attempt: 1, report: .processing),
        .reported(
            attempt: 1,
            report: .succeeded(
                Evidence(
                    paymentID: "pay_01K9ZQ3M7E8V5T2R4W6X8Y0A1B",
                    transactionID: "0x" + String(repeating: "5e", count: 32),
                    paid: TokenAmount(digits: "13570000", decimals: 6, symbol: "USDC", network: "Base")
                )
            )
        ),
    ]

    static func terms(at time: WallTime) -> ChargeTerms {
        var generator = SystemRandomNumberGenerator()
        return ChargeTerms(
            id: ChargeID(at: time, using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: 1250, currency: .euro),
            reference: "2026-001234",
            merchantID: "merchant-42",
            merchantName: "Kiosk am Markt",
            operatorID: "operator-7",
            gatewayURL: "https://gateway.example.com",
            openedBy: .staff(name: "Ada"),
            openedAt: time,
            timeLimitSeconds: 300
        )
    }

    /// Plays the story; `said` hears of each transaction once it is safe.
    static func play(in journal: Journal, at time: WallTime, said: (ChargeID, Int) -> Void) async throws(JournalError) {
        let terms = terms(at: time)
        var charge = Charge(terms: terms)
        try await journal.open(terms, under: IdempotencyKey(key: terms.id.compact, requestDigest: [1, 2, 3]))
        said(terms.id, 1)
        for (index, event) in events.enumerated() {
            _ = charge.handle(event)
            try await journal.append(event, to: charge, at: time)
            said(terms.id, index + 2)
        }
    }
}
