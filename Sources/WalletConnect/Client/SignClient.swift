/// Both sides of WalletConnect Sign: a dapp's (`connect`, `request`) and a wallet's (`pair`, `approve`, `respond`).
///
/// Nothing happens without `run()`: calls that send wait for it. What a call changes is stored before anything is sent, and
/// what was not sent yet is sent after a restart, with the same bytes.
public actor SignClient {
    private let relay: any RelayPort
    private let storage: any KeyValueStore
    private let opener: WalletConnectRouter.Opener?
    let clock: any WallClock
    var engine: SignEngine
    var phase = Phase.new
    enum Phase { case new, running, stopped }

    /// Everything that happens, as streams.
    public nonisolated let streams = SignStreams()
    let proposalOutcomes = Waiters<Topic, Result<Session, ProposalFailure>>(limit: 64)
    let answers = Waiters<CallKey, SessionResponse?>(limit: 64)
    let pongs = Waiters<CallKey, Bool>(limit: 16)
    let jobOutcomes = Waiters<UInt64, RelayFailure?>(limit: 256)
    private let jobs: AsyncStream<Job>
    private let jobQueue: AsyncStream<Job>.Continuation
    private var lastJob: UInt64 = 0
    /// Publications that are with the relay now, or wait in a job.
    private var inFlight: Set<UInt64> = []
    private var isConnected = false
    /// Resolved with the first connection, or when it has not come in 10 s: a wallet opened by a link pairs before that.
    private let launch = Waiters<Int, Bool>(limit: 1)
    private var secondsSinceStart = 0
    private var secondsSinceRetry = 0
    private var isBusy = false
    private(set) var queue: [CheckedContinuation<Void, Never>] = []

    struct CallKey: Hashable, Sendable {
        let topic: Topic
        let id: RPCID
    }

    private struct Job: Sendable {
        let number: UInt64
        let operations: [RelayOperation]
    }

    /// How many jobs talk to the relay at a time.
    private static let jobLimit = 16
    /// How often what could not be sent is tried again while there is a connection.
    private static let retrySeconds = 5

    /// Reads what an earlier client stored.
    /// - Parameter opener: Opens the links of link mode; nil: everything goes by the relay.
    /// - Throws: When it cannot be read. Do not start over on the same storage: it holds the keys of open sessions.
    public init(
        metadata: AppMetadata,
        relay: any RelayPort,
        storage: any KeyValueStore = MemoryStore(),
        clock: any WallClock = SystemWallClock(),
        random: any RandomSource = SystemRandomSource(),
        opener: WalletConnectRouter.Opener? = nil
    ) async throws(StorageFailure) {
        (self.relay, self.storage, self.clock, self.opener) = (relay, storage, clock, opener)
        let book = try Book(stored: try await storage.values(prefix: "wc2/"))
        engine = SignEngine(metadata: metadata, random: random, book: book)
        (jobs, jobQueue) = AsyncStream.makeStream(of: Job.self)
        publishStates()
    }

    /// A client that has stopped before it began: for an app that was not set up.
    init(unconfigured: Void) {
        relay = NoRelay()
        storage = MemoryStore()
        clock = SystemWallClock()
        opener = nil
        let nobody = AppMetadata(name: "", description: "", url: "", icons: [])
        engine = SignEngine(metadata: nobody, random: SystemRandomSource(), book: Book())
        (jobs, jobQueue) = AsyncStream.makeStream(of: Job.self)
        phase = .stopped
        end()
    }

    /// Lets nobody wait any more.
    private nonisolated func end() {
        proposalOutcomes.finish()
        answers.finish()
        pongs.finish()
        jobOutcomes.finish()
        launch.finish()
        streams.finish()
    }

    /// Works until the task is cancelled. Once: a client that has stopped stays stopped.
    /// - Throws: `stopped` for a second call.
    public func run() async throws(SignError) {
        guard phase == .new else { throw .stopped }
        phase = .running
        enqueue(engine.topics.map(RelayOperation.subscribe))
        await withDiscardingTaskGroup { group in
            group.addTask { await self.performJobs() }
            group.addTask { await self.receiveMessages() }
            group.addTask { await self.followConnection() }
            group.addTask { await self.followClock() }
        }
        phase = .stopped
        for waiter in queue { waiter.resume() }
        queue = []
        end()
    }

    // MARK: Loops

    private func receiveMessages() async {
        for await message in relay.messages {
            do throws(Refusal<Never>) {
                let (isHandled, _) = try await transact { $0.receive(message) }
                // After it is stored: a message lost to a power cut comes again.
                if isHandled { await relay.acknowledge(message) }
            } catch {
                streams.log.send("\(message.topic): a message waits: \(error)")
            }
        }
    }

    private func followConnection() async {
        for await state in relay.connectionStates {
            switch state {
            case .connected:
                isConnected = true
                launch.resolve(0, true)
                streams.connection.change(to: .connected)
                retryOutbox()
            case .disconnected(let reason):
                isConnected = false
                streams.connection.change(to: .disconnected)
                streams.log.send("relay: \(reason)")
            }
        }
    }

    private func followClock() async {
        while !Task.isCancelled {
            do { try await clock.sleep(for: .seconds(1)) } catch { return }
            do throws(Refusal<Never>) { _ = try await transact { $0.tick() } } catch {
                streams.log.send("time passes unrecorded: \(error)")
            }
            secondsSinceRetry += 1
            secondsSinceStart += 1
            if secondsSinceStart == 10 { launch.resolve(0, false) }
            if isConnected, secondsSinceRetry >= Self.retrySeconds { retryOutbox() }
        }
    }

    private func retryOutbox() {
        secondsSinceRetry = 0
        for number in engine.book.outbox.keys.sorted() where !inFlight.contains(number) { enqueue([.publish(number)]) }
    }

    private func performJobs() async {
        await withTaskGroup(of: Void.self) { group in
            var open = 0
            for await job in jobs {
                if open >= Self.jobLimit {
                    await group.next()
                    open -= 1
                }
                group.addTask { await self.perform(job) }
                open += 1
            }
        }
    }

    @discardableResult
    private func enqueue(_ operations: [RelayOperation]) -> UInt64 {
        lastJob += 1
        for operation in operations {
            switch operation {
            case .publish(let number), .open(_, instead: let number?): inFlight.insert(number)
            case .subscribe, .unsubscribe, .open: break
            }
        }
        if operations.isEmpty {
            jobOutcomes.resolve(lastJob, nil)
        } else {
            jobQueue.yield(Job(number: lastJob, operations: operations))
        }
        return lastJob
    }

    /// In order, links first: an app is opened at once or not at all. The first failure is told at once; what is left is
    /// still tried, except for sending.
    private func perform(_ job: Job) async {
        var failure: RelayFailure?
        let links = job.operations.filter(\.isLink)
        for operation in links + job.operations.filter({ !$0.isLink }) {
            if links.isEmpty, !isConnected { _ = await launch.value(for: 0) }
            do throws(RelayFailure) {
                switch operation {
                case .subscribe(let topic) where !links.isEmpty:
                    // Heard of by links; the relay only helps out, and subscribes with its next connection.
                    do throws(RelayFailure) { try await relay.subscribe(topic: topic) } catch {
                        streams.log.send("\(topic): not subscribed yet: \(error)")
                    }
                case .subscribe(let topic): try await relay.subscribe(topic: topic)
                case .unsubscribe(let topic): try await relay.unsubscribe(topic: topic)
                case .publish(let number):
                    defer { inFlight.remove(number) }
                    if failure == nil { try await publish(number) }
                case .open(let link, let number): try await open(link, instead: number)
                }
            } catch {
                if failure == nil { jobOutcomes.resolve(job.number, error) }
                failure = failure ?? error
            }
        }
        if failure == nil { jobOutcomes.resolve(job.number, nil) }
    }

    /// Hands a link to the system; where no app takes it, the relay gets the message.
    private func open(_ link: String, instead number: UInt64?) async throws(RelayFailure) {
        defer { if let number { inFlight.remove(number) } }
        if let opener, await opener(link) {
            if let number { await forgetSent(number) }
            return
        }
        guard let number else { throw .notConnected }
        if !isConnected { _ = await launch.value(for: 0) }
        try await publish(number)
    }

    /// What has left is not sent again.
    private func forgetSent(_ number: UInt64) async {
        let topic = engine.book.outbox[number]?.topic.description ?? "-"
        do throws(Refusal<Never>) { _ = try await transact { $0.book.removeOutbox(number) } } catch {
            streams.log.send("\(topic): a sent message stays in the outbox: \(error)")
        }
    }

    private func publish(_ number: UInt64) async throws(RelayFailure) {
        guard let record = engine.book.outbox[number], record.expiry > clock.nowSeconds else { return }
        var refusal: RelayFailure?
        do throws(RelayFailure) { try await relay.publish(record.publication) } catch {
            guard case .refused(let code, let reason) = error else { throw error }
            streams.log.send("\(record.topic): the relay refuses a message: \(reason) (\(code))")
            refusal = error
        }
        await forgetSent(number)
        if let refusal { throw refusal }
    }

    // MARK: Changing state

    /// Why a change did not happen.
    enum Refusal<Rule: Error>: Error {
        case rule(Rule), storage(String), stopped
    }

    /// One change at a time: decide, store, and only then keep, send and tell. What cannot be stored has not happened.
    func transact<Value, Rule: Error>(
        _ change: (inout SignEngine) throws(Rule) -> Value
    ) async throws(Refusal<Rule>) -> (Value, job: UInt64) {
        // Once it has stopped nobody is woken any more: whoever waits goes then, busy or not.
        while isBusy, phase != .stopped { await withCheckedContinuation { queue.append($0) } }
        guard phase != .stopped else { throw .stopped }
        isBusy = true
        defer {
            isBusy = false
            if !queue.isEmpty { queue.removeFirst().resume() }
        }
        var changed = engine
        changed.begin(clock.nowMilliseconds)
        let value: Value
        do throws(Rule) { value = try change(&changed) } catch { throw .rule(error) }
        let output = changed.takeOutput()
        if !output.changes.isEmpty {
            do throws(StorageFailure) { try await storage.apply(output.changes) } catch {
                throw .storage(error.reason)
            }
        }
        engine = changed
        for event in output.events { deliver(event) }
        publishStates()
        return (value, enqueue(output.operations))
    }

    private func publishStates() {
        streams.pairingState.change(to: engine.isPairing)
        streams.proposals.change(to: getPendingProposals())
        streams.sessionList.change(to: getSessions())
    }

    private func deliver(_ event: SignEvent) {
        switch event {
        case .pairingExpired(let pairing): streams.pairingExpiration.send(pairing)
        case .pairingDeleted(let topic, let reason): streams.pairingDelete.send((topic, reason))
        case .proposalReceived(let proposal): streams.proposal.send((proposal, proposal.context))
        case .proposalExpired(let proposal): streams.proposalExpiration.send(proposal)
        case .authenticationRequested(let request): streams.authRequest.send(request)
        case .authenticationResponded(let response): streams.authResponse.send(response)
        case .sessionSettled(let session):
            proposalOutcomes.resolve(session.pairingTopic, .success(session))
            streams.settle.send(session)
        case .settlementAcknowledged(let topic):
            if let session = engine.book.sessions[topic] { streams.settle.send(session.value) }
        case .proposalFailed(let failure):
            proposalOutcomes.resolve(failure.pairingTopic, .failure(failure))
            streams.rejection.send(failure)
        case .approvedTooLate(let pairing): streams.lateApproval.send(pairing)
        case .sessionUpdated(let topic, let namespaces): streams.update.send((topic, namespaces))
        case .sessionExtended(let topic, let expiry): streams.extend.send((topic, expiry))
        case .sessionEvent(let topic, let event, let chain): streams.event.send((event, topic, chain))
        case .sessionEnded(let end): streams.delete.send(end)
        case .requestReceived(let request, let context): streams.request.send((request, context))
        case .requestExpired(let id, _): streams.requestExpiration.send(id)
        case .responded(let response):
            answers.resolve(CallKey(topic: response.topic, id: response.id), response)
            streams.response.send(response)
        case .unanswered(let id, let topic):
            let key = CallKey(topic: topic, id: id)
            pongs.resolve(key, false)
            answers.resolve(key, nil)
            streams.requestExpiration.send(id)
        case .pong(let id, let topic):
            pongs.resolve(CallKey(topic: topic, id: id), true)
            streams.pong.send(topic)
        case .callRefused(let id, let topic, let error):
            pongs.resolve(CallKey(topic: topic, id: id), false)
            streams.log.send("\(topic): the peer refuses \(id): \(error.message) (\(error.code))")
        case .log(let line): streams.log.send(line)
        }
    }

    func signed<Value>(
        _ change: (inout SignEngine) throws(SignError) -> Value
    ) async throws(SignError) -> (Value, job: UInt64) {
        do throws(Refusal<SignError>) { return try await transact(change) } catch {
            switch error {
            case .rule(let error): throw error
            case .storage(let reason): throw .storage(reason: reason)
            case .stopped: throw .stopped
            }
        }
    }

    /// Returns when the relay has confirmed everything of the job.
    func confirmed(_ job: UInt64) async throws(SignError) {
        guard let outcome = await jobOutcomes.value(for: job) else { throw phase == .stopped ? .stopped : .timedOut }
        if let failure = outcome { throw SignError(failure) }
    }

    func sending<Value>(
        _ change: (inout SignEngine) throws(SignError) -> Value
    ) async throws(SignError) -> Value {
        let (value, job) = try await signed(change)
        try await confirmed(job)
        return value
    }
}
