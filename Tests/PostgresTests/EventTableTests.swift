import Testing

@testable import Postgres

/// Against a real server, as an operator sets it up.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct EventTableTests {
    private static let password = "canary'\\ pass"

    private static func place(_ database: Database, _ host: String = "localhost") -> PostgresPlace {
        PostgresPlace(
            host: host,
            port: database.port,
            database: "postgres",
            user: "till",
            authorities: database.authority
        )
    }

    private static func rows(_ numbers: ClosedRange<Int>) -> String {
        let all = numbers.map {
            #"{"sequence":\#($0),"charge":"c-1","type":"charge.created","at":"2026-11-20T10:00:00.500Z","data":{"id":"c-1","reference":"Tisch 4 – ☕️"}}"#
        }
        return "[\(all.joined(separator: ","))]"
    }

    private static func fault(
        of table: EventTable = EventTable(),
        at place: PostgresPlace,
        password: String = password
    ) async -> PostgresFault? {
        do throws(PostgresFault) {
            try await table.insert("[]", of: "t", at: place, password: password)
            return nil
        } catch { return error }
    }

    private static func setUp(_ database: Database) async throws {
        try await database.ask(EventTable.definition)
        try await database.ask("CREATE ROLE till LOGIN PASSWORD 'canary''\\ pass'")
        try await database.ask("GRANT INSERT ON till_event TO till")
    }

    @Test func rowsAreThereOnceHoweverOftenTheyAreSentAndComeThroughARestartOfTheServer() async throws {
        try await Database.make { database in
            let (table, place) = (EventTable(), Self.place(database))
            try await database.run { kill in
                try await Self.setUp(database)
                let first = try await table.insert(Self.rows(1...3), of: "a", at: place, password: Self.password)
                let again = try await table.insert(Self.rows(1...64), of: "a", at: place, password: Self.password)
                let other = try await table.insert(Self.rows(1...2), of: "b", at: place, password: Self.password)
                #expect((first, again, other) == (3, 61, 2))
                #expect(try await database.ask("SELECT count(*), count(DISTINCT terminal) FROM till_event") == "66|2")
                let row = "SELECT charge, type, at AT TIME ZONE 'UTC', data->>'reference' FROM till_event LIMIT 1"
                #expect(try await database.ask(row) == "c-1|charge.created|2026-11-20 10:00:00.5|Tisch 4 – ☕️")
                // All of a batch or nothing: one of these has no number.
                await #expect(throws: PostgresFault.refused("22P02")) {
                    try await table.insert(
                        #"[{"sequence":900,"charge":"c","type":"x","at":"2026-11-20T10:00:00Z","data":{}},{"sequence":"x"}]"#,
                        of: "a",
                        at: place,
                        password: Self.password
                    )
                }
                #expect(try await database.ask("SELECT count(*) FROM till_event") == "66")
                #expect(await Self.fault(of: table, at: place) == nil)
                try kill()
            }
            #expect([.unreachable, .broken].contains(await Self.fault(of: table, at: place)))
            #expect(await Self.fault(of: table, at: place) == .unreachable)
            try await database.run { _ in
                let back = try await table.insert(Self.rows(64...65), of: "a", at: place, password: Self.password)
                #expect(back == 1)
                // The server ends connections that idle: the next rows notice nothing.
                try await database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'till'")
                let once = try await table.insert(Self.rows(66...66), of: "a", at: place, password: Self.password)
                #expect(once == 1)
            }
        }
    }

    @Test func everyFaultHasItsOwnName() async throws {
        try await Database.make { database in
            let place = Self.place(database)
            try await database.run { _ in
                try await database.ask("CREATE ROLE till LOGIN PASSWORD 'canary''\\ pass'")
                #expect(await Self.fault(at: place) == .noTable)
                try await database.ask(EventTable.definition)
                #expect(await Self.fault(at: place) == .noRight)
                try await database.ask("GRANT INSERT ON till_event TO till")
                #expect(await Self.fault(at: place) == nil)
                #expect(await Self.fault(at: place, password: "wrong") == .password)
                #expect(await Self.fault(at: place, password: "") == .password)
                #expect(await Self.fault(at: Self.place(database, "127.0.0.1")) == .otherName)
                #expect(await Self.fault(at: Self.place(database, "till-nowhere.invalid")) == .unreachable)
                for (authorities, fault) in [
                    (try database.stranger, PostgresFault.certificate), ("no certificate", .authorities),
                    (nil, .certificate),
                ] {
                    let strange = PostgresPlace(
                        host: "localhost",
                        port: database.port,
                        database: "postgres",
                        user: "till",
                        authorities: authorities
                    )
                    #expect(await Self.fault(at: strange) == fault)
                }
                let elsewhere = PostgresPlace(
                    host: "localhost",
                    port: database.port,
                    database: "nothing",
                    user: "till",
                    authorities: database.authority
                )
                #expect(await Self.fault(at: elsewhere) == .noDatabase)
                try await database.ask("ALTER ROLE till NOLOGIN")
                #expect(await Self.fault(at: place) == .notAllowed)
            }
            // Without TLS not even the password is said.
            try await database.run(tls: false) { _ in #expect(await Self.fault(at: place) == .noTLS) }
        }
    }
}
