public import Ethereum
import StrictJSON

/// What tokens the gateway takes, and how its API describes them.
enum Offering {
    /// Every token of the catalogue on networks that WalletConnect Pay serves. Base Sepolia is a test network.
    static let tokens = TokenCatalog.all.filter { $0.chainID != 84532 }

    /// The money that one token stands for.
    static func peg(of token: KnownToken) -> FiatCurrency { token.symbol == "EURC" ? .euro : .usDollar }
}

extension KnownToken {
    /// `caip19/eip155:8453/erc20:0x…`. Source: WalletConnect Pay API, `AmountParameter`.
    var unit: String { "caip19/\(assetID)" }

    /// As the API describes an amount of this token. Source: WalletConnect Pay production captures.
    func amount(_ smallestUnits: UInt256) -> ExactJSON {
        .members([
            "unit": .string(unit), "value": .string(smallestUnits.decimal),
            "display": .members([
                "assetSymbol": .string(symbol), "assetName": .string(name), "decimals": .integer(decimals),
                "iconUrl": .string("https://api.walletconnect.com/assets/v1/image/token/\(symbol)/md"),
                "networkName": .string(network),
                "networkIconUrl": .string("https://api.walletconnect.com/assets/v1/image/network/\(chain)/md"),
            ]),
        ])
    }
}

/// A customer's account on one network, as wallets name it.
public struct CustomerAccount: Sendable, Hashable {
    /// As the wallet wrote it; the gateway answers with the same letters.
    public let text: String
    public let chainID: UInt64
    public let address: EthereumAddress

    /// Reads `eip155:8453:0x…`. Nil for accounts of other kinds of networks, on which the gateway has nothing to offer.
    /// - Throws: 422 for what is no account at all. Source: CAIP-10.
    static func parse(_ text: String) throws(APIError) -> CustomerAccount? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 128 }) else {
            throw APIError(422, "params_validation", "Invalid account: '\(text.prefix(150))'")
        }
        guard parts[0] == "eip155" else { return nil }
        guard let chainID = UInt64(parts[1]), let address = try? EthereumAddress(parsing: String(parts[2])) else {
            throw APIError(422, "params_validation", "Invalid account: '\(text.prefix(150))'")
        }
        return CustomerAccount(text: text, chainID: chainID, address: address)
    }
}
