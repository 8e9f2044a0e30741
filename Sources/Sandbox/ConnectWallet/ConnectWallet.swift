public import Ethereum
import StrictJSON
public import WalletConnect

/// A customer's WalletConnect wallet: scans a code, agrees to a session, signs what a terminal asks for, by a script.
///
/// It pays only as much attention as wallets in use do: it shows what is to be signed and signs it. Started again on the same
/// storage it goes on where it was.
public actor ConnectWallet {
    private let script: ConnectWalletScript
    private let key: PrivateKey
    private let client: SignClient
    private let network: SwitchableSockets?
    private let clock: any WallClock
    private let onDeath: @Sendable () -> Void
    private let log: @Sendable (ConnectWalletEvent) -> Void

    /// Proposals and requests that somebody looks at already: each is told once per scan.
    private var proposalsInHand: Set<String> = []
    private var requestsInHand: Set<RPCID> = []
    private var outagesLeft: [ConnectWalletScript.Outage]
    private var hasDied = false
    private var wasSettled = false
    private var signaturesMade = 0
    private var signaturesSent = 0
    private var hasDeclined = false
    private var outcome: ConnectWalletOutcome?
    private let ends: AsyncStream<ConnectWalletOutcome>
    private let end: AsyncStream<ConnectWalletOutcome>.Continuation

    /// - Parameters:
    ///   - key: Its account, the same on every chain.
    ///   - client: Not running yet: ``run(scanning:)`` runs it.
    ///   - network: What the script switches off, where it does.
    ///   - onDeath: Ends the process where the script says so. Nothing is told or sent any more.
    ///   - log: Each thing that happens, in its order.
    public init(
        script: ConnectWalletScript,
        key: PrivateKey,
        client: SignClient,
        network: SwitchableSockets? = nil,
        clock: any WallClock = SystemWallClock(),
        onDeath: @escaping @Sendable () -> Void = {},
        log: @escaping @Sendable (ConnectWalletEvent) -> Void
    ) {
        (self.script, self.key, self.client, self.network) = (script, key, client, network)
        (self.clock, self.onDeath, self.log) = (clock, onDeath, log)
        outagesLeft = script.outages
        (ends, end) = AsyncStream.makeStream()
    }

    /// Who this wallet says it is.
    public static let metadata = AppMetadata(
        name: "Sandbox Wallet",
        description: "A wallet for trials. It moves no real money.",
        url: "https://till.invalid/sandbox-wallet",
        icons: []
    )

    /// Works until the session is over, the person said no, or ``stop()``.
    /// - Parameter code: The text of a QR code; nil goes on with what the storage knows.
    public func run(scanning code: String?) async -> ConnectWalletOutcome {
        let streams = client.streams
        let (proposals, requests) = (streams.sessionProposals, streams.sessionRequests)
        let (settles, deletes) = (streams.sessionSettles, streams.sessionDeletes)
        let logs = streams.logs
        let (lateProposals, lateRequests) = (streams.sessionProposalExpirations, streams.requestExpirations)
        let outcome = await withTaskGroup(of: Void.self) { group in
            // A second run of one client is refused; the wallet then ends without one.
            group.addTask { [client] in try? await client.run() }
            group.addTask { for await (proposal, _) in proposals { await self.look(at: proposal) } }
            group.addTask {
                await withDiscardingTaskGroup { answers in
                    for await (request, _) in requests { answers.addTask { await self.look(at: request) } }
                }
            }
            group.addTask { for await session in settles { await self.settled(session) } }
            group.addTask { for await ended in deletes { await self.sessionEnded(ended.cause) } }
            group.addTask { for await _ in lateProposals { await self.proposalExpired() } }
            group.addTask { for await _ in lateRequests { await self.say(.requestExpired) } }
            group.addTask { for await line in logs { await self.say(.note(line)) } }
            group.addTask { await self.begin(code) }
            var outcome = ConnectWalletOutcome.notSigned("stopped")
            for await ended in ends {
                outcome = ended
                break
            }
            group.cancelAll()
            return outcome
        }
        say(.ended(outcome))
        return outcome
    }

    /// Ends the wallet with what is known by now.
    public func stop() { finish(present) }

    private var present: ConnectWalletOutcome {
        if signaturesSent > 0 { return .signed }
        if signaturesMade > 0 { return .unknown }
        if hasDeclined { return .declined }
        if wasSettled { return .notSigned("nothing was asked for") }
        return .notSigned(proposalsInHand.isEmpty ? "nobody asked" : "the terminal never confirmed the session")
    }

    private func finish(_ outcome: ConnectWalletOutcome) {
        guard self.outcome == nil, !hasDied else { return }
        self.outcome = outcome
        end.yield(outcome)
    }

    func say(_ event: ConnectWalletEvent) { if !hasDied { log(event) } }

    // MARK: - What happens

    private func begin(_ code: String?) async {
        let sessions = await client.getSessions()
        wasSettled = sessions.contains(where: \.acknowledged)
        if let code {
            await scan(code, knowsSession: !sessions.isEmpty)
        } else if sessions.isEmpty, await client.getPendingProposals().isEmpty {
            return finish(.notSigned("the wallet knows of no session"))
        }
        // What was on the screen when the phone lost its power.
        for request in await client.getPendingRequests() { await look(at: request) }
        for proposal in await client.getPendingProposals() { await look(at: proposal) }
    }

    private func scan(_ code: String, knowsSession: Bool) async {
        do throws(PairingError) {
            try await client.pair(scanned: code)
            say(.paired)
            _ = await reached(.paired)
        } catch {
            // What was approved before this start goes on.
            if case .alreadyPaired = error, knowsSession { return say(.paired) }
            say(.pairingFailed(error))
            switch error {
            // The pairing is kept and subscribed as soon as there is a connection.
            case .notConnected, .timedOut: break
            default: finish(.notSigned("the code cannot be used"))
            }
        }
    }

    private func look(at proposal: Session.Proposal) async {
        guard proposalsInHand.insert(proposal.id).inserted else { return }
        let namespaces = Array(proposal.requiredNamespaces) + Array(proposal.optionalNamespaces)
        say(
            .asked(
                by: proposal.proposer.name,
                url: proposal.proposer.url,
                chains: namespaces.flatMap { $0.value.chains ?? [] },
                methods: namespaces.flatMap(\.value.methods)
            )
        )
        guard await reached(.asked), await pause(script.proposalDelay) else { return }
        switch script.proposal {
        case .never: say(.ignores(what: "the proposal"))
        case .no: await reject(proposal, .userRejected)
        case .yes:
            do throws(JSONRPCError) {
                await approve(proposal, try namespacesToApprove(proposal))
            } catch {
                await reject(proposal, error)
            }
        }
    }

    private func namespacesToApprove(_ proposal: Session.Proposal) throws(JSONRPCError) -> [String: SessionNamespace] {
        let chains = script.chains.isEmpty ? ConnectSigner.chains : script.chains
        let accounts = chains.compactMap { Account(blockchain: $0, address: key.address.checksummed) }
        guard script.chains.isEmpty else {
            return [
                "eip155": SessionNamespace(
                    chains: chains,
                    accounts: accounts,
                    methods: ConnectSigner.methods,
                    events: ConnectSigner.events
                )
            ]
        }
        do throws(NamespaceError) {
            return try AutoNamespaces.build(
                sessionProposal: proposal,
                chains: chains,
                methods: ConnectSigner.methods,
                events: ConnectSigner.events,
                accounts: accounts
            )
        } catch { throw error.reason }
    }

    private func approve(_ proposal: Session.Proposal, _ namespaces: [String: SessionNamespace]) async {
        let accounts = namespaces.sorted { $0.key < $1.key }.flatMap(\.value.accounts)
        do throws(SignError) {
            try await client.approve(proposalId: proposal.id, namespaces: namespaces)
            say(.approved(accounts))
        } catch {
            guard error.isStillBeingSent else {
                say(.failed(what: "the approval", reason: "\(error)"))
                return finish(.notSigned("the approval was not possible"))
            }
            say(.approved(accounts))
            say(.waits(what: "the approval", reason: "\(error)"))
        }
        _ = await reached(.approved)
    }

    private func reject(_ proposal: Session.Proposal, _ reason: RejectionReason) async {
        hasDeclined = true
        do throws(SignError) {
            try await client.rejectSession(proposalId: proposal.id, reason: reason)
            say(.rejected(reason))
            finish(.declined)
        } catch {
            if error.isStillBeingSent { return say(.waits(what: "the refusal", reason: "\(error)")) }
            say(.failed(what: "the refusal", reason: "\(error)"))
            finish(.declined)
        }
    }

    private func settled(_ session: Session) async {
        guard session.acknowledged, !wasSettled else { return }
        wasSettled = true
        say(.settled)
        _ = await reached(.settled)
    }

    private func look(at request: Request) async {
        guard requestsInHand.insert(request.id).inserted else { return }
        say(.requested(method: request.method, chain: request.chainId, expiresAtSeconds: request.expiryTimestamp))
        guard await reached(.requested), await pause(script.requestDelay) else { return }
        switch script.request {
        case .never: say(.ignores(what: "the request"))
        case .no: await answer(request, .error(.userRejectedRequest))
        case .yes:
            do throws(JSONRPCError) {
                let signed = try ConnectSigner(key: key).sign(request)
                say(.signing(signed.what))
                await answer(request, .response(.string(signed.result)))
            } catch {
                await answer(request, .error(error))
            }
        }
    }

    private func answer(_ request: Request, _ result: RPCResult) async {
        var signature: String?
        if case .response(.string(let text)) = result { signature = text }
        if signature != nil { signaturesMade += 1 }
        do throws(SignError) {
            try await client.respond(topic: request.topic, requestId: request.id, response: result)
            switch result {
            case .response:
                signaturesSent += 1
                say(.answered(text: signature ?? ""))
            case .error(let error):
                hasDeclined = true
                say(.refused(error))
            }
            _ = await reached(.answered)
        } catch {
            if error.isStillBeingSent {
                say(.waits(what: "the answer", reason: "\(error)"))
                _ = await reached(.answered)
            } else {
                if signature != nil { signaturesMade -= 1 }
                say(.failed(what: "the answer", reason: "\(error)"))
            }
        }
    }

    private func proposalExpired() {
        say(.proposalExpired)
        finish(.notSigned("the proposal expired"))
    }

    private func sessionEnded(_ cause: SessionEnd.Cause) {
        say(.sessionOver(cause))
        // The terminal ends a session when it has its answer: what was made has arrived.
        if case .peer = cause, signaturesMade > 0 { return finish(.signed) }
        finish(present == .notSigned("nothing was asked for") ? .notSigned("the session was ended") : present)
    }

    // MARK: - The script

    /// What the script has for this step happens.
    /// - Returns: Whether to go on.
    private func reached(_ step: ConnectWalletScript.Step) async -> Bool {
        guard !hasDied else { return false }
        if script.diesAt == step {
            say(.died(step))
            hasDied = true
            onDeath()
            return false
        }
        guard let place = outagesLeft.firstIndex(where: { $0.step == step }), let network else { return true }
        let outage = outagesLeft.remove(at: place)
        await network.turn(on: false)
        say(.network(false))
        // The person goes on meanwhile: what they answer waits for the network.
        Task { [weak self, clock] in
            try? await clock.sleep(for: outage.duration)
            await network.turn(on: true)
            await self?.say(.network(true))
        }
        return true
    }

    private func pause(_ duration: Duration) async -> Bool {
        guard duration > .zero else { return true }
        do { try await clock.sleep(for: duration) } catch { return false }
        return !hasDied
    }
}
