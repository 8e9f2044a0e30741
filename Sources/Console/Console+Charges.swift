import Crypto
import Foundation
import Payments
import Terminal
import WebServer

/// Charges, and news of them.
extension Console {
    func openCharge(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let most = pass.program == nil ? 255 : Route.longestProgramKey
        guard let ownKey = try Route.idempotencyKey(of: pass.request, most: most) else {
            throw Problem(
                400,
                "idempotency_key_missing",
                "The request has no key of its own, so a repetition could charge twice. Nothing was charged.",
                "Send a header Idempotency-Key with a new value for each sale and the same for each repetition."
            )
        }
        guard let stored = await settings.current else { throw Self.problem(.notSetUp, .english) }
        var form = try Form(pass.request.body)
        let typed = form.optionalText("amount", limit: 40)
        let minor = form.integer("amountMinor")
        let currency = form.optionalText("currency", limit: 10)
        let reference = form.optionalText("reference", limit: 200)
        let typedNote = form.optionalText("note", limit: ChargeTerms.longestNote)
        let tipMinor = form.integer("tipMinor")
        try form.finish()
        let amount = try Self.amount(typed: typed, minor: minor, currency: currency, stored.settings)
        let amountField = minor == nil ? "amount" : "amountMinor"
        let reduced = Self.trimmed(reference)
        let note = Self.trimmed(typedNote)
        let tip = try Self.tip(tipMinor, amount.currency)
        let ownMaximum = await staff.maximum(of: pass.session)
        let key = IdempotencyKey(
            key: pass.ownKey(ownKey),
            requestDigest: Self.digest(amount, reduced, tip, note)
        )
        var request = ChargeRequest(
            amount: amount,
            tip: tip,
            reference: reduced,
            note: note,
            key: key,
            by: pass.who,
            from: pass.request.peerAddress
        )
        request.ownMaximumMinorUnits = ownMaximum
        return try await open(request, pass, amountField)
    }

    /// Without white space at its ends; nil where nothing is left: a reference of spaces is none.
    private static func trimmed(_ text: String?) -> String? {
        let text = text?.trimmingCharacters(in: .whitespaces)
        return text?.isEmpty == true ? nil : text
    }

    /// The audit log has its line of a new charge by the charge's own record; what comes of any other request is told here.
    private func open(
        _ request: ChargeRequest,
        _ pass: Gate.Pass,
        _ amountField: String
    ) async throws(Problem) -> WebResponse {
        do throws(ChargeRefusal) {
            let (charge, isNew) = try await desk.openOnce(request)
            if !isNew { await audit("charge.again", "ok", charge.id.rawValue, pass) }
            var response = WebResponse.json(JSON.charge(charge, for: pass.reader).text)
            response.status = isNew ? 201 : 200
            return response
        } catch {
            let problem = Self.problem(error, await desk.format, amountField)
            let what = error == .idempotencyConflict ? "charge.again" : "charge"
            let amount = "\(request.amount.minorUnits) \(request.amount.currency.code)"
            await audit(what, "refused", "\(amount): \(problem.reason.code)", pass)
            throw problem
        }
    }

    private func audit(_ what: String, _ result: String, _ detail: String, _ pass: Gate.Pass) async {
        await entrance.audit(what, result, detail, by: pass.who, from: pass.request.peerAddress)
    }

    /// The part of the amount that is a tip. None counts as no tip at all: nobody was asked for one.
    private static func tip(_ minor: Int64?, _ currency: Currency) throws(Problem) -> Money? {
        guard let minor, minor != 0 else { return minor.map { Money(minorUnits: $0, currency: currency) } }
        guard minor > 0 else { throw .field("tipMinor", AmountError.negative.reason) }
        return Money(minorUnits: minor, currency: currency)
    }

    /// Of everything that makes two requests the same. What is not there is not in it, so that a repetition after an update
    /// that knows more fields is still one.
    static func digest(_ amount: Money, _ reference: String?, _ tip: Money?, _ note: String?) -> [UInt8] {
        var members: [String: JSON] = [
            "amountMinor": .integer(amount.minorUnits), "currency": .string(amount.currency.code),
            "reference": .optional(reference),
        ]
        if let tip { members["tipMinor"] = .integer(tip.minorUnits) }
        if let note { members["note"] = .string(note) }
        return Array(SHA256.hash(data: Array(JSON.object(members).text.utf8)))
    }

    static func amount(
        typed: String?,
        minor: Int64?,
        currency: String?,
        _ settings: MerchantSettings
    ) throws(Problem) -> Money {
        let format = settings.format
        if let currency, Currency(code: currency) != settings.currency {
            throw problem(.limit(.wrongCurrency(expected: settings.currency)), format)
        }
        switch (typed, minor) {
        case (let typed?, nil):
            do throws(AmountError) {
                return try Money.parse(typed: typed, currency: settings.currency, format: format)
            } catch { throw .field("amount", error.reason) }
        case (nil, let minor?):
            guard minor > 0 else { throw .field("amountMinor", (minor == 0 ? AmountError.zero : .negative).reason) }
            return Money(minorUnits: minor, currency: settings.currency)
        case (nil, nil): throw .field("amount", AmountError.empty.reason)
        case (_?, _?):
            throw .field(
                "amountMinor",
                Reason(
                    code: "amount_twice",
                    message: "The request says the amount in two ways. Nothing was charged.",
                    action: "Send either the amount or the amount in minor units."
                )
            )
        }
    }

    /// For people's own pages.
    func charge(_ work: () async throws(ChargeRefusal) -> ChargeSnapshot) async throws(Problem) -> WebResponse {
        do throws(ChargeRefusal) { return .json(JSON.charge(try await work(), for: .staff).text) } catch {
            throw Self.problem(error, await desk.format)
        }
    }

    /// Does something to a charge and writes down who asked for it and what became of it.
    func audited(
        _ what: String,
        _ about: String,
        _ pass: Gate.Pass,
        _ work: () async throws(ChargeRefusal) -> ChargeSnapshot
    ) async throws(Problem) -> WebResponse {
        do throws(ChargeRefusal) {
            let charge = try await work()
            await audit(what, "ok", charge.id.rawValue, pass)
            return .json(JSON.charge(charge, for: pass.reader).text)
        } catch {
            let problem = Self.problem(error, await desk.format)
            await audit(what, "refused", "\(about): \(problem.reason.code)", pass)
            throw problem
        }
    }

    static func problem(
        _ refusal: ChargeRefusal,
        _ format: AmountFormat,
        _ amountField: String = "amount"
    ) -> Problem {
        let reason = refusal.reason(format: format)
        switch refusal {
        case .notSetUp, .notReady, .updating, .tooLate: return Problem(409, reason)
        case .busy(let id):
            var problem = Problem(409, reason)
            problem.chargeID = id
            return problem
        case .limit(.wrongCurrency): return .field("currency", reason)
        case .limit, .aboveOwnLimit: return .field(amountField, reason)
        case .invalidReference: return .field("reference", reason)
        case .invalidTip, .tipsAreOff: return .field("tipMinor", reason)
        case .invalidNote: return .field("note", reason)
        case .idempotencyConflict: return Problem(409, reason)
        case .notFound: return Problem(404, reason)
        case .starting:
            var problem = Problem(503, reason)
            problem.retryAfter = .zero
            return problem
        case .journal, .unrecorded: return Problem(503, reason)
        }
    }
}

extension AmountError {
    /// The error in a cashier's words.
    var reason: Reason {
        switch self {
        case .empty:
            Reason(code: "amount_missing", message: "There is no amount. Nothing was charged.", action: "Enter it.")
        case .notANumber:
            Reason(
                code: "amount_not_a_number",
                message: "This is not an amount. Nothing was charged.",
                action: "Use digits and one point or comma."
            )
        case .negative:
            Reason(
                code: "amount_negative",
                message: "An amount cannot be below zero. Nothing was charged.",
                action: "To refund a payment, open its charge in the history. "
                    + "It says whether the terminal gives the money back or you do."
            )
        case .zero:
            Reason(
                code: "amount_not_positive",
                message: "The amount must be more than zero. Nothing was charged.",
                action: "Enter the amount again."
            )
        case .tooManyDecimals(let allowed):
            Reason(
                code: "amount_too_fine",
                message: allowed == 0
                    ? "This currency has no decimals. Nothing was charged."
                    : "This currency has \(allowed) decimals at most. Nothing was charged.",
                action: "Enter the amount again."
            )
        case .ambiguous:
            Reason(
                code: "amount_ambiguous",
                message: "This could be read in two ways, a thousand times apart. Nothing was charged.",
                action: "Enter it without a separator for thousands."
            )
        case .tooLarge:
            Reason(
                code: "amount_above_limit",
                message: "The amount is larger than the terminal can count. Nothing was charged.",
                action: "Enter a smaller amount."
            )
        }
    }
}
