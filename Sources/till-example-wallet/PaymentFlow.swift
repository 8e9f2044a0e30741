import FoundationEssentials
import WalletConnectPay

/// Whatever holds the customer's keys.
protocol Signer: Sendable {
    var address: String { get }

    /// - Parameter typedData: EIP-712, as JSON.
    func signTypedData(_ typedData: String) async throws -> String
}

/// What went wrong, beyond what the library itself reports.
enum PaymentFailure: Error {
    /// The payment is over, or the wallet's accounts hold too little.
    case nothingToPayWith(PaymentStatus?)
    /// The gateway asks for something that this wallet does not do.
    case unsupported(String)
    case ended(PaymentStatus)
}

/// A payment from link to end: look, choose, sign, tell what is asked for, confirm.
struct PaymentFlow<S: Signer>: Sendable {
    let signer: S
    /// The customer's answers, by the names that fields and forms use.
    let profile: [String: String]

    func pay(_ paymentLink: String) async throws -> ConfirmPaymentResultResponse {
        // The same address on every network that the wallet knows.
        let accounts = [8453, 1, 10, 137, 42161].map { "eip155:\($0):\(signer.address)" }
        let response = try await WalletConnectPay.instance.getPaymentOptions(
            paymentLink: paymentLink,
            accounts: accounts
        )
        if let info = response.info {
            print("\(info.merchant.name) asks for \(info.amount.value) of \(info.amount.unit)")
        }
        for option in response.options {
            let note = DataCollection.requirement(for: option, in: response) == .none ? "" : " (info required)"
            print("- \(option.amount.display.assetSymbol) on \(option.amount.display.networkName ?? "?")\(note)")
        }
        // A wallet lets its customer choose, and says what it costs.
        guard let option = response.options.first else {
            throw PaymentFailure.nothingToPayWith(response.info?.status)
        }
        let collected = try await collect(for: option, in: response)
        let actions = try await WalletConnectPay.instance.getRequiredPaymentActions(
            paymentId: response.paymentId,
            optionId: option.id
        )
        var signatures: [String] = []
        for action in actions { signatures.append(try await sign(action.walletRpc)) }
        let result = try await WalletConnectPay.instance.confirmPayment(
            paymentId: response.paymentId,
            optionId: option.id,
            signatures: signatures,
            collectedData: collected,
            maxPollMs: 60_000
        )
        switch result.status {
        case .succeeded: return result
        case .failed, .expired, .cancelled, .requiresAction, .processing, .unrecognised:
            throw PaymentFailure.ended(result.status)
        }
    }

    /// - Returns: Answers for `confirmPayment`; nil where none are asked for, or a form has taken them.
    private func collect(
        for option: PaymentOption,
        in response: PaymentOptionsResponse
    ) async throws -> [CollectDataFieldResult]? {
        switch DataCollection.requirement(for: option, in: response) {
        case .none: return nil
        case .fields(let fields):
            return try fields.filter(\.required).map { field in
                guard let answer = profile[field.id] else { throw PaymentFailure.unsupported("the field \(field.id)") }
                return CollectDataFieldResult(id: field.id, value: answer)
            }
        case .form(let url, let action):
            let names = DataCollection.requiredNames(schema: action.schema ?? "")
            let known = profile.filter { names.contains($0.key) }
            try await show(DataCollection.buildPrefillUrl(baseUrl: url, prefillData: known), known: known.count)
            return nil
        case .unrecognised: throw PaymentFailure.unsupported("data in an unknown form")
        }
    }

    /// A wallet with a window shows the page, hands every message of its bridge to `DataCollection.message`, and returns at
    /// `.complete`. This program has none.
    private func show(_ form: String, known: Int) async throws {
        guard DataCollection.staysInside(form) else { throw PaymentFailure.unsupported("a form of somebody else's") }
        print("The form would open with \(known) answers filled in.")
        throw PaymentFailure.unsupported("a form")
    }

    /// A wallet for real money compares what it signs with the option first: token, amount, network and time.
    private func sign(_ call: WalletRpcAction) async throws -> String {
        guard call.method == "eth_signTypedData_v4" else { throw PaymentFailure.unsupported(call.method) }
        let params = try JSONDecoder().decode([String].self, from: Data(call.params.utf8))
        guard params.count == 2, params[0].lowercased() == signer.address.lowercased() else {
            throw PaymentFailure.unsupported("a signature of another account")
        }
        return try await signer.signTypedData(params[1])
    }
}
