import Ethereum
import WalletConnect

/// What ended a session before anything could be signed.
enum SessionFailure: Error {
    /// Nothing of what the dapp asks for is here. The dapp was told so.
    case unsupported(NamespaceError)
    /// The client stopped.
    case stopped
}

/// The wallet's side of a session: scan, look, agree, sign until the dapp ends it.
struct SessionFlow: Sendable {
    let client: SignClient
    let key: PrivateKey
    /// Says what goes on. A wallet with a screen shows it, and asks before it agrees or signs.
    let say: @Sendable (String) -> Void

    private static let chains = ["eip155:8453", "eip155:1", "eip155:137"].compactMap(Blockchain.init)
    private static let method = "eth_signTypedData_v4"

    func serve(_ code: String) async throws {
        // Streams before the scan: what comes in between is kept for them.
        let (proposals, requests, ends) =
            (client.streams.sessionProposals, client.streams.sessionRequests, client.streams.sessionDeletes)
        try await client.pair(scanned: code)
        say("Scanned; waiting for the dapp's proposal …")
        guard let proposal = await proposals.first(where: { _ in true })?.proposal else { throw SessionFailure.stopped }
        say("\(proposal.proposer.name) at \(proposal.proposer.url) asks for a session")
        let session = try await agree(to: proposal)
        say("Approved \(session.accounts.count) accounts")
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await (request, _) in requests where request.topic == session.topic { await answer(request) }
            }
            _ = await ends.first { $0.topic == session.topic }
            group.cancelAll()
        }
        say("The session is over")
    }

    private func agree(to proposal: Session.Proposal) async throws -> Session {
        let namespaces: [String: SessionNamespace]
        do throws(NamespaceError) {
            namespaces = try AutoNamespaces.build(
                sessionProposal: proposal,
                chains: Self.chains,
                methods: [Self.method],
                events: ["chainChanged", "accountsChanged"],
                accounts: Self.chains.compactMap { Account(blockchain: $0, address: key.address.checksummed) }
            )
        } catch {
            try await client.reject(proposalId: proposal.id, reason: error.reason)
            throw SessionFailure.unsupported(error)
        }
        return try await client.approve(proposalId: proposal.id, namespaces: namespaces)
    }

    private func answer(_ request: Request) async {
        do {
            guard let account = Account(blockchain: request.chainId, address: key.address.checksummed) else { return }
            try await client.respond(requestId: request.id, signature: try sign(request), from: account)
            say("Signed a \(request.method) on \(request.chainId)")
        } catch let refusal as JSONRPCError {
            say("Not signed: \(refusal.message)")
            await refuse(request, refusal)
        } catch SignError.requestExpired {
            say("Not signed: the request came too late")
        } catch let error as SignError where error.isStillBeingSent {
            say("Signed; it is sent when there is a connection")
        } catch {
            say("Not answered: \(error)")
        }
    }

    private func refuse(_ request: Request, _ refusal: JSONRPCError) async {
        do throws(SignError) {
            try await client.respond(topic: request.topic, requestId: request.id, response: .error(refusal))
        } catch { say("Not answered: \(error)") }
    }

    /// - Throws: What the dapp gets instead. -32602: the parameters make no sense. Source: JSON-RPC 2.0.
    private func sign(_ request: Request) throws -> String {
        guard request.method == Self.method else {
            throw JSONRPCError(code: 4200, message: "The wallet has no \(request.method).")  // EIP-1193
        }
        guard let params = try? request.params.get([String].self), params.count == 2,
            let data = try? TypedData(json: params[1])
        else { throw JSONRPCError(code: -32602, message: "Not an account and what it signs.") }
        guard params[0].lowercased() == key.address.lowercased else {
            throw JSONRPCError(code: 4100, message: "The account is not this wallet's.")  // EIP-1193
        }
        // A wallet shows what it is about to sign, and compares it with what its customer agreed to: `AgreedPayment`.
        return key.sign(data.digest).hexadecimal
    }
}
