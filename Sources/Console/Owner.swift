/// Who owns the terminal, as it is stored: one document, so that password and signing out everywhere change together.
struct Owner: Sendable, Codable, Equatable {
    var password: PasswordHash
    /// Sessions that began earlier are over, in milliseconds since 1970; nil: none was ended by a change of password.
    var sessionsFrom: Int64?

    private enum CodingKeys: String, CodingKey { case sessionsFrom }

    init(password: PasswordHash, sessionsFrom: Int64? = nil) {
        (self.password, self.sessionsFrom) = (password, sessionsFrom)
    }

    /// The password's own fields lie beside the others: so they were stored before there were others.
    init(from decoder: any Decoder) throws {
        password = try PasswordHash(from: decoder)
        sessionsFrom = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
            Int64.self,
            forKey: .sessionsFrom
        )
    }

    func encode(to encoder: any Encoder) throws {
        try password.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(sessionsFrom, forKey: .sessionsFrom)
    }
}
