public import Ethereum
public import Payments
public import WalletConnectPay

/// A customer with a wallet: looks at a payment link, checks what it is asked to sign, signs and waits for the end.
public struct CustomerWallet: Sendable {
    /// What the customer looks for before they agree. Whatever is nil is not looked at.
    public struct Wishes: Sendable, Equatable {
        /// The network to pay on, for example 8453.
        public var chainID: UInt64?
        /// The token to pay with, for example `USDC`.
        public var symbol: String?
        /// The only merchant to pay.
        public var merchantName: String?
        /// The only amount to pay: `iso4217/EUR` and the currency's smallest units.
        public var amount: PayAmount?

        public init() {}
    }

    /// A payment that was found, understood and can be paid by this wallet.
    public struct Bill: Sendable {
        public let paymentID: PaymentID
        public let merchantName: String
        /// What the merchant asks for.
        public let amount: PayAmount
        /// What the customer pays.
        public let price: PayAmount
        public let account: String
        public let expiresAtSeconds: Int64
        let option: WalletConnectPay.PaymentOption
    }

    /// What was signed, after it was checked against the bill.
    public struct Signed: Sendable {
        public let bill: Bill
        /// One result for each step, in order.
        let results: [String]
        /// The token had to be approved for Permit2 first. The sandbox's ledger takes any transaction hash for that.
        public let isApproved: Bool
    }

    private let key: PrivateKey
    private let client: PayClient
    private let now: @Sendable () -> WallTime

    public init(key: PrivateKey, client: PayClient, now: @escaping @Sendable () -> WallTime) {
        (self.key, self.client, self.now) = (key, client, now)
    }

    /// The wallet's account, the same on every network.
    public var address: EthereumAddress { key.address }

    // MARK: - Looking

    /// Finds out what the link asks for and what this wallet can pay it with.
    /// - Throws: Why there is nothing to pay, or nothing that the customer should.
    public func look(at link: String, _ wishes: Wishes) async throws(WalletRefusal) -> Bill {
        let chains = wishes.chainID.map { [$0] } ?? Self.chains
        let accounts = chains.map { "eip155:\($0):\(key.address.checksummed)" }
        let found: PaymentOptions
        do throws(PayError) {
            found = try await client.options(link: link, accounts: accounts)
        } catch {
            throw .gateway(error)
        }
        guard let info = found.info else { throw .suspicious("the gateway does not say what the payment is for") }
        guard info.status == .requiresAction else { throw .over(info.status) }
        guard info.timeLeft(nowSeconds: now().secondsSince1970) != .almostNone else { throw .tooLate }
        if let name = wishes.merchantName, name != info.merchantName {
            throw .suspicious("the merchant is '\(info.merchantName)', not '\(name)'")
        }
        if let amount = wishes.amount, amount.unit != info.amount.unit || amount.value != info.amount.value {
            throw .suspicious("the amount is \(Self.text(info.amount)), not \(Self.text(amount))")
        }
        guard let option = choose(found.options, wishes, accounts) else { throw .nothingToPayWith }
        return try bill(found.paymentID, info, option)
    }

    private static let chains = Array(Set(TokenCatalog.all.map(\.chainID))).sorted { rank($0) < rank($1) }

    /// Base first: the cheapest of the usual five.
    private static func rank(_ chain: UInt64) -> UInt64 { chain == 8453 ? 0 : chain }

    private func choose(
        _ options: [WalletConnectPay.PaymentOption],
        _ wishes: Wishes,
        _ accounts: [String]
    ) -> WalletConnectPay.PaymentOption? {
        let mine = options.filter { option in
            guard accounts.contains(option.account), let token = Self.token(option.amount.unit) else { return false }
            return (wishes.symbol.map { $0 == token.symbol } ?? true)
                && (wishes.chainID.map { $0 == token.chainID } ?? true)
        }
        return mine.first { Self.token($0.amount.unit)?.symbol == "USDC" } ?? mine.first
    }

    /// The token behind `caip19/eip155:8453/erc20:0x…`, if it is one that the wallet knows.
    private static func token(_ unit: String) -> KnownToken? {
        TokenCatalog.all.first { $0.unit.lowercased() == unit.lowercased() }
    }

    private func bill(
        _ id: PaymentID,
        _ info: PaymentInfo,
        _ option: WalletConnectPay.PaymentOption
    ) throws(WalletRefusal) -> Bill {
        guard let token = Self.token(option.amount.unit) else { throw .nothingToPayWith }
        try Self.checkPrice(of: info.amount, in: token, option.amount)
        return Bill(
            paymentID: id,
            merchantName: info.merchantName,
            amount: info.amount,
            price: option.amount,
            account: option.account,
            expiresAtSeconds: info.expiresAtSeconds,
            option: option
        )
    }

    /// A token of the same money costs exactly the amount; of another, something within reason.
    private static func checkPrice(
        of amount: PayAmount,
        in token: KnownToken,
        _ price: PayAmount
    ) throws(WalletRefusal) {
        guard let currency = FiatCurrency(rawValue: String(amount.unit.dropFirst("iso4217/".count))),
            let cents = UInt64(amount.value), let asked = try? UInt256(parsing: price.value)
        else { throw .suspicious("'\(amount.unit)' is not money that the wallet knows") }
        let isSame = Offering.peg(of: token) == currency
        let fair = FiatAmount(currency: currency, minorUnits: cents).smallestUnits(of: token)
        // A third more or less: beyond that it is no exchange rate but another price.
        let lowest =
            isSame ? fair : ((try? fair.multiplied(by: 3).quotientAndRemainder(dividingBy: 4).quotient) ?? fair)
        let highest =
            isSame ? fair : ((try? fair.multiplied(by: 4).quotientAndRemainder(dividingBy: 3).quotient) ?? fair)
        guard asked >= lowest, asked <= highest else {
            throw .suspicious("\(text(price)) is no fair price for \(text(amount))")
        }
    }

    // MARK: - Signing

    /// Asks the gateway what there is to sign, and signs it if it pays this bill and nothing else.
    public func sign(_ bill: Bill) async throws(WalletRefusal) -> Signed {
        let calls: [WalletRPC]
        do throws(PayError) {
            calls = try await client.requiredActions(paymentID: bill.paymentID, option: bill.option)
        } catch {
            throw .gateway(error)
        }
        let checked: [CheckedCall]
        do throws(CallRefusal) {
            let agreed = try AgreedPayment(
                account: bill.account,
                unit: bill.price.unit,
                value: bill.price.value,
                expiresAtSeconds: bill.expiresAtSeconds
            )
            checked = try agreed.check(
                calls.map { WalletCall(chain: $0.chainID, method: $0.method, params: $0.params) },
                nowSeconds: now().secondsSince1970
            )
        } catch {
            throw .suspicious("\(error)")
        }
        let results = checked.map { call in
            switch call {
            case .sign(let data): key.sign(data.digest).hexadecimal
            case .approve(let transaction): keccak256(transaction + bill.paymentID.rawValue).hexadecimal
            }
        }
        return Signed(bill: bill, results: results, isApproved: checked.count == 2)
    }

    // MARK: - Paying

    /// Hands the signature over and waits for the gateway's last word.
    /// - Parameter limit: How long to wait in all.
    /// - Returns: An outcome.
    /// - Throws: `confirmation`; its `mayHavePaid` says whether the money is safe.
    public func confirm(_ signed: Signed, waitingUpTo limit: Duration) async throws(WalletRefusal) -> StatusReport {
        let refusal: PayError
        do throws(PayError) {
            let report = try await client.confirm(
                paymentID: signed.bill.paymentID,
                optionID: signed.bill.option.id,
                signatures: signed.results,
                waitingUpTo: limit
            )
            guard report.status.isFinal else {
                throw PayError.unclear(
                    detail: "its last word is '\(report.status.word.prefix(64))', which is no outcome"
                )
            }
            return report
        } catch {
            guard case .refused = error else { throw .confirmation(error) }
            refusal = error
        }
        // It may be a question after the confirmation that was refused. How the payment stands tells.
        let report: StatusReport
        do throws(PayError) {
            report = try await client.status(of: signed.bill.paymentID)
        } catch {
            throw .confirmation(.unclear(detail: "\(refusal)"))
        }
        switch report.status {
        case .requiresAction, .expired, .cancelled: throw .confirmation(refusal)
        case .succeeded, .failed: return report
        case .processing, .unrecognised: throw .confirmation(.unclear(detail: "\(refusal)"))
        }
    }

    /// `12.50 EUR`, or `12.50 USDC on Base` with the decimals that matter; the bare digits of a unit that is not known.
    public static func text(_ amount: PayAmount) -> String {
        guard amount.display == nil,
            let currency = FiatCurrency(rawValue: String(amount.unit.dropFirst("iso4217/".count)))
        else { return amount.text }
        var written = amount
        written.display = AmountDisplay(
            assetSymbol: currency.rawValue,
            assetName: currency.rawValue,
            decimals: FiatCurrency.decimals
        )
        return written.text
    }
}

/// Why the wallet did not pay, or does not know whether it did.
public enum WalletRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The gateway was not reached, or refused, before anything was signed.
    case gateway(PayError)
    /// The signature was on its way when the gateway fell silent, or refused it.
    case confirmation(PayError)
    /// Somebody paid or ended it already.
    case over(PaymentStatus)
    /// So little time is left that the signature might come too late.
    case tooLate
    /// None of the wallet's tokens fits what the gateway takes, or none holds enough.
    case nothingToPayWith
    /// What the gateway asks for is not what the payment says. Nothing was signed.
    case suspicious(String)

    /// What happened and what it means for the customer's money.
    public var description: String {
        switch self {
        case .gateway(.invalidLink(let refusal)):
            "This is no payment link that the wallet trusts: \(refusal). Nothing was paid."
        case .gateway(.notSent(let reason)): "The gateway cannot be reached: \(reason). Nothing was signed."
        case .gateway(.refused(let refusal)): "The gateway refused: \(Self.sentence(refusal)). Nothing was signed."
        case .gateway(let error): "The gateway gave no usable answer: \(error). Nothing was signed; try again."
        case .confirmation(.refused(let refusal)):
            "The gateway refused the signature: \(Self.sentence(refusal)). Nothing was paid."
        case .confirmation(.notSent(let reason)): "The signature did not leave: \(reason). Nothing was paid."
        case .confirmation(.pollingTimeout): "The payment is still on its way. Ask the merchant whether it arrived."
        case .confirmation(let error):
            "The gateway fell silent after the signature left (\(error)): it may have been paid. Ask the merchant."
        case .over(let status): "The payment is over already: \(status.word). Nothing was paid now."
        case .tooLate: "The payment expires within seconds. Nothing was paid; ask the merchant for a new one."
        case .nothingToPayWith: "The wallet has nothing that this payment takes. Nothing was paid."
        case .suspicious(let what): "The wallet does not trust this payment: \(what). Nothing was signed."
        }
    }

    private static func sentence(_ refusal: GatewayRefusal) -> String {
        "\(refusal.message) (\(refusal.code), HTTP \(refusal.httpStatus))"
    }

    /// Whether the customer's signature may have left and be worth something.
    public var mayHavePaid: Bool {
        switch self {
        case .confirmation(.refused), .confirmation(.notSent), .confirmation(.invalidLink): false
        case .confirmation: true
        default: false
        }
    }
}
