import Logging
public import Payments

/// Why a refund was not written down. Nothing was booked by the request that got it.
public enum RefundRefusal: Error, Sendable, Equatable {
    case notFound
    /// Nothing of it was paid at the gateway, or everything of it went back already.
    case nothingPaid
    /// More than what is left of the payment.
    case tooMuch(left: Money)
    case notPositive
    /// Missing, longer than ``Payments/Refund/longestReason`` characters, or not to be shown.
    case invalidReason
    /// An earlier refund of this payment waits for the gateway's word.
    case underWay
    /// The key was used for another refund of this charge.
    case keyUsed
    /// An equal one by the same person is written down, and the request has no key that tells them apart.
    case repeated
    /// The gateway does not mark it.
    case denied(code: String)
    case journal(JournalError)

    public func reason(format: AmountFormat) -> Reason {
        switch self {
        case .notFound: ChargeRefusal.notFound.reason(format: format)
        case .nothingPaid:
            Reason(
                code: "nothing_to_refund",
                message: "Nothing of this charge is left that the gateway could mark as refunded.",
                action: "Look at what happened to the charge before you give money back."
            )
        case .tooMuch(let left):
            Reason(
                code: "refund_too_large",
                message: "Only \(format.text(left)) of this payment is left to give back. Nothing was written down.",
                action: "Enter a smaller amount.",
                values: ["left": format.text(left)]
            )
        case .notPositive:
            Reason(
                code: "refund_not_positive",
                message: "The amount must be more than zero. Nothing was written down.",
                action: "Enter the amount again."
            )
        case .invalidReason:
            Reason(
                code: "invalid_reason",
                message:
                    "A refund needs a reason of at most \(Refund.longestReason) characters. Nothing was written down.",
                action: "Say in a few words why the money goes back."
            )
        case .underWay:
            Reason(
                code: "refund_under_way",
                message:
                    "An earlier refund of this payment waits for the gateway’s word. Nothing new was written down.",
                action: "Do not give the money back a second time. Ask the gateway again, or wait."
            )
        case .keyUsed:
            Reason(
                code: "refund_key_used",
                message:
                    "This request’s key was already used for another refund of this charge. Nothing new was written down.",
                action: "Look at the charge’s refunds before you give money back."
            )
        case .repeated:
            Reason(
                code: "refund_repeated",
                message: "The same refund is already written down for this charge. Nothing new was written down.",
                action: "If the customer gets as much once more, give another reason, or send a new Idempotency-Key."
            )
        case .denied(let code):
            Reason(
                code: "refund_denied",
                message:
                    "The gateway does not mark this payment as refunded (\(Reason.clean(code))). It is not booked as refunded.",
                action: "If you gave the money back already, write it down elsewhere and ask the gateway’s operator.",
                values: ["code": Reason.clean(code)]
            )
        case .journal(let error): error.reason
        }
    }
}

/// Refunds by hand: written down first, then marked at the gateway, which moves no money by it.
extension ChargeDesk {
    private static let mostFollowed = 100

    /// Writes down that staff give money of a payment back and, once it is the whole, has the gateway mark it.
    ///
    /// Where the gateway does not answer, the refund stays asked for and the terminal asks again: it is marked once.
    /// - Parameters:
    ///   - attempt: Whose payment; nil: the one that counts.
    ///   - minorUnits: Nil: what is left of it.
    ///   - key: Names the request among all of this charge: repeated with the same key it is booked once. Nil: an equal refund
    ///     by the same person is refused.
    /// - Throws: ``RefundRefusal``.
    public func refund(
        _ id: ChargeID,
        attempt: Attempt.ID?,
        minorUnits: Int64?,
        reason: String,
        by actor: Actor,
        key: String? = nil
    ) async throws(RefundRefusal) -> ChargeSnapshot {
        let charge = try await chargeToRefund(id)
        func isSame(_ refund: Refund, of number: Attempt.ID) -> Bool {
            refund.reason == reason && refund.by == actor && refund.minorUnits == minorUnits ?? refund.minorUnits
                && number == attempt ?? charge.paidAttempt
        }
        if let key, let earlier = charge.refund(under: key) {
            guard isSame(earlier.refund, of: earlier.attempt) else { throw .keyUsed }
            return try await settleRefund(id, earlier.attempt)
        }
        guard let number = attempt ?? charge.paidAttempt, let paid = charge.attempt(number) else { throw .nothingPaid }
        guard paid.askedRefund == nil else { throw .underWay }
        let left = charge.refundableMinorUnits(on: paid)
        guard left > 0 else { throw .nothingPaid }
        let wanted = minorUnits ?? left
        guard wanted > 0 else { throw .notPositive }
        guard wanted <= left else {
            throw .tooMuch(left: Money(minorUnits: left, currency: charge.terms.amount.currency))
        }
        guard (1...Refund.longestReason).contains(reason.unicodeScalars.count),
            SettingsForm.isVisible(reason, needsLetter: false)
        else {
            throw .invalidReason
        }

        if key == nil, paid.refunds.contains(where: { isSame($0.refund, of: number) }) { throw .repeated }
        let own = key ?? Refund.ownKey(attempt: number, minorUnits: wanted, reason: reason, by: actor)
        let refund = Refund(minorUnits: wanted, reason: reason, by: actor, key: own)
        var wasThere = false
        let recorded: Charge?
        do throws(JournalError) {
            recorded = try await record([.refundAsked(attempt: number, refund: refund)], of: id) { before, _ in
                wasThere = before.refund(under: own) != nil
                return nil
            }?.charge
        } catch { throw .journal(error) }
        // Somebody else's request may have come in between, or this one twice.
        guard let after = recorded, let now = after.attempt(number) else { throw .notFound }
        guard let kept = after.refund(under: own) else {
            if now.askedRefund != nil { throw .underWay }
            let left = after.refundableMinorUnits(on: now)
            throw left == 0
                ? .nothingPaid : .tooMuch(left: Money(minorUnits: left, currency: after.terms.amount.currency))
        }
        guard kept.refund == refund, kept.attempt == number else { throw .keyUsed }
        if key == nil, wasThere { throw kept.mark == nil ? .underWay : .repeated }
        let settled = try await settleRefund(id, number)
        // Whoever asked the gateway at the same moment may have got its no.
        guard settled.charge.refund(under: own) != nil else { throw .denied(code: "denied_meanwhile") }
        return settled
    }

    /// Asks the gateway once more about a refund that it has not confirmed; without one nothing happens.
    /// - Throws: ``RefundRefusal``.
    public func askRefundAgain(_ id: ChargeID) async throws(RefundRefusal) -> ChargeSnapshot {
        let charge = try await chargeToRefund(id)
        for attempt in charge.attempts where attempt.askedRefund != nil { _ = try await settleRefund(id, attempt.id) }
        return try await shownCharge(id)
    }

    private func chargeToRefund(_ id: ChargeID) async throws(RefundRefusal) -> Charge {
        let found: Charge?
        do throws(JournalError) { found = try await current(id) } catch { throw .journal(error) }
        guard let found else { throw .notFound }
        return found
    }

    private func shownCharge(_ id: ChargeID) async throws(RefundRefusal) -> ChargeSnapshot {
        do throws(ChargeRefusal) { return try await charge(id) } catch {
            if case .journal(let error) = error { throw .journal(error) }
            throw .notFound
        }
    }

    /// One try to bring an asked refund to its end.
    private func settleRefund(_ id: ChargeID, _ number: Attempt.ID) async throws(RefundRefusal) -> ChargeSnapshot {
        let charge = try await chargeToRefund(id)
        guard let attempt = charge.attempt(number), let refund = attempt.askedRefund else {
            return try await shownCharge(id)
        }
        // The gateway knows whole payments only: it hears of the last part.
        let isWhole = refund.minorUnits == charge.refundableMinorUnits(on: attempt)
        let answer = isWhole ? await mark(attempt, of: charge) : .marked(.keptHere)
        do throws(JournalError) {
            switch answer {
            case .marked(let mark): _ = try await record(.refunded(attempt: number, mark: mark), of: id)
            case .denied(let code): _ = try await record(.refundDenied(attempt: number, code: code), of: id)
            case .silent(let why):
                logger.warning(
                    "the gateway has not confirmed a refund",
                    metadata: ["charge": "\(id)", "reason": "\(Reason.clean(why))"]
                )
                refundsAsked.continuation.yield(id)
            }
        } catch { throw .journal(error) }
        if case .denied(let code) = answer { throw .denied(code: code) }
        return try await shownCharge(id)
    }

    private func mark(_ attempt: Attempt, of charge: Charge) async -> RefundAnswer {
        guard let (driver, link) = way(to: JobKey(charge: charge.id, attempt: attempt.id), of: charge) else {
            return .silent("the rail is switched off")
        }
        return await driver.markRefunded(link)
    }

    /// Asks about every unconfirmed refund, from before the start too, once a minute until cancelled.
    func followRefunds() async {
        var waiting: Set<ChargeID> = []
        // Where the journal cannot say, the refund stands in the charge and is asked about by hand or at the next start.
        for charge in (try? await archive.withAskedRefunds(limit: Self.mostFollowed)) ?? [] {
            waiting.insert(charge.id)
        }
        for id in waiting { _ = try? await askRefundAgain(id) }
        for await id in refundsAsked.stream {
            do { try await clock.sleep(.seconds(60)) } catch { return }  // The terminal stops; the next run asks.
            _ = try? await askRefundAgain(id)  // What it says is in the charge.
        }
    }
}
