extension Schema {
    /// Since v6 a charge has a note and belongs to its opener's shift, and a shift to one person. What `charge` held before
    /// stays as it is: no charge is replayed for it. See docs/decisions/0012-counter-tips-and-shifts.md.
    static let shifts = """
        CREATE TABLE shift (
            number INTEGER PRIMARY KEY CHECK (number > 0),
            person TEXT NOT NULL,
            opened_ms INTEGER NOT NULL,
            closed_ms INTEGER,
            closed_by TEXT,
            report BLOB,
            digest BLOB NOT NULL CHECK (length(digest) = 32),
            CHECK ((closed_ms IS NULL) = (closed_by IS NULL) AND (closed_ms IS NULL) = (report IS NULL))
        ) STRICT;
        CREATE UNIQUE INDEX shift_open ON shift(person) WHERE closed_ms IS NULL;
        CREATE INDEX shift_opened ON shift(opened_ms);
        CREATE TRIGGER shift_no_update BEFORE UPDATE ON shift WHEN OLD.closed_ms IS NOT NULL
            BEGIN SELECT RAISE(ABORT, 'a shift that was closed is not changed'); END;
        CREATE TRIGGER shift_no_delete BEFORE DELETE ON shift
            BEGIN SELECT RAISE(ABORT, 'a shift is never forgotten'); END;

        ALTER TABLE charge ADD COLUMN note TEXT;
        ALTER TABLE charge ADD COLUMN shift INTEGER;
        ALTER TABLE charge ADD COLUMN refund_asked INTEGER NOT NULL DEFAULT 0 CHECK (refund_asked IN (0, 1));
        CREATE INDEX charge_shift_open ON charge(shift, opened_seq) WHERE open = 1;
        CREATE INDEX charge_refund_asked ON charge(opened_seq) WHERE refund_asked = 1;

        CREATE TABLE shift_takings (
            shift INTEGER NOT NULL,
            currency TEXT NOT NULL CHECK (length(currency) = 3),
            state TEXT NOT NULL,
            rail TEXT NOT NULL,
            charges INTEGER NOT NULL CHECK (charges >= 0),
            total_minor_units INTEGER NOT NULL CHECK (total_minor_units >= 0),
            tip_minor_units INTEGER NOT NULL CHECK (tip_minor_units >= 0),
            surplus_minor_units INTEGER NOT NULL CHECK (surplus_minor_units >= 0),
            refunds INTEGER NOT NULL CHECK (refunds >= 0),
            refunded_minor_units INTEGER NOT NULL CHECK (refunded_minor_units >= 0),
            PRIMARY KEY (shift, currency, state, rail)
        ) STRICT, WITHOUT ROWID;
        """

    /// Lets what reads charges as they are since v6 read those of v5, before anything is changed.
    static let chargesOfV5 = """
        CREATE TEMP VIEW charge AS SELECT *, NULL AS note, NULL AS shift, 0 AS refund_asked FROM main.charge
        """
}
