extension Schema {
    /// Since v5 the tables of current states hold what lists, searches and totals need: one row a charge, the words it is
    /// found by, and sums of what has ended. See docs/decisions/0009-history.md.
    static let projectionsWithHistory = """
        CREATE TABLE charge (
            opened_seq INTEGER PRIMARY KEY REFERENCES event(seq),
            id TEXT NOT NULL UNIQUE,
            code TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('created', 'requiresAction', 'processing', 'succeeded', 'failed',
                'expired', 'cancelled', 'unknown')),
            open INTEGER NOT NULL CHECK (open IN (0, 1)),
            released INTEGER NOT NULL CHECK (released IN (0, 1)),
            late INTEGER NOT NULL CHECK (late IN (0, 1)),
            promised INTEGER NOT NULL CHECK (promised IN (0, 1)),
            given_back INTEGER NOT NULL CHECK (given_back IN (0, 1)),
            currency TEXT NOT NULL CHECK (length(currency) = 3),
            minor_units INTEGER NOT NULL CHECK (minor_units > 0),
            total_minor_units INTEGER NOT NULL CHECK (total_minor_units >= minor_units),
            tip_minor_units INTEGER CHECK (tip_minor_units BETWEEN 0 AND total_minor_units),
            surplus_minor_units INTEGER NOT NULL CHECK (surplus_minor_units >= 0),
            refunded_minor_units INTEGER NOT NULL CHECK (refunded_minor_units >= 0),
            rail TEXT CHECK (rail IN ('scan', 'tap', 'connect')),
            opened_by TEXT NOT NULL,
            reference TEXT,
            payment TEXT,
            transaction_id TEXT,
            opened_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL,
            last_seq INTEGER NOT NULL REFERENCES event(seq) CHECK (last_seq >= opened_seq),
            unseen TEXT CHECK (unseen IN ('late', 'paidTwice')),
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        CREATE INDEX charge_open ON charge(opened_seq) WHERE open = 1;
        CREATE INDEX charge_unseen ON charge(opened_seq) WHERE unseen IS NOT NULL;
        CREATE INDEX charge_last ON charge(last_seq);
        CREATE INDEX charge_opened ON charge(opened_ms);
        CREATE INDEX charge_state ON charge(state, opened_ms);
        CREATE INDEX charge_rail ON charge(rail, opened_ms);
        CREATE INDEX charge_currency ON charge(currency, opened_ms);
        CREATE INDEX charge_opener ON charge(opened_by, opened_ms);
        CREATE INDEX charge_total ON charge(total_minor_units, opened_ms);

        CREATE TABLE charge_word (
            opened_seq INTEGER NOT NULL REFERENCES charge(opened_seq),
            word TEXT NOT NULL,
            PRIMARY KEY (opened_seq, word)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX charge_word_word ON charge_word(word);

        CREATE TABLE takings (
            span_ms INTEGER NOT NULL CHECK (span_ms IN (900000, 86400000)),
            start_ms INTEGER NOT NULL,
            currency TEXT NOT NULL CHECK (length(currency) = 3),
            state TEXT NOT NULL,
            rail TEXT NOT NULL,
            charges INTEGER NOT NULL CHECK (charges >= 0),
            total_minor_units INTEGER NOT NULL CHECK (total_minor_units >= 0),
            tip_minor_units INTEGER NOT NULL CHECK (tip_minor_units >= 0),
            surplus_minor_units INTEGER NOT NULL CHECK (surplus_minor_units >= 0),
            refunds INTEGER NOT NULL CHECK (refunds >= 0),
            refunded_minor_units INTEGER NOT NULL CHECK (refunded_minor_units >= 0),
            PRIMARY KEY (span_ms, start_ms, currency, state, rail)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE idempotency (
            key TEXT NOT NULL PRIMARY KEY,
            charge TEXT NOT NULL UNIQUE REFERENCES charge(id),
            request_digest BLOB NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT;
        """
}
