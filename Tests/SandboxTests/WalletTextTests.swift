import Sandbox
import Testing
import WalletConnectPay

struct WalletTextTests {
    private static func token(_ value: String, _ decimals: Int) -> PayAmount {
        let display = PayAmount.Display(assetSymbol: "T", assetName: "Token", decimals: decimals, networkName: "Base")
        return PayAmount(unit: "caip19/eip155:8453/erc20:0x1", value: value, display: display)
    }

    @Test(arguments: [
        (PayAmount.fiat(code: "EUR", minorUnits: 5), "0.05 EUR"),
        (PayAmount.fiat(code: "EUR", minorUnits: 1250), "12.50 EUR"),
        (token("13500000", 6), "13.50 T on Base"), (token("1", 6), "0.000001 T on Base"),
        (token("12500000000000000001", 18), "12.500000000000000001 T on Base"), (token("7", 0), "7 T on Base"),
        (token("12a", 6), "12a of caip19/eip155:8453/erc20:0x1"), (PayAmount(unit: "x", value: "3"), "3 of x"),
    ])
    func anAmountIsReadAsPeopleWriteItAndNeverRounded(amount: PayAmount, text: String) {
        #expect(CustomerWallet.text(amount) == text)
    }
}
