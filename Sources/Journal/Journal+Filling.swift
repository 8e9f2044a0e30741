import GRDB
package import Payments

extension Journal {
    /// Writes what is known of many charges as an append would, but without their entries: for benchmarks of lists and sums
    /// only. The next start finds that no entry says so and throws it all away.
    /// - Parameters:
    ///   - chargesOfShift: Every so many charges belong to another shift, each of another person.
    ///   - charge: The charge of each number, from 0 on.
    package func fillProjections(count: Int, chargesOfShift: Int, charge: (Int) -> Charge) throws {
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
            var done = 0
            while done < count {
                let end = min(done + 20_000, count)
                try db.inTransaction {
                    var takings = TakingsDelta()
                    var shifts = ShiftDelta()
                    for number in done..<end {
                        let charge = charge(number)
                        let sequence = Int64(number) * 6 + 1
                        let time = charge.terms.openedAt
                        let shift = Int64(number / chargesOfShift + 1)
                        if number % chargesOfShift == 0 {
                            let opened = time.millisecondsSince1970
                            try ShiftRow(number: shift, person: "staff:\(shift)", openedMilliseconds: opened).insert(db)
                        }
                        let row = ChargeRow(charge, shift: shift, last: sequence, at: time)
                        shifts.add(row)
                        try row.insert(db, opened: sequence)
                        try ChargeWords.insert(db, ChargeWords.of(charge), opened: sequence)
                        takings.add(row)
                    }
                    try takings.apply(db)
                    try shifts.apply(db)
                    return .commit
                }
                done = end
            }
            try db.execute(sql: "PRAGMA cache_size = -2000")
            try emptyLog(db)
        }
    }
    /// Writes a long audit log, chained as it should be, without waiting for the disk: for benchmarks only.
    package func fillAudit(count: Int, entry: (Int) -> AuditEntry) throws {
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = OFF")
            var (sequence, hash) = try Chain.audit.tail(db)
            for begin in stride(from: 0, to: count, by: 20_000) {
                try db.inTransaction {
                    for number in begin..<min(begin + 20_000, count) {
                        sequence += 1
                        let row = AuditRow(
                            sequence: sequence,
                            body: try StoredJSON.encode(entry(number)),
                            previous: hash
                        )
                        try row.insert(db)
                        hash = row.hash
                    }
                    return .commit
                }
            }
            try db.inTransaction {
                try AuditSeal.put(db, key: key, takenOver: 0)
                return .commit
            }
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try emptyLog(db)
            forgetEnds()
        }
    }
}
