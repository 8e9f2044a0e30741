import Ethereum
import Payments
import StrictJSON

/// What merchants ask.
extension GatewayState {
    /// Source: WalletConnect Pay API, `CreatePayment`; validation rules and sentences of its create payment document.
    mutating func create(
        _ request: GatewayRequest,
        _ handling: Handling,
        _ caller: Caller,
        at now: WallTime
    ) throws(APIError) -> GatewayAnswer {
        let body = try request.object()
        let key = handling.has(.forgetKey) ? nil : try Self.idempotencyKey(request)
        let scope = "create " + caller.merchant
        if let key, let answer = try rememberedAnswer(scope: scope, key: key, body: body) { return answer }
        let amount = try FiatAmount(body["amount"])
        try checkLimits(amount)
        // Absent and null are let pass: one of the official apps sends that for a blank reference.
        var reference = ""
        if let given = body["referenceId"] {
            guard let text = given.stringValue else { throw .malformed("Field referenceId must be a string") }
            reference = try Reference.validated(text)
        }
        if caller.version == .preview { try Self.checkCheckout(body["checkout"]) }
        var payment = SandboxPayment(
            id: PaymentNames.payment(at: now, using: &random),
            sequence: names.count,
            merchantID: caller.merchant,
            reference: reference,
            amount: amount,
            createdAt: now,
            expiresAtSeconds: try expiry(body["expiresAt"], at: now)
        )
        payment.ordered = handling.outcome
        add(payment)
        let answer = GatewayAnswer(
            201,
            .members([
                "paymentId": .string(payment.id), "status": .string(payment.word.rawValue),
                "expiresAt": .integer(payment.expiresAtSeconds), "isFinal": .bool(false), "pollInMs": payment.pollInMs,
                "gatewayUrl": .string(link(to: payment.id)),
            ]),
            headers: ["WCP-Version": caller.version.rawValue]
        )
        if let key { remember(answer, scope: scope, key: key, body: body) }
        return answer
    }

    func link(to id: String) -> String {
        configuration.linkBase + (configuration.linkBase.contains("?") ? "&pid=" : "?pid=") + id
    }

    /// Source: WalletConnect Pay API, `Idempotency-Key`: at most 255 characters.
    private static func idempotencyKey(_ request: GatewayRequest) throws(APIError) -> String? {
        guard let key = request.header("Idempotency-Key") else { return nil }
        guard key.utf8.count <= 255 else { throw .malformed("Idempotency-Key exceeds 255 characters") }
        return key
    }

    private func checkLimits(_ amount: FiatAmount) throws(APIError) {
        guard amount.minorUnits >= configuration.minimumMinorUnits else {
            throw .invalid("Validation error: Amount must be at least \(configuration.minimumMinorUnits) to cover fees")
        }
        guard amount.minorUnits <= configuration.maximumMinorUnits else {
            throw .invalid("Validation error: Amount must be at most \(configuration.maximumMinorUnits)")
        }
    }

    private func expiry(_ given: ExactJSON?, at now: WallTime) throws(APIError) -> Int64 {
        guard let given else { return now.advanced(by: configuration.defaultExpiry).secondsSince1970 }
        guard let seconds = given.integerValue else { throw .malformed("Field expiresAt must be Unix seconds") }
        guard seconds > now.secondsSince1970 else { throw .invalid("Expiration must be in the future") }
        guard seconds - now.secondsSince1970 <= GatewayConfiguration.longestExpirySeconds else {
            throw .invalid("Expiration is too far in the future; expiresAt counts seconds, not milliseconds")
        }
        return seconds
    }

    private static func checkCheckout(_ checkout: ExactJSON?) throws(APIError) {
        guard let checkout else { return }
        for name in ["successUrl", "errorUrl"] {
            guard let url = checkout[name]?.stringValue else { throw .malformed("Missing field: checkout.\(name)") }
            guard url.hasPrefix("https://"), url.utf8.count > 8 else {
                throw .invalid("checkout.\(name) must be an HTTPS URL")
            }
        }
    }

    /// Source: WalletConnect Pay API, `PaymentsGetPaymentResponse`.
    func details(of id: String) throws(APIError) -> GatewayAnswer {
        guard let payment = payments[id] else { throw .paymentNotFound }
        var settlement = ExactJSON.null
        if payment.word == .succeeded, let confirmation = payment.confirmation {
            settlement = .members([
                "successful": .members([
                    "txId": .string(confirmation.transactionID),
                    "amount": .members(["unit": .string(confirmation.option.order.token.unit)]),
                ])
            ])
        }
        return GatewayAnswer(
            200,
            .members([
                "status": .string(payment.word.rawValue), "referenceId": .string(payment.reference),
                "failureCode": .text(payment.failureCode), "info": payment.information, "settlement": settlement,
            ])
        )
    }

    /// A cancel that a merchant may repeat: the same key gets the first answer again, where a bare repetition is
    /// refused for the state that the first one led to.
    mutating func cancel(
        _ request: GatewayRequest,
        _ id: String,
        _ caller: Caller,
        at now: WallTime
    ) throws(APIError) -> GatewayAnswer {
        guard let key = try Self.idempotencyKey(request) else { return try cancel(id, by: "merchant", at: now) }
        let (scope, body) = ("cancel \(caller.merchant)", ExactJSON.string(id))
        if let answer = try rememberedAnswer(scope: scope, key: key, body: body) { return answer }
        let answer = try cancel(id, by: "merchant", at: now)
        remember(answer, scope: scope, key: key, body: body)
        return answer
    }

    /// Source: WalletConnect Pay API, cancel: only while the payment requires action.
    mutating func cancel(_ id: String, by whom: String, at now: WallTime) throws(APIError) -> GatewayAnswer {
        guard let payment = payments[id] else { throw .paymentNotFound }
        guard payment.word == .requiresAction else {
            throw .invalidState("Payment cannot be cancelled: it is \(payment.word.rawValue)")
        }
        payments[id]?.cancelledReason = "cancelled_by_\(whom)"
        change(id, to: .cancelled, at: now)
        return GatewayAnswer(
            200,
            .members([
                "paymentId": .string(id), "status": .string(PaymentWord.cancelled.rawValue),
                "cancelledReason": .string("cancelled_by_\(whom)"), "cancelledAt": .string(timestamp(now)),
            ])
        )
    }

    /// Marks a payment as given back, once. Source: WalletConnect Pay API, refunds.
    mutating func refund(_ request: GatewayRequest, _ caller: Caller) throws(APIError) -> GatewayAnswer {
        guard let id = try request.object()["paymentId"]?.stringValue, Self.isPaymentName(id) else {
            throw .invalid("Validation failed")
        }
        guard let payment = payments[id], payment.merchantID == caller.merchant else {
            throw APIError(404, "not_found", "Payment not found")
        }
        guard payment.word == .succeeded else {
            throw APIError(400, "payment_not_succeeded", "Payment is not in a refundable state")
        }
        guard !payment.isRefunded else { throw APIError(409, "already_refunded", "Payment is already refunded") }
        payments[id]?.isRefunded = true
        return GatewayAnswer(200, .members(["paymentId": .string(id)]))
    }

    /// Source: WalletConnect Pay API, refund request: `^pay_[A-Za-z0-9]+$`, at most 64 characters.
    private static func isPaymentName(_ text: String) -> Bool {
        text.hasPrefix("pay_") && (5...64).contains(text.utf8.count)
            && text.dropFirst(4).allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }
}

/// RFC 3339 with milliseconds, UTC: `2026-09-16T19:30:33.440Z`.
func timestamp(_ time: WallTime) -> String {
    let milliseconds = time.millisecondsSince1970
    let days = Int64((Double(milliseconds) / 86_400_000).rounded(.down))
    let (year, month, day) = civilDate(days: days)
    let rest = milliseconds - days * 86_400_000
    func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(rest / 3_600_000, 2)):"
        + "\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1000 % 60, 2)).\(padded(rest % 1000, 3))Z"
}

/// Source: H. Hinnant, chrono-compatible low-level date algorithms, `civil_from_days`.
private func civilDate(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
}
