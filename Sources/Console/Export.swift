import Foundation
import Journal
import Payments
package import Terminal

/// What a file of charges is written as.
package enum ExportFormat: String, Sendable {
    case csv, json

    var contentType: String {
        switch self {
        case .csv: "text/csv; charset=utf-8; header=present"
        case .json: "application/json"
        }
    }
}

/// Writes charges and refunds as a file, a part at a time.
package actor ExportWriter {
    private let export: HistoryExport
    private let format: ExportFormat
    /// What the last part was of; nil before the first.
    private var list: List?
    private var hasEnded = false

    private enum List { case charges, refunds }

    package init(_ export: HistoryExport, _ format: ExportFormat) { (self.export, self.format) = (export, format) }

    /// - Throws: `JournalError`: what was written so far is not all.
    package func next() async throws -> [UInt8]? {
        guard !hasEnded else { return nil }
        let part = try await export.next()
        hasEnded = part == nil
        switch format {
        case .csv: return Array(csv(part).utf8)
        case .json: return Array(json(part).utf8)
        }
    }

    private func csv(_ part: HistoryExport.Part?) -> String {
        let zone = export.zone
        let head = list == nil ? CSV.mark + CSV.line(ChargeRecordLine.names) : ""
        list = .charges
        return switch part {
        case .charges(let charges)?: head + charges.map { CSV.line(ChargeRecordLine.fields($0, zone)) }.joined()
        case .refunds(let refunds)?: head + refunds.map { CSV.line(ChargeRecordLine.fields($0, zone)) }.joined()
        case nil: head
        }
    }

    private func json(_ part: HistoryExport.Part?) -> String {
        let zone = export.zone
        return switch part {
        case .charges(let charges)?:
            turn(to: .charges) + charges.map { JSON.exported($0, zone).text }.joined(separator: ",\n")
        case .refunds(let refunds)?:
            turn(to: .refunds) + refunds.map { JSON.exported($0, zone).text }.joined(separator: ",\n")
        case nil: (list == .refunds ? "" : turn(to: .refunds)) + "\n]}\n"
        }
    }

    /// What stands between the last part and one of this list.
    private func turn(to next: List) -> String {
        defer { list = next }
        return switch (list, next) {
        case (nil, .charges): "{\"charges\":[\n"
        case (nil, .refunds): "{\"charges\":[\n\n],\n\"refunds\":[\n"
        case (.charges?, .refunds): "\n],\n\"refunds\":[\n"
        case (.charges?, .charges), (.refunds?, _): ",\n"
        }
    }
}

/// Comma-separated values. Source: RFC 4180, section 2.
enum CSV {
    /// Stands at the beginning of a file. Without it Excel takes UTF-8 for the system's own code page: `BÃ¼ro`.
    static let mark = "\u{FEFF}"

    static func line(_ fields: [String]) -> String { fields.map(field).joined(separator: ",") + "\r\n" }

    /// A text that a spreadsheet would take for a formula gets an apostrophe before it, as spreadsheets mark texts. A sign and
    /// digits are a number and compute nothing: `+4711` stays, so that whoever matches references finds it.
    /// Source: OWASP, "CSV Injection".
    static func field(_ text: String) -> String {
        let begins = text.unicodeScalars.first.map { "=+-@\t\r\n|％＝＋－＠".unicodeScalars.contains($0) } ?? false
        let isFormula = begins && !isNumber(text)
        let safe = isFormula ? "'" + text : text
        // By scalars: a line break of two is one character, which is none of these.
        guard safe.unicodeScalars.contains(where: { "\",;\r\n".unicodeScalars.contains($0) }) || safe.hasPrefix(" ")
        else { return safe }
        return "\"" + safe.replacing("\"", with: "\"\"") + "\""
    }
}

extension CSV {
    /// `+` or `-`, then digits and at most one point among them.
    private static func isNumber(_ text: String) -> Bool {
        guard let sign = text.utf8.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return false }
        let parts = text.utf8.dropFirst().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count <= 2
            && parts.allSatisfy {
                !$0.isEmpty && $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            }
    }
}

/// The columns of a file of charges and refunds. `net` is what adds up: what came in with a charge, and below zero what went
/// back with a refund, each on its own day.
enum ChargeRecordLine {
    static let names = [
        "id", "code", "opened_at", "updated_at", "state", "currency", "amount", "total", "tip", "surplus", "refunded",
        "rail", "opened_by", "reference", "payment_id", "transaction_id", "late", "note", "shift", "refused",
        "row", "at", "shop_day", "local_time", "net", "refund_reason", "refunded_by",
    ]

    static func fields(_ refund: RefundSummary, _ zone: TimeZone) -> [String] {
        let charge = refund.charge
        let time = ShopTime(refund.at, in: zone)
        return [
            charge.id.rawValue, charge.code, charge.openedAt.exported, charge.updatedAt.exported, charge.state.rawValue,
            charge.total.currency.code, "", "", "", "", "", charge.rail?.rawValue ?? "", charge.openedBy,
            charge.reference ?? "", charge.paymentID ?? "", charge.transactionID ?? "", charge.isLate ? "yes" : "no",
            charge.note ?? "", charge.shift.map(String.init) ?? "", charge.wasRefused ? "yes" : "no", "refund",
            refund.at.exported, time.day.text, time.text, "-" + refund.amount.plain, refund.reason ?? "",
            refund.by ?? "",
        ]
    }

    static func fields(_ charge: ChargeSummary, _ zone: TimeZone) -> [String] {
        let time = ShopTime(charge.openedAt, in: zone)
        return [
            charge.id.rawValue, charge.code, charge.openedAt.exported, charge.updatedAt.exported, charge.state.rawValue,
            charge.total.currency.code, charge.amount.plain, charge.total.plain, charge.tip?.plain ?? "",
            charge.surplus.plain, charge.refunded.plain, charge.rail?.rawValue ?? "", charge.openedBy,
            charge.reference ?? "", charge.paymentID ?? "", charge.transactionID ?? "", charge.isLate ? "yes" : "no",
            charge.note ?? "", charge.shift.map(String.init) ?? "",
            charge.wasRefused ? "yes" : "no", "charge", charge.openedAt.exported, time.day.text, time.text,
            charge.taken.plain, "", "",
        ]
    }
}

extension ChargeSummary {
    /// What came in with the charge, whenever any of it went back: what a day's sums count where it was opened.
    var taken: Money {
        guard state == .succeeded else { return Money(minorUnits: 0, currency: total.currency) }
        let (sum, overflow) = total.minorUnits.addingReportingOverflow(surplus.minorUnits)
        return Money(minorUnits: overflow ? .max : sum, currency: total.currency)
    }
}

extension JSON {
    fileprivate static func exported(_ refund: RefundSummary, _ zone: TimeZone) -> JSON {
        let charge = refund.charge
        let time = ShopTime(refund.at, in: zone)
        return .object([
            "chargeID": .string(charge.id.rawValue), "code": .string(charge.code), "at": .time(refund.at),
            "shopDay": .string(time.day.text), "localTime": .string(time.text),
            "currency": .string(refund.amount.currency.code), "amountMinor": .integer(refund.amount.minorUnits),
            "netMinor": .integer(-refund.amount.minorUnits), "rail": .optional(charge.rail?.rawValue),
            "state": .string(charge.state.rawValue), "openedAt": .time(charge.openedAt),
            "openedBy": .string(charge.openedBy), "reference": .optional(charge.reference),
            "paymentID": .optional(charge.paymentID), "shift": charge.shift.map(JSON.integer) ?? .null,
            "reason": .optional(refund.reason), "by": .optional(refund.by), "mark": .optional(refund.mark?.rawValue),
        ])
    }

    fileprivate static func exported(_ charge: ChargeSummary, _ zone: TimeZone) -> JSON {
        let time = ShopTime(charge.openedAt, in: zone)
        return .object([
            "id": .string(charge.id.rawValue), "code": .string(charge.code), "openedAt": .time(charge.openedAt),
            "updatedAt": .time(charge.updatedAt), "state": .string(charge.state.rawValue),
            "currency": .string(charge.total.currency.code), "amountMinor": .integer(charge.amount.minorUnits),
            "totalMinor": .integer(charge.total.minorUnits),
            "tipMinor": charge.tip.map { .integer($0.minorUnits) } ?? .null,
            "surplusMinor": .integer(charge.surplus.minorUnits),
            "refundedMinor": .integer(charge.refunded.minorUnits), "rail": .optional(charge.rail?.rawValue),
            "openedBy": .string(charge.openedBy), "reference": .optional(charge.reference),
            "paymentID": .optional(charge.paymentID), "transactionID": .optional(charge.transactionID),
            "refused": .bool(charge.wasRefused), "late": .bool(charge.isLate), "note": .optional(charge.note),
            "shift": charge.shift.map(JSON.integer) ?? .null, "shopDay": .string(time.day.text),
            "localTime": .string(time.text), "netMinor": .integer(charge.taken.minorUnits),
        ])
    }
}

extension WallTime {
    /// RFC 3339 in UTC, to the millisecond.
    var exported: String {
        Date(timeIntervalSince1970: Double(millisecondsSince1970) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

extension Money {
    /// With a point and all decimals of the currency: `12.50`. No amount here is below zero.
    var plain: String {
        let digits = String(minorUnits)
        let padded = String(repeating: "0", count: max(0, currency.exponent + 1 - digits.count)) + digits
        return currency.exponent == 0
            ? padded : padded.dropLast(currency.exponent) + "." + padded.suffix(currency.exponent)
    }
}
