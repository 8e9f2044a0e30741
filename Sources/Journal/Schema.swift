import GRDB

/// The journal's tables. What is in `event` and `audit` is never changed; everything else can be made from it or is small.
enum Schema {
    static let newest = "v1"

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE event (
                        seq INTEGER PRIMARY KEY,
                        charge TEXT NOT NULL,
                        kind TEXT NOT NULL,
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

                    CREATE TABLE charge (
                        id TEXT PRIMARY KEY,
                        state TEXT NOT NULL,
                        open INTEGER NOT NULL CHECK (open IN (0, 1)),
                        currency TEXT NOT NULL,
                        minor_units INTEGER NOT NULL CHECK (minor_units > 0),
                        opened_ms INTEGER NOT NULL,
                        updated_ms INTEGER NOT NULL,
                        last_seq INTEGER NOT NULL REFERENCES event(seq),
                        idempotency_key TEXT UNIQUE,
                        request_digest BLOB
                    ) STRICT;
                    CREATE INDEX charge_open ON charge(open) WHERE open = 1;
                    CREATE INDEX charge_state ON charge(state, id);
                    CREATE INDEX charge_opened ON charge(opened_ms);

                    CREATE TABLE audit (
                        seq INTEGER PRIMARY KEY,
                        body BLOB NOT NULL,
                        previous BLOB NOT NULL CHECK (length(previous) = 32),
                        hash BLOB NOT NULL CHECK (length(hash) = 32)
                    ) STRICT;
                    CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
                        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
                    CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
                        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

                    CREATE TABLE document (
                        name TEXT PRIMARY KEY,
                        body BLOB NOT NULL,
                        version INTEGER NOT NULL CHECK (version > 0),
                        changed_ms INTEGER NOT NULL,
                        changed_by BLOB NOT NULL
                    ) STRICT;

                    CREATE TABLE secret (
                        name TEXT PRIMARY KEY,
                        sealed BLOB NOT NULL,
                        changed_ms INTEGER NOT NULL,
                        changed_by BLOB NOT NULL
                    ) STRICT;
                    """
            )
        }
        return migrator
    }
}
