import Ethereum
import Payments
import StrictJSON

/// What wallets ask.
extension GatewayState {
    /// Source: WalletConnect Pay API, `GetPaymentResponse`.
    func paymentInfo(_ payment: SandboxPayment) -> ExactJSON {
        var buyer = ExactJSON.null
        if let who = payment.confirmation?.buyer {
            buyer = .members([
                "accountCaip10": .string(who.account.text), "accountProviderName": .string(who.wallet),
                "accountProviderIcon": .null,
            ])
        }
        return .members([
            "status": .string(payment.word.rawValue), "amount": payment.amount.json,
            "expiresAt": .integer(payment.expiresAtSeconds),
            "merchant": .members([
                "name": .string(merchant(payment.merchantID)?.name ?? payment.merchantID),
                "iconUrl": .text(merchant(payment.merchantID)?.iconURL),
            ]), "buyer": buyer,
        ])
    }

    /// What each of the customer's accounts could pay with. A final payment has no options at all, and that is no error.
    /// Source: WalletConnect Pay API, `GetPaymentOptionsResponse`; production captures.
    mutating func options(
        _ request: GatewayRequest,
        _ payment: SandboxPayment,
        at now: WallTime
    ) throws(APIError) -> GatewayAnswer {
        let body = try request.object()
        guard let accounts = body["accounts"]?.arrayValue else {
            throw .malformed("Missing field: accounts")
        }
        guard accounts.count <= 200 else { throw .invalid("Validation error: Too many accounts") }
        var customers: [CustomerAccount] = []
        for account in accounts {
            guard let text = account.stringValue else { throw .malformed("Field accounts must be a list of strings") }
            if let customer = try CustomerAccount.parse(text), !customers.contains(customer) {
                customers.append(customer)
            }
        }
        if let refresh = body["refresh"] {
            // Which options the client had. What it is for is not documented; every call makes new quotes anyway.
            guard refresh.arrayValue?.allSatisfy({ $0.stringValue != nil }) == true else {
                throw .malformed("Field refresh must be a list of strings")
            }
        }
        let info = request.values("includePaymentInfo").first == "true" ? paymentInfo(payment) : .null
        let base = formBase(request)
        var offered = ExactJSON.null
        if !payment.word.isFinal {
            let options = payment.word == .requiresAction ? try makeOptions(payment, for: customers, at: now) : []
            // The older way asks once for all options.
            let asksEach = !configuration.collectsFields
            offered = .array(
                options.map {
                    $0.json(collectData: asksEach ? collectData(payment, for: [$0.account], base: base) : .null)
                }
            )
        }
        return GatewayAnswer(
            200,
            .members([
                "info": info, "options": offered, "collectData": collectData(payment, for: customers, base: base),
            ])
        )
    }

    /// New options for these customers, in the place of older ones of theirs.
    private mutating func makeOptions(
        _ payment: SandboxPayment,
        for customers: [CustomerAccount],
        at now: WallTime
    ) throws(APIError) -> [OfferedOption] {
        var options: [OfferedOption] = []
        for customer in customers {
            for token in Offering.tokens where token.chainID == customer.chainID {
                let value = payment.amount.smallestUnits(of: token)
                guard ledger.spendable(token, of: customer.address) >= value else { continue }
                options.append(try makeOption(payment, customer, token, value, at: now))
            }
        }
        payments[payment.id]?.options.removeAll { old in customers.contains(old.account) }
        payments[payment.id]?.options.append(contentsOf: options)
        return options
    }

    private mutating func makeOption(
        _ payment: SandboxPayment,
        _ customer: CustomerAccount,
        _ token: KnownToken,
        _ value: UInt256,
        at now: WallTime
    ) throws(APIError) -> OfferedOption {
        let order: TransferOrder
        do throws(TypedDataError) {
            order = try TransferOrder(
                token: token,
                owner: customer.address,
                value: value,
                paymentExpiresAtSeconds: payment.expiresAtSeconds,
                nonce: Bytes32.random(using: &random)
            )
        } catch {
            throw APIError(500, "internal_error", "The typed data could not be made: \(error)")
        }
        let isConverted = Offering.peg(of: token) != payment.amount.currency
        return OfferedOption(
            id: PaymentNames.option(using: &random),
            account: customer,
            order: order,
            needsApproval: !ledger.isApproved(token, by: customer.address),
            expiresAtSeconds: isConverted ? now.secondsSince1970 + configuration.quoteLifetimeSeconds : nil
        )
    }

    /// The option of a request that can still be used. Source: WalletConnect Pay API, error codes on fetch and confirm.
    private func usableOption(
        _ id: ExactJSON?,
        _ payment: SandboxPayment,
        at now: WallTime
    ) throws(APIError) -> OfferedOption {
        guard let id = id?.stringValue else { throw .malformed("Missing field: optionId") }
        if payment.word == .expired { throw .paymentExpired }
        guard payment.word == .requiresAction else {
            throw .invalidState("Payment is already \(payment.word.rawValue)")
        }
        guard let option = payment.options.first(where: { $0.id == id }) else { throw .optionNotFound }
        if let end = option.expiresAtSeconds, now.secondsSince1970 >= end { throw .quoteExpired }
        return option
    }

    /// Spells out what a `build` action stands for. Source: WalletConnect Pay API, fetch.
    func fetch(
        _ request: GatewayRequest,
        _ payment: SandboxPayment,
        at now: WallTime
    ) throws(APIError) -> GatewayAnswer {
        let body = try request.object()
        let option = try usableOption(body["optionId"], payment, at: now)
        if !configuration.collectsFields, !configuration.collectsLate { try checkIdentified(payment) }
        guard let data = body["data"]?.stringValue else { throw .malformed("Missing field: data") }
        // Wallets that come without having asked for options first send no data.
        guard data.isEmpty || data == option.buildData else { throw .invalid("Validation error: Invalid build data") }
        return GatewayAnswer(200, .members(["actions": option.actions]))
    }

    /// Takes the customer's signature, checks it in every field and sends the transfer on its way.
    ///
    /// The same confirmation again is answered with how the payment stands: wallets repeat it after silence.
    /// Source: WalletConnect Pay API, confirm; the wallets' SDK retries it without a key.
    mutating func confirm(
        _ request: GatewayRequest,
        _ handling: Handling,
        _ payment: SandboxPayment,
        at now: WallTime
    ) throws(APIError) -> Reply {
        let body = try request.object()
        let limit = try request.maximumPoll()
        guard let results = body["results"]?.arrayValue else { throw .malformed("Missing field: results") }
        let canonicalResults = ExactJSON.array(results).canonical.text
        if let known = payment.confirmation {
            guard known.option.id == body["optionId"]?.stringValue, known.results == canonicalResults else {
                throw .invalidState("Payment is already \(payment.word.rawValue)")
            }
            return answerStatus(of: payment.id, waitingUpTo: limit, untilFinal: true, at: now)
        }
        let option = try usableOption(body["optionId"], payment, at: now)
        try takeCollectedData(body["collectedData"], payment)
        try checkIdentified(payments[payment.id] ?? payment)
        let signature = try Self.signature(in: results, of: option)
        if option.needsApproval { ledger.approve(option.order.token, by: option.order.owner) }
        do throws(TokenLedger.Refusal) {
            try ledger.promise(option.order, at: now)
        } catch {
            throw .invalid("Validation error: \(Self.sentence(error))")
        }
        let settlesAt = configuration.settleAfter.map { now.advanced(by: $0) }
        payments[payment.id]?.confirmation = SandboxPayment.Confirmation(
            option: option,
            results: canonicalResults,
            signature: signature,
            transactionID: option.order.transactionID(signature),
            buyer: SandboxPayment.Buyer(
                account: option.account,
                wallet: request.header("Sdk-Name") ?? "Unknown wallet"
            ),
            settlesAt: settlesAt
        )
        if let outcome = handling.outcome { payments[payment.id]?.ordered = outcome }
        change(payment.id, to: .processing, at: now)
        if let settlesAt { scheduleSettlement(of: payment.id, at: settlesAt) }
        return answerStatus(of: payment.id, waitingUpTo: limit, untilFinal: true, at: now)
    }

    /// The signature among the results, one result for each action in their order.
    private static func signature(
        in results: [ExactJSON],
        of option: OfferedOption
    ) throws(APIError) -> EthereumSignature {
        guard results.count == option.actionCount else {
            throw .invalid("Validation error: Expected \(option.actionCount) results, got \(results.count)")
        }
        var texts: [String] = []
        for result in results {
            guard result["type"]?.stringValue == "walletRpc", let data = result["data"]?.arrayValue, data.count == 1,
                let text = data[0].stringValue
            else { throw .malformed("A result is a walletRpc with a list of one string") }
            texts.append(text)
        }
        if option.needsApproval {
            guard texts[0].hasPrefix("0x"), bytes(hex: texts[0].dropFirst(2))?.count == 32 else {
                throw .invalid("Validation error: The approval is not a transaction hash")
            }
        }
        guard let signature = try? EthereumSignature(parsing: texts[option.actionCount - 1]),
            (try? option.order.expectation.check(option.order.typedData, signature: signature)) != nil
        else { throw .invalidSignature }
        return signature
    }

    private static func sentence(_ refusal: TokenLedger.Refusal) -> String {
        switch refusal {
        case .notTheOwnersSignature: "Invalid signature"
        case .outsideValidity: "Authorization is not valid any more"
        case .nonceUsed: "Authorization was used before"
        case .notApproved: "Token is not approved for Permit2"
        case .insufficientBalance: "Insufficient balance"
        }
    }
}
