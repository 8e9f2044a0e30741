import Console
import Postgres

/// Puts charge events into the operator's table.
struct PostgresSink: EventSink {
    private let table = EventTable()

    func put(_ rows: String, of terminal: String, at place: EventPlace, password: String) async throws(EventFault) {
        let there = PostgresPlace(
            host: place.host,
            port: place.port,
            database: place.database,
            user: place.user,
            authorities: place.authorities.isEmpty ? nil : place.authorities.joined(separator: "\n") + "\n"
        )
        do throws(PostgresFault) {
            try await table.insert(rows, of: terminal, at: there, password: password)
        } catch { throw EventFault(error) }
    }
}

extension EventFault {
    init(_ fault: PostgresFault) {
        let kind: Kind =
            switch fault {
            case .unreachable, .silent, .broken: .unreachable
            case .noTLS: .plain
            case .certificate, .otherName: .certificate
            case .authorities: .authorities
            case .password, .notAllowed: .password
            case .noDatabase, .noTable, .noRight: .table
            case .refused, .noLibrary: .refused
            }
        switch fault {
        case .refused(let code): self.init(kind, code: code)
        // What is to be installed stands where the database's own code would.
        case .noLibrary: self.init(kind, code: "libpq5")
        default: self.init(kind, code: "")
        }
    }
}
