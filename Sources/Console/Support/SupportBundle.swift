import Crypto
import Foundation
public import Journal
import Machine
public import Payments
import Terminal

/// What somebody who helps with a terminal needs to know of it, as one file: no secret, no name of a customer or of staff.
public struct SupportBundle: Sendable {
    static let contentType = "application/x-tar"
    /// Documents that the owner set; what else is kept as documents is nobody's business.
    static let settings = ["settings", "tap", "tap-calibration", "connect", "customers", "receipts"]
    static let mostCharges = 50
    static let mostAudit = 500

    private let time: WallTime
    private var files: [(name: String, content: [UInt8])] = []

    public init(at time: WallTime) { self.time = time }

    /// The folder in it, and the file's name without its ending: `till-support-2026-11-22`.
    public var name: String { "till-support-\(time.moment.prefix(10))" }

    public mutating func add(_ name: String, _ text: String) { files.append((name, Array(text.utf8))) }

    /// What the journal knows: settings without secrets, the audit log's end, the last charges.
    /// - Throws: ``JournalError``.
    public mutating func addRecords(of journal: Journal) async throws(JournalError) {
        var settings: [String: JSON] = [:]
        for name in Self.settings {
            guard let stored = try await journal.document(name) else { continue }
            settings[name] = .object([
                "version": .integer(Int64(stored.version)), "changedAt": .time(stored.changedAt),
                "value": MaskedJSON.read(stored.bytes),
            ])
        }
        add("settings.json", JSON.object(settings).text)
        let lines = try await journal.auditPage(AuditFilter(), before: nil, limit: Self.mostAudit).lines
        add("audit.json", JSON.array(lines.map(Self.auditLine)).text)
        let charges = try await journal.charges(ChargeFilter(), from: .newest, limit: Self.mostCharges).charges
        add("charges.json", JSON.array(charges.map(Self.charge)).text)
        let counts = try await journal.entryCounts()
        let journalFacts: [String: JSON] = [
            "bytes": .integer(Int64(journal.fileBytes)), "entriesOfCharges": .integer(counts.charges),
            "auditEntries": .integer(counts.audit), "rebuiltAtStart": .bool(journal.startup.didRebuild),
            "checkedAtStart": .integer(journal.startup.entriesChecked),
        ]
        add("journal.json", JSON.object(journalFacts).text)
    }

    /// What the machine says of itself, where there is no running terminal that says more.
    public mutating func addMachine(_ machine: MachineView) {
        var facts = HealthFacts(at: time, startedAt: time, certificateEnds: time)
        facts.machine = machine.facts()
        facts.clock = machine.clock()
        facts.versions = machine.libraries.merging(["till": machine.version]) { $1 }
        guard case .object(var members) = facts.json else { return }
        for unknown in ["checks", "weight", "certificate", "radio"] { members[unknown] = nil }
        add("health.json", JSON.object(members).text)
    }

    /// The file, with the hash of each part beside it.
    public var tar: [UInt8] {
        var archive = TarArchive()
        var all = [("README.txt", Array(Self.readme.utf8))] + files
        let sums = all.map { name, content in
            SHA256.hash(data: content).map(Sessions.hexadecimal).joined() + "  \(name)\n"
        }
        all.append(("SHA256SUMS", Array(sums.joined().utf8)))
        for (file, content) in all { archive.add("\(name)/\(file)", content, at: time) }
        return archive.finished
    }

    /// The entries whose details are given: versions, counts and reason codes. Details of all others may hold what somebody typed or
    /// a person's name.
    static let impersonalDetails: Set = [
        "audit.export", "audit.verify", "backup.take", "claim", "day.compare", "export", "reset", "reset.start",
        "restore",
        "restore.check", "update", "update.check", "update.result", "wipe",
    ]

    /// Who is said by kind only.
    private static func auditLine(_ line: AuditLine) -> JSON {
        let what = line.entry?.what
        let isImpersonal = what.map(impersonalDetails.contains) ?? false
        return .object([
            "seq": .integer(line.sequence), "at": line.entry.map { .time($0.at) } ?? .null,
            "who": .optional(line.entry.map { kind($0.who) }), "what": .optional(what),
            "result": .optional(line.entry?.result),
            "detail": isImpersonal ? .optional(line.entry.map { LogRedaction.clean($0.detail) }) : .null,
            "intact": .bool(line.isIntact),
        ])
    }

    private static func kind(_ who: Payments.Actor) -> String { String(who.text.prefix { $0 != ":" }) }

    /// Amounts, times and states; no reference, no transaction, nobody's name.
    private static func charge(_ charge: ChargeSummary) -> JSON {
        .object([
            "id": .string(charge.id.rawValue), "state": .string(charge.state.rawValue),
            "amountMinor": .integer(charge.amount.minorUnits), "totalMinor": .integer(charge.total.minorUnits),
            "currency": .string(charge.total.currency.code), "rail": .optional(charge.rail?.rawValue),
            "openedAt": .time(charge.openedAt), "updatedAt": .time(charge.updatedAt), "open": .bool(charge.isOpen),
            "late": .bool(charge.isLate), "promised": .bool(charge.isPromised),
            "refundedMinor": .integer(charge.refunded.minorUnits),
        ])
    }

    private static let readme = """
        What this is: facts about a payment terminal, for somebody who helps with it.

        health.json    how each part of the terminal and of its machine stood
        journal.json   how long the record of payments is
        settings.json  what the owner set; passwords, keys and pictures are left out
        log.txt        the program's last log lines, newest first
        audit.json     the audit log's end, without names and addresses
        charges.json   the last charges: amounts, times and states; no references, no names
        SHA256SUMS     check with: sha256sum -c SHA256SUMS

        It holds no password, key, token or PIN. It does hold the merchant ID, the operator ID, the merchant's name
        and what was charged: give it only to somebody you trust.

        """
}
