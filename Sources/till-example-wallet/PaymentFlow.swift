import Ethereum
import FoundationEssentials
import WalletConnectPay

/// Whatever holds the customer's keys.
protocol Signer: Sendable {
    var address: String { get }

    /// - Parameter typedData: Already held against what the customer agreed to.
    func sign(_ typedData: TypedData) async throws -> String
}

/// Whatever shows pages: a window with a web view in it, or a browser that somebody drives.
protocol WebView: Sendable {
    /// Opens the page, runs the script before the page's own, and hands on what its bridge says until it is closed.
    func open(_ url: String, script: @Sendable (_ function: String) -> String?) -> AsyncStream<String>
}

/// What went wrong, beyond what the library itself reports.
enum PaymentFailure: Error {
    /// The payment is over, or the wallet's accounts hold too little.
    case nothingToPayWith(PaymentStatus?)
    /// The gateway asks for something that this wallet does not do.
    case unsupported(String)
    /// The customer's answers would go to WalletConnect, and they have not agreed to that.
    case termsNotAccepted
    /// The form was closed before it was sent.
    case formClosed
    case ended(PaymentStatus)
    /// The gateway's last word is no outcome: the money may have moved.
    case notKnown(PaymentStatus)
}

/// A payment from link to end: look, choose, sign, tell what is asked for, confirm.
struct PaymentFlow<S: Signer>: Sendable {
    let signer: S
    /// The customer's answers, by the names that fields and forms use.
    let profile: [String: String]
    /// The customer accepted WalletConnect's terms and privacy policy. Until then no answer leaves the wallet.
    let hasAcceptedTerms: Bool
    /// Nil where nothing can show a page.
    let webView: (any WebView)?
    /// Answers a form's questions from the profile where no page can be shown, and passes them on with the confirmation. Not every
    /// gateway takes them so.
    let answersForms: Bool
    /// Says what goes on: nothing here is instant.
    let say: @Sendable (String) -> Void

    func pay(_ paymentLink: String) async throws -> ConfirmPaymentResultResponse {
        say("Asking what the payment can be paid with …")
        // The same address on every network that the wallet knows.
        let accounts = [8453, 1, 10, 137, 42161].map { "eip155:\($0):\(signer.address)" }
        let response = try await WalletConnectPay.instance.getPaymentOptions(
            paymentLink: paymentLink,
            accounts: accounts
        )
        if let info = response.info {
            say(
                "\(info.merchant.name.isEmpty ? "Somebody without a name" : info.merchant.name) asks for \(info.amount.text)"
            )
            warn(info.timeLeft(nowSeconds: Int64(Date().timeIntervalSince1970)))
        }
        // Whoever pays another's option pays for them: only those of its own accounts are the wallet's to offer.
        let mine = accounts.map { $0.lowercased() }
        let options = response.options.filter { mine.contains($0.account.lowercased()) }
        for option in options {
            let note = DataCollection.requirement(for: option, in: response) == .none ? "" : " (info required)"
            say("- \(option.amount.text)\(note)")
        }
        if response.unreadableOptions > 0 { say("\(response.unreadableOptions) more cannot be read.") }
        // A wallet lets its customer choose.
        guard let info = response.info, let option = options.first else {
            throw PaymentFailure.nothingToPayWith(response.info?.status)
        }
        let collected = try await collect(for: option, in: response)
        say("Asking what there is to sign …")
        let actions = try await WalletConnectPay.instance.getRequiredPaymentActions(
            paymentId: response.paymentId,
            optionId: option.id
        )
        let signatures = try await sign(actions.map(\.walletRpc), for: option, info)
        say("Waiting for the payment to go through …")
        let result = try await WalletConnectPay.instance.confirmPayment(
            paymentId: response.paymentId,
            optionId: option.id,
            signatures: signatures,
            collectedData: collected,
            maxPollMs: 60_000
        )
        switch result.status {
        case .succeeded: return result
        case .failed, .expired, .cancelled: throw PaymentFailure.ended(result.status)
        case .requiresAction, .processing, .unrecognised: throw PaymentFailure.notKnown(result.status)
        }
    }

    private func warn(_ timeLeft: TimeLeft) {
        switch timeLeft {
        case .enough: break
        case .low: say("Less than a minute is left to pay.")
        case .almostNone: say("The time to pay is almost over, by this clock; it may be too late.")
        }
    }

    /// - Returns: Answers for `confirmPayment`; nil where none are asked for, or a form has taken them.
    private func collect(
        for option: PaymentOption,
        in response: PaymentOptionsResponse
    ) async throws -> [CollectDataFieldResult]? {
        let requirement = DataCollection.requirement(for: option, in: response)
        guard hasAcceptedTerms || !requirement.needsConsent else { throw PaymentFailure.termsNotAccepted }
        switch requirement {
        case .none: return nil
        case .fields(let fields):
            return try fields.filter(\.required).map { field in
                guard let answer = profile[field.id] else { throw PaymentFailure.unsupported("the field \(field.id)") }
                return CollectDataFieldResult(id: field.id, value: answer)
            }
        case .form(_, let action) where webView == nil && answersForms: return try answers(to: action)
        case .form(let url, let action):
            let names = DataCollection.requiredNames(schema: action.schema ?? "")
            let known = hasAcceptedTerms ? profile.filter { names.contains($0.key) } : [:]
            say("The form opens with \(known.count) answers filled in.")
            try await show(DataCollection.buildPrefillUrl(baseUrl: url, prefillData: known))
            return nil
        case .unrecognised: throw PaymentFailure.unsupported("data in an unknown form")
        }
    }

    /// What a form asks, from the profile. The terms are one of its questions.
    private func answers(to action: CollectDataAction) throws -> [CollectDataFieldResult] {
        guard hasAcceptedTerms else { throw PaymentFailure.termsNotAccepted }
        guard let schema = FormSchema(action.schema ?? "") else { throw PaymentFailure.unsupported("a form") }
        var known = profile
        for field in schema.fields where field.required && field.fieldType == .checkbox { known[field.id] = "true" }
        if let missing = schema.missing(from: known).first {
            throw PaymentFailure.unsupported("the question \(missing)")
        }
        return schema.fields.compactMap { field in
            known[field.id].map { CollectDataFieldResult(id: field.id, value: $0) }
        }
    }

    /// Returns when the customer has sent the form.
    private func show(_ form: String) async throws {
        guard DataCollection.staysInside(form) else { throw PaymentFailure.unsupported("a form of somebody else's") }
        guard let webView else { throw PaymentFailure.unsupported("a form") }
        for await text in webView.open(form, script: { DataCollection.bridgeScript(forwardingTo: $0) }) {
            switch DataCollection.message(text) {
            case .complete: return
            case .failed: say("The form reports a problem; it can be tried again.")
            case nil: break
            }
        }
        throw PaymentFailure.formClosed
    }

    /// Signs what pays this option, and nothing else.
    private func sign(
        _ calls: [WalletRpcAction],
        for option: PaymentOption,
        _ info: PaymentInfo
    ) async throws -> [String] {
        let agreed = try AgreedPayment(
            account: option.account,
            unit: option.amount.unit,
            value: option.amount.value,
            expiresAtSeconds: info.expiresAt
        )
        let checked = try agreed.check(
            calls.map { WalletCall(chain: $0.chainId, method: $0.method, params: $0.params) },
            nowSeconds: Int64(Date().timeIntervalSince1970)
        )
        var signatures: [String] = []
        for (index, call) in checked.enumerated() {
            // An approval is a transaction, and this wallet has no chain to send it to.
            guard case .sign(let typedData) = call else { throw PaymentFailure.unsupported(calls[index].method) }
            say("Signing \(index + 1) of \(checked.count) …")
            signatures.append(try await signer.sign(typedData))
        }
        return signatures
    }
}
