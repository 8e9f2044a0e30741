import Foundation
import Journal
import Payments
import Terminal

/// What is asked of the audit log, in the shop's own words.
struct AuditQuery: Sendable, Hashable {
    var who: String?
    var what: String?
    var result: String?
    var text: String?
    var from: ShopDay?
    var to: ShopDay?
    var before: Int64?
    /// 1 to 200.
    var limit = 50

    private static let names = ["who", "what", "result", "q", "from", "to", "before", "limit"]

    init() {}

    /// - Throws: ``Problem`` 422 at the name that means nothing.
    init(_ query: [String: String]) throws(Problem) {
        if let name = query.keys.sorted().first(where: { !Self.names.contains($0) }) { throw Self.wrong(name) }
        func value<Value>(_ name: String, _ read: (String) -> Value?) throws(Problem) -> Value? {
            guard let text = query[name] else { return nil }
            guard let value = read(text) else { throw Self.wrong(name) }
            return value
        }
        let plain: (String) -> String? = { text in
            let isPlain = !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            return (1...100).contains(text.count) && text.utf8.count <= 400 && isPlain ? text : nil
        }
        who = try value("who", plain)
        what = try value("what", plain)
        result = try value("result", plain)
        text = try value("q", plain)
        from = try value("from") { ShopDay($0) }
        to = try value("to") { ShopDay($0) }
        if let from, let to, to < from { throw Self.wrong("to") }
        before = try value("before") { Int64($0).flatMap { $0 > 0 ? $0 : nil } }
        limit = try value("limit") { Int($0).flatMap { (1...200).contains($0) ? $0 : nil } } ?? 50
    }

    static func wrong(_ name: String) -> Problem {
        .field(
            String(name.prefix(40)),
            Payments.Reason(
                code: "invalid_query",
                message: "The audit log cannot be asked for like this.",
                action: "Check “\(name.prefix(40))”."
            )
        )
    }
}

/// Looks at the audit log for the owner. One check of the whole chain at a time: each keeps one of the journal's readers.
actor AuditDesk {
    private let journal: Journal
    private let settings: SettingsDesk
    private var isVerifying = false

    init(journal: Journal, settings: SettingsDesk) { (self.journal, self.settings) = (journal, settings) }

    func page(_ query: AuditQuery) async throws(Problem) -> AuditPage {
        let zone = await settings.current?.settings.zone ?? .current
        var filter = AuditFilter()
        (filter.who, filter.what, filter.result, filter.text) = (query.who, query.what, query.result, query.text)
        filter.from = query.from?.bounds(in: zone).lowerBound
        filter.until = query.to?.bounds(in: zone).upperBound
        do throws(JournalError) {
            return try await journal.auditPage(filter, before: query.before, limit: query.limit)
        } catch { throw Problem(503, error.reason) }
    }

    /// Recomputes every hash of the log.
    /// - Throws: ``Problem`` 409 while another check runs.
    func verify() async throws(Problem) -> ChainCheck {
        guard !isVerifying else {
            throw Problem(
                409,
                "verify_running",
                "The audit log is being checked already. Nothing was changed.",
                "Wait for the result of that check."
            )
        }
        isVerifying = true
        defer { isVerifying = false }
        do throws(JournalError) { return try await journal.verifyAudit() } catch { throw Problem(503, error.reason) }
    }

    /// The newest entries, newest first.
    func newest(_ limit: Int) async throws(JournalError) -> [AuditLine] {
        try await journal.auditPage(AuditFilter(), before: nil, limit: limit).lines
    }

    nonisolated func export(_ format: ExportFormat) -> AuditExport { AuditExport(journal: journal, format: format) }
}
