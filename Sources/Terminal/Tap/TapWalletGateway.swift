public import TapProtocol
public import WalletConnectPay

/// The WalletConnect Pay gateway, asked for a phone whose wallet signs. Source: BPP/1, extension W.
public protocol TapWalletGateway: Sendable {
    /// The gateway's host, as requests name it.
    var host: String { get }
    /// What the accounts can pay the link's payment with, and until when.
    /// - Parameter phone: Whose accounts they are: several phones may be asked for one payment, each with options of its own.
    func options(
        link: String,
        accounts: [String],
        for phone: TapWalletPhone
    ) async -> TapWalletAnswer<TapWalletOptions>
    /// What the account has to sign for one of the options that were named to this phone last.
    func actions(
        gatewayPayment: String,
        optionID: String,
        for phone: TapWalletPhone
    ) async -> TapWalletAnswer<[TapWalletAction]>
    /// Hands the phone's signatures over and waits for the end. The same ones may be handed over again, also after a start.
    func confirm(
        gatewayPayment: String,
        optionID: String,
        signatures: [String],
        for phone: TapWalletPhone
    ) async -> TapWalletOutcome
}

/// One phone that is asked for one payment over BLE.
public struct TapWalletPhone: Sendable, Hashable {
    let payment: TapProtocol.PaymentID
    let link: LinkID

    public init(payment: TapProtocol.PaymentID, link: LinkID) { (self.payment, self.link) = (payment, link) }
}

public struct TapWalletOptions: Sendable, Equatable {
    public var options: [WalletOption]
    public var expiresAtSeconds: Int

    public init(options: [WalletOption], expiresAtSeconds: Int) {
        (self.options, self.expiresAtSeconds) = (options, expiresAtSeconds)
    }
}

public struct TapWalletAction: Sendable, Equatable {
    public var chainID: String
    public var method: String
    /// The gateway's JSON, unchanged.
    public var parameters: String

    public init(chainID: String, method: String, parameters: String) {
        (self.chainID, self.method, self.parameters) = (chainID, method, parameters)
    }
}

public enum TapWalletAnswer<Value: Sendable & Equatable>: Sendable, Equatable {
    case answer(Value)
    /// The gateway's "no", as its name for it.
    case refused(String)
    /// Nobody answered. Nothing has happened.
    case unreachable(String)
}

/// What came of the signatures.
public enum TapWalletOutcome: Sendable, Equatable {
    case succeeded(transactionID: String?)
    case failed(String)
    /// This time they have not left.
    case notSent(String)
    /// They have not been taken, for somebody else pays or has paid; so says the gateway where they had not been handed in before.
    case beaten(String)
    /// They are there. Only the gateway's own word on the payment says how it stands.
    case unclear(String)
    /// Nobody says that they are there: they can be handed in again.
    case again(String)
    /// This time they have not been taken, for the gateway is asked too much: in a while, which it may name.
    case later(String, after: Duration?)
}

/// The gateway through the wallet's side of WalletConnect Pay.
public actor TapWalletClient: TapWalletGateway {
    public nonisolated let host: String
    private let client: PayClient
    private let mayShow: @Sendable (String) -> Bool
    private let nowSeconds: @Sendable () -> Int
    /// What was offered to each phone last, oldest first.
    private var offers: [(phone: TapWalletPhone, options: PaymentOptions)] = []
    /// More phones than terminals link at once, over several payments.
    private static let maximumOffers = 32

    /// - Parameter mayShow: Whether the terminal's screen may send a customer to a form at this address. An option with
    ///   another one is not offered.
    public init(
        client: PayClient,
        host: String,
        mayShow: @escaping @Sendable (String) -> Bool = { LinkHosts.walletConnectPay.allow($0) },
        nowSeconds: @escaping @Sendable () -> Int
    ) {
        (self.client, self.host, self.mayShow, self.nowSeconds) = (client, host, mayShow, nowSeconds)
    }

    /// What this phone was offered for the payment; nil where it was something else or nothing.
    private func offered(_ payment: String, to phone: TapWalletPhone) -> PaymentOptions? {
        offers.last { $0.phone == phone && $0.options.paymentID.rawValue == payment }?.options
    }

    public func options(
        link: String,
        accounts: [String],
        for phone: TapWalletPhone
    ) async -> TapWalletAnswer<TapWalletOptions> {
        do throws(PayError) {
            let found = try await client.options(link: link, accounts: accounts)
            offers.removeAll { $0.phone == phone }
            offers.append((phone, found))
            offers.removeFirst(max(0, offers.count - Self.maximumOffers))
            let ends = found.options.compactMap(\.expiresAt).min() ?? found.info?.expiresAt
            let options = found.options.prefix(16).compactMap { option -> WalletOption? in
                guard let display = option.amount.display, let decimals = display.decimals else { return nil }
                // Questions without a form are for the wallet's own screen, which is not here.
                if let collecting = option.collectData, !(collecting.url.map(mayShow) ?? false) { return nil }
                return WalletOption(
                    id: option.id,
                    value: option.amount.value,
                    symbol: display.assetSymbol,
                    decimals: decimals,
                    network: display.networkName ?? "",
                    account: option.account,
                    etaSeconds: Int(clamping: option.etaS),
                    collectDataURL: option.collectData?.url
                )
            }
            return .answer(
                TapWalletOptions(options: options, expiresAtSeconds: ends.map(Int.init(clamping:)) ?? nowSeconds() + 60)
            )
        } catch { return Self.answer(error) }
    }

    public func actions(
        gatewayPayment: String,
        optionID: String,
        for phone: TapWalletPhone
    ) async -> TapWalletAnswer<[TapWalletAction]> {
        guard let known = offered(gatewayPayment, to: phone),
            let option = known.options.first(where: { $0.id == optionID })
        else { return .refused("option_not_found") }
        do throws(PayError) {
            return .answer(
                try await client.requiredActions(paymentID: known.paymentID, option: option).map {
                    TapWalletAction(chainID: $0.chainID, method: $0.method, parameters: $0.params)
                }
            )
        } catch { return Self.answer(error) }
    }

    public func confirm(
        gatewayPayment: String,
        optionID: String,
        signatures: [String],
        for phone: TapWalletPhone
    ) async -> TapWalletOutcome {
        let known = offered(gatewayPayment, to: phone)
        // What the last run offered is forgotten. The gateway checks the signatures by the option itself.
        guard let payment = known?.paymentID ?? .init(gatewayPayment) else { return .failed("payment_not_found") }
        guard known?.options.contains(where: { $0.id == optionID }) != false else { return .failed("option_not_found") }
        do throws(PayError) {
            let report = try await client.confirm(
                paymentID: payment,
                optionID: optionID,
                signatures: signatures,
                waitingUpTo: .seconds(60)
            )
            switch report.status {
            case .succeeded: return .succeeded(transactionID: report.result?.transactionID)
            case .failed, .expired, .cancelled: return .failed(report.failureCode ?? "failed")
            case .requiresAction, .processing, .unrecognised: return .unclear("not over")
            }
        } catch {
            switch error {
            case .refused(let refusal):
                switch try? await client.status(of: payment).status {
                case .requiresAction: return .failed(refusal.code)
                case .processing, .succeeded: return .beaten(refusal.code)
                case .failed, .expired, .cancelled, .unrecognised: return .unclear(refusal.code)
                case nil: return .again(refusal.code)
                }
            case .notSent(let reason): return .notSent(reason)
            case .rateLimited(let after): return .later("\(error)", after: after)
            case .noAnswer, .unclear: return .again("\(error)")
            case .pollingTimeout, .cancelled, .invalidLink: return .unclear("\(error)")
            }
        }
    }

    private static func answer<Value>(_ error: PayError) -> TapWalletAnswer<Value> {
        if case .refused(let refusal) = error { return .refused(refusal.code) }
        if case .invalidLink = error { return .refused("invalid_link") }
        return .unreachable("\(error)")
    }
}
