import Foundation
import Journal
import Payments
import Testing
import TestSupport

@testable import Backup

extension TemporaryFolder {
    var state: String { file("state") }
    var backup: String { file("backup.till") }

    func key() throws -> DeviceKey { try DeviceKey.loadOrCreate(at: state + "/device.key") }

    func open() throws -> Journal { try Journal.open(directory: state, deviceKey: try key()) }

    func withJournal<Value>(_ body: (Journal) async throws -> Value) async throws -> Value {
        let journal = try open()
        do {
            let value = try await body(journal)
            try journal.close()
            return value
        } catch {
            try? journal.close()
            throw error
        }
    }

    /// Names of everything in the state directory, but what every start makes anew.
    var names: [String] {
        let all = FileManager.default.enumerator(atPath: state)?.compactMap { $0 as? String } ?? []
        return all.filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }.sorted()
    }
}

/// A journal with charges in it, its backup, and how the backup is read.
enum ExampleJournal {
    static let time = WallTime(millisecondsSince1970: 1_795_000_000_000)
    static let passphrase = "four unrelated words CANARY"
    static let secret = "wcp_CANARY_key"

    /// A charge that was paid, or that nobody has paid yet.
    static func charge(_ journal: Journal, _ number: Int, open: Bool = false) async throws -> ChargeID {
        var generator = SystemRandomNumberGenerator()
        let terms = ChargeTerms(
            id: ChargeID(at: time.advanced(by: .seconds(number)), using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: Int64(100 + number), currency: try #require(Currency(code: "EUR"))),
            reference: "order \(number)",
            merchantID: "mrch_1",
            merchantName: "Kiosk",
            operatorID: "op-1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: time.advanced(by: .seconds(number)),
            timeLimitSeconds: 300
        )
        try await journal.open(terms, under: nil)
        if !open {
            var charge = Charge(terms: terms)
            let evidence = Evidence(paymentID: "pay_\(number)", transactionID: nil, paid: nil)
            let events: [Charge.Event] = [
                .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1),
                .offered(attempt: 1, offer: Offer(paymentID: "pay_\(number)", link: nil, expiresAt: nil)),
                .reported(attempt: 1, report: .succeeded(evidence)),
            ]
            for event in events {
                _ = charge.handle(event)
                try await journal.append(event, to: charge, at: terms.openedAt)
            }
        }
        return terms.id
    }

    /// A journal with something of each kind.
    static func fill(_ journal: Journal, charges: Int = 3, open: Int = 0) async throws {
        for number in 0..<charges { _ = try await charge(journal, number, open: number >= charges - open) }
        try await journal.setSecret("gateway-key", Array(secret.utf8), by: .terminal, at: time)
        _ = try await journal.setDocument(
            "settings",
            Array("{}".utf8),
            expecting: .any,
            by: .staff(name: "owner"),
            at: time
        )
        _ = try await journal.setDocument("sessions", [1], expecting: .any, by: .terminal, at: time)
        try await journal.change(connect: [ConnectChange(name: "pairing", bytes: [1, 2])], at: time)
        let entry = AuditEntry(at: time, who: .terminal, from: "", what: "login", result: "ok", detail: "")
        try await journal.audit(entry)
    }

    /// Writes a backup of a journal to a file.
    @discardableResult
    static func backUp(_ journal: Journal, _ folder: TemporaryFolder) async throws -> BackupFacts {
        let writer = try await BackupWriter(
            of: journal,
            at: time,
            by: "0.1.0",
            merchantName: "Kiosk",
            passphrase: passphrase,
            copyingTo: folder.state + "/backup.copy",
            work: 10
        )
        var bytes = Data()
        while let part = try await writer.next() { bytes.append(contentsOf: part) }
        #expect(bytes.count == writer.totalBytes, "the length was known before")
        try bytes.write(to: URL(fileURLWithPath: folder.backup))
        return writer.facts
    }

    static func prepare(
        _ file: String,
        _ passphrase: String = passphrase,
        for folder: TemporaryFolder
    ) async throws -> PreparedBackup {
        try await BackupReader.prepare(
            file,
            passphrase: passphrase,
            for: folder.state,
            key: try folder.key(),
            by: (.staff(name: "owner"), "192.168.1.20"),
            at: time.advanced(by: .seconds(3600))
        )
    }
}
