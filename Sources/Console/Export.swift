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

/// Writes charges as a file, a part at a time.
package actor ExportWriter {
    private let export: HistoryExport
    private let format: ExportFormat
    private var hasBegun = false
    private var hasEnded = false

    package init(_ export: HistoryExport, _ format: ExportFormat) { (self.export, self.format) = (export, format) }

    /// - Throws: `JournalError`: what was written so far is not all.
    package func next() async throws -> [UInt8]? {
        guard !hasEnded else { return nil }
        let charges = try await export.next()
        let isFirst = !hasBegun
        hasBegun = true
        hasEnded = charges == nil
        switch format {
        case .csv:
            let head = isFirst ? CSV.line(ChargeRecordLine.names) : ""
            return Array((head + (charges ?? []).map { CSV.line(ChargeRecordLine.fields($0)) }.joined()).utf8)
        case .json:
            let lines = (charges ?? []).map { JSON.exported($0).text }.joined(separator: ",\n")
            let begin = isFirst ? "{\"charges\":[\n" : lines.isEmpty ? "" : ",\n"
            return Array((begin + lines + (hasEnded ? "\n]}\n" : "")).utf8)
        }
    }
}

/// Comma-separated values. Source: RFC 4180, section 2.
enum CSV {
    static func line(_ fields: [String]) -> String { fields.map(field).joined(separator: ",") + "\r\n" }

    /// A text that a spreadsheet would take for a formula gets an apostrophe before it, as spreadsheets mark texts.
    /// Source: OWASP, "CSV Injection".
    static func field(_ text: String) -> String {
        let isFormula = text.unicodeScalars.first.map { "=+-@\t\r\n|％＝＋－＠".unicodeScalars.contains($0) } ?? false
        let safe = isFormula ? "'" + text : text
        // By scalars: a line break of two is one character, which is none of these.
        guard safe.unicodeScalars.contains(where: { "\",;\r\n".unicodeScalars.contains($0) }) || safe.hasPrefix(" ")
        else { return safe }
        return "\"" + safe.replacing("\"", with: "\"\"") + "\""
    }
}

/// The columns of a file of charges.
enum ChargeRecordLine {
    static let names = [
        "id", "code", "opened_at", "updated_at", "state", "currency", "amount", "total", "tip", "surplus", "refunded",
        "rail", "opened_by", "reference", "payment_id", "transaction_id", "late", "note", "shift", "refused",
    ]

    static func fields(_ charge: ChargeSummary) -> [String] {
        [
            charge.id.rawValue, charge.code, charge.openedAt.exported, charge.updatedAt.exported, charge.state.rawValue,
            charge.total.currency.code, charge.amount.plain, charge.total.plain, charge.tip?.plain ?? "",
            charge.surplus.plain, charge.refunded.plain, charge.rail?.rawValue ?? "", charge.openedBy,
            charge.reference ?? "", charge.paymentID ?? "", charge.transactionID ?? "", charge.isLate ? "yes" : "no",
            charge.note ?? "", charge.shift.map(String.init) ?? "",
            charge.wasRefused ? "yes" : "no",
        ]
    }
}

extension JSON {
    fileprivate static func exported(_ charge: ChargeSummary) -> JSON {
        .object([
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
            "shift": charge.shift.map(JSON.integer) ?? .null,
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
