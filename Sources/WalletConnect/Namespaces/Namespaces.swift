internal import StrictJSON

/// What a dapp asks for on one namespace, or on one chain where its key in the map is one.
public struct ProposalNamespace: Sendable, Hashable, Codable {
    /// nil only where the key names the chain.
    public var chains: [Blockchain]?
    public var methods: [String]
    public var events: [String]

    public init(chains: [Blockchain]? = nil, methods: [String], events: [String]) {
        (self.chains, self.methods, self.events) = (chains, methods, events)
    }
}

/// What a wallet allows on one namespace, or on one chain where its key in the map is one.
public struct SessionNamespace: Sendable, Hashable, Codable {
    public var chains: [Blockchain]?
    public var accounts: [Account]
    public var methods: [String]
    public var events: [String]

    public init(chains: [Blockchain]? = nil, accounts: [Account], methods: [String], events: [String]) {
        (self.chains, self.accounts, self.methods, self.events) = (chains, accounts, methods, events)
    }
}

/// Namespaces that break a rule: the code to send, and which part of what broke which rule.
public struct NamespaceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Source: WalletConnect specifications, clients/sign/namespaces: 5000 to 5003 and 5100 to 5104.
    public let code: Int
    /// The rule, in the specification's words.
    public let rule: String
    /// The key, chain, account, method or event that breaks it; empty where none is one.
    public let culprit: String

    public var description: String { culprit.isEmpty ? rule : "\(rule): \(culprit)" }
    /// As it travels to the peer.
    public var reason: JSONRPCError { JSONRPCError(code: code, message: description) }

    init(_ code: Int, _ rule: String, _ culprit: String = "") {
        (self.code, self.rule, self.culprit) = (code, rule, culprit.cut(toBytes: 160))
    }
}

/// The most of anything within a peer's namespaces: more is no wallet's and no dapp's honest wish.
enum NamespaceLimits {
    static let keys = 64
    static let entries = 512
    static let nameBytes = 128
}

extension ProposalNamespace {
    /// Reads a proposal's map and checks it. A missing map is an empty one, and asking for nothing is allowed.
    static func read(_ json: ExactJSON?) throws(NamespaceError) -> [String: ProposalNamespace] {
        guard let json, json != .null else { return [:] }
        guard let members = json.members, members.count <= NamespaceLimits.keys else {
            throw NamespaceError(5104, "Namespaces must be a map")
        }
        var map: [String: ProposalNamespace] = [:]
        for member in members { map[member.name] = try read(key: member.name, member.value) }
        return map
    }

    private static func read(key: String, _ json: ExactJSON) throws(NamespaceError) -> ProposalNamespace {
        let keyChain = try NamespaceRules.chain(ofKey: key)
        let methods = try NamespaceRules.names(json.value(named: "methods"), 5101, "Methods must be a list", key)
        let events = try NamespaceRules.names(json.value(named: "events"), 5102, "Events must be a list", key)
        guard let written = json.present("chains") else {
            guard keyChain != nil else { throw NamespaceError(5100, "Chains must not be empty", key) }
            return ProposalNamespace(methods: methods, events: events)
        }
        let chains = try NamespaceRules.chains(written, of: key, keyChain: keyChain)
        guard keyChain != nil || !chains.isEmpty else { throw NamespaceError(5100, "Chains must not be empty", key) }
        return ProposalNamespace(chains: keyChain == nil ? chains : nil, methods: methods, events: events)
    }

    /// Writes `chains` always: some wallets fail without.
    func json(key: String) -> ExactJSON {
        .of([
            "chains": .strings(chains(ofKey: key).map(\.absoluteString)), "methods": .strings(methods),
            "events": .strings(events),
        ])
    }

    /// The chains this is about.
    func chains(ofKey key: String) -> [Blockchain] { Blockchain(key).map { [$0] } ?? chains ?? [] }
}

extension SessionNamespace {
    /// Reads a session's map and checks each part by itself; `NamespaceRules.check` compares it with a proposal.
    static func read(_ json: ExactJSON?) throws(NamespaceError) -> [String: SessionNamespace] {
        guard let members = json?.members, members.count <= NamespaceLimits.keys else {
            throw NamespaceError(5104, "Namespaces must be a map")
        }
        var map: [String: SessionNamespace] = [:]
        for member in members { map[member.name] = try read(key: member.name, member.value) }
        return map
    }

    private static func read(key: String, _ json: ExactJSON) throws(NamespaceError) -> SessionNamespace {
        let keyChain = try NamespaceRules.chain(ofKey: key)
        guard let texts = json.value(named: "accounts")?.texts, texts.count <= NamespaceLimits.entries else {
            throw NamespaceError(5001, "Accounts must be a list", key)
        }
        let chains: [Blockchain]? =
            if let written = json.present("chains") {
                try NamespaceRules.chains(written, of: key, keyChain: keyChain)
            } else {
                nil
            }
        var accounts: [Account] = []
        for text in texts {
            guard let account = Account(text) else {
                throw NamespaceError(5001, "Accounts must be CAIP-10 compliant", text)
            }
            accounts.append(account)
        }
        let namespace = SessionNamespace(
            chains: chains,
            accounts: accounts,
            methods: try NamespaceRules.names(json.value(named: "methods"), 5002, "Methods must be a list", key),
            events: try NamespaceRules.names(json.value(named: "events"), 5003, "Events must be a list", key)
        )
        try NamespaceRules.checkAccounts(of: namespace, key: key)
        return namespace
    }

    func json(key: String) -> ExactJSON {
        let chains = Blockchain(key).map { [$0] } ?? chains ?? accounts.map(\.blockchain).uniqued()
        return .of([
            "chains": .strings(chains.map(\.absoluteString)), "accounts": .strings(accounts.map(\.absoluteString)),
            "methods": .strings(methods), "events": .strings(events),
        ])
    }
}

extension Sequence where Element: Hashable {
    /// Each element once, in the order of its first place.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
