import GRDB

/// The journal's tables. What is in `event` and `audit` is never changed; `charge` and `idempotency` are made from it.
enum Schema {
    /// Stands in the file's header, so that another program's database is not taken for a journal: "TILL".
    static let applicationID = 0x5449_4C4C

    /// Released migrations are never changed, only followed by others. Each may throw away `charge` and `idempotency`.
    ///
    /// The version before may go back to the copy that is kept before a migration, see ``WayBack``. It looks at the tables that
    /// it knows: whoever keeps something about money in another one appends an entry with it, or removes that copy first.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(sql: entries)
            try db.execute(sql: projections)
            try db.execute(sql: values)
        }
        migrator.registerMigration("v2") { db in
            try db.execute(sql: "DROP TABLE idempotency; DROP TABLE charge")  // Made anew from the entries afterwards.
            try db.execute(sql: projectionsWithUnseen)
        }
        migrator.registerMigration("v3") { db in
            try db.execute(sql: tap)
        }
        migrator.registerMigration("v4") { db in
            try db.execute(sql: connect)
        }
        migrator.registerMigration("v5") { db in
            try db.execute(sql: "DROP TABLE idempotency; DROP TABLE charge")  // Made anew from the entries afterwards.
            try db.execute(sql: projectionsWithHistory)
        }
        migrator.registerMigration("v6") { db in
            try db.execute(sql: shifts)
        }
        return migrator
    }

    private static let entries = """
        CREATE TABLE event (
            seq INTEGER PRIMARY KEY CHECK (seq > 0),
            charge TEXT NOT NULL CHECK (length(charge) = 36),
            attempt INTEGER,
            rail TEXT,
            kind TEXT NOT NULL,
            format INTEGER NOT NULL CHECK (format > 0),
            body BLOB NOT NULL,
            wall_ms INTEGER NOT NULL,
            monotonic_ns INTEGER NOT NULL,
            boot TEXT NOT NULL,
            previous BLOB NOT NULL CHECK (length(previous) = 32),
            hash BLOB NOT NULL CHECK (length(hash) = 32)
        ) STRICT;
        CREATE INDEX event_charge ON event(charge, seq);
        CREATE TRIGGER event_no_update BEFORE UPDATE ON event
            BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
        CREATE TRIGGER event_no_delete BEFORE DELETE ON event
            BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

        CREATE TABLE audit (
            seq INTEGER PRIMARY KEY CHECK (seq > 0),
            format INTEGER NOT NULL CHECK (format > 0),
            body BLOB NOT NULL,
            previous BLOB NOT NULL CHECK (length(previous) = 32),
            hash BLOB NOT NULL CHECK (length(hash) = 32)
        ) STRICT;
        CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
        CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
        """

    static let projections = """
        CREATE TABLE charge (
            opened_seq INTEGER PRIMARY KEY REFERENCES event(seq),
            id TEXT NOT NULL UNIQUE,
            state TEXT NOT NULL CHECK (state IN ('created', 'requiresAction', 'processing', 'succeeded', 'failed',
                'expired', 'cancelled', 'unknown')),
            open INTEGER NOT NULL CHECK (open IN (0, 1)),
            released INTEGER NOT NULL CHECK (released IN (0, 1)),
            late INTEGER NOT NULL CHECK (late IN (0, 1)),
            currency TEXT NOT NULL CHECK (length(currency) = 3),
            minor_units INTEGER NOT NULL CHECK (minor_units > 0),
            tip_minor_units INTEGER CHECK (tip_minor_units BETWEEN 0 AND minor_units),
            reference TEXT,
            opened_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL,
            last_seq INTEGER NOT NULL REFERENCES event(seq) CHECK (last_seq >= opened_seq),
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        CREATE INDEX charge_open ON charge(opened_seq) WHERE open = 1;
        CREATE INDEX charge_state ON charge(state, opened_seq);
        CREATE INDEX charge_opened ON charge(opened_ms);

        CREATE TABLE idempotency (
            key TEXT NOT NULL PRIMARY KEY,
            charge TEXT NOT NULL UNIQUE REFERENCES charge(id),
            request_digest BLOB NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        """

    /// Since v2 they say what staff have not seen yet.
    private static let projectionsWithUnseen = """
        CREATE TABLE charge (
            opened_seq INTEGER PRIMARY KEY REFERENCES event(seq),
            id TEXT NOT NULL UNIQUE,
            state TEXT NOT NULL CHECK (state IN ('created', 'requiresAction', 'processing', 'succeeded', 'failed',
                'expired', 'cancelled', 'unknown')),
            open INTEGER NOT NULL CHECK (open IN (0, 1)),
            released INTEGER NOT NULL CHECK (released IN (0, 1)),
            late INTEGER NOT NULL CHECK (late IN (0, 1)),
            currency TEXT NOT NULL CHECK (length(currency) = 3),
            minor_units INTEGER NOT NULL CHECK (minor_units > 0),
            tip_minor_units INTEGER CHECK (tip_minor_units BETWEEN 0 AND minor_units),
            reference TEXT,
            opened_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL,
            last_seq INTEGER NOT NULL REFERENCES event(seq) CHECK (last_seq >= opened_seq),
            unseen TEXT CHECK (unseen IN ('late', 'paidTwice')),
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        CREATE INDEX charge_open ON charge(opened_seq) WHERE open = 1;
        CREATE INDEX charge_unseen ON charge(opened_seq) WHERE unseen IS NOT NULL;
        CREATE INDEX charge_state ON charge(state, opened_seq);
        CREATE INDEX charge_opened ON charge(opened_ms);

        CREATE TABLE idempotency (
            key TEXT NOT NULL PRIMARY KEY,
            charge TEXT NOT NULL UNIQUE REFERENCES charge(id),
            request_digest BLOB NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        """

    private static let values = """
        CREATE TABLE document (
            name TEXT NOT NULL PRIMARY KEY,
            body BLOB NOT NULL,
            version INTEGER NOT NULL CHECK (version > 0),
            changed_ms INTEGER NOT NULL,
            changed_by BLOB NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;

        CREATE TABLE secret (
            name TEXT NOT NULL PRIMARY KEY,
            sealed BLOB NOT NULL,
            changed_ms INTEGER NOT NULL,
            changed_by BLOB NOT NULL
        ) STRICT;

        CREATE TABLE meta (
            name TEXT NOT NULL PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT;
        """

    /// Since v3: what was agreed and claimed over BLE, and what is known of each voucher.
    private static let tap = """
        CREATE TABLE tap (
            seq INTEGER PRIMARY KEY CHECK (seq > 0),
            payment TEXT NOT NULL CHECK (length(payment) = 36),
            charge TEXT NOT NULL CHECK (length(charge) = 36),
            attempt INTEGER NOT NULL CHECK (attempt > 0),
            kind TEXT NOT NULL,
            body BLOB NOT NULL,
            wall_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        CREATE INDEX tap_payment ON tap(payment, seq);
        CREATE INDEX tap_charge ON tap(charge, attempt, seq);
        CREATE INDEX tap_kind ON tap(kind, payment);
        CREATE TRIGGER tap_no_update BEFORE UPDATE ON tap
            BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
        CREATE TRIGGER tap_no_delete BEFORE DELETE ON tap
            BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

        CREATE TABLE tap_voucher (
            pass TEXT NOT NULL PRIMARY KEY CHECK (length(pass) = 32),
            body BLOB NOT NULL,
            changed_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        """

    /// Since v4: pairings, sessions, keys and unsent messages of WalletConnect, sealed; and which of a relay's messages were
    /// taken already. A bit that the storage changes in the latter lets a copy through, which the former knows too.
    private static let connect = """
        CREATE TABLE connect (
            name TEXT NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
            sealed BLOB NOT NULL,
            changed_ms INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE relay_message (
            seq INTEGER PRIMARY KEY,
            topic TEXT NOT NULL,
            hash TEXT NOT NULL,
            until_s INTEGER NOT NULL,
            UNIQUE (topic, hash)
        ) STRICT;
        CREATE INDEX relay_message_until ON relay_message(until_s);
        """
}
