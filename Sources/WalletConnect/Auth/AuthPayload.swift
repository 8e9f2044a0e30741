internal import StrictJSON

/// What a dapp wants an account to sign in order to know it. Source: CAIP-122; EIP-4361.
public struct AuthPayload: Sendable, Equatable, Codable {
    /// `caip122` or `eip4361`.
    public var type: String
    public var chains: [String]
    public var domain: String
    public var aud: String
    public var version: String
    public var nonce: String
    /// RFC 3339, as are `nbf` and `exp`.
    public var iat: String
    public var nbf: String?
    public var exp: String?
    public var statement: String?
    public var requestId: String?
    public var resources: [String]?

    public init(
        type: String = "caip122",
        chains: [String],
        domain: String,
        aud: String,
        version: String = "1",
        nonce: String,
        iat: String,
        nbf: String? = nil,
        exp: String? = nil,
        statement: String? = nil,
        requestId: String? = nil,
        resources: [String]? = nil
    ) {
        (self.type, self.chains, self.domain, self.aud) = (type, chains, domain, aud)
        (self.version, self.nonce, self.iat, self.nbf, self.exp) = (version, nonce, iat, nbf, exp)
        (self.statement, self.requestId, self.resources) = (statement, requestId, resources)
    }

    /// nil for what lacks a member or holds line breaks, which would let a dapp write lines of its own into the message.
    init?(json: ExactJSON) {
        func text(_ name: String) -> String? { json.present(name)?.string }
        guard let domain = text("domain"), let aud = text("aud"), let nonce = text("nonce"), let iat = text("iat"),
            let version = text("version"), let chains = json.value(named: "chains")?.texts,
            (1...NamespaceLimits.entries).contains(chains.count), chains.allSatisfy({ Blockchain($0) != nil })
        else { return nil }
        self.init(
            type: text("type") ?? "caip122",
            chains: chains,
            domain: domain,
            aud: aud,
            version: version,
            nonce: nonce,
            iat: iat,
            nbf: text("nbf"),
            exp: text("exp"),
            statement: text("statement"),
            requestId: text("requestId"),
            resources: json.present("resources")?.texts
        )
        guard (json.present("resources") == nil) == (resources == nil), hasOneLineEach else { return nil }
    }

    var hasOneLineEach: Bool {
        let texts =
            [domain, aud, version, nonce, iat, nbf, exp, statement, requestId].compactMap { $0 } + (resources ?? [])
        return texts.count <= 128
            && texts.allSatisfy { $0.utf8.count <= 8192 && !$0.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) }
    }

    var json: ExactJSON {
        .of([
            "type": .string(type), "chains": .strings(chains), "domain": .string(domain), "aud": .string(aud),
            "version": .string(version), "nonce": .string(nonce), "iat": .string(iat),
            "nbf": nbf.map(ExactJSON.string), "exp": exp.map(ExactJSON.string),
            "statement": statement.map(ExactJSON.string), "requestId": requestId.map(ExactJSON.string),
            "resources": resources.map { .strings($0) },
        ])
    }

    /// What a wallet signs where it supports only some of what is asked: its chains, its methods, and a statement that says
    /// so. nil where no chain is left.
    public func limited(toChains supportedChains: [String], methods: [String]) -> AuthPayload? {
        var payload = self
        payload.chains = chains.filter(supportedChains.contains)
        guard !payload.chains.isEmpty else { return nil }
        guard let recap = Recap(resources: resources) else { return payload }
        let limited = recap.limited(toMethods: methods, chains: payload.chains)
        payload.resources = (resources ?? []).dropLast() + (limited.isEmpty ? [] : [limited.encoded])
        payload.statement = limited.isEmpty ? statement : limited.statement(after: statement)
        return payload
    }

    /// The text the account signs. nil when the statement claims other permissions than the ReCap gives.
    ///
    /// `iss` is `did:pkh:eip155:1:0x…`.
    public func message(iss: String) -> String? {
        guard let account = DecentralizedID.account(iss), hasOneLineEach else { return nil }
        var statement = statement
        if let recap = Recap(resources: resources) {
            guard let full = recap.statementIfTrue(after: statement) else { return nil }
            statement = full
        }
        var lines = ["\(domain) wants you to sign in with your Ethereum account:", account.address, ""]
        if let statement { lines += [statement, ""] } else { lines += [""] }
        lines += [
            "URI: \(aud)", "Version: \(version)", "Chain ID: \(account.blockchain.reference)", "Nonce: \(nonce)",
            "Issued At: \(iat)",
        ]
        if let exp { lines.append("Expiration Time: \(exp)") }
        if let nbf { lines.append("Not Before: \(nbf)") }
        if let requestId { lines.append("Request ID: \(requestId)") }
        if let resources { lines += ["Resources:"] + resources.map { "- \($0)" } }
        return lines.joined(separator: "\n")
    }
}

/// Accounts as decentralized identifiers. Source: did:pkh method specification.
enum DecentralizedID {
    static func account(_ iss: String) -> Account? {
        guard iss.hasPrefix("did:pkh:") else { return nil }
        return Account(String(iss.dropFirst(8)))
    }

    static func iss(_ account: Account) -> String { "did:pkh:\(account)" }
}
