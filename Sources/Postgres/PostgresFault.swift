/// Why rows are not known to be in the database. Whoever sends them again does no harm.
///
/// Holds none of the server's or the library's words: these may name what the operator keeps to themselves.
public enum PostgresFault: Error, Sendable, Equatable {
    /// The name has no address, or nobody takes the connection there.
    case unreachable
    /// No answer in time.
    case silent
    /// The server speaks no TLS. Nothing was said to it.
    case noTLS
    /// No authority that is believed vouches for the server's certificate, or it is not valid now.
    case certificate
    /// The certificate is for another name than the one that was asked for.
    case otherName
    /// The authorities that were given cannot be read as certificates.
    case authorities
    /// The password is not this user's, or none was given.
    case password
    /// The server lets this user in from elsewhere, or not at all. SQLSTATE class 28.
    case notAllowed
    /// There is no such database.
    case noDatabase
    /// There is no table of that name, or it has other columns.
    case noTable
    /// The user may not insert into the table.
    case noRight
    /// Anything else the server objects to. A SQLSTATE of five characters.
    case refused(String)
    /// There is no libpq on this machine.
    case noLibrary
    /// The connection ended, or the library could not work.
    case broken

    /// Source: PostgreSQL 15, appendix A, "PostgreSQL Error Codes".
    init(code: String) {
        self =
            switch code {
            case "28P01": .password
            case "3D000": .noDatabase
            case "42P01", "42703", "3F000", "42804": .noTable
            case "42501": .noRight
            case _ where code.hasPrefix("28"): .notAllowed
            case _ where code.hasPrefix("57P"): .broken
            default: .refused(code)
            }
    }

    /// - Parameter message: The library's, of a connection that was not made, with SQLSTATE in place of the server's words.
    init(connecting message: String) {
        let words = message.split { $0.isWhitespace }
        // Behind the severity, whose word is the server's: a port has as many characters.
        let code = words.indices.dropFirst().last { words[$0 - 1].hasSuffix(":") && Self.isCode(words[$0]) }
        if let code {
            self.init(code: String(words[code]))
        } else if message.contains("does not match host name") {
            self = .otherName
        } else if message.contains("certificate verify failed") {
            self = .certificate
        } else if message.contains("does not support SSL") {
            self = .noTLS
        } else if message.contains("root certificate file") {
            self = .authorities
        } else if message.contains("no password supplied") {
            self = .password
        } else if message.contains("server closed the connection") {
            self = .broken
        } else {
            self = .unreachable
        }
    }

    private static func isCode(_ word: Substring) -> Bool {
        word.utf8.count == 5 && word.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
            && word.utf8.contains { (0x30...0x39).contains($0) }
    }
}
