/// Builds what a wallet approves from what it supports, as wallets mostly do.
public enum AutoNamespaces {
    /// The parts of `supported` that `required` and `optional` ask for; all of it where they ask for nothing.
    ///
    /// Keys of `supported` are namespaces, with `chains`.
    /// - Throws: The rule that `supported` cannot meet, or 5100 where it has nothing of all that is asked for: reject the
    ///   proposal with the error's `reason`.
    public static func build(
        required: [String: ProposalNamespace],
        optional: [String: ProposalNamespace],
        supported: [String: SessionNamespace]
    ) throws(NamespaceError) -> [String: SessionNamespace] {
        for (key, namespace) in supported.sorted(by: { $0.key < $1.key }) {
            for chain in namespace.chains ?? [] where !namespace.accounts.contains(where: { $0.blockchain == chain }) {
                throw NamespaceError(5001, "All chains must have at least one account", "\(chain) of \(key)")
            }
        }
        let limited = supported.mapValues { namespace in
            var namespace = namespace
            namespace.accounts = namespace.accounts.filter { namespace.chains?.contains($0.blockchain) ?? true }
            return namespace
        }
        try NamespaceRules.check(limited, gives: required)
        guard !required.isEmpty || !optional.isEmpty else { return supported }
        var approved: [String: SessionNamespace] = [:]
        for wishes in [normalized(required), normalized(optional)] {
            for (key, wish) in wishes {
                guard let offer = supported[key] else { continue }
                let part = intersection(of: wish, and: offer)
                approved[key] = approved[key].map { merged($0, part) } ?? part
            }
        }
        // Where nothing of a wish can be had, the wallet gives nothing there: an empty namespace is against the rules.
        let given = approved.filter { !$0.value.accounts.isEmpty }
        try NamespaceRules.checkAnything(in: given)
        return given
    }

    /// The official SDK's spelling: one list of each for all namespaces.
    /// - Throws: As the other one.
    public static func build(
        sessionProposal: Session.Proposal,
        chains: [Blockchain],
        methods: [String],
        events: [String],
        accounts: [Account]
    ) throws(NamespaceError) -> [String: SessionNamespace] {
        var supported: [String: SessionNamespace] = [:]
        for chain in chains {
            var namespace =
                supported[chain.namespace]
                ?? SessionNamespace(
                    chains: [],
                    accounts: accounts.filter { $0.blockchain.namespace == chain.namespace },
                    methods: methods,
                    events: events
                )
            namespace.chains = ((namespace.chains ?? []) + [chain]).uniqued()
            supported[chain.namespace] = namespace
        }
        return try build(
            required: sessionProposal.requiredNamespaces,
            optional: sessionProposal.optionalNamespaces,
            supported: supported
        )
    }

    /// With keys that are chains moved under their namespace.
    private static func normalized(_ wishes: [String: ProposalNamespace]) -> [String: ProposalNamespace] {
        var result: [String: ProposalNamespace] = [:]
        for (key, wish) in wishes.sorted(by: { $0.key < $1.key }) {
            let name = Blockchain(key)?.namespace ?? key
            var sum = result[name] ?? ProposalNamespace(chains: [], methods: [], events: [])
            sum.chains = ((sum.chains ?? []) + wish.chains(ofKey: key)).uniqued()
            sum.methods = (sum.methods + wish.methods).uniqued()
            sum.events = (sum.events + wish.events).uniqued()
            result[name] = sum
        }
        return result
    }

    private static func intersection(of wish: ProposalNamespace, and offer: SessionNamespace) -> SessionNamespace {
        let chains = (offer.chains ?? offer.accounts.map(\.blockchain).uniqued()).filter {
            wish.chains?.contains($0) ?? false
        }
        return SessionNamespace(
            chains: chains,
            accounts: chains.flatMap { chain in offer.accounts.filter { $0.blockchain == chain } },
            methods: offer.methods.filter(wish.methods.contains),
            events: offer.events.filter(wish.events.contains)
        )
    }

    private static func merged(_ first: SessionNamespace, _ second: SessionNamespace) -> SessionNamespace {
        SessionNamespace(
            chains: ((first.chains ?? []) + (second.chains ?? [])).uniqued(),
            accounts: (first.accounts + second.accounts).uniqued(),
            methods: (first.methods + second.methods).uniqued(),
            events: (first.events + second.events).uniqued()
        )
    }
}
