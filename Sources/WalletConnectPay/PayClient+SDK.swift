// The calls of the official SDK for iOS, name for name, over the typed ones.
// Source: WalletConnect Pay SDK for Swift, `PayClient`.

extension PayClient {
    /// What the accounts can pay a link's payment with.
    /// - Parameters:
    ///   - paymentLink: In any form that ``PaymentLink`` reads.
    ///   - accounts: CAIP-10, on as many chains as the wallet has; sent as they are.
    ///   - includePaymentInfo: Asks for the merchant, the amount and the status too.
    /// - Throws: Nothing has happened, whatever it says.
    public func getPaymentOptions(
        paymentLink: String,
        accounts: [String],
        includePaymentInfo: Bool = true
    ) async throws(GetPaymentOptionsError) -> PaymentOptionsResponse {
        for account in accounts where !Self.isAccount(account) {
            throw .invalidAccount("not a CAIP-10 account: \(account.prefix(160))")
        }
        let found: PaymentOptions
        do throws(PayError) {
            found = try await options(link: paymentLink, accounts: accounts, includesInfo: includePaymentInfo)
        } catch {
            throw GetPaymentOptionsError(error)
        }
        return PaymentOptionsResponse(
            paymentId: found.paymentID.rawValue,
            info: found.info,
            options: found.options,
            collectData: found.collectData,
            resultInfo: found.result?.info,
            unreadableOptions: found.unreadableOptions
        )
    }

    /// What there is to sign or send, in the order in which `confirmPayment` wants the results.
    ///
    /// Asked after `getPaymentOptions` it needs the gateway only for the steps that the options left open; it works without.
    /// - Throws: Nothing has happened, whatever it says.
    public func getRequiredPaymentActions(
        paymentId: String,
        optionId: String
    ) async throws(GetPaymentRequestError) -> [Action] {
        guard let id = PaymentID(paymentId) else { throw .paymentNotFound("not a payment ID") }
        do throws(PayError) {
            return try await requiredActions(paymentID: id, optionID: optionId).map { Action(walletRpc: $0) }
        } catch {
            throw GetPaymentRequestError(error)
        }
    }

    /// Hands the results over and waits for the gateway's last word. It may be repeated with the same arguments.
    /// - Parameters:
    ///   - signatures: One result for each action, in their order: a signature, or a transaction's hash.
    ///   - collectedData: Answers to ``CollectDataAction/fields``; nil after a form, which hands them over itself.
    ///   - maxPollMs: Milliseconds to wait for the end of the payment. Nil, zero or less: an hour.
    /// - Returns: The last word. A gateway can call any status final; only one whose ``PaymentStatus/isFinal`` is true is an
    ///   outcome.
    /// - Throws: ``ConfirmPaymentError/mayHavePaid`` says whether the money is safe.
    public func confirmPayment(
        paymentId: String,
        optionId: String,
        signatures: [String],
        collectedData: [CollectDataFieldResult]? = nil,
        maxPollMs: Int64? = nil
    ) async throws(ConfirmPaymentError) -> ConfirmPaymentResultResponse {
        guard let id = PaymentID(paymentId) else { throw .paymentNotFound("not a payment ID") }
        do throws(PayError) {
            let report = try await confirm(
                paymentID: id,
                optionID: optionId,
                signatures: signatures,
                collectedData: collectedData,
                waitingUpTo: maxPollMs.flatMap { $0 > 0 ? .milliseconds($0) : nil }
            )
            return ConfirmPaymentResultResponse(report)
        } catch {
            throw ConfirmPaymentError(error)
        }
    }

    /// Whether a text looks like a payment link; see ``PaymentLink/isPaymentLink(_:)``.
    public func isPaymentLink(_ text: String) -> Bool { PaymentLink.isPaymentLink(text) }

    /// `namespace:reference:address`. Source: CAIP-10.
    private static func isAccount(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, (3...8).contains(parts[0].count), (1...32).contains(parts[1].count),
            (1...128).contains(parts[2].count)
        else { return false }
        return parts[0].allSatisfy { $0 == UInt8(ascii: "-") || $0.isLetterOrDigit && !(0x41...0x5A).contains($0) }
            && parts[1].allSatisfy { "-_".utf8.contains($0) || $0.isLetterOrDigit }
            && parts[2].allSatisfy { "-.%".utf8.contains($0) || $0.isLetterOrDigit }
    }
}

extension ConfirmPaymentResultResponse {
    fileprivate init(_ report: StatusReport) {
        self.init(
            status: report.status,
            isFinal: report.isFinal,
            pollInMs: report.pollAfter.map { $0.milliseconds },
            info: report.result?.info
        )
    }
}

extension PaymentResult {
    /// Nil where the gateway left half of it out.
    fileprivate var info: PaymentResultInfo? {
        guard let transactionID, let paid else { return nil }
        return PaymentResultInfo(txId: transactionID, optionAmount: paid)
    }
}
