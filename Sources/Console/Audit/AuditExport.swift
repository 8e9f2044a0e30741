import Foundation
package import Journal
import Payments

/// Writes the whole audit log as a file, oldest first, a part at a time. `scripts/verify-audit-export` checks such a file
/// without the terminal: each entry carries its hashed bytes and both hashes.
package actor AuditExport {
    static let names = [
        "seq", "at", "who", "from", "what", "result", "detail", "intact", "format", "body", "previous", "hash",
    ]
    private static let part = 500

    private let journal: Journal
    private let format: ExportFormat
    private var last: Int64 = 0
    private var hasBegun = false
    private var hasEnded = false

    package init(journal: Journal, format: ExportFormat) { (self.journal, self.format) = (journal, format) }

    /// - Throws: `JournalError`: what was written so far is not all.
    package func next() async throws -> [UInt8]? {
        guard !hasEnded else { return nil }
        let lines = try await journal.auditLines(after: last, limit: Self.part)
        last = lines.last?.sequence ?? last
        let isFirst = !hasBegun
        hasBegun = true
        hasEnded = lines.count < Self.part
        switch format {
        case .csv:
            return Array(((isFirst ? CSV.mark + CSV.line(Self.names) : "") + lines.map(Self.csv).joined()).utf8)
        case .json:
            // An entry a line, so that a long file can be read one by one.
            let begin = isFirst ? "{\"log\":\"till audit 1\",\"entries\":[\n" : lines.isEmpty ? "" : ",\n"
            let text = lines.map { JSON.auditRecord($0).text }.joined(separator: ",\n")
            return Array((begin + text + (hasEnded ? "\n]}\n" : "")).utf8)
        }
    }

    private static func csv(_ line: AuditLine) -> String {
        CSV.line([
            String(line.sequence), line.entry?.at.moment ?? "", line.entry?.who.text ?? "", line.entry?.from ?? "",
            line.entry?.what ?? "", line.entry?.result ?? "", line.entry?.detail ?? "", line.isIntact ? "yes" : "no",
            String(line.format), String(decoding: line.body, as: UTF8.self), line.previous.hexadecimal,
            line.hash.hexadecimal,
        ])
    }
}

extension JSON {
    /// An entry for the page.
    static func auditLine(_ line: AuditLine) -> JSON {
        .object([
            "seq": .integer(line.sequence), "at": line.entry.map { .time($0.at) } ?? .null,
            "who": .optional(line.entry?.who.text), "from": .optional(line.entry?.from),
            "what": .optional(line.entry?.what), "result": .optional(line.entry?.result),
            "detail": .optional(line.entry?.detail), "intact": .bool(line.isIntact),
            "hash": .string(line.hash.hexadecimal),
        ])
    }

    /// An entry with everything its hash was made from.
    static func auditRecord(_ line: AuditLine) -> JSON {
        guard case .object(var members) = auditLine(line) else { return .null }
        members["format"] = .integer(line.format)
        members["body"] = .string(String(decoding: line.body, as: UTF8.self))
        members["previous"] = .string(line.previous.hexadecimal)
        return .object(members)
    }
}

extension Payments.Actor {
    /// `staff:Ada`, `stranger`: as filters take it.
    var text: String {
        switch self {
        case .staff(let name): "staff:\(name)"
        case .till(let token): "till:\(token)"
        case .customer: "customer"
        case .terminal: "terminal"
        case .keypad: "keypad"
        case .stranger: "stranger"
        }
    }
}

extension [UInt8] {
    /// Two lower-case digits a byte.
    var hexadecimal: String { map(Sessions.hexadecimal).joined() }
}

extension WallTime {
    /// RFC 3339 in UTC, to the millisecond.
    var moment: String {
        Date(timeIntervalSince1970: Double(millisecondsSince1970) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
