internal import StrictJSON

/// The rules both sides hold namespaces to. Source: WalletConnect specifications, clients/sign/namespaces.
enum NamespaceRules {
    /// The chain a key names; nil for the key of a whole namespace.
    static func chain(ofKey key: String) throws(NamespaceError) -> Blockchain? {
        if let chain = Blockchain(key) { return chain }
        guard Blockchain.isNamespace(key) else {
            throw NamespaceError(5104, "Namespace formatting must match CAIP-2", key)
        }
        return nil
    }

    static func names(
        _ json: ExactJSON?,
        _ code: Int,
        _ rule: String,
        _ key: String
    ) throws(NamespaceError) -> [String] {
        guard let json, json != .null else { return [] }
        guard let names = json.texts, names.count <= NamespaceLimits.entries,
            names.allSatisfy({ $0.utf8.count <= NamespaceLimits.nameBytes })
        else { throw NamespaceError(code, rule, key) }
        return names
    }

    static func chains(
        _ json: ExactJSON,
        of key: String,
        keyChain: Blockchain?
    ) throws(NamespaceError) -> [Blockchain] {
        guard let texts = json.texts, texts.count <= NamespaceLimits.entries else {
            throw NamespaceError(5100, "Chains must be a list", key)
        }
        var chains: [Blockchain] = []
        for text in texts {
            guard let chain = Blockchain(text) else {
                throw NamespaceError(5100, "Chains must be CAIP-2 compliant", text)
            }
            guard chain == keyChain ?? chain, chain.namespace == keyChain?.namespace ?? key else {
                throw NamespaceError(5100, "Chains must be defined in matching namespace", text)
            }
            chains.append(chain)
        }
        return chains
    }

    static func checkAccounts(of namespace: SessionNamespace, key: String) throws(NamespaceError) {
        let keyChain = try chain(ofKey: key)
        guard !namespace.accounts.isEmpty else { throw NamespaceError(5001, "Accounts must not be empty", key) }
        for account in namespace.accounts {
            let fits = keyChain.map { $0 == account.blockchain } ?? (account.blockchain.namespace == key)
            guard fits else {
                throw NamespaceError(5103, "Accounts must be defined in matching namespace", account.absoluteString)
            }
        }
    }

    /// Whether `session` gives everything that is required, and anything at all. More is always allowed, and optional wishes
    /// never fail. Source: WalletConnect specifications, clients/sign/namespaces; an empty session: reown-swift,
    /// `AutoNamespacesError.emptySessionNamespacesForbidden`, and the JavaScript SDK, whose dapps never acknowledge one.
    static func check(
        _ session: [String: SessionNamespace],
        gives required: [String: ProposalNamespace]
    ) throws(NamespaceError) {
        for (key, namespace) in session.sorted(by: { $0.key < $1.key }) { try checkAccounts(of: namespace, key: key) }
        let required = required.sorted { $0.key < $1.key }
        for (key, _) in required {
            let name = Blockchain(key)?.namespace ?? key
            guard session.keys.contains(where: { (Blockchain($0)?.namespace ?? $0) == name }) else {
                throw NamespaceError(5000, "All namespaces must be approved", key)
            }
        }
        for (key, wish) in required {
            for chain in wish.chains(ofKey: key)
            where !accounts(in: session).contains(where: { $0.blockchain == chain }) {
                throw NamespaceError(5001, "All chains must have at least one account", chain.absoluteString)
            }
        }
        for (key, wish) in required {
            for chain in wish.chains(ofKey: key) {
                if let missing = wish.methods.first(where: { !allows(method: $0, on: chain, in: session) }) {
                    throw NamespaceError(5002, "All methods must be approved", "\(missing) on \(chain)")
                }
            }
        }
        for (key, wish) in required {
            for chain in wish.chains(ofKey: key) {
                if let missing = wish.events.first(where: { !allows(event: $0, on: chain, in: session) }) {
                    throw NamespaceError(5003, "All events must be approved", "\(missing) on \(chain)")
                }
            }
        }
        try checkAnything(in: session)
    }

    /// A session without a namespace allows nothing. Where nothing is required, no other rule refuses it.
    static func checkAnything(in session: [String: SessionNamespace]) throws(NamespaceError) {
        guard !session.isEmpty else { throw NamespaceError(5100, "Session namespaces must not be empty") }
    }

    static func accounts(in session: [String: SessionNamespace]) -> [Account] {
        session.sorted { $0.key < $1.key }.flatMap(\.value.accounts).uniqued()
    }

    /// The parts of a session that speak about `chain` and have an account on it.
    private static func parts(
        on chain: Blockchain,
        in session: [String: SessionNamespace]
    ) -> [SessionNamespace] {
        session.filter { key, namespace in
            (key == chain.namespace || key == chain.absoluteString)
                && namespace.accounts.contains { $0.blockchain == chain }
        }.map(\.value)
    }

    static func allows(_ chain: Blockchain, in session: [String: SessionNamespace]) -> Bool {
        !parts(on: chain, in: session).isEmpty
    }

    static func allows(method: String, on chain: Blockchain, in session: [String: SessionNamespace]) -> Bool {
        parts(on: chain, in: session).contains { $0.methods.contains(method) }
    }

    static func allows(event: String, on chain: Blockchain, in session: [String: SessionNamespace]) -> Bool {
        parts(on: chain, in: session).contains { $0.events.contains(event) }
    }
}
