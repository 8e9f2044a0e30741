import Ethereum
import Payments
import StrictJSON
import WalletConnect
import WalletConnectPay

/// What a session must be able to do, and what of a wallet's and the gateway's words is believed. Decides and does nothing.
struct ConnectChecks: Sendable {
    /// CAIP-2, in the order of preference.
    let chains: [Blockchain]

    init(chains: [String]) {
        self.chains = chains.compactMap { Blockchain($0) }.filter { Self.methods[$0.namespace] != nil }
    }

    /// What wallets are asked for, and nothing else: a signature of an order that is read here field by field, and where its
    /// token needs it an approval before. Transactions of Solana cannot be read here, so no wallet is asked for one.
    static let methods = ["eip155": ["eth_signTypedData_v4", "eth_sendTransaction"]]
    private static let events = ["eip155": ["accountsChanged", "chainChanged"]]

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

    /// The options that one of the accounts can take. Others are not the wallet's, whoever says so. Of tokens that are known
    /// before others, then what needs no form, then in the gateway's order.
    func choose(_ found: PaymentOptions, _ accounts: [Account]) throws(ConnectRefusal)
        -> [(option: WalletConnectPay.PaymentOption, account: Account)]
    {
        let fitting = found.options.prefix(64).compactMap { option in
            accounts.first { Self.isSame($0, option.account) }.map { (option: option, account: $0) }
        }
        guard !fitting.isEmpty else { throw .nothingToPayWith }
        let known = Set(TokenCatalog.all.map { "caip19/" + $0.assetID.lowercased() })
        let ranks = [(true, true), (true, false), (false, true), (false, false)]
        return ranks.flatMap { isKnown, isReady in
            fitting.filter {
                known.contains($0.option.amount.unit.lowercased()) == isKnown
                    && ($0.option.collectData == nil) == isReady
            }
        }
    }

    /// Whether what the gateway says of a payment is what this charge is about, before a wallet is asked for anything.
    /// - Throws: `over` where nobody can pay it any more, whatever options it has or has not.
    func check(_ found: PaymentOptions, of offer: Offer, _ terms: ChargeTerms) throws(ConnectRefusal) {
        guard found.paymentID.rawValue == offer.paymentID else { throw .suspicious("another payment") }
        guard let info = found.info else { throw .suspicious("the gateway does not say what it is for") }
        guard info.status == .requiresAction else { throw .over }
        let due = PayAmount.fiat(terms.amount)
        guard (info.amount.unit, info.amount.value) == (due.unit, due.value) else {
            throw .suspicious("it names the amount \(info.amount.value.prefix(24)) of \(info.amount.unit.prefix(24))")
        }
    }

    /// Addresses of `eip155` differ in nothing by their case.
    private static func isSame(_ account: Account, _ text: String) -> Bool {
        account.absoluteString == text
            || account.blockchain.namespace == "eip155"
                && account.absoluteString.lowercased() == text.lowercased()
    }

    /// The calls of an option as they may be passed to the wallet: each was read and is held against the option as a wallet
    /// does it. Nothing that is not understood leaves the terminal.
    /// - Parameter expiresAtSeconds: The payment's end, and the charge's where that is earlier.
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
            let asked = calls.map { WalletCall(chain: $0.chainId, method: $0.method, params: $0.params) }
            let agreed = try Self.agreed(option, account, expiresAtSeconds, asked)
            _ = try agreed.check(asked, nowSeconds: nowSeconds)
        } catch { throw ConnectRefusal(error) }
        var checked: [ConnectOrder.Call] = []
        for call in calls {
            guard let chain = Blockchain(call.chainId), chain == account.blockchain else {
                throw .suspicious("a step on another network")
            }
            guard Self.methods[chain.namespace]?.contains(call.method) == true else {
                throw .unknownRequest(call.method)
            }
            do throws(NamespaceError) { try session.check(chain: chain, method: call.method) } catch {
                throw error.code == 5100 ? .otherNetworks(networks) : .missingMethod(call.method)
            }
            checked.append(ConnectOrder.Call(chain: chain, method: call.method, params: call.params))
        }
        return checked
    }

    private static func agreed(
        _ option: WalletConnectPay.PaymentOption,
        _ account: Account,
        _ expiresAtSeconds: Int64,
        _ calls: [WalletCall]
    ) throws(CallRefusal) -> AgreedPayment {
        let (account, unit, value) = (account.absoluteString, option.amount.unit, option.amount.value)
        do throws(CallRefusal) {
            return try AgreedPayment(account: account, unit: unit, value: value, expiresAtSeconds: expiresAtSeconds)
        } catch {
            guard case .unknownToken = error else { throw error }
            return try AgreedPayment(
                account: account,
                unit: unit,
                value: value,
                expiresAtSeconds: expiresAtSeconds,
                unlistedTokenOf: calls
            )
        }
    }

    /// What the wallet gave for a call, where it can be that. A key's signature must be the paying account's own; of a
    /// contract's only the gateway can say it.
    static func result(
        _ result: RPCResult,
        of call: ConnectOrder.Call,
        by account: Account
    ) throws(ConnectRefusal) -> String {
        switch result {
        case .error(let error): throw error.isDecline ? .paymentDeclined : .walletError(error.message)
        case .response(let value):
            guard case .string(let text) = value, let bytes = bytes(text) else { throw .badAnswer }
            switch call.method {
            case "eth_sendTransaction":
                guard bytes == 32 else { throw .badAnswer }
            default:
                // A contract's signature may be of any length; one of a key has 65 bytes.
                guard (65...8192).contains(bytes) else { throw .badAnswer }
                if bytes == 65 { try check(signature: text, of: call, by: account) }
            }
            return text
        }
    }

    /// Of `0x` and pairs of hexadecimal digits.
    private static func bytes(_ text: String) -> Int? {
        guard text.hasPrefix("0x"), text.utf8.count.isMultiple(of: 2), text.dropFirst(2).allSatisfy(\.isHexDigit),
            text.utf8.allSatisfy({ $0 < 0x80 })
        else { return nil }
        return (text.utf8.count - 2) / 2
    }

    private static func check(
        signature text: String,
        of call: ConnectOrder.Call,
        by account: Account
    ) throws(ConnectRefusal) {
        let asked = WalletCall(chain: call.chain.absoluteString, method: call.method, params: call.params)
        guard let signature = try? EthereumSignature(parsing: text), let digest = try? asked.typedData().digest,
            let signer = try? signature.signer(of: digest)
        else { throw .badAnswer }
        guard signer.lowercased == account.address.lowercased() else { throw .otherSigner }
    }
}

extension ConnectRefusal {
    /// Told apart: what is not understood, and what is understood and wrong.
    fileprivate init(_ refusal: CallRefusal) {
        self =
            switch refusal {
            case .unknownToken(let unit): .unknownRequest(unit)
            case .unrelated(let method): .unknownRequest(method)
            case .unreadable(let what): .unknownRequest(what)
            case .otherPayment(let mismatch) where mismatch.field == .kind: .unknownRequest(mismatch.found)
            default: .suspicious("\(refusal)")
            }
    }
}
