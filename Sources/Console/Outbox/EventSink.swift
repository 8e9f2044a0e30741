import Payments

/// Where the operator's database is. Its password is kept apart.
public struct EventPlace: Sendable, Codable, Equatable {
    /// A name or an address; the server's certificate has to be for this.
    public var host = ""
    public var port: UInt16 = 5432
    public var database = ""
    public var user = ""
    /// PEM, line by line: only these are believed. Empty: the system's.
    public var authorities: [String] = []

    /// For the log and the audit log.
    var text: String { "\(host):\(port)/\(database)" }
}

/// Why events are not known to be in the operator's database. They are kept and sent again.
public struct EventFault: Error, Sendable, Codable, Equatable {
    public enum Kind: String, Sendable, Codable {
        /// Nobody is there, or it did not answer in time.
        case unreachable
        /// The server speaks no TLS.
        case plain
        /// Nobody who is believed vouches for the server, its certificate is out of date, or it is for another name.
        case certificate
        /// The authorities that were set cannot be read.
        case authorities
        /// The user or the password is wrong, or this user may not come in from here.
        case password
        /// No such database, no such table, or no right to insert.
        case table
        /// Anything else; ``EventFault/code`` says what.
        case refused
        /// The password cannot be read on this terminal.
        case noSecret
    }

    public let kind: Kind
    /// SQLSTATE.
    public let code: String

    public init(_ kind: Kind, code: String = "") { (self.kind, self.code) = (kind, code) }

    var reason: Reason {
        switch kind {
        case .unreachable:
            Reason(
                code: "outbox_unreachable",
                message:
                    "The operator’s database does not answer. Charges go on; their events are kept and sent later.",
                action: "Check the host, the port and the network."
            )
        case .plain:
            Reason(
                code: "outbox_plain",
                message: "The database’s server speaks no TLS. Nothing was sent, not even the password.",
                action: "Switch TLS on at the server."
            )
        case .certificate:
            Reason(
                code: "outbox_certificate",
                message:
                    "The server’s certificate is not trusted, is out of date, or is for another name. Nothing was sent.",
                action: "Enter the host as the certificate names it, and the certificate of the authority that made it."
            )
        case .authorities:
            Reason(
                code: "outbox_authorities",
                message: "The certificates that were entered cannot be read. Nothing was sent.",
                action: "Paste them again, as PEM."
            )
        case .password:
            Reason(
                code: "outbox_password",
                message: "The database does not let this user in with this password. Events are kept and sent later.",
                action: "Enter the user and the password again, or ask whoever runs the database."
            )
        case .table:
            Reason(
                code: "outbox_table",
                message:
                    "The database has no table till_event that this user may insert into. Events are kept and sent later.",
                action: "Make the table and grant the right, as the guide for operators says."
            )
        case .refused:
            Reason(
                code: "outbox_refused",
                message: "The database refuses the events (\(code)). They are kept and sent later.",
                action: "Look into the database’s log.",
                values: ["code": code]
            )
        case .noSecret:
            Reason(
                code: "outbox_secret_missing",
                message: "The database’s password cannot be read here. Nothing is sent.",
                action: "Enter it again."
            )
        }
    }
}

/// Puts events into a database. The same rows may come twice.
public protocol EventSink: Sendable {
    /// Returns once all rows are committed, those of earlier included.
    /// - Parameters:
    ///   - rows: A JSON array of objects with `sequence`, `charge`, `type`, `at` and `data`. Empty: only looks whether it would work.
    ///   - terminal: With `sequence` the key of a row.
    func put(_ rows: String, of terminal: String, at place: EventPlace, password: String) async throws(EventFault)
}

/// What the owner set about it.
struct Outbox: Sendable, Codable, Equatable {
    var isEnabled = false
    var place = EventPlace()

    static let secretName = "outbox-password"
}

/// How far the operator's database is, and when it is tried again. A value that decides: no clock, no I/O.
struct OutboxProgress: Sendable, Codable, Equatable {
    /// Host, port and database this is about: another one begins at the journal's first entry.
    let place: String
    /// Everything up to this entry is there.
    private(set) var sequence: Int64 = 0
    private(set) var failures = 0
    private(set) var deliveredAt: WallTime?
    private(set) var failedAt: WallTime?
    private(set) var fault: EventFault?
    /// Until then it waits; nil where it does not. Kept, so that a start of the terminal changes nothing of it.
    private(set) var nextTry: WallTime?

    init(place: String) { self.place = place }

    /// A journal that was put back to an earlier day counts on from there.
    mutating func limit(to newest: Int64) { sequence = min(sequence, newest) }

    mutating func arrived(upTo number: Int64, at time: WallTime) {
        (sequence, deliveredAt) = (number, time)
        noteAnswer()
    }

    mutating func noteAnswer() { (failures, failedAt, fault, nextTry) = (0, nil, nil, nil) }

    /// Takes a try that failed. The one at a start of the terminal comes before its time and counts for nothing.
    ///
    /// It never ends: nobody at the counter looks after the operator's database.
    /// - Parameters:
    ///   - chance: 0 to 1: many terminals do not come back at the same moment.
    ///   - isAtStart: Whether it is the first try of this run.
    /// - Returns: When to try again.
    mutating func fail(
        _ fault: EventFault,
        at time: WallTime,
        chance: Double,
        isAtStart: Bool = false
    ) -> Duration {
        (self.fault, failedAt) = (fault, time)
        // A clock that was set meanwhile makes the wait neither longer than it can be nor none at all.
        if isAtStart, let nextTry { return max(min(time.duration(to: nextTry), .seconds(360)), .seconds(5)) }
        failures = min(failures + 1, 1_000_000)
        let delays: [Duration] = [5, 15, 60, 180, 300].map { .seconds($0) }
        let wait = delays[min(failures, delays.count) - 1] * (0.8 + 0.4 * chance)
        nextTry = time.advanced(by: wait)
        return wait
    }
}
