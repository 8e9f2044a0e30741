import Executors

/// Where a database is, and as whom it is asked. Holds no secret.
public struct PostgresPlace: Sendable, Equatable {
    /// A name or an address; its certificate has to be for this.
    public let host: String
    public let port: UInt16
    public let database: String
    public let user: String
    /// PEM: only these are believed. Nil for the system's.
    public let authorities: String?

    public init(host: String, port: UInt16 = 5432, database: String, user: String, authorities: String? = nil) {
        (self.host, self.port, self.database, self.user) = (host, port, database, user)
        self.authorities = authorities
    }
}

/// The table in the operator's PostgreSQL that charge events are put into. Blocks a queue of its own, nobody else's.
///
/// Source: PostgreSQL 15, libpq, "Database Connection Control Functions", "Asynchronous Command Processing".
public actor EventTable {
    /// What the operator makes once. The terminal needs no right but INSERT on it.
    public static let definition = """
        CREATE TABLE till_event (
            terminal text NOT NULL,
            sequence bigint NOT NULL,
            charge text NOT NULL,
            type text NOT NULL,
            at timestamptz NOT NULL,
            data jsonb NOT NULL,
            PRIMARY KEY (terminal, sequence)
        )
        """

    /// One statement is one transaction: all rows are there, or none. Without a conflict target it needs no right to read.
    private static let insertion = """
        INSERT INTO till_event (terminal, sequence, charge, type, at, data)
        SELECT $1, (row->>'sequence')::bigint, row->>'charge', row->>'type', (row->>'at')::timestamptz, row->'data'
        FROM jsonb_array_elements($2::jsonb) AS row ON CONFLICT DO NOTHING
        """

    private let queue = QueueExecutor(label: "till.postgres")
    private let patience: Duration
    private var open: (place: PostgresPlace, password: String, connection: Connection)?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    /// - Parameter patience: How long the server may take for a connection, and again for the rows. Looking up a name comes on top.
    public init(patience: Duration = .seconds(15)) { self.patience = patience }

    /// Puts rows into the table; those that are there already stay as they are. Returns once the database has committed them.
    ///
    /// - Parameters:
    ///   - rows: A JSON array of objects with `sequence`, `charge`, `type`, `at` (RFC 3339) and `data`. Empty: it is only looked
    ///     whether rows could be put there.
    ///   - terminal: The first half of each row's key.
    /// - Returns: How many were not there before.
    /// - Throws: ``PostgresFault``; then nothing is known to be there, and the same rows may be sent again.
    @discardableResult
    public func insert(
        _ rows: String,
        of terminal: String,
        at place: PostgresPlace,
        password: String
    ) throws(PostgresFault) -> Int {
        let kept = open.flatMap { $0.place == place && $0.password == password ? $0.connection : nil }
        open = nil
        if let kept {
            do throws(PostgresFault) {
                let count = try kept.run(Self.insertion, [terminal, rows], within: patience)
                open = (place, password, kept)
                return count
            } catch {
                // It may have ended long ago, unnoticed.
                guard error == .broken else { throw error }
            }
        }
        let connection = try Connection(place, password: password, within: patience)
        let count = try connection.run(Self.insertion, [terminal, rows], within: patience)
        open = (place, password, connection)
        return count
    }

    /// Ends the connection; the next rows make another.
    public func close() { open = nil }
}
