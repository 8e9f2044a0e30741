/// How an account lets a token be taken from it with a signature instead of a transaction.
public enum TransferMethod: Sendable, Hashable {
    /// The token itself takes signatures. Name and version are those of its EIP-712 domain, as deployed.
    case erc3009(domainName: String, version: String)
    /// The Permit2 contract takes signatures for tokens that cannot. Needs one `approve` transaction before.
    case permit2
}

/// A token on one chain that customers pay with.
public struct KnownToken: Sendable, Hashable {
    /// How far the domain and the method were checked.
    public enum Evidence: Sendable, Hashable {
        /// Equal to the `DOMAIN_SEPARATOR()` that public code read from the deployed contract.
        case onChain
        /// Seen in what production asked a wallet to sign.
        case captured
        /// From one published table, or concluded from the token's other deployments. Check before real money.
        case assumed
    }

    /// For example 8453 for Base. Source: EIP-155.
    public let chainID: UInt64
    /// For people, for example `BNB Smart Chain`.
    public let network: String
    /// For example `USDC`.
    public let symbol: String
    /// For people, for example `Binance-Peg USD Coin`.
    public let name: String
    public let address: EthereumAddress
    /// Digits behind the point: 6 for most, 18 on BNB Smart Chain.
    public let decimals: Int
    public let method: TransferMethod
    public let evidence: Evidence

    public init(
        chainID: UInt64,
        network: String,
        symbol: String,
        name: String,
        address: EthereumAddress,
        decimals: Int,
        method: TransferMethod,
        evidence: Evidence
    ) {
        (self.chainID, self.network, self.symbol, self.name) = (chainID, network, symbol, name)
        (self.address, self.decimals, self.method, self.evidence) = (address, decimals, method, evidence)
    }

    /// The chain's name in CAIP-2, for example `eip155:8453`.
    public var chain: String { "eip155:\(chainID)" }

    /// The token's name in CAIP-19 with the checksummed address, as the gateway writes it after `caip19/`.
    public var assetID: String { "\(chain)/erc20:\(address.checksummed)" }
}

/// The tokens that WalletConnect Pay takes, as far as their way of signing is known.
///
/// Source: WalletConnect documentation, `payments/token-and-chain-coverage`; domains compared with separators read from the
/// contracts, or taken from captured payloads (each entry's `evidence`). Left out, because neither domain nor method is
/// known: AUSD, EURe, EURAU, USDG, and the wrapped native coins.
public enum TokenCatalog {
    public static let all: [KnownToken] = [
        // Chain, symbol, name, contract, name and version of the domain, how far it was checked.
        // USD Coin. Celo and Monad carry the domain name "USDC", the older deployments "USD Coin".
        erc3009(1, "USDC", "USD Coin", 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48, "USD Coin", "2", .onChain),
        erc3009(10, "USDC", "USD Coin", 0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85, "USD Coin", "2", .onChain),
        erc3009(137, "USDC", "USD Coin", 0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359, "USD Coin", "2", .onChain),
        erc3009(8453, "USDC", "USD Coin", 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, "USD Coin", "2", .onChain),
        erc3009(42161, "USDC", "USD Coin", 0xaf88d065e77c8cC2239327C5EDb3A432268e5831, "USD Coin", "2", .onChain),
        erc3009(42220, "USDC", "USD Coin", 0xcebA9300f2b948710d2653dD7B07f33A8B32118C, "USDC", "2", .onChain),
        erc3009(143, "USDC", "USD Coin", 0x754704Bc059F8C67012fEd69BC8A327a5aafb603, "USDC", "2", .onChain),
        permit2(56, "USDC", "Binance-Peg USD Coin", 0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d, decimals: 18),
        // Tether. Of these only Arbitrum's takes ERC-3009; its domain name ends in U+20AE and 0.
        permit2(1, "USDT", "Tether USD", 0xdAC17F958D2ee523a2206206994597C13D831ec7, decimals: 6),
        permit2(137, "USDT", "Tether USD", 0xc2132D05D31c914a87C6611C10748AEb04B58e8F, decimals: 6),
        permit2(56, "USDT", "Tether USD", 0x55d398326f99059fF775485246999027B3197955, decimals: 18),
        erc3009(42161, "USDT", "USD₮0", 0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9, "USD₮0", "1", .onChain),
        // PayPal USD. Arbitrum's domain is concluded from Ethereum's.
        erc3009(1, "PYUSD", "PayPal USD", 0x6c3ea9036406852006290770BEdFcAbA0e23A0e8, "PayPal USD", "1", .captured),
        erc3009(42161, "PYUSD", "PayPal USD", 0x46850aD61C2B7d64d08c9C754F45254596696984, "PayPal USD", "1", .assumed),
        // Euro Coin. Domains from the table of one x402 SDK.
        erc3009(1, "EURC", "Euro Coin", 0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c, "Euro Coin", "2", .assumed),
        erc3009(8453, "EURC", "Euro Coin", 0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42, "EURC", "2", .assumed),
        // A test network, which WalletConnect Pay does not serve: for trials without money.
        erc3009(84532, "USDC", "USD Coin", 0x036CbD53842c5426634e7929541eC2318f3dCF7e, "USDC", "2", .onChain),
    ]

    /// The token at a contract's address; nil for one that is not in the table.
    public static func token(chainID: UInt64, address: EthereumAddress) -> KnownToken? {
        all.first { $0.chainID == chainID && $0.address == address }
    }

    /// The token by the name people know it by, for example `USDC` on 8453.
    public static func token(chainID: UInt64, symbol: String) -> KnownToken? {
        all.first { $0.chainID == chainID && $0.symbol == symbol }
    }

    private static let networks: [UInt64: String] = [
        1: "Ethereum", 10: "Optimism", 56: "BNB Smart Chain", 137: "Polygon", 143: "Monad", 8453: "Base",
        42161: "Arbitrum", 42220: "Celo", 84532: "Base Sepolia",
    ]

    private static func erc3009(
        _ chainID: UInt64,
        _ symbol: String,
        _ name: String,
        _ address: UInt256,
        _ domain: String,
        _ version: String,
        _ evidence: KnownToken.Evidence
    ) -> KnownToken {
        KnownToken(
            chainID: chainID,
            network: networks[chainID] ?? "",
            symbol: symbol,
            name: name,
            address: EthereumAddress(lowest160Bits: address),
            decimals: 6,
            method: .erc3009(domainName: domain, version: version),
            evidence: evidence
        )
    }

    private static func permit2(
        _ chainID: UInt64,
        _ symbol: String,
        _ name: String,
        _ address: UInt256,
        decimals: Int
    ) -> KnownToken {
        KnownToken(
            chainID: chainID,
            network: networks[chainID] ?? "",
            symbol: symbol,
            name: name,
            address: EthereumAddress(lowest160Bits: address),
            decimals: decimals,
            method: .permit2,
            evidence: .captured
        )
    }
}

/// Contracts that every payment of the gateway goes through.
public enum PaymentContracts {
    /// Receives ERC-3009 transfers for the merchant: `to` in what a wallet signs.
    /// Source: payloads captured from production, 2026-09.
    public static let collector = EthereumAddress(lowest160Bits: 0x35e6cb35647076539f8c4d14f51e03841bcd1f0e)
    /// Takes Permit2 transfers for the merchant: `spender` in what a wallet signs. Seen on chains 1 and 56.
    /// Source: payloads captured from production, 2026-09.
    public static let permitSpender = EthereumAddress(lowest160Bits: 0x5fae5310f257437fbfed0da3c417da410078058e)
    /// Permit2 itself, at one address on every chain. Source: Uniswap Permit2, deployment addresses.
    public static let permit2 = EthereumAddress(lowest160Bits: 0x000000000022D473030F116dDEE9F6B43aC78BA3)

    /// The call data of `approve(Permit2, amount)`, which a token needs once before Permit2 can take from an account.
    /// Source: ERC-20, selector 095ea7b3; production asks for the largest number.
    public static func permit2Approval(amount: UInt256 = .max) -> [UInt8] {
        [0x09, 0x5E, 0xA7, 0xB3] + [UInt8](repeating: 0, count: 12) + permit2.bytes + amount.bigEndianBytes
    }
}
