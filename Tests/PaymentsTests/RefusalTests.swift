import Payments
import Testing

/// What a cashier reads when the gateway refuses to make a payment.
struct RefusalTests {
    @Test(arguments: [
        ("params_validation", "Currency 'JPY' is not supported", Refusal.Cause.currency),
        ("invalid_params", "Validation error: Currency 'X' is not supported", .currency),
        ("params_validation", "unsupported currency", .currency),
        (
            "params_validation", "Validation error: Amount must be at least 14 to cover fees",
            .belowMinimum(minorUnits: 14)
        ),
        ("params_validation", "amount is below the minimum", .belowMinimum(minorUnits: nil)),
        ("params_validation", "Amount must be at least 1.50", .belowMinimum(minorUnits: nil)),
        ("params_validation", "Amount must be at least 1,500", .belowMinimum(minorUnits: nil)),
        ("params_validation", "Amount must be at least 14, to cover fees", .belowMinimum(minorUnits: 14)),
        ("params_validation", "Amount must be at least 99999999999999999999", .belowMinimum(minorUnits: nil)),
        ("params_validation", "Amount must be at most 500000", .aboveMaximum(minorUnits: 500_000)),
        ("params_validation", "Amount exceeds the maximum", .aboveMaximum(minorUnits: nil)),
        ("params_validation", "Amount exceeds maximum length of 100 characters", .order),
        ("params_validation", "Reference ID contains invalid characters", .reference),
        ("params_validation", "Reference ID exceeds maximum length of 35 characters", .reference),
        ("params_validation", "", .order), ("params_validation", "at least 14", .order),
        ("params_validation", "expiresAt: Expiration must be in the future", .clock),
        ("params_validation", "Expiration is too far in the future", .clock),
        ("invalid_api_key", "Currency 'JPY' is not supported", .credentials), ("forbidden", "", .credentials),
        ("merchant_not_found", "", .merchant), ("unknown_api_version", "", .version),
        ("invalid_api_version", "", .version), ("api_version_downgrade", "", .version),
        ("idempotency_conflict", "", .conflict), ("a_new_code", "amount must be at least 14", .other),
    ])
    func itsCauseIsRead(code: String, message: String, cause: Refusal.Cause) {
        #expect(Refusal(code: code, message: message).cause == cause)
    }

    /// A charge of 0.10 € that was refused.
    private func reason(_ code: String, _ message: String, locale: String = "en-US") throws -> Reason {
        var charge = Charge.example(minorUnits: 10)
        for event: Charge.Event in [
            .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1),
            .refused(attempt: 1, refusal: Refusal(code: code, message: message)),
        ] { _ = charge.handle(event) }
        #expect(charge.state == .failed)
        return try #require(charge.reason(format: AmountFormat(locale: locale)))
    }

    /// Nobody corrects an amount that was right.
    @Test func aClockThatIsOffIsSaidAndNotTheAmount() throws {
        let reason = try reason("params_validation", "Expiration must be in the future")
        #expect(reason.code == "gateway_clock_differs" && reason.message.contains("clock"))
        #expect(!reason.action.contains("amount") && reason.message.contains("no money moved"))
    }

    @Test func aRefusalWithoutWordsSaysNoMoreThanThatItIsOne() throws {
        #expect(try reason("forbidden_here", "").message.hasPrefix("The gateway refused the charge. "))
    }

    @Test func aCurrencyThatIsRefusedIsNamedAndTheOwnerCanChooseAnother() throws {
        let reason = try reason("params_validation", "Currency 'EUR' is not supported")
        #expect(reason.message == "The gateway does not take payments in EUR. No payment was made, no money moved.")
        #expect(reason.action.contains("owner") && reason.action.contains("settings"))
    }

    @Test(arguments: [("en-US", "€0.10", "€0.14"), ("de-DE", "0,10\u{00A0}€", "0,14\u{00A0}€")])
    func theSmallestAmountIsWrittenAsTheShopWritesIt(locale: String, asked: String, minimum: String) throws {
        let reason = try reason("params_validation", "Amount must be at least 14 to cover fees", locale: locale)
        #expect(reason.message.hasPrefix("\(asked) is too little: the gateway takes payments from \(minimum) on."))
        #expect(reason.action.contains(minimum))
    }

    /// A bound that the amount keeps cannot be what the words meant.
    @Test(arguments: ["Amount must be at least 10", "Amount must be at most 10", "Amount must be at most 0"])
    func aBoundThatDoesNotExplainTheRefusalIsNotPassedOff(message: String) throws {
        let reason = try reason("params_validation", message)
        #expect(reason.message.contains(message), "the gateway's own words stand there instead")
    }

    @Test func theLargestAmountIsWrittenOut() throws {
        let reason = try reason("params_validation", "Amount must be at most 9")
        #expect(reason.message.contains("up to €0.09") && reason.action.contains("€0.09"))
    }

    @Test(arguments: [
        "invalid_api_key", "merchant_not_found", "params_validation", "invalid_params", "unknown_api_version",
        "idempotency_conflict", "a_new_code", "",
    ])
    func everyRefusalSaysThatNoPaymentWasMadeAndWhatToDo(code: String) throws {
        for message in ["", "Currency", "Currency not supported", "Amount at least 14", "\u{202E}Reference\n\u{0}"] {
            let reason = try reason(code, message)
            #expect(reason.message.contains("No payment was made") && reason.message.hasSuffix("."))
            #expect(!reason.action.isEmpty && reason.action.hasSuffix("."))
            let words = reason.message + reason.action
            #expect(!words.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
        }
    }
}
