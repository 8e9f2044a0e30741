public import TapProtocol
public import WalletConnectPay

/// The WalletConnect Pay gateway, asked for a phone whose wallet signs. Source: BPP/1, extension W.
public protocol TapWalletGateway: Sendable {
    /// The gateway's host, as requests name it.
    var host: String { get }
    /// What the accounts can pay the link's payment with, and until when.
    func options(link: String, accounts: [String]) async -> TapWalletAnswer<TapWalletOptions>
    /// What the account has to sign for one of the options that were named last.
    func actions(gatewayPayment: String, optionID: String) async -> TapWalletAnswer<[TapWalletAction]>
    /// Hands the signatures over and waits for the end.
    func confirm(gatewayPayment: String, optionID: String, signatures: [String]) async -> TapWalletOutcome
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
    /// Only the gateway's own word on the payment says how it stands.
    case unclear(String)
}

/// The gateway through the wallet's side of WalletConnect Pay.
public actor TapWalletClient: TapWalletGateway {
    public nonisolated let host: String
    private let client: PayClient
    private let mayShow: @Sendable (String) -> Bool
    private let nowSeconds: @Sendable () -> Int
    /// What was offered last, by payment.
    private var offered: [String: PaymentOptions] = [:]

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

    public func options(link: String, accounts: [String]) async -> TapWalletAnswer<TapWalletOptions> {
        do throws(PayError) {
            let found = try await client.options(link: link, accounts: accounts)
            if offered.count > 16 { offered = [:] }
            offered[found.paymentID.rawValue] = found
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

    public func actions(gatewayPayment: String, optionID: String) async -> TapWalletAnswer<[TapWalletAction]> {
        guard let known = offered[gatewayPayment], let option = known.options.first(where: { $0.id == optionID }) else {
            return .refused("option_not_found")
        }
        do throws(PayError) {
            return .answer(
                try await client.requiredActions(paymentID: known.paymentID, option: option).map {
                    TapWalletAction(chainID: $0.chainID, method: $0.method, parameters: $0.params)
                }
            )
        } catch { return Self.answer(error) }
    }

    public func confirm(gatewayPayment: String, optionID: String, signatures: [String]) async -> TapWalletOutcome {
        guard let known = offered[gatewayPayment] else { return .failed("payment_not_found") }
        do throws(PayError) {
            let report = try await client.confirm(
                paymentID: known.paymentID,
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
                // An earlier try may have arrived: it failed for certain only where the payment still waits.
                guard let now = try? await client.status(of: known.paymentID), now.status == .requiresAction else {
                    return .unclear(refusal.code)
                }
                return .failed(refusal.code)
            case .notSent(let reason): return .failed(reason)
            default: return .unclear("\(error)")
            }
        }
    }

    private static func answer<Value>(_ error: PayError) -> TapWalletAnswer<Value> {
        if case .refused(let refusal) = error { return .refused(refusal.code) }
        if case .invalidLink = error { return .refused("invalid_link") }
        return .unreachable("\(error)")
    }
}
