import Foundation
import WalletConnectPay

// The guide's code for wallets that use WalletKit. Changed: `import WalletConnectPay` in place of `import ReownWalletKit`.

func isPayment(_ scannedString: String) -> (before: Bool, after: Bool) {
    (WalletKit.isPaymentLink(scannedString), WalletKit.instance.Pay.isPaymentLink(scannedString))
}

/// A deep link or a scanned code, to the flow.
func open(_ content: String, startPaymentFlow: (_ paymentLink: String) -> Void) {
    if WalletKit.isPaymentLink(content) { startPaymentFlow(content) }
}

/// The flow in four calls.
func payInFourCalls(_ paymentLink: String, _ address: String) async throws -> ConfirmPaymentResultResponse {
    let options = try await WalletKit.instance.Pay.getPaymentOptions(
        paymentLink: paymentLink,
        accounts: ["eip155:1:\(address)", "eip155:137:\(address)"]
    )
    let selectedOption = options.options[0]
    let actions = try await WalletKit.instance.Pay.getRequiredPaymentActions(
        paymentId: options.paymentId,
        optionId: selectedOption.id
    )
    var signatures: [String] = []
    for action in actions { signatures.append(try await sign(action.walletRpc)) }
    return try await WalletKit.instance.Pay.confirmPayment(
        paymentId: options.paymentId,
        optionId: selectedOption.id,
        signatures: signatures
    )
}

private func sign(_ rpc: WalletRpcAction) async throws -> String { "0x\(rpc.method.count)" }

/// The complete example.
final class WalletKitPaymentManager {
    func processPayment(paymentLink: String, walletAddress: String, signer: Signer) async throws {
        let optionsResponse = try await WalletKit.instance.Pay.getPaymentOptions(
            paymentLink: paymentLink,
            accounts: ["eip155:1:\(walletAddress)", "eip155:137:\(walletAddress)", "eip155:8453:\(walletAddress)"]
        )
        guard !optionsResponse.options.isEmpty else { throw PaymentProblem.noOptions }
        let selectedOption = optionsResponse.options[0]
        let actions = try await WalletKit.instance.Pay.getRequiredPaymentActions(
            paymentId: optionsResponse.paymentId,
            optionId: selectedOption.id
        )
        var signatures: [String] = []
        for action in actions {
            signatures.append(try await signTypedData(action: action, walletAddress: walletAddress, signer: signer))
        }
        var collectedData: [CollectDataFieldResult]? = nil
        if let collectData = optionsResponse.collectData {
            collectedData = try await collectUserData(fields: collectData.fields)
        }
        let result = try await WalletKit.instance.Pay.confirmPayment(
            paymentId: optionsResponse.paymentId,
            optionId: selectedOption.id,
            signatures: signatures,
            collectedData: collectedData
        )
        guard result.status == .succeeded else { throw PaymentProblem.failed(result.status) }
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

    private func collectUserData(fields: [CollectDataField]) async throws -> [CollectDataFieldResult] {
        fields.map { field in CollectDataFieldResult(id: field.id, value: "1990-01-15") }
    }
}
