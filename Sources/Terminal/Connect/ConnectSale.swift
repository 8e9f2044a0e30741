import Logging
import Payments
import StrictJSON
import WalletConnect
import WalletConnectPay

/// One charge and the wallets that come to pay it, one after the other: invites, asks, and has signed what it confirms.
///
/// Whatever happens is in the store before anything that follows from it leaves. Nothing is confirmed without the charge's
/// claim. It never says how the payment ended: that is the gateway's word, which the rail follows.
actor ConnectSale {
    nonisolated let attempt: AttemptLink
    let station: ConnectStation
    let clock: TerminalClock
    let logger: Logger
    private(set) var story: ConnectStory?
    private var isLoaded = false
    var view = ConnectView()
    private var isStopped = false
    /// From the claim's question on: what it answers decides, and not who asks to stop.
    private var isPaying = false
    private let stopping = AsyncStream<Never>.makeStream()
    private var inviters: [AsyncStream<Never>.Continuation] = []
    /// An order whose request ended without an answer. One may still come.
    var open: (order: ConnectOrder, results: [String], request: RPCID)?
    private var wake: AsyncStream<Never>.Continuation?
    /// Since when a wallet waits for the gateway's word, and for its customer's form.
    var silentFor: Wait?
    var formFor: Wait?
    private var noted = ""
    /// The relay that this run's invitation lies at.
    private var invitedOver: String?
    /// Requests that this run has sent or found open.
    private var sent: Set<String> = []

    /// Between tries while relay, gateway or storage do not answer.
    static let pause = Duration.seconds(2)
    /// While a form is being filled in.
    static let formPause = Duration.seconds(3)
    /// Source: WalletConnect specifications, clients/sign/rpc-methods: the least that a request may live.
    private static let requestSeconds: Int64 = 300

    init(attempt: AttemptLink, station: ConnectStation, clock: TerminalClock, logger: Logger) {
        (self.attempt, self.station, self.clock, self.logger) = (attempt, station, clock, logger)
    }

    // MARK: - Life

    /// Serves wallets until it is stopped, which ends their session, or the terminal stops, which does not.
    func live() async {
        await withTaskGroup { group in
            group.addTask { await self.serve() }
            group.addTask { for await _ in self.stopping.stream {} }
            await group.next()
            group.cancelAll()
        }
        for inviter in inviters { inviter.finish() }
        inviters = []
        guard isStopped || !Task.isCancelled else { return }
        await cleanUp()
        await station.over(self)
    }

    /// Ends it. Where the customer's signature is being paid with, only who asks for that too is heard.
    func stop(alsoWhilePaying: Bool) {
        guard alsoWhilePaying || !isPaying else { return }
        isStopped = true
        stopping.continuation.finish()
    }

    /// Ends once a first proposal lies in the mailbox, or the sale is over.
    func inviting() -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        if view.pairing != nil || view.step != .invited || isStopped {
            continuation.finish()
        } else {
            inviters.append(continuation)
        }
        return stream
    }

    private func cleanUp() async {
        let name = ConnectStory.name(attempt.terms.id, attempt.id)
        if let story { await station.end(story.topic, of: story.charge, .userDisconnected) }
        if let open { await station.end(open.order.session, of: attempt.terms.id, .userDisconnected) }
        // What stays is removed when the attempt is next asked about.
        try? await station.store.apply([.remove(name: name)])
    }

    private func serve() async {
        while !Task.isCancelled {
            let pause: Duration?
            do throws(StorageFailure) {
                if !isLoaded { try await load() }
                pause = try await step()
            } catch {
                note("connect_storage", "What happens cannot be stored: \(error.reason)")
                pause = Self.pause
            }
            guard let pause else { return }
            do { try await clock.sleep(pause) } catch { return }
        }
    }

    /// One step. How long to wait before the next; nil where there is nothing left to do.
    private func step() async throws(StorageFailure) -> Duration? {
        if await station.engine == nil, view.pairing != nil {
            // Switched off: nobody would hear who scans.
            view.pairing = nil
            await show()
        }
        guard let engine = await station.currentEngine() else { return nil }
        switch story?.stage {
        case .invited(let pairing, _) where invitedOver.map { $0 != engine.url } == true:
            // The settings name another relay, where nobody finds this invitation.
            invitedOver = nil
            return try await turnAway(pairing, .expired)
        case nil:
            invitedOver = engine.url
            return try await invite(engine.client)
        case .invited(let pairing, let uri): return try await awaitWallet(pairing, uri, engine.client)
        case .asking(let order, let results, let request):
            return try await ask(order, results, request, engine.client)
        case .signed(let order, let results): return try await pay(order, results)
        }
    }

    // MARK: - The store

    private func load() async throws(StorageFailure) {
        let name = ConnectStory.name(attempt.terms.id, attempt.id)
        if let stored = try await station.store.values(prefix: name)[name] { story = ConnectStory(stored) }
        isLoaded = true
    }

    func keep(_ stage: ConnectStory.Stage) async throws(StorageFailure) {
        let next = ConnectStory(charge: attempt.terms.id, attempt: attempt.id, stage: stage)
        try await station.store.apply([.set(name: next.name, value: try next.stored())])
        story = next
    }

    /// Lets go of a wallet and tells why; the next one is invited.
    func turnAway(
        _ topic: Topic,
        _ refusal: ConnectRefusal,
        endsSession: Bool = true
    ) async throws(StorageFailure) -> Duration {
        let name = ConnectStory.name(attempt.terms.id, attempt.id)
        try await station.store.apply([.remove(name: name)])
        story = nil
        if endsSession { await station.end(topic, of: attempt.terms.id, refusal.word) }
        await station.count { $0.refusals += 1 }
        logger.info(
            "a wallet does not pay",
            metadata: ["charge": "\(attempt.terms.id)", "why": "\(refusal.reason.code)"]
        )
        view = ConnectView()
        view.trouble = refusal.reason
        await show()
        return .zero
    }

    func show() async { await station.show(view, of: attempt.terms.id) }

    /// Says it once: it is tried again every few seconds.
    func note(_ code: String, _ message: String) {
        logger.log(
            level: code == noted ? .debug : .warning,
            "connect: \(message)",
            metadata: ["charge": "\(attempt.terms.id)", "code": "\(code)"]
        )
        noted = code
    }

    // MARK: - Inviting

    private func invite(_ client: SignClient) async throws(StorageFailure) -> Duration {
        let uri: WalletConnectURI
        do throws(SignError) { uri = try await client.connect(namespaces: await station.checks().proposal) } catch {
            if Task.isCancelled { return .zero }
            let light = await station.status.light
            if case .hindered(let reason) = light { view.trouble = reason }
            view.pairing = nil
            await show()
            note("connect_invite", "no proposal could be placed: \(error)")
            return Self.pause
        }
        try await keep(.invited(pairing: uri.topic, uri: uri.absoluteString))
        await station.count { $0.pairings += 1 }
        return .zero
    }

    private enum Meeting: Sendable {
        case met(Session)
        case failed(ProposalFailure)
        /// Its time is over, the client has stopped, or a late answer came.
        case over
    }

    private func awaitWallet(
        _ pairing: Topic,
        _ uri: String,
        _ client: SignClient
    ) async throws(StorageFailure) -> Duration? {
        if let session = await client.getSessions().first(where: { $0.pairingTopic == pairing }) {
            return try await meet(session, client)
        }
        guard let known = await client.getPairings().first(where: { $0.topic == pairing }) else {
            return try await turnAway(pairing, .expired)
        }
        view.pairing = uri
        view.step = .invited
        await show()
        for inviter in inviters { inviter.finish() }
        inviters = []
        let left = Duration.milliseconds(known.expiry * 1000 - clock.wallTime().millisecondsSince1970)
        let late = AsyncStream<Never>.makeStream()
        wake = late.continuation
        let meeting = await withTaskGroup(of: Meeting.self) { group in
            group.addTask {
                do throws(ProposalFailure) { return .met(try await client.session(pairing: pairing)) } catch {
                    return error.cause == .withdrawn ? .over : .failed(error)
                }
            }
            group.addTask { [clock] in
                try? await clock.sleep(max(.zero, left) + .seconds(2))  // Cancelled: somebody came.
                return .over
            }
            group.addTask {
                for await _ in late.stream {}
                return .over
            }
            let first = await group.next() ?? .over
            group.cancelAll()
            return first
        }
        wake = nil
        guard !Task.isCancelled else { return nil }
        switch meeting {
        case .met(let session): return try await meet(session, client)
        case .failed(let failure): return try await turnAway(pairing, ConnectRefusal(failure))
        case .over:
            // Of a late answer the story has changed; otherwise it is looked at again.
            return story?.topic == pairing && left > .zero ? .milliseconds(200) : .zero
        }
    }

    // MARK: - Asking

    private enum Answer: Sendable {
        case answered(SessionResponse)
        /// The request's time is over.
        case unanswered
        case left
        case stopped
    }

    private func ask(
        _ order: ConnectOrder,
        _ results: [String],
        _ request: String?,
        _ client: SignClient
    ) async throws(StorageFailure) -> Duration? {
        guard results.count < order.calls.count else {
            try await keep(.signed(order, results: results))
            return .zero
        }
        (view.step, view.pairing, view.wallet) = (.asked, nil, order.wallet)
        await show()
        let call = order.calls[results.count]
        let id: RPCID
        do throws(SignError) { id = try await send(call, order, request, client) } catch {
            switch error {
            case .storage(let reason): throw StorageFailure(reason: reason)
            case .stopped: return Self.pause
            case .unknown, .sessionExpired: return try await turnAway(order.session, .left)
            default: return try await turnAway(order.session, .walletError("\(error)"))
            }
        }
        if request != id.text { try await keep(.asking(order, results: results, request: id.text)) }
        switch await answer(to: id, order.session, client) {
        case .answered(let response):
            do throws(ConnectRefusal) {
                let result = try ConnectChecks.result(response.result, of: call, by: order.account)
                await station.count { $0.signatures += 1 }
                try await keepResults(order, results + [result])
            } catch { return try await turnAway(order.session, error) }
            return .zero
        case .unanswered:
            // Its session stays for a late answer, which is used while the charge waits.
            open = (order, results, id)
            return try await turnAway(order.session, .unanswered, endsSession: false)
        case .left: return try await turnAway(order.session, .left)
        case .stopped: return Task.isCancelled ? nil : Self.pause
        }
    }

    private func keepResults(_ order: ConnectOrder, _ results: [String]) async throws(ConnectRefusal) {
        while true {
            do throws(StorageFailure) {
                let isAll = results.count == order.calls.count
                try await keep(
                    isAll ? .signed(order, results: results) : .asking(order, results: results, request: nil)
                )
                return
            } catch {
                note("connect_storage", "a signature cannot be stored: \(error.reason)")
                // The library has acknowledged it: it would be lost.
                do { try await clock.sleep(Self.pause) } catch { return }
            }
        }
    }

    /// The request with the wallet: the one that is open, or a new one. Where an answer was lost with the power it is asked
    /// for again: a signature pays nothing before it is confirmed.
    private func send(
        _ call: ConnectOrder.Call,
        _ order: ConnectOrder,
        _ request: String?,
        _ client: SignClient
    ) async throws(SignError) -> RPCID {
        let open = await client.openRequests(topic: order.session)
        if let request, let id = RPCID(request),
            sent.contains(request) || open.contains(where: { $0.id.text == request })
        {
            sent.insert(request)
            return id
        }
        // Sent, and the power failed before it was written here.
        if request == nil, let found = open.last, found.method == call.method, !sent.contains(found.id.text) {
            sent.insert(found.id.text)
            return found.id
        }
        let params: ExactJSON
        do throws(ExactJSON.Failure) { params = try ExactJSON(parsing: call.params) } catch {
            throw .invalid(reason: "parameters that cannot be read")
        }
        let id = try await client.begin(
            Request(
                topic: order.session,
                method: call.method,
                params: params,
                chainId: call.chain,
                ttlSeconds: Self.requestSeconds
            )
        )
        sent.insert(id.text)
        return id
    }

    private func answer(to id: RPCID, _ session: Topic, _ client: SignClient) async -> Answer {
        let ends = client.streams.sessionDeletes
        return await withTaskGroup(of: Answer.self) { group in
            group.addTask {
                do throws(SignError) { return .answered(try await client.response(to: id, topic: session)) } catch {
                    return Task.isCancelled || error == .stopped ? .stopped : .unanswered
                }
            }
            group.addTask {
                // A wallet that was gone before is not announced again.
                guard await client.getSessions().contains(where: { $0.topic == session }) else { return .left }
                for await end in ends where end.topic == session { return .left }
                return .stopped
            }
            let first = await group.next() ?? .stopped
            group.cancelAll()
            return first
        }
    }

    /// Takes an answer that came after its request's end, where this charge still waits for somebody to pay.
    func takesLate(_ response: SessionResponse) async -> Bool {
        guard let open, response.topic == open.order.session, response.id == open.request, !isStopped, !isPaying,
            case .invited(let pairing, _)? = story?.stage
        else { return false }
        self.open = nil
        guard
            let result = try? ConnectChecks.result(
                response.result,
                of: open.order.calls[open.results.count],
                by: open.order.account
            )
        else { return true }
        let results = open.results + [result]
        // Its session is gone: nothing more can be asked.
        guard results.count == open.order.calls.count else { return true }
        do throws(StorageFailure) { try await keep(.signed(open.order, results: results)) } catch { return false }
        logger.notice("a late signature is used", metadata: ["charge": "\(attempt.terms.id)"])
        await station.end(pairing, of: attempt.terms.id, .userDisconnected)
        wake?.finish()
        return true
    }

    // MARK: - Paying

    /// Everything is signed: the claim first, and only then the confirmation.
    private func pay(_ order: ConnectOrder, _ results: [String]) async throws(StorageFailure) -> Duration? {
        guard let payment = PaymentID(order.payment) else { return try await turnAway(order.session, .badAnswer) }
        (view.step, view.pairing, view.formURL, view.wallet) = (.paying, nil, nil, order.wallet)
        await show()
        isPaying = true
        switch await attempt.claim(tipMinorUnits: 0) {
        case .granted: break
        case .refused(.unrecorded): return Self.pause
        case .refused(.beaten), .refused(.over):
            isPaying = false
            // The customer pays another way, or nobody waits any more: nothing is confirmed.
            isStopped = true
            return nil
        }
        guard let gateway = await station.gateway(at: attempt.terms.gatewayURL) else { return Self.pause }
        do throws(PayError) {
            _ = try await gateway.confirm(payment: payment, option: order.option, results: results)
            // Its end is the gateway's word to whoever follows the payment.
            return await standing()
        } catch {
            switch error {
            case .refused(let refusal):
                // An earlier try may have arrived: nothing moved for certain only where the payment still waits.
                guard (try? await gateway.status(of: payment))?.status == .requiresAction else {
                    return await standing()
                }
                await attempt.record(.claimDropped(attempt: attempt.id))
                isPaying = false
                return try await turnAway(order.session, .gateway(refusal.code))
            case .cancelled: return nil
            default:
                note("connect_confirm", "the confirmation got no usable answer: \(error)")
                return await standing()
            }
        }
    }

    /// A pause before the confirmation is repeated; nil where the payment's end is known.
    private func standing() async -> Duration? {
        guard let now = await attempt.current(), now.isOpen else { return nil }
        return Self.pause
    }
}
