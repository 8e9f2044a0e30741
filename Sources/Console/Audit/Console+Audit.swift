import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// The audit log: looking at it, taking it along, checking it.
extension Console {
    func auditResponse(_ query: AuditQuery) async throws(Problem) -> WebResponse {
        let page = try await auditDesk.page(query)
        let zone = await settings.current?.settings.zone ?? .current
        return .json(
            JSON.object([
                "timeZone": .string(zone.identifier),
                "entries": .array(page.lines.map(JSON.auditLine)),
                "next": page.next.map(JSON.integer) ?? .null,
            ]).text
        )
    }

    /// The whole log as a file, made while it is sent. The log itself says who took it.
    func auditExport(_ format: ExportFormat, _ pass: Gate.Pass) async -> WebResponse {
        await entrance.audit("audit.export", "ok", format.rawValue, by: pass.who, from: pass.request.peerAddress)
        let writer = auditDesk.export(format)
        let day = await days.today().day.text
        return WebResponse(
            headers: [
                "Content-Type": format.contentType,
                "Content-Disposition": "attachment; filename=\"till-audit-\(day).\(format.rawValue)\"",
            ],
            body: .parts { try await writer.next() }
        )
    }

    func verifyAudit(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let check = try await auditDesk.verify()
        let peer = pass.request.peerAddress
        switch check {
        case .intact(let count, let head):
            let takenOver: Int64?
            do throws(JournalError) { takenOver = try await books.auditTakenOver() } catch {
                throw Problem(503, error.reason)
            }
            await entrance.audit("audit.verify", "ok", "\(count) entries", by: pass.who, from: peer)
            return .json(
                JSON.object([
                    "intact": .bool(true), "entries": .integer(Int64(count)), "head": .string(head.hexadecimal),
                    "takenOver": .integer(takenOver ?? 0), "brokenAt": .null, "reason": .null, "fault": .null,
                ]).text
            )
        case .broken(let sequence, let what):
            await entrance.audit("audit.verify", "failed", "entry \(sequence): \(what)", by: pass.who, from: peer)
            return .json(
                JSON.object([
                    "intact": .bool(false), "entries": .integer(max(0, sequence - 1)), "head": .null,
                    "takenOver": .null,
                    "brokenAt": .integer(sequence), "reason": .string(what),
                    "fault": .string(Self.fault(what)),
                ]).text
            )
        }
    }

    /// A stable word for what the check of the chain says of an entry; the page has a sentence for each.
    private static func fault(_ what: String) -> String {
        switch what {
        case "an entry is missing": "missing"
        case "a field of it holds what no entry holds": "unreadable"
        case "an entry too many": "surplus"
        case "its content was changed": "changed"
        case "it does not follow from the entry before it": "unchained"
        case "entries that were written are missing or were written anew": "lost"
        case "the log's seal does not fit its last entry": "unsealed"
        default: "other"
        }
    }
}
