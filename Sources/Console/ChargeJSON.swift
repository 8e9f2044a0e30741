import Foundation
import Journal
import Payments
import Terminal

extension JSON {
    /// A moment as RFC 3339 in UTC, to the millisecond.
    static func time(_ time: WallTime) -> JSON {
        let date = Date(timeIntervalSince1970: Double(time.millisecondsSince1970) / 1000)
        return .string(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    static func reason(_ reason: Reason?) -> JSON {
        guard let reason else { return .null }
        return .object(parts(of: reason))
    }

    /// A reason as fields of an object; `values` only where it has some.
    static func parts(of reason: Reason) -> [String: JSON] {
        var parts: [String: JSON] = [
            "code": .string(reason.code), "message": .string(reason.message), "action": .string(reason.action),
        ]
        if !reason.values.isEmpty { parts["values"] = .object(reason.values.mapValues(JSON.string)) }
        return parts
    }

    /// The whole terminal, for the page's event stream. Never the claim code: that is for the screen alone.
    static func terminal(_ snapshot: TerminalSnapshot) -> JSON {
        var body: [String: JSON] = [
            "gateway": .string(snapshot.gateway.word), "gatewayPause": .reason(snapshot.gatewayPause),
            "at": .time(snapshot.at), "charge": .null, "checking": .integer(0),
            "wallets": .connectLight(snapshot.connect.light),
            "trouble": .reason(snapshot.trouble), "notices": .array(snapshot.notices.map(JSON.notice)),
            "message": snapshot.message.map(JSON.onScreen) ?? .null,
            "ownerReset": .ownerReset(snapshot.ownerReset),
        ]
        switch snapshot.phase {
        case .starting(let checking):
            body["phase"] = .string("starting")
            body["checking"] = .integer(Int64(checking))
        case .unclaimed: body["phase"] = .string("unclaimed")
        case .setup: body["phase"] = .string("setup")
        // Who may read the code reads it on the screen.
        case .idle, .resetting: body["phase"] = .string("idle")
        case .charging(let charge):
            body["phase"] = .string("charging")
            body["charge"] = .charge(charge, for: .staff)
        }
        return .object(body)
    }

    /// A new owner password that somebody at the terminal asks for. Never the code: that is for the screen alone.
    static func ownerReset(_ reset: OwnerReset?) -> JSON {
        switch reset {
        case .waiting(let minutes): .object(["state": .string("waiting"), "minutes": .integer(Int64(minutes))])
        case .shown: .object(["state": .string("shown"), "minutes": .null])
        case nil: .null
        }
    }

    /// A change of a charge, as programs are told it in every way.
    static func change(_ change: ChargeChange) -> JSON {
        .object([
            "id": .string(change.id.rawValue), "code": .string(change.code.rawValue),
            "state": .string(change.state.rawValue), "reference": .optional(change.reference),
            "totalMinor": .integer(change.total.minorUnits), "currency": .string(change.total.currency.code),
            "unresolved": .bool(change.isUnresolved), "late": .bool(change.isLate),
            "promised": .bool(change.isPromised), "at": .time(change.at),
        ])
    }

    static func notice(_ notice: PaymentNotice) -> JSON {
        .object([
            "id": .string(notice.id.rawValue), "kind": .string(notice.kind.rawValue),
            "code": .string(notice.code.rawValue), "amountText": .string(notice.amountText), "at": .time(notice.at),
        ])
    }

    static func charge(_ snapshot: ChargeSnapshot, for reader: Reader) -> JSON {
        let charge = snapshot.charge
        let terms = charge.terms
        let refunded = Money(minorUnits: charge.refundedMinorUnits, currency: terms.amount.currency)
        var members: [String: JSON] = [
            "id": .string(charge.id.rawValue), "code": .string(terms.code.rawValue),
            "state": .string(charge.state.rawValue), "amountMinor": .integer(terms.amount.minorUnits),
            "totalMinor": .integer(charge.total.minorUnits),
            "currency": .string(terms.amount.currency.code), "amountText": .string(snapshot.amountText),
            "tipText": .optional(snapshot.tipText), "tipMinor": terms.tip.map { .integer($0.minorUnits) } ?? .null,
            "reference": .optional(terms.reference), "openedBy": .string(terms.openedBy.name),
            "refundedMinor": .integer(refunded.minorUnits), "refundedText": .string(snapshot.format.text(refunded)),
            "refunds": refunds(snapshot, reader), "payments": payments(snapshot),
            "merchantName": .string(terms.merchantName), "createdAt": .time(terms.openedAt),
            "updatedAt": .time(snapshot.updatedAt), "deadline": .time(terms.deadline),
            "secondsLeft": .optional(snapshot.secondsLeft), "unresolved": .bool(snapshot.isUnresolved),
            "refused": .bool(charge.wasRefused),
            "late": .bool(charge.isLate), "promised": .bool(charge.isPromised), "givenBack": .bool(charge.isGivenBack),
            "canGiveBack": .bool(charge.canGiveBack), "confirmedBy": .optional(charge.confirmedBy?.rawValue),
            "link": .optional(snapshot.link), "connect": .connect(snapshot),
            "reason": .reason(snapshot.reason),
            "evidence": evidence(charge), "canCancel": .bool(snapshot.canCancel),
            "canRelease": .bool(snapshot.canRelease),
            "releaseInSeconds": .optional(snapshot.releaseInSeconds),
            "processingSeconds": .optional(snapshot.processingSeconds),
            "holdsTerminal": .bool(charge.holdsTerminal),
            "onScreen": snapshot.isReadableOnScreen.map(JSON.bool) ?? .null,
        ]
        if reader == .staff { members["note"] = .optional(terms.note) }
        return .object(members)
    }

    /// What staff gave back, booked or still waiting for the gateway's word.
    private static func refunds(_ snapshot: ChargeSnapshot, _ reader: Reader) -> JSON {
        .array(
            snapshot.charge.attempts.flatMap { attempt in
                attempt.refunds.map { refund(attempt, $0.refund, $0.mark, snapshot, reader) }
                    + (attempt.askedRefund.map { [refund(attempt, $0, nil, snapshot, reader)] } ?? [])
            }
        )
    }

    private static func refund(
        _ attempt: Attempt,
        _ refund: Refund,
        _ mark: Refund.Mark?,
        _ snapshot: ChargeSnapshot,
        _ reader: Reader
    ) -> JSON {
        var members: [String: JSON] = [
            "attempt": .integer(Int64(attempt.id)), "amountMinor": .integer(refund.minorUnits),
            "amountText": .string(text(refund.minorUnits, snapshot)), "by": .string(refund.by.name),
            "mark": .optional(mark?.rawValue),
        ]
        if reader == .staff { members["reason"] = .string(refund.reason) }
        return .object(members)
    }

    /// Payments at the gateway that came in for the charge, with what of each can still be marked as refunded.
    private static func payments(_ snapshot: ChargeSnapshot) -> JSON {
        let charge = snapshot.charge
        let paid = charge.attempts.filter { $0.rail.authority == .gateway && charge.paidMinorUnits(on: $0) > 0 }
        let surplus = Set(charge.surplusAttempts.map(\.id))
        return .array(
            paid.map { attempt in
                let left = charge.refundableMinorUnits(on: attempt)
                return .object([
                    "attempt": .integer(Int64(attempt.id)), "rail": .string(attempt.rail.rawValue),
                    "paymentID": .optional(attempt.offer?.paymentID), "leftMinor": .integer(left),
                    "leftText": .string(text(left, snapshot)),
                    "paidText": .string(text(charge.paidMinorUnits(on: attempt), snapshot)),
                    "refundAsked": .bool(attempt.askedRefund != nil), "surplus": .bool(surplus.contains(attempt.id)),
                ])
            }
        )
    }

    private static func text(_ minorUnits: Int64, _ snapshot: ChargeSnapshot) -> String {
        snapshot.format.text(Money(minorUnits: minorUnits, currency: snapshot.charge.terms.amount.currency))
    }

    private static func evidence(_ charge: Charge) -> JSON {
        let paymentID = charge.evidence?.paymentID ?? charge.attempts.lazy.compactMap(\.offer?.paymentID).first
        guard let paymentID else { return .null }
        return .object([
            "paymentID": .string(paymentID), "transactionID": .optional(charge.evidence?.transactionID),
            "paidAmountText": .optional(charge.evidence?.paid.map { "\($0.plain) \($0.symbol)" }),
            "network": .optional(charge.evidence?.paid?.network),
        ])
    }
}
