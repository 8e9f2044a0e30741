import Testing
import WalletConnectPay

/// An amount as a wallet writes it for its customer.
struct AmountTextTests {
    private static func amount(
        _ value: String,
        _ decimals: Int?,
        symbol: String = "USDC",
        network: String? = nil
    ) -> PayAmount {
        let display = AmountDisplay(assetSymbol: symbol, assetName: "", decimals: decimals, networkName: network)
        return PayAmount(unit: "unit/x", value: value, display: display)
    }

    @Test(arguments: [
        (amount("1250", 2, symbol: "EUR"), "12.50 EUR"), (amount("13500000", 6, network: "Base"), "13.50 USDC on Base"),
        (amount("1", 6), "0.000001 USDC"), (amount("0", 6), "0.00 USDC"), (amount("1500", 3), "1.50 USDC"),
        (amount("7", 0), "7 USDC"), (amount("70", 1), "7.0 USDC"), (amount("000123", 2), "1.23 USDC"),
        (amount("12500000000000000001", 18), "12.500000000000000001 USDC"),
        (amount(String(repeating: "9", count: 78), 77), "9.\(String(repeating: "9", count: 77)) USDC"),
    ])
    func everyDigitIsThereAndNoneIsRounded(amount: PayAmount, text: String) { #expect(amount.text == text) }

    /// Without decimals the digits say nothing for people, and must not pass for an amount.
    @Test(arguments: [
        (amount("13500000", nil), "13500000 of unit/x"), (amount("1", -1), "1 of unit/x"),
        (amount("1", 78), "1 of unit/x"), (amount("1", .max), "1 of unit/x"), (amount("1", .min), "1 of unit/x"),
        (amount("1.5", 2), "1.5 of unit/x"), (amount("-5", 2), "-5 of unit/x"), (amount("", 2), " of unit/x"),
        (amount("1", 2, symbol: ""), "1 of unit/x"), (amount("1", 2, symbol: "\u{202E}"), "1 of unit/x"),
        (PayAmount(unit: "iso4217/EUR", value: "1250"), "1250 of iso4217/EUR"),
    ])
    func whatCannotBeWrittenIsShownAsItTravels(amount: PayAmount, text: String) { #expect(amount.text == text) }

    @Test func namesFromOutsideWriteNothingElse() {
        let odd = Self.amount("1250", 2, symbol: "EUR\n\u{202E}paid\u{0}", network: "Ba\u{2066}se")
        #expect(odd.text == "12.50 EURpaid on Base")
        let long = Self.amount("1250", 2, symbol: String(repeating: "E", count: 5000))
        #expect(long.text == "12.50 \(String(repeating: "E", count: 32))")
    }
}
