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
    var isLoaded = false
    var view = ConnectView()
    var isStopped = false
    /// From the claim's question on: what it answers decides, and not who asks to stop.
    var isPaying = false
    private let stopping = AsyncStream<Never>.makeStream()
    private var inviters: [AsyncStream<Never>.Continuation] = []
    /// An order whose request ended without an answer. One may still come.
    var open: ConnectOpenRequest?
    var wake: AsyncStream<Never>.Continuation?
    /// Since when a wallet waits for the gateway's word, and for its customer's form.
    var silentFor: Wait?
    var formFor: Wait?
    private var noted = ""
    /// The relay that the work goes over.
    private var relay: String?
    /// Requests that this run has sent or found open.
    private var sent: Set<String> = []
    /// Those whose answer was taken.
    var answered: Set<String> = []
    /// The session that nobody waits for any more, although its order is still the story.
    var givenUp: Topic?
    /// Answers that came late. What they are worth is decided between two steps, by nobody else.
    var late: [SessionResponse] = []
    /// Pairings that were on the screen in this run.
    private var invitations: Set<Topic> = []
    /// The gateway has the signatures: what is left is its word.
    var isConfirmed = false
    private var isOver = false

    /// Between tries while relay, gateway or storage do not answer.
    static let pause = Duration.seconds(2)
    /// While a form is being filled in.
    static let formPause = Duration.seconds(3)
    /// Between looks at a payment that the gateway works on. Whoever follows it hears of its end at once.
    static let confirmedPause = Duration.seconds(30)
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
        isOver = true
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
        if view.pairing != nil || view.step != .invited || isStopped || isOver {
            continuation.finish()
        } else {
            inviters.append(continuation)
        }
        return stream
    }

    private func cleanUp() async {
        let name = ConnectStory.name(attempt.terms.id, attempt.id)
        // Of a wallet that has left its pairing is there still.
        for topic in invitations.union(story?.topics ?? []) {
            await station.end(topic, of: attempt.terms.id, .userDisconnected)
        }
        // What was signed at the last moment is not confirmed any more, and may be worth something all the same.
        if !answered.isEmpty || !late.isEmpty, await attempt.charge()?.paidAttempt == nil {
            await station.ask(about: attempt.terms.id)
        }
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
        // Needs no relay: what is signed is the gateway's business.
        if case .signed(let order, let results)? = story?.stage { return try await pay(order, results) }
        if let response = late.first {
            try await take(response)
            late.removeFirst()
            return .zero
        }
        if await station.engine == nil, view.pairing != nil {
            // Switched off: nobody would hear who scans.
            view.pairing = nil
            await show()
        }
        guard let engine = await station.currentEngine() else { return nil }
        let isElsewhere = story?.relay.map { RelayAddress($0) != RelayAddress(engine.url) } ?? false
        relay = engine.url
        switch story?.stage {
        // The settings name another relay, where nobody finds what was begun.
        case .invited(let pairing, _) where isElsewhere: return try await turnAway(pairing, .relayChanged)
        case .asking(let order, _, _) where isElsewhere: return try await turnAway(order.session, .relayChanged)
        case nil, .uninvited: return try await invite(engine.client)
        case .invited(let pairing, let uri): return try await awaitWallet(pairing, uri, engine.client)
        case .asking(let order, let results, let request):
            return try await ask(order, results, request, engine.client)
        case .signed: return .zero  // As above.
        }
    }

    // MARK: - The store

    func load() async throws(StorageFailure) {
        let name = ConnectStory.name(attempt.terms.id, attempt.id)
        let stored = try await station.store.values(prefix: name)[name]
        guard !isLoaded else { return }
        if let stored { story = ConnectStory(stored) }
        open = story?.open
        isLoaded = true
        // What came before this sale was there.
        for response in await station.unclaimed { note(late: response) }
    }

    func keep(_ stage: ConnectStory.Stage) async throws(StorageFailure) {
        let waits =
            switch stage {
            case .uninvited, .invited: true
            case .asking, .signed: false
            }
        let next = ConnectStory(
            charge: attempt.terms.id,
            attempt: attempt.id,
            stage: stage,
            open: waits ? open : nil,
            relay: relay ?? story?.relay
        )
        try await station.store.apply([.set(name: next.name, value: try next.stored())])
        story = next
    }

    /// Lets go of a wallet and tells why; the next one is invited.
    /// - Parameter rest: A request of the wallet whose answer may still come.
    func turnAway(
        _ topic: Topic,
        _ refusal: ConnectRefusal,
        endsSession: Bool = true,
        rest: ConnectOpenRequest? = nil
    ) async throws(StorageFailure) -> Duration {
        let earlier = open
        if let rest { open = rest }
        do throws(StorageFailure) {
            if open == nil {
                let name = ConnectStory.name(attempt.terms.id, attempt.id)
                try await station.store.apply([.remove(name: name)])
                story = nil
            } else {
                try await keep(.uninvited)
            }
        } catch {
            open = earlier
            throw error
        }
        if endsSession { await station.end(topic, of: attempt.terms.id, refusal.word) }
        if rest != nil, let earlier, earlier.order.session != topic {
            await station.end(earlier.order.session, of: attempt.terms.id, .userDisconnected)
        }
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

    /// A wallet has come by a code of this charge that was taken already, or is over. It hears so from the library.
    func approvedTooLate(_ pairing: Topic) async {
        guard invitations.contains(pairing), !isStopped, !isPaying else { return }
        view.trouble = ConnectRefusal.alreadyPaired(hasNewCode: view.step == .invited).reason
        await show()
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
            view.pairing = nil
            await show()
            note("connect_invite", "no proposal could be placed: \(error)")
            return Self.pause
        }
        try await keep(.invited(pairing: uri.topic, uri: uri.absoluteString))
        invitations.insert(uri.topic)
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
        invitations.insert(pairing)
        view.pairing = uri
        view.step = .invited
        await show()
        for inviter in inviters { inviter.finish() }
        inviters = []
        let left = clock.wallTime().duration(to: WallTime(secondsSince1970: known.expiry))
        let woken = AsyncStream<Never>.makeStream()
        wake = woken.continuation
        guard late.isEmpty else { return .zero }
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
                for await _ in woken.stream {}
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
            // A late answer is taken at once; otherwise it is looked at again.
            return late.isEmpty && left > .zero ? .milliseconds(200) : .zero
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
        var answer = await self.answer(to: id, order.session, client)
        if case .unanswered = answer { givenUp = order.session }
        if case .left = answer { givenUp = order.session }
        // It may have come with what ended the wait: a wallet signs and leaves.
        if givenUp == order.session, let response = await client.answer(to: id, topic: order.session) {
            answer = .answered(response)
        }
        let rest = ConnectOpenRequest(order: order, results: results, request: id.text)
        switch answer {
        case .answered(let response):
            answered.insert(id.text)
            do throws(ConnectRefusal) {
                let result = try ConnectChecks.result(response.result, of: call, by: order.account)
                await station.count { $0.signatures += 1 }
                try await keepResults(order, results + [result])
            } catch { return try await turnAway(order.session, error) }
            return .zero
        // Their answer is used while the charge waits, should it still come. The silent one's session stays for it.
        case .unanswered: return try await turnAway(order.session, .unanswered, endsSession: false, rest: rest)
        case .left: return try await turnAway(order.session, .left, rest: rest)
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
        // Answered while the terminal was off, and heard before anybody here asked.
        let there = await client.answers(topic: order.session).filter { !answered.contains($0.id.text) }
        if let request, let id = RPCID(request),
            sent.contains(request) || open.contains(where: { $0.id.text == request })
                || there.contains(where: { $0.id.text == request })
        {
            sent.insert(request)
            return id
        }
        // Sent, and the power failed before it was written here.
        let found =
            open.last { $0.method == call.method && !sent.contains($0.id.text) }?.id
            ?? there.last { $0.method == call.method && !sent.contains($0.id.text) }?.id
        if request == nil, let found {
            sent.insert(found.text)
            return found
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
        let expiry = await client.openRequests(topic: session).first { $0.id == id }?.expiry
        return await withTaskGroup(of: Answer.self) { group in
            if let expiry {
                // One that was over before the terminal's start is not announced again.
                let left = clock.wallTime().duration(to: WallTime(secondsSince1970: expiry))
                group.addTask { [clock] in
                    do { try await clock.sleep(max(.zero, left) + .seconds(2)) } catch { return .stopped }
                    return .unanswered
                }
            }
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
}
