import Foundation
import Net
import WalletConnectPay

// The calls of the documents' code, in its order and with its types, in words of our own. Each compiles as an outside wallet's
// would: without this package's own settings, from public names alone. What had to change is said at its place and in
// docs/walletconnect-pay.md.

/// A wallet's set-up. Changed: `import Net` brings the call without a transport.
func setUpWithAppID() {
    WalletConnectPay.configure(
        appId: "project-1",
        logging: true
    )
}

func setUpWithKey() {
    WalletConnectPay.configure(
        apiKey: "key-1"
    )
}

/// How the documents tell a payment link from others.
func looksLikePayment(_ string: String) -> Bool {
    let lower = string.lowercased()
    return lower.contains("pay.") || lower.contains("pay=") || lower.contains("pay_")
}

/// Options, as a wallet lists them.
func listOptions(_ paymentLink: String, _ walletAddress: String) async -> [String] {
    var lines: [String] = []
    let accounts = [
        "eip155:1:\(walletAddress)", "eip155:137:\(walletAddress)", "eip155:8453:\(walletAddress)",
        "eip155:42161:\(walletAddress)",
    ]
    do {
        let response = try await WalletConnectPay.instance.getPaymentOptions(
            paymentLink: paymentLink,
            accounts: accounts
        )
        if let info = response.info {
            lines.append("\(info.merchant.name): \(info.amount.display.assetSymbol) \(info.amount.value)")
        }
        for option in response.options {
            lines.append("\(option.amount.display.assetSymbol) on \(option.amount.display.networkName ?? "Unknown")")
        }
        for option in response.options {
            if option.collectData != nil { lines.append("\(option.id) requires data") }
        }
        // The documents of the fields ask once for all options.
        if let collectData = response.collectData {
            for field in collectData.fields { lines.append("\(field.name) (\(field.fieldType))") }
        }
    } catch {
        lines.append("failed: \(error)")
    }
    return lines
}

/// Actions, and a signature for each in their order.
// swift-format-ignore: NeverForceUnwrap
func signActions(_ response: PaymentOptionsResponse, _ selectedOption: PaymentOption) async throws -> [String] {
    let actions = try await WalletConnectPay.instance.getRequiredPaymentActions(
        paymentId: response.paymentId,
        optionId: selectedOption.id
    )
    var signatures: [String] = []
    for action in actions {
        let rpc = action.walletRpc
        let paramsData = rpc.params.data(using: .utf8)!
        let params = try JSONSerialization.jsonObject(with: paramsData) as! [Any]
        let typedDataJson = params[1] as! String
        signatures.append("\(rpc.chainId) \(rpc.method) \(typedDataJson)")
    }
    return signatures
}

/// The form's address with what the wallet knows, built as the documents build it.
// swift-format-ignore: NeverForceUnwrap
func formAddress(_ selectedOption: PaymentOption) throws -> String? {
    guard let collectData = selectedOption.collectData, let url = collectData.url else { return nil }
    let prefillData: [String: String] = ["fullName": "Jane", "dob": "1990-01-15", "pobAddress": "1 Main St"]
    let jsonData = try JSONSerialization.data(withJSONObject: prefillData)
    let prefillBase64 = jsonData.base64EncodedString()
    var components = URLComponents(string: url)!
    var queryItems = components.queryItems ?? []
    queryItems.append(URLQueryItem(name: "prefill", value: prefillBase64))
    components.queryItems = queryItems
    return components.string!
}

/// Confirmation with everything that can go with it. Changed: `default` for words that no document has.
func confirm(
    _ response: PaymentOptionsResponse,
    _ selectedOption: PaymentOption,
    _ signatures: [String],
    _ collectedData: [CollectDataFieldResult]?
) async throws -> String {
    let result = try await WalletConnectPay.instance.confirmPayment(
        paymentId: response.paymentId,
        optionId: selectedOption.id,
        signatures: signatures,
        collectedData: collectedData,
        maxPollMs: 60000
    )
    switch result.status {
    case .succeeded: return "paid"
    case .processing: return "on its way"
    case .failed: return "failed"
    case .expired: return "expired"
    case .requiresAction: return "more to do"
    case .cancelled: return "cancelled"
    default: return "unknown"
    }
}

/// The fields' answers. Changed: `default` for kinds that no document has.
func answers(_ response: PaymentOptionsResponse, typed: String) -> [CollectDataFieldResult]? {
    var collectedData: [CollectDataFieldResult]? = nil
    if let collectDataAction = response.collectData {
        collectedData = []
        for field in collectDataAction.fields {
            let value: String
            switch field.fieldType {
            case .text: value = typed
            case .date: value = "1990-01-15"
            default: value = typed
            }
            collectedData?.append(CollectDataFieldResult(id: field.id, value: value))
        }
    }
    return collectedData
}

/// The body of the web view's message handler, with what the message holds. The web view itself is Apple's.
func heard(_ message: Any) -> String? {
    guard let body = message as? String,
        let data = body.data(using: .utf8),
        let json = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
        let type = json["type"] as? String
    else { return nil }
    switch type {
    case "IC_COMPLETE": return "complete"
    case "IC_ERROR": return json["error"] as? String ?? "Unknown error"
    default: return nil
    }
}

/// The documents' complete example, with the web view as a closure.
final class PaymentManager {
    let showDataCollection: (String) async throws -> Void

    init(showDataCollection: @escaping (String) async throws -> Void) { self.showDataCollection = showDataCollection }

    func processPayment(paymentLink: String, walletAddress: String, signer: Signer) async throws {
        let accounts = ["eip155:1:\(walletAddress)", "eip155:137:\(walletAddress)", "eip155:8453:\(walletAddress)"]
        let optionsResponse = try await WalletConnectPay.instance.getPaymentOptions(
            paymentLink: paymentLink,
            accounts: accounts
        )
        guard !optionsResponse.options.isEmpty else { throw PaymentProblem.noOptions }
        let selectedOption = optionsResponse.options[0]
        let actions = try await WalletConnectPay.instance.getRequiredPaymentActions(
            paymentId: optionsResponse.paymentId,
            optionId: selectedOption.id
        )
        var signatures: [String] = []
        for action in actions {
            signatures.append(try await signTypedData(action: action, walletAddress: walletAddress, signer: signer))
        }
        if let collectData = selectedOption.collectData, let url = collectData.url {
            try await showDataCollection(url)
        }
        let result = try await WalletConnectPay.instance.confirmPayment(
            paymentId: optionsResponse.paymentId,
            optionId: selectedOption.id,
            signatures: signatures
        )
        switch result.status {
        case .succeeded: break
        case .cancelled: throw PaymentProblem.cancelled
        default: throw PaymentProblem.failed(result.status)
        }
    }

    private func signTypedData(action: Action, walletAddress: String, signer: Signer) async throws -> String {
        let rpc = action.walletRpc
        guard let paramsData = rpc.params.data(using: .utf8),
            let params = try JSONSerialization.jsonObject(with: paramsData) as? [Any],
            params.count >= 2,
            let typedDataJson = params[1] as? String
        else { throw PaymentProblem.unreadable }
        return try await signer.signTypedData(data: typedDataJson, address: walletAddress)
    }
}

/// The guide's complete example without WalletKit: the data as fields.
final class FieldPaymentManager {
    func processPayment(paymentLink: String, walletAddress: String, signer: Signer) async throws {
        let optionsResponse = try await WalletConnectPay.instance.getPaymentOptions(
            paymentLink: paymentLink,
            accounts: ["eip155:1:\(walletAddress)", "eip155:8453:\(walletAddress)"]
        )
        guard !optionsResponse.options.isEmpty else { throw PaymentProblem.noOptions }
        let selectedOption = optionsResponse.options[0]
        let actions = try await WalletConnectPay.instance.getRequiredPaymentActions(
            paymentId: optionsResponse.paymentId,
            optionId: selectedOption.id
        )
        var signatures: [String] = []
        for action in actions {
            signatures.append(try await signer.signTypedData(data: action.walletRpc.params, address: walletAddress))
        }
        var collectedData: [CollectDataFieldResult]? = nil
        if let collectData = optionsResponse.collectData {
            collectedData = try await collectUserData(fields: collectData.fields)
        }
        let result = try await WalletConnectPay.instance.confirmPayment(
            paymentId: optionsResponse.paymentId,
            optionId: selectedOption.id,
            signatures: signatures,
            collectedData: collectedData
        )
        guard result.status == .succeeded else { throw PaymentProblem.failed(result.status) }
    }

    private func collectUserData(fields: [CollectDataField]) async throws -> [CollectDataFieldResult] {
        fields.map { field in CollectDataFieldResult(id: field.id, value: "1990-01-15") }
    }
}

/// Every documented error, each under its name. Changed: `default` for the cases beyond the documents'.
func name(_ error: GetPaymentOptionsError) -> String {
    switch error {
    case .paymentNotFound: "paymentNotFound"
    case .paymentExpired: "paymentExpired"
    case .invalidRequest: "invalidRequest"
    case .invalidAccount: "invalidAccount"
    case .complianceFailed: "complianceFailed"
    case .http: "http"
    case .internalError: "internalError"
    default: "another"
    }
}

func name(_ error: GetPaymentRequestError) -> String {
    switch error {
    case .optionNotFound: "optionNotFound"
    case .paymentNotFound: "paymentNotFound"
    case .invalidAccount: "invalidAccount"
    case .http: "http"
    default: "another"
    }
}

func name(_ error: ConfirmPaymentError) -> String {
    switch error {
    case .paymentNotFound: "paymentNotFound"
    case .paymentExpired: "paymentExpired"
    case .invalidOption: "invalidOption"
    case .invalidSignature: "invalidSignature"
    case .routeExpired: "routeExpired"
    case .http: "http"
    default: "another"
    }
}

func whyNoOptions(_ link: String) async -> String {
    do {
        _ = try await WalletConnectPay.instance.getPaymentOptions(paymentLink: link, accounts: [])
        return ""
    } catch GetPaymentOptionsError.invalidRequest {
        return "no payment link"
    } catch {
        return "another"
    }
}

/// Every documented field, with its documented type. Changed: a display's `decimals` is an `Int?`, and a form's `url` a `String?`.
func fields(of response: PaymentOptionsResponse, _ result: ConfirmPaymentResultResponse) -> Int {
    let (paymentId, options): (String, [PaymentOption]) = (response.paymentId, response.options)
    let (info, collect, transfer): (PaymentInfo?, CollectDataAction?, PaymentResultInfo?) =
        (response.info, response.collectData, response.resultInfo)
    let (txId, paid): (String?, PayAmount?) = (transfer?.txId, transfer?.optionAmount)
    let (status, asked, expiresAt): (PaymentStatus?, PayAmount?, Int64?) = (info?.status, info?.amount, info?.expiresAt)
    let (merchant, buyer): (MerchantInfo?, BuyerInfo?) = (info?.merchant, info?.buyer)
    let (name, iconUrl): (String?, String?) = (merchant?.name, merchant?.iconUrl)
    var count = 0
    for option in options {
        let (id, amount, etaS): (String, PayAmount, Int64) = (option.id, option.amount, option.etaS)
        let (actions, own): ([Action], CollectDataAction?) = (option.actions, option.collectData)
        let (unit, value): (String, String) = (amount.unit, amount.value)
        let (symbol, asset): (String, String) = (amount.display.assetSymbol, amount.display.assetName)
        let (icon, network): (String?, String?) = (amount.display.iconUrl, amount.display.networkName)
        let decimals: Int? = amount.display.decimals
        for rpc in actions.map(\.walletRpc) as [WalletRpcAction] {
            let (chainId, method, params): (String, String, String) = (rpc.chainId, rpc.method, rpc.params)
            count += [chainId, method, params].count
        }
        count += [id, unit, value, symbol, asset].count + [icon, network].count + Int(etaS) + (decimals ?? 0)
        count += own == nil ? 0 : 1
    }
    for field in collect?.fields ?? [] {
        let (id, title): (String, String) = (field.id, field.name)
        let (required, kind): (Bool, CollectDataFieldType) = (field.required, field.fieldType)
        count += [id, title, kind.word].count + (required ? 1 : 0)
    }
    let (url, schema): (String?, String?) = (collect?.url, collect?.schema)
    let (ended, isFinal, pollInMs): (PaymentStatus, Bool, Int64?) = (result.status, result.isFinal, result.pollInMs)
    let moved: PaymentResultInfo? = result.info
    let texts = [paymentId, txId, name, iconUrl, url, schema, status?.word, ended.word].compactMap { $0 }
    let things: [Any?] = [paid, asked, buyer, moved, expiresAt, pollInMs]
    return count + texts.count + things.count + (isFinal ? 1 : 0)
}

/// The types again, under the module's name as the documents' readers may write them.
typealias FullyNamed = (
    WalletConnectPay.PaymentOption, WalletConnectPay.Action, WalletConnectPay.CollectDataFieldResult
)
