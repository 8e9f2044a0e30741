public import Logging
import Payments
public import WalletConnect

/// The place where wallets are met over the relay: one connection, and a sale for each charge that a wallet can pay.
///
/// Charges go on without it: while there is no relay it says so, and makes no payment.
///
/// What others find where: the payment link that the wallets of Scan open is ``ChargeSnapshot/paymentLink``. The text that
/// pairs a wallet with this charge *now* is ``ChargeSnapshot/pairingURI`` (``ConnectView/pairing`` in
/// ``ConnectStatus/charges``, by charge). It changes while the charge stands: each pairing is for one wallet and for 300
/// seconds, so read it when it is shown and follow the desk's snapshots; nil means that no wallet can pair at the moment.
/// Both are there while the charge can be paid and nil at all other times. ``ChargeSnapshot/link`` is what the screen's code
/// carries, one of the two or both in one. The ``Offer/link`` of a Connect attempt is its own payment's link at the gateway:
/// for the terminal itself, to ask for options, and shown to nobody.
public actor ConnectStation {
    /// What the settings make of it.
    public struct Setup: Sendable {
        public var settings: ConnectSettings
        /// Who pays is asked by this name; wallets show it.
        public var merchantName: String
        /// Where the terminal's own page is; wallets show its host beside the name, and some refuse a session without one.
        public var pageAddress: String
        /// The gateway at an address, as the wallets' side speaks to it; nil where it cannot be used.
        public var gateway: @Sendable (_ url: String) async -> (any ConnectGateway)?

        public init(
            settings: ConnectSettings,
            merchantName: String,
            pageAddress: String = Self.nobodysAddress,
            gateway: @escaping @Sendable (_ url: String) async -> (any ConnectGateway)?
        ) {
            (self.settings, self.merchantName, self.gateway) = (settings, merchantName, gateway)
            self.pageAddress = pageAddress
        }

        /// Of a terminal whose page is not known: an address, and nobody's. Source: RFC 6761, section 6.4.
        public static let nobodysAddress = "https://terminal.invalid"
    }

    enum Job: Sendable {
        case engine(ConnectEngine)
        case sale(ConnectSale)
        /// Ends a session or a pairing, whoever may listen.
        case end(Topic, JSONRPCError)
        /// News for a charge whose sale is over.
        case ask(ChargeID)
    }

    struct Key: Hashable, Sendable {
        let charge: ChargeID
        let attempt: Attempt.ID
    }

    let store: any KeyValueStore
    let memory: any RelayMemory
    let sockets: any WebSocketPort
    let clock: TerminalClock
    let logger: Logger
    private let tune: @Sendable (inout RelayClientSettings) -> Void
    var setup: Setup?
    /// Nil before the set-up.
    private(set) var merchantName: String?
    private(set) var pageAddress = Setup.nobodysAddress
    private(set) var engine: ConnectEngine?
    /// The one that works now: it writes until it has ended, also after another one was made.
    private var running: ConnectEngine?
    var sales: [Key: ConnectSale] = [:]
    /// Charges by the session of a sale that is over: a late answer is news of them.
    var former: [Topic: ChargeID] = [:]
    private var formerOrder: [Topic] = []
    /// Answers that no sale has taken: one that is made later may know them.
    private(set) var unclaimed: [SessionResponse] = []
    var view = ConnectStatus()
    /// What each sale shows, without what the relay adds to it.
    private var shown: [ChargeID: ConnectView] = [:]
    private var askAbout: (@Sendable (ChargeID) async -> Void)?
    private var find: (@Sendable (ChargeID) async -> Charge?)?
    let jobs = AsyncStream<Job>.makeStream()
    private let viewers = Listeners<ConnectStatus>(.newestOnly)
    private var engineWaiters: [Int: CheckedContinuation<ConnectEngine?, Never>] = [:]
    private var nextWaiter = 0
    private let changing = Turnstile()

    /// - Parameters:
    ///   - store: Durable and encrypted: it holds the keys of sessions, and what was signed.
    ///   - memory: Which messages were taken already, over restarts.
    ///   - tune: Changes what the relay's client goes by.
    public init(
        store: any KeyValueStore,
        memory: any RelayMemory,
        sockets: any WebSocketPort,
        clock: TerminalClock,
        logger: Logger,
        tune: @escaping @Sendable (inout RelayClientSettings) -> Void = { _ in }
    ) {
        (self.store, self.memory, self.sockets) = (store, memory, sockets)
        (self.clock, self.logger, self.tune) = (clock, logger, tune)
    }

    /// Works until cancelled, which ends no session and no payment: the next run goes on with them.
    public func run() async {
        await withDiscardingTaskGroup { group in
            for await job in self.jobs.stream { group.addTask { await self.perform(job) } }
            group.cancelAll()
        }
        for waiter in engineWaiters.values { waiter.resume(returning: nil) }
        engineWaiters = [:]
    }

    /// Takes the way to charges, for news of those that nobody follows.
    public func serve(_ desk: ChargeDesk) {
        askAbout = { await desk.askNow($0) }
        find = { await desk.recorded($0) }
    }

    /// Takes what holds from now on, at once. Sales under way go on with it; nil or switched off ends the connection.
    public func use(_ setup: Setup?) async {
        await changing.enter()
        defer { changing.leave() }
        let isSame =
            engine != nil && setup?.settings == self.setup?.settings && setup?.merchantName == self.setup?.merchantName
            && setup?.pageAddress == self.setup?.pageAddress
        self.setup = setup
        view.usesOneCode = setup?.settings.usesOneCode ?? true
        guard !isSame else {
            // What the relay refused may have been mended where it is: whoever saves wants it tried.
            await engine?.relay.restart()
            return publish()
        }
        if let engine {
            self.engine = nil
            engine.stop()
            if running === engine { await engine.ended() }
        }
        guard let setup, setup.settings.isEnabled else {
            view.light = .off
            return publish()
        }
        view.light = .connecting
        do throws(ConnectFailure) {
            let engine = try await ConnectEngine(
                setup: setup,
                store: store,
                memory: memory,
                sockets: sockets,
                clock: clock,
                tune: tune
            )
            self.engine = engine
            jobs.continuation.yield(.engine(engine))
            for waiter in engineWaiters.values { waiter.resume(returning: engine) }
            engineWaiters = [:]
            await reap(engine)
        } catch {
            logger.error("wallets cannot connect", metadata: ["error": "\(error)"])
            view.light = .hindered(error.reason)
        }
        publish()
    }

    /// Takes what wallets show as the one who asks.
    public func setMerchantName(_ name: String) async {
        merchantName = name
        guard var setup else { return }
        setup.merchantName = name
        await use(setup)
    }

    /// Takes where the terminal's own page is, which wallets are told. Call before charges are taken.
    public func setPageAddress(_ address: String) async {
        pageAddress = address
        guard var setup else { return }
        setup.pageAddress = address
        await use(setup)
    }

    public var isEnabled: Bool { setup?.settings.isEnabled == true }

    /// Why no payment is begun; nil where one can be, now or once there is a connection.
    func refusal() -> Refusal? {
        guard !isEnabled else { return nil }
        return Refusal(code: "connect_off", message: "Connect is switched off")
    }

    // MARK: - Sales

    /// The sale of an attempt, made where there is none.
    func begin(_ attempt: AttemptLink) -> ConnectSale {
        let key = Key(charge: attempt.terms.id, attempt: attempt.id)
        if let sale = sales[key] { return sale }
        let sale = ConnectSale(attempt: attempt, station: self, clock: clock, logger: logger)
        sales[key] = sale
        jobs.continuation.yield(.sale(sale))
        return sale
    }

    /// Whether a sale is to be made for an attempt that has begun: for wallets that may still come, or for what is stored.
    func goesOn(_ attempt: AttemptLink) async -> Bool {
        if isEnabled { return true }
        let name = ConnectStory.name(attempt.terms.id, attempt.id)
        // What cannot be read may be a signature that has won.
        return (try? await store.values(prefix: name)).map { $0[name] != nil } ?? true
    }

    func sale(of attempt: AttemptLink) -> ConnectSale? {
        sales[Key(charge: attempt.terms.id, attempt: attempt.id)]
    }

    /// Ends what is left of a sale whose attempt is over, or that the terminal has let go. While the terminal itself stops,
    /// nothing ends.
    func settle(_ attempt: AttemptLink) async {
        let now = await attempt.current()
        let charge = await attempt.charge()
        guard now?.isOpen != true || charge?.holdsTerminal != true else { return }
        if let sale = sale(of: attempt) { return await sale.stop(alsoWhilePaying: true) }
        await forget(attempt)
    }

    /// Removes what an earlier run stored of an attempt that is over.
    private func forget(_ attempt: AttemptLink) async {
        let name = ConnectStory.name(attempt.terms.id, attempt.id)
        guard let stored = try? await store.values(prefix: name)[name] else { return }
        for topic in ConnectStory(stored)?.topics ?? [] { end(topic, of: attempt.terms.id, .userDisconnected) }
        try? await store.apply([.remove(name: name)])  // Tried again when it is next asked about.
    }

    /// Tells a wallet that it is over, once the relay can be reached.
    func end(_ topic: Topic, of charge: ChargeID, _ reason: JSONRPCError) {
        remember(topic, of: charge)
        jobs.continuation.yield(.end(topic, reason))
    }

    private func remember(_ topic: Topic, of charge: ChargeID) {
        if former.updateValue(charge, forKey: topic) == nil { formerOrder.append(topic) }
        if formerOrder.count > 256 { former[formerOrder.removeFirst()] = nil }
    }

    func gateway(at url: String) async -> (any ConnectGateway)? { await setup?.gateway(url) }

    func checks() -> ConnectChecks { ConnectChecks(chains: setup?.settings.chains ?? []) }

    func show(_ shown: ConnectView?, of charge: ChargeID) {
        guard self.shown[charge] != shown else { return }
        self.shown[charge] = shown
        publish()
    }

    func over(_ sale: ConnectSale) {
        let key = Key(charge: sale.attempt.terms.id, attempt: sale.attempt.id)
        guard sales[key] === sale else { return }
        sales[key] = nil
        show(nil, of: key.charge)
    }

    // MARK: - Work

    private func perform(_ job: Job) async {
        switch job {
        case .engine(let engine): await run(engine)
        case .sale(let sale): await sale.live()
        case .end(let topic, let reason): await end(topic, reason)
        case .ask(let charge): await askAbout?(charge)
        }
    }

    private func run(_ engine: ConnectEngine) async {
        // One that was replaced before it began never begins.
        guard engine === self.engine else { return }
        running = engine
        await engine.run(for: self)
        if running === engine { running = nil }
    }

    private func end(_ topic: Topic, _ reason: JSONRPCError) async {
        guard let engine = await currentEngine() else { return }
        for request in await engine.client.openRequests(topic: topic) {
            // Where it cannot be stored its answer counts as one in time, and is heard all the same.
            try? await engine.client.stopWaiting(for: request.id, topic: topic)
        }
        // The pairing of a session has done its work too, and with a pairing everybody goes who came by it.
        let related = await engine.client.getSessions().compactMap { session in
            session.topic == topic ? session.pairingTopic : session.pairingTopic == topic ? session.topic : nil
        }
        for topic in [topic] + related { await disconnect(topic, reason, engine) }
    }

    func disconnect(_ topic: Topic, _ reason: JSONRPCError, _ engine: ConnectEngine) async {
        do throws(SignError) { try await engine.client.disconnect(topic: topic, reason: reason) } catch {
            switch error {
            case .unknown, .sessionExpired: break  // The wallet was first.
            case .notConnected, .timedOut, .stopped: break  // Stored: it is sent with the next connection.
            default: logger.warning("a wallet's session is not ended", metadata: ["error": "\(error)"])
            }
        }
    }

    /// The connection's client; waits for one. Nil when the task is cancelled or the terminal stops.
    func currentEngine() async -> ConnectEngine? {
        if let engine { return engine }
        let number = nextWaiter
        nextWaiter += 1
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume(returning: nil) }
                engineWaiters[number] = continuation
            }
        } onCancel: {
            // Not structured: a cancelled wait can end on any thread. It does one thing and holds nothing.
            Task { await self.giveUp(number) }
        }
    }

    private func giveUp(_ number: Int) { engineWaiters.removeValue(forKey: number)?.resume(returning: nil) }

    /// Ends sessions that no sale knows: their charge ended while the terminal was off.
    private func reap(_ engine: ConnectEngine) async {
        guard let stored = try? await store.values(prefix: ConnectStory.prefix) else { return }
        var known: Set<Topic> = []
        for (name, value) in stored {
            if let story = ConnectStory(value), await !isOver(story) {
                known.formUnion(story.topics)
            } else {
                try? await store.apply([.remove(name: name)])  // Tried again at the next start.
            }
        }
        for session in await engine.client.getSessions()
        where !known.contains(session.topic) && !known.contains(session.pairingTopic) {
            jobs.continuation.yield(.end(session.topic, .userDisconnected))
        }
    }

    /// Whether the journal says that nothing of a story's attempt is open. Where it cannot say, it is not over.
    private func isOver(_ story: ConnectStory) async -> Bool {
        guard sales[Key(charge: story.charge, attempt: story.attempt)] == nil,
            let charge = await find?(story.charge)
        else { return false }
        return charge.attempt(story.attempt)?.isOpen != true
    }

    /// Hears every answer. One that nobody waits for is used where its charge still stands; else the gateway says what it is
    /// worth.
    func hear(_ response: SessionResponse) async {
        for sale in sales.values {
            switch await sale.hear(response) {
            case .awaited: return
            case .late: return count { $0.lateAnswers += 1 }
            case .over: remember(response.topic, of: sale.attempt.terms.id)
            case .unknown: continue
            }
        }
        // The sale that it belongs to may only be about to go on, after a start.
        unclaimed = (unclaimed + [response]).suffix(64)
        count { $0.lateAnswers += 1 }
        guard case .response = response.result, let charge = former[response.topic] else { return }
        logger.notice("a wallet answered after the terminal had gone on", metadata: ["charge": "\(charge)"])
        ask(about: charge)
    }

    /// Of wallets that are forgotten no answer can come any more.
    func forgetAnswers() { (former, formerOrder, unclaimed) = ([:], [], []) }

    /// Asks the gateway about a charge whose sale is over.
    func ask(about charge: ChargeID) { jobs.continuation.yield(.ask(charge)) }

    func approvedTooLate(_ pairing: Topic) async {
        for sale in sales.values { await sale.approvedTooLate(pairing) }
    }

    func count(_ change: (inout ConnectStatus.Counts) -> Void) {
        change(&view.counts)
        publish()
    }

    func note(_ status: RelayStatus) {
        view.counts.connections = status.counts.connections
        view.counts.failedConnections = status.counts.failedConnections
        view.counts.published = status.counts.published
        view.counts.received = status.counts.received
        guard engine != nil else { return publish() }
        view.light =
            switch status.link {
            case .connected: .ready
            case .idle, .connecting: view.light.isHindered ? view.light : .connecting
            // As a matter of routine: it is back before anybody has read what is said of it.
            case .waiting(let trouble, _) where trouble.next == .retryAtOnce:
                view.light.isHindered ? view.light : .connecting
            case .waiting(let trouble, _), .stopped(let trouble): .hindered(trouble.reasonForStaff)
            }
        publish()
    }

    // MARK: - What everybody sees

    public var status: ConnectStatus { view }

    /// The status now, then each newer one. A slow reader gets the newest and misses the ones between.
    public func statuses() -> AsyncStream<ConnectStatus> {
        viewers.join(beginningWith: view)
    }

    private func publish() {
        view.charges = shown.mapValues { withRelay($0) }
        viewers.tell(view)
    }

    /// While the relay is away nobody hears who scans: the code stays for when it is back, and says so.
    private func withRelay(_ shown: ConnectView) -> ConnectView {
        guard case .hindered(let reason) = view.light, shown.step == .invited else { return shown }
        var shown = shown
        shown.trouble = reason
        return shown
    }
}

extension ConnectStatus.Light {
    var isHindered: Bool { if case .hindered = self { true } else { false } }
}

extension RelayTrouble {
    /// In words that somebody at the counter can act on.
    var reasonForStaff: Payments.Reason {
        switch next {
        case .stop:
            Payments.Reason(
                code: "relay_refuses",
                message: "Wallets cannot connect: \(Payments.Reason.clean(reason)).",
                action: "Check the relay’s address and the project ID in the settings, and the terminal’s clock."
            )
        case .retry, .retryAtOnce, .backOff:
            Payments.Reason(
                code: self == .noInternet ? "no_internet" : "relay_unreachable",
                message: self == .noInternet
                    ? "No internet: wallets cannot connect at the moment."
                    : "Wallets cannot connect at the moment: \(Payments.Reason.clean(reason)).",
                action: "Check the network. The terminal keeps trying; the other ways to pay go on."
            )
        }
    }
}
