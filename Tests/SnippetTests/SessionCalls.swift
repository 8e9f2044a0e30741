import WalletConnect

// The calls of the documents for sessions, in their order, from `import WalletConnect` alone.

func pair(_ urlString: String) async throws {
    let uri = WalletConnectURI(string: urlString)
    if let uri { try await WalletKit.instance.pair(uri: uri) }
}

func approve(_ proposal: Session.Proposal, _ sessionNamespaces: [String: SessionNamespace]) async throws {
    try await WalletKit.instance.approve(
        proposalId: proposal.id,
        namespaces: sessionNamespaces,
        sessionProperties: proposal.sessionProperties
    )
}

func reject(proposalId: String) async throws {
    try await WalletKit.instance.reject(proposalId: proposalId, reason: .userRejected)
}

func respond(_ requestId: RPCID, _ signature: String, _ account: Account) async throws {
    try await WalletKit.instance.respond(requestId: requestId, signature: signature, from: account)
}

/// Changed: a stream in place of each Combine publisher.
func follow(_ tell: (String) -> Void) async {
    for await isPairing in WalletKit.instance.streams.pairingStates { tell("pairing \(isPairing)") }
    for await pairing in WalletKit.instance.streams.pairingExpirations {
        guard !pairing.active else { continue }
        tell("a pairing has expired")
    }
    for await _ in WalletKit.instance.streams.sessionProposalExpirations { tell("a proposal has expired") }
    for await _ in WalletKit.instance.streams.requestExpirations { tell("a request has expired") }
    for await status in WalletKit.instance.streams.socketConnectionStatuses {
        switch status {
        case .connected: tell("connected")
        case .disconnected: tell("disconnected")
        }
    }
}

/// Changed: the router is a value with the app's own way to open links, and `await` stands before its call.
func approveAndGoBack(
    _ proposal: Session.Proposal,
    _ namespaces: [String: SessionNamespace],
    opener: @escaping WalletConnectRouter.Opener
) async throws -> WalletConnectRouter.Outcome {
    try await Sign.instance.approve(proposalId: proposal.id, namespaces: namespaces)
    guard let uri = proposal.proposer.redirect?.native else {
        return .returnByHand
    }
    return await WalletConnectRouter(opener: opener).goBack(uri: uri)
}

/// What most wallets build their answer with.
func namespaces(
    _ proposal: Session.Proposal,
    _ chains: [Blockchain],
    _ accounts: [Account]
) throws -> [String: SessionNamespace] {
    try AutoNamespaces.build(
        sessionProposal: proposal,
        chains: chains,
        methods: ["eth_sendTransaction", "personal_sign"],
        events: ["accountsChanged", "chainChanged"],
        accounts: accounts
    )
}
