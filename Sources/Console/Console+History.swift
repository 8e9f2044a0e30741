import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// Looking back: lists, searches, sums, and everything as a file.
extension Console {
    private var history: HistoryDesk { days.history }

    func historyResponse(_ query: HistoryQuery, for reader: Reader) async throws(Problem) -> WebResponse {
        var query = query
        query.readsNotes = reader == .staff
        let page: ChargePage
        do throws(JournalError) { page = try await history.charges(query) } catch { throw Problem(503, error.reason) }
        let format = await desk.format
        // Newest first, whichever way it was gone through.
        let charges = query.place.isForward ? page.charges.reversed() : page.charges
        return .json(
            JSON.object([
                "charges": .array(charges.map { .summary($0, format, for: reader) }),
                "next": .optional(page.next?.rawValue),
            ]).text
        )
    }

    /// One charge with everything that happened to it.
    func chargeResponse(_ id: ChargeID, for reader: Reader) async throws(Problem) -> WebResponse {
        let snapshot: ChargeSnapshot
        do throws(ChargeRefusal) { snapshot = try await desk.charge(id) } catch {
            throw Self.problem(error, await desk.format)
        }
        let timeline: [TimelineEntry]
        do throws(JournalError) { timeline = try await history.timeline(of: id) } catch {
            throw Problem(503, error.reason)
        }
        guard case .object(var members) = JSON.charge(snapshot, for: reader) else { throw .notFound }
        if reader == .staff { members["receiptTrouble"] = .reason(await receipts.trouble(of: id)) }
        members["timeline"] = .array(timeline.map { JSON.timeline($0.said(to: reader)) })
        return .json(JSON.object(members).text)
    }

    func totalsResponse(_ span: TakingsSpan, _ from: ShopDay?, _ to: ShopDay?) async throws(Problem) -> WebResponse {
        do throws(TakingsRefusal) {
            let (periods, zone) = try await history.takings(by: span, from: from, to: to)
            let format = await desk.format
            return .json(
                JSON.object([
                    "by": .string(span.rawValue), "timeZone": .string(zone),
                    "periods": .array(periods.map { .period($0, format) }),
                ]).text
            )
        } catch {
            switch error {
            case .journal(let error): throw Problem(503, error.reason)
            case .endsBeforeItBegins:
                throw .field(
                    "to",
                    Payments.Reason(
                        code: "invalid_query",
                        message: "The last day lies before the first one.",
                        action: "Choose a later last day."
                    )
                )
            case .tooLong(let most):
                throw .field(
                    "from",
                    Payments.Reason(
                        code: "invalid_query",
                        message: "This is more than is summed at once.",
                        action: "Ask for at most \(most) \(span.rawValue)s."
                    )
                )
            }
        }
    }

    /// Every charge and refund that fits as a file, made while it is sent. The audit log says who took it.
    func exportResponse(_ format: ExportFormat, _ query: HistoryQuery, _ pass: Gate.Pass) async -> WebResponse {
        await entrance.audit("export", "ok", format.rawValue, by: pass.who, from: pass.request.peerAddress)
        let writer = ExportWriter(await history.export(query), format)
        let day = await days.today().day.text
        return WebResponse(
            headers: [
                "Content-Type": format.contentType,
                "Content-Disposition": "attachment; filename=\"till-charges-\(day).\(format.rawValue)\"",
            ],
            body: .parts { try await writer.next() }
        )
    }
}

extension ChargePlace {
    fileprivate var isForward: Bool {
        switch self {
        case .newest, .before: false
        case .oldest, .after: true
        }
    }
}

// MARK: - JSON

extension JSON {
    /// A charge in a list.
    static func summary(_ charge: ChargeSummary, _ format: AmountFormat, for reader: Reader) -> JSON {
        var members: [String: JSON] = [
            "id": .string(charge.id.rawValue), "code": .string(charge.code), "state": .string(charge.state.rawValue),
            "amountMinor": .integer(charge.amount.minorUnits), "totalMinor": .integer(charge.total.minorUnits),
            "currency": .string(charge.total.currency.code), "amountText": .string(format.text(charge.total)),
            "tipText": .optional(charge.tip.map(format.text)), "reference": .optional(charge.reference),
            "shift": charge.shift.map(JSON.integer) ?? .null,
            "createdAt": .time(charge.openedAt), "updatedAt": .time(charge.updatedAt),
            "rail": .optional(charge.rail?.rawValue), "openedBy": .string(charge.openedBy),
            "refused": .bool(charge.wasRefused), "late": .bool(charge.isLate), "promised": .bool(charge.isPromised),
            "givenBack": .bool(charge.isGivenBack), "open": .bool(charge.isOpen),
            "confirmedBy": .optional(charge.state == .succeeded ? charge.rail?.authority.rawValue : nil),
            "surplusMinor": .integer(charge.surplus.minorUnits),
            "refundedMinor": .integer(charge.refunded.minorUnits),
            "paymentID": .optional(charge.paymentID), "transactionID": .optional(charge.transactionID),
        ]
        if reader == .staff { members["note"] = .optional(charge.note) }
        return .object(members)
    }

    static func timeline(_ entry: TimelineEntry) -> JSON {
        // As a reason too, which the page says in its own language.
        let code = "event_" + entry.kind.map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }.joined()
        var parts = parts(of: Reason(code: code, message: entry.text, action: "", values: entry.values))
        for (name, value) in [
            "at": JSON.time(entry.at), "kind": .string(entry.kind), "who": .string(entry.who),
            "rail": .optional(entry.rail?.rawValue), "text": .string(entry.text),
        ] { parts[name] = value }
        return .object(parts)
    }

    /// The sums of a day or month, one for each currency.
    static func period(_ period: TakingsPeriod, _ format: AmountFormat) -> JSON {
        let byCurrency = Dictionary(grouping: period.takings, by: \.currency)
        let totals = byCurrency.sorted { $0.key.code < $1.key.code }.map { Self.totals($0.key, $0.value, format) }
        return .object([
            "first": .string(period.first.text), "last": .string(period.last.text), "totals": .array(totals),
        ])
    }

    static func totals(_ currency: Currency, _ takings: [Takings], _ format: AmountFormat) -> JSON {
        func text(_ minorUnits: Int64) -> JSON {
            .string(format.text(Money(minorUnits: minorUnits, currency: currency)))
        }
        let paid = takings.filter { $0.state == .succeeded }
        let total = sum(paid, \.totalMinorUnits)
        let surplus = sum(paid, \.surplusMinorUnits)
        let refunded = sum(takings, \.refundedMinorUnits)
        let (taken, overflow) = total.addingReportingOverflow(surplus)
        let net = (overflow ? .max : taken) - refunded
        var states: [String: JSON] = [:]
        for (state, some) in Dictionary(grouping: takings, by: \.state) {
            states[state.rawValue] = .integer(sum(some, \.charges))
        }
        var rails: [String: JSON] = [:]
        for (rail, some) in Dictionary(grouping: paid, by: \.rail) {
            let minor = sum(some, \.totalMinorUnits)
            rails[rail?.rawValue ?? "none"] = .object([
                "charges": .integer(sum(some, \.charges)), "minor": .integer(minor), "text": text(minor),
            ])
        }
        return .object([
            "currency": .string(currency.code), "exponent": .integer(Int64(currency.exponent)),
            "paid": .integer(sum(paid, \.charges)), "totalMinor": .integer(total), "totalText": text(total),
            "tipMinor": .integer(sum(paid, \.tipMinorUnits)), "tipText": text(sum(paid, \.tipMinorUnits)),
            "surplusMinor": .integer(surplus), "surplusText": text(surplus),
            "refunds": .integer(sum(takings, \.refunds)), "refundedMinor": .integer(refunded),
            "refundedText": text(refunded), "netMinor": .integer(net), "netText": text(net),
            "states": .object(states), "rails": .object(rails),
        ])
    }

    /// The most that can be counted where there is more.
    private static func sum(_ takings: [Takings], _ part: (Takings) -> Int64) -> Int64 {
        takings.reduce(0) { sum, one in
            let (next, overflow) = sum.addingReportingOverflow(part(one))
            return overflow ? .max : next
        }
    }
}
