import Ethereum
import StrictJSON
import WalletConnect

/// Signs what a session asks of the wallet's account.
struct ConnectSigner {
    let key: PrivateKey

    /// What there is, for people, and the answer.
    struct Signed {
        let what: String
        let result: String
    }

    /// The chains of the sandbox gateway, Base first.
    static let chains: [Blockchain] = {
        func rank(_ chain: UInt64) -> UInt64 { chain == 8453 ? 0 : chain }
        let known = Set(TokenCatalog.all.map(\.chainID)).sorted { rank($0) < rank($1) }
        return known.compactMap { Blockchain(namespace: "eip155", reference: String($0)) }
    }()
    static let methods = ["eth_signTypedData_v4", "eth_sendTransaction"]
    static let events = ["chainChanged", "accountsChanged"]

    /// - Throws: What the wallet answers instead. -32602: the parameters make no sense. Source: JSON-RPC 2.0.
    func sign(_ request: Request) throws(JSONRPCError) -> Signed {
        guard case .array(let params) = request.params else { throw Self.invalid("the parameters are no list") }
        switch request.method {
        case "eth_signTypedData_v4": return try signTypedData(params, on: request.chainId)
        case "eth_sendTransaction": return try send(params, on: request.chainId)
        default: throw JSONRPCError(code: 4200, message: "The wallet has no \(request.method).")  // EIP-1193
        }
    }

    private func signTypedData(_ params: [ExactJSON], on chain: Blockchain) throws(JSONRPCError) -> Signed {
        guard params.count == 2, case .string(let account) = params[0] else {
            throw Self.invalid("not an account and what it signs")
        }
        try check(account)
        let data: TypedData
        do throws(TypedDataError) {
            if case .string(let text) = params[1] {
                data = try TypedData(json: text)
            } else {
                data = try TypedData(params[1])
            }
        } catch { throw Self.invalid("\(error)") }
        // Wallets refuse a signature that is worth something on another chain than the request names.
        if let chainID = Self.chainID(of: data), chain.absoluteString != "eip155:\(chainID)" {
            throw Self.invalid("it is for chain \(chainID), the request for \(chain)")
        }
        return Signed(what: Self.summary(of: data), result: key.sign(data.digest).hexadecimal)
    }

    /// The sandbox's ledger knows no transactions and takes any hash for one.
    private func send(_ params: [ExactJSON], on chain: Blockchain) throws(JSONRPCError) -> Signed {
        guard params.count == 1, let transaction = params.first,
            case .string(let from)? = transaction.value(named: "from"),
            case .string(let to)? = transaction.value(named: "to")
        else { throw Self.invalid("not a transaction") }
        try check(from)
        guard let receiver = try? EthereumAddress(parsing: to) else { throw Self.invalid("'to' is no address") }
        return Signed(
            what: "a transaction to \(receiver.checksummed) on \(chain)",
            result: keccak256(transaction.text).hexadecimal
        )
    }

    private func check(_ account: String) throws(JSONRPCError) {
        guard account.lowercased() == key.address.lowercased else {
            throw JSONRPCError(code: 4100, message: "The account is not this wallet's.")  // EIP-1193
        }
    }

    private static func invalid(_ what: String) -> JSONRPCError {
        JSONRPCError(code: -32602, message: "Invalid parameters: \(what.prefix(200)).")
    }

    private static func chainID(of data: TypedData) -> String? {
        switch data.domain.value(named: "chainId") {
        case .number(let text)?, .string(let text)?: (try? UInt256(parsing: text))?.decimal
        default: nil
        }
    }

    private static func summary(of data: TypedData) -> String {
        let transfer: (token: KnownToken?, value: UInt256, to: EthereumAddress)
        if let order = try? TransferAuthorization(data) {
            let token = TokenCatalog.token(chainID: order.domain.chainID, address: order.domain.contract)
            transfer = (token, order.value, order.to)
        } else if let order = try? PermitTransfer(data) {
            transfer = (TokenCatalog.token(chainID: order.chainID, address: order.token), order.amount, order.spender)
        } else {
            return "'\(data.primaryType)', which the wallet does not know"
        }
        guard let token = transfer.token else { return "a token that the wallet does not know" }
        let value = PhoneMoney.tokens(transfer.value, decimals: token.decimals)
        return "\(value) \(token.symbol) on \(token.network) to \(transfer.to.checksummed)"
    }
}
