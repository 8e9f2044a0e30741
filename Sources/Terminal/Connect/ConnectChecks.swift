import Ethereum
import Payments
import StrictJSON
import WalletConnect
import WalletConnectPay

/// What a session must be able to do, and what of a wallet's and the gateway's words is believed. Decides and does nothing.
struct ConnectChecks: Sendable {
    /// CAIP-2, in the order of preference.
    let chains: [Blockchain]

    init(chains: [String]) { self.chains = chains.compactMap { Blockchain($0) } }

    /// What each namespace's wallets sign payments with.
    static let methods = [
        "eip155": ["eth_signTypedData_v4", "eth_sendTransaction", "personal_sign", "eth_signTypedData"],
        "solana": ["solana_signTransaction", "solana_signMessage", "solana_signAllTransactions"],
    ]
    private static let events = ["eip155": ["accountsChanged", "chainChanged"], "solana": []]

    /// All of it optional: wallets differ, and a wish that must be met ends in an error that nobody understands.
    var proposal: [String: ProposalNamespace] {
        var namespaces: [String: ProposalNamespace] = [:]
        for (name, chains) in Dictionary(grouping: chains, by: \.namespace) {
            guard let methods = Self.methods[name] else { continue }
            namespaces[name] = ProposalNamespace(
                chains: chains,
                methods: methods,
                events: Self.events[name] ?? []
            )
        }
        return namespaces
    }

    /// The session's accounts that may pay, the preferred network first.
    func accounts(_ session: Session) throws(ConnectRefusal) -> [Account] {
        let taken = chains.flatMap { chain in session.accounts.filter { $0.blockchain == chain }.prefix(16) }
        guard !taken.isEmpty else { throw .otherNetworks(networks) }
        return Array(taken.prefix(64))
    }

    private var networks: String {
        let names = [
            "eip155:1": "Ethereum", "eip155:10": "Optimism", "eip155:137": "Polygon", "eip155:8453": "Base",
            "eip155:42161": "Arbitrum",
        ]
        return chains.prefix(5).map { names[$0.absoluteString] ?? $0.absoluteString }.joined(separator: ", ")
    }

    /// The options that one of the accounts can take, in the gateway's order. Others are not the wallet's, whoever says so.
    func choose(_ found: PaymentOptions, _ accounts: [Account]) throws(ConnectRefusal)
        -> [(option: WalletConnectPay.PaymentOption, account: Account)]
    {
        let fitting = found.options.prefix(64).compactMap { option in
            accounts.first { Self.isSame($0, option.account) }.map { (option: option, account: $0) }
        }
        guard !fitting.isEmpty else { throw .nothingToPayWith }
        // What needs no form comes first.
        return fitting.filter { $0.option.collectData == nil } + fitting.filter { $0.option.collectData != nil }
    }

    /// Addresses of `eip155` differ in nothing by their case.
    private static func isSame(_ account: Account, _ text: String) -> Bool {
        account.absoluteString == text
            || account.blockchain.namespace == "eip155"
                && account.absoluteString.lowercased() == text.lowercased()
    }

    /// The calls of an option as they may be passed to the wallet.
    ///
    /// What pays with a known token is held against the option as a wallet does it. Of other tokens signatures pass, which
    /// move nothing before the terminal confirms them, and nothing that the wallet would send by itself.
    func check(
        _ calls: [WalletRPC],
        of option: WalletConnectPay.PaymentOption,
        _ account: Account,
        in session: Session,
        expiresAtSeconds: Int64,
        nowSeconds: Int64
    ) throws(ConnectRefusal) -> [ConnectOrder.Call] {
        guard (1...16).contains(calls.count) else { throw .suspicious("nothing to sign") }
        do throws(CallRefusal) {
            let agreed = try AgreedPayment(
                account: account.absoluteString,
                unit: option.amount.unit,
                value: option.amount.value,
                expiresAtSeconds: expiresAtSeconds
            )
            _ = try agreed.check(
                calls.map { WalletCall(chain: $0.chainId, method: $0.method, params: $0.params) },
                nowSeconds: nowSeconds
            )
        } catch {
            guard case .unknownToken = error else { throw .suspicious("\(error)") }
            if let sending = calls.first(where: { !Self.isSignature($0.method) }) {
                throw .missingMethod(sending.method)
            }
        }
        var checked: [ConnectOrder.Call] = []
        for call in calls {
            guard let chain = Blockchain(call.chainId), chain == account.blockchain else {
                throw .suspicious("a step on another network")
            }
            guard (try? ExactJSON(parsing: call.params)) != nil else { throw .suspicious("a step without parameters") }
            do throws(NamespaceError) { try session.check(chain: chain, method: call.method) } catch {
                throw error.code == 5100 ? .otherNetworks(networks) : .missingMethod(call.method)
            }
            checked.append(ConnectOrder.Call(chain: chain, method: call.method, params: call.params))
        }
        return checked
    }

    private static func isSignature(_ method: String) -> Bool {
        let sends = method.lowercased()
        return sends.contains("sign") && !sends.contains("send")
    }

    /// What the wallet gave for a call, where it has the form of it. Only the gateway can say whether it is the customer's.
    static func result(_ result: RPCResult, of call: ConnectOrder.Call) throws(ConnectRefusal) -> String {
        switch result {
        case .error(let error): throw error.isDecline ? .paymentDeclined : .walletError(error.message)
        case .response(let value):
            if case .string(let text) = value {
                guard isResult(text, of: call) else { throw .badAnswer }
                return text
            }
            // Solana's wallets answer with an object.
            guard call.chain.namespace == "solana", case .string(let text)? = value.value(named: "signature"),
                isResult(text, of: call)
            else { throw .badAnswer }
            return text
        }
    }

    private static func isResult(_ text: String, of call: ConnectOrder.Call) -> Bool {
        guard call.chain.namespace == "eip155" else {
            return (32...8192).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard text.hasPrefix("0x"), text.utf8.count.isMultiple(of: 2), text.dropFirst(2).allSatisfy(\.isHexDigit),
            text.utf8.allSatisfy({ $0 < 0x80 })
        else { return false }
        let bytes = (text.utf8.count - 2) / 2
        // A contract's signature may be of any length; one of a key has 65 bytes.
        return call.method.contains("send") ? bytes == 32 : (65...8192).contains(bytes)
    }
}
