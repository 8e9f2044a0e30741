import Foundation
import GRDB
import Glibc
@testable import Journal
import Payments
import Testing
import TestSupport

extension TemporaryFolder {
    var database: String { path + "/journal.sqlite" }
    var log: String { path + "/journal.sqlite-wal" }

    func open() throws(JournalError) -> Journal {
        try Journal.open(
            directory: path,
            deviceKey: try DeviceKey.loadOrCreate(at: path + "/device.key"),
            goingBack: true
        )
    }

    /// What lies in the folder, but the lock and SQLite's shared memory, which hold nothing that is kept, and empty logs.
    var contents: [String: Data] {
        var contents: [String: Data] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        where !name.hasSuffix("-shm") && name != "journal.lock" {
            let data = FileManager.default.contents(atPath: "\(path)/\(name)")
            contents[name] = name.hasSuffix("-wal") && data?.isEmpty == true ? nil : data
        }
        return contents
    }

    /// The journal as it lies on the storage.
    var journalFiles: [String: Data] { contents.filter { $0.key.hasPrefix("journal") } }

    /// A copy as a power cut would leave it: whatever is in the files, no shared memory.
    func copy() throws -> TemporaryFolder {
        let copy = try TemporaryFolder()
        for (name, data) in contents { try data.write(to: URL(fileURLWithPath: "\(copy.path)/\(name)")) }
        return copy
    }

    func change(_ file: String, _ change: (inout Data) -> Void) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: file))
        change(&data)
        try data.write(to: URL(fileURLWithPath: file))
    }
}

extension WallTime {
    static let example = WallTime(millisecondsSince1970: 1_795_000_000_000)
}

extension ChargeTerms {
    static func example(
        minorUnits: Int64 = 1250,
        currency: Currency = .euro,
        reference: String? = "2026-001234",
        at time: WallTime = .example
    ) -> ChargeTerms {
        var generator = SystemRandomNumberGenerator()
        return ChargeTerms(
            id: ChargeID(at: time, using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: minorUnits, currency: currency),
            tip: Money(minorUnits: 50, currency: currency),
            reference: reference,
            merchantID: "merchant-42",
            merchantName: "Kiosk “Zur Brücke” 🏪",
            operatorID: "operator-7",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: time,
            timeLimitSeconds: 300
        )
    }
}

extension Charge.Event {
    static let offer = Charge.Event.offered(
        attempt: 1,
        offer: Offer(paymentID: "pay_1", link: "https://pay.test/?pid=pay_1", expiresAt: .example)
    )
    static let success = Charge.Event.reported(
        attempt: 1,
        report: .succeeded(
            Evidence(
                paymentID: "pay_1",
                transactionID: "0x5e",
                paid: TokenAmount(digits: "13570000", decimals: 6, symbol: "USDC", network: "Base")
            )
        )
    )
    /// From the customer's scan to the authority's last word.
    static let paid: [Charge.Event] = [
        .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1), offer,
        .reported(attempt: 1, report: .processing), success,
    ]

    static func random() -> Charge.Event {
        let attempt = Int.random(in: 1...3)
        let reports: [Report] = [
            .requiresAction, .processing, .failed(code: nil), .failed(code: "declined"), .expired, .cancelled,
            .unrecognised(word: "on_hold\u{0}\u{202E}"),
            .succeeded(Evidence(paymentID: "pay_\(attempt)", transactionID: nil, paid: nil)),
        ]
        let events: [Charge.Event] = [
            .attemptStarted(attempt: attempt, rail: Rail.allCases.randomElement() ?? .scan),
            .sending(attempt: attempt), .notSent(attempt: attempt, reason: "no route \u{0}"),
            .silent(attempt: attempt, reason: "30 s"), .overdue(attempt: attempt),
            .offered(attempt: attempt, offer: Offer(paymentID: "pay_\(attempt)", link: nil, expiresAt: nil)),
            .refused(attempt: attempt, refusal: Refusal(code: "invalid_params", message: "“no”\n")),
            .notFound(attempt: attempt),
            .reported(attempt: attempt, report: reports.randomElement() ?? .expired),
            .reported(attempt: attempt, report: reports.randomElement() ?? .expired),
            .cancelRequested(by: .till(token: "t")), .deadlineReached, .released(by: .terminal), .resumed,
            .seen(by: .staff(name: "Ada")), .claimWanted(attempt: attempt, tipMinorUnits: 150),
            .claimed(attempt: attempt), .claimDropped(attempt: attempt), .promised(attempt: attempt),
            .givenBack(attempt: attempt),
            .refundAsked(
                attempt: attempt,
                refund: Refund(minorUnits: .random(in: 1...3000), reason: "wrong size", by: .staff(name: "Bea"))
            ),
            .refunded(attempt: attempt, mark: .marked), .refunded(attempt: attempt, mark: .keptHere),
            .refundDenied(attempt: attempt, code: "payment_not_succeeded"),
        ]
        return events.randomElement() ?? .resumed
    }
}

extension Journal {
    /// Opens a charge, lets the events happen to it, and returns it as its driver knows it.
    @discardableResult
    func play(
        _ events: [Charge.Event],
        _ terms: ChargeTerms = .example(),
        under key: IdempotencyKey? = nil
    ) async throws(JournalError) -> Charge {
        var charge = Charge(terms: terms)
        try await open(terms, under: key)
        for (index, event) in events.enumerated() {
            _ = charge.handle(event)
            try await append(event, to: charge, at: terms.openedAt.advanced(by: .seconds(index + 1)))
        }
        return charge
    }

    /// Adds so many entries that a start does not check all of them.
    @discardableResult
    func lengthen() async throws -> Charge {
        let charge = try await play(Charge.Event.paid)
        try await writing { [self] db in
            let second = try Row.fetchOne(
                db,
                sql: "SELECT \(Entry.columns) FROM event WHERE charge = ? ORDER BY seq LIMIT 1 OFFSET 1",
                arguments: [charge.id.rawValue]
            )
            for number in 0..<StartupCheck.wholeUpTo {
                var entry = try Entry(checked: #require(second))
                (entry.kind, entry.body) = ("resumed", Data(#"{"resumed":{}}"#.utf8))
                let sequence = try append(db, entry)
                if number == StartupCheck.wholeUpTo - 1 {
                    try db.execute(
                        sql: "UPDATE charge SET last_seq = ? WHERE id = ?",
                        arguments: [sequence, charge.id.rawValue]
                    )
                }
            }
        }
        return charge
    }

    /// Some charges, documents, secrets and audit entries.
    func fill(charges: Int = 8) async throws {
        for number in 0..<charges {
            let events = number == 0 ? Charge.Event.paid : Array(Charge.Event.paid.prefix(1 + number % 5))
            let key = IdempotencyKey(key: "key \(number)", requestDigest: [UInt8(number), 1])
            try await play(events, .example(minorUnits: Int64(100 + number)), under: key)
            _ = try await setDocument(
                "document \(number)",
                Array("value \(number)".utf8),
                expecting: nil,
                by: .staff(name: "Ada"),
                at: .example
            )
            try await setSecret("secret \(number)", Array("hidden \(number)".utf8), by: .terminal, at: .example)
            try await audit(.example(number))
        }
    }

    /// All that the journal tells.
    func everything(charges: Int = 8) async throws -> Everything {
        var everything = Everything()
        for record in try await self.charges(before: nil, limit: 100, state: nil) {
            everything.charges.append(record)
            everything.events.append(try await events(of: record.charge.id))
        }
        everything.open = try await openCharges()
        everything.sum = try await openedMinorUnits(since: .example, currency: .euro)
        for state in Charge.State.allCases {
            everything.byState.append(try await self.charges(before: nil, limit: 100, state: state))
        }
        for number in 0..<charges {
            everything.documents.append(try await document("document \(number)"))
            everything.secrets.append(try await secret("secret \(number)"))
            let opened = try await chargeOpened(under: "key \(number)")
            everything.keys.append(opened.map { "\($0.id) \($0.requestDigest)" })
        }
        everything.audit = try await auditEntries(before: nil, limit: 100)
        everything.chain = try await verifyChain()
        return everything
    }
}

struct Everything: Equatable, CustomTestStringConvertible {
    var charges: [ChargeRecord] = []
    var events: [[StoredEvent]] = []
    var open: [Charge] = []
    var byState: [[ChargeRecord]] = []
    var sum: Int64 = 0
    var documents: [StoredDocument?] = []
    var secrets: [[UInt8]?] = []
    var keys: [String?] = []
    var audit: [StoredAuditEntry] = []
    var chain: ChainCheck?

    /// What is kept, whatever the check says of what is missing.
    var withoutTheCheck: Everything {
        var everything = self
        everything.chain = nil
        return everything
    }

    var testDescription: String {
        "\(charges.count) charges, \(open.count) open, \(audit.count) audit entries, chain \(chain?.description ?? "-")"
    }
}

extension Schema {
    /// The tables as a next version would have them.
    /// - Parameter change: What else it changes.
    static func nextVersion(_ change: @escaping @Sendable (Database) throws -> Void = { _ in }) -> DatabaseMigrator {
        var migrator = migrator
        migrator.registerMigration("v7") { db in
            try db.execute(sql: "CREATE TABLE receipt (id TEXT) STRICT")
            try change(db)
        }
        return migrator
    }
}

extension AuditEntry {
    static func example(_ number: Int) -> AuditEntry {
        AuditEntry(
            at: .example,
            who: .staff(name: "Ada"),
            from: "192.0.2.\(number)",
            what: "login",
            result: "ok",
            detail: "try \(number)"
        )
    }
}
