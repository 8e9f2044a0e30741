internal import Executors
internal import Payments
public import TapProtocol

/// A customer's phone: everything behind its GATT characteristics and its pay screen, without the radio.
///
/// The radio brings what terminals read, write and subscribe to, each by the central's name, and shows what `advertisement`
/// says. What is decided is decided by `PhonePayment`; this actor checks, stores, shows, sends and keeps the time. Everything
/// but the gateway's calls and the sending itself happens in one step, so nothing can come in between a decision and the
/// storing of it. Storing blocks, hence the queue of its own.
public actor TapPhone {
    private let queue: any SerialExecutor
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    /// The service to advertise from now on; nil for none. For one reader.
    public nonisolated let advertisement: AsyncStream<ServiceUUID?>
    let advertising: AsyncStream<ServiceUUID?>.Continuation

    let configuration: PhoneConfiguration
    let acquirer: (any PhoneAcquirer)?
    let gateway: (any PhoneGateway)?
    let linkWallet: LinkWallet?
    let clock: SandboxClock
    let storage: (any PhoneStorage)?
    let log: @Sendable (PhoneEvent) -> Void
    /// What ends the process where the power is to go out.
    let onDeath: @Sendable (KillPoint) -> Void

    var memory: PhoneMemory
    var sessions: [String: PhoneSession] = [:]
    var subscriptions: [String: Subscription] = [:]
    /// The central whose terminal is paid.
    var owner: String?
    var prompt: Prompt?
    var nextAnswer = PhoneUser.Answer.never
    var isOnline: Bool
    var tries = 0
    var deadlines: [Timer: Int] = [:]
    /// Payments that the gateway is being asked about.
    var asked: Set<PaymentID> = []
    var outcomes: [PaymentID: PhoneOutcome] = [:]
    /// Signatures for links, to be handed over again where the first time got no answer.
    var signedLinks: [PaymentID: CustomerWallet.Signed] = [:]
    var finished: PhoneOutcome?
    var isPreparing = false
    /// Requests that nobody has seen yet, by the central that they came from.
    var comparisons: [String: Comparison] = [:]
    private var sessionCount = 0
    /// Nothing happens any more: the power is out, or the storage failed.
    private(set) var isDead = false
    private let jobs: AsyncStream<Job>
    private let job: AsyncStream<Job>.Continuation
    private var armed: Int?

    struct Subscription {
        let maximumValueLength: Int
        let outbox: AsyncStream<Parcel>.Continuation
        var backlog = 0
    }

    /// One message in fragments, on its way to the radio.
    struct Parcel: Sendable {
        let session: Int
        let type: Int?
        let fragments: [[UInt8]]
    }

    /// A request of which the gateway is asked what the terminal has announced.
    struct Comparison: Sendable {
        let session: Int
        let request: Signed<PaymentRequest>
        let source: Source
        /// What the terminal has said meanwhile, whole messages as they came.
        var waiting: [[UInt8]] = []
    }

    struct Prompt: Sendable {
        let paymentID: PaymentID
        var isEnabled = true
    }

    enum Timer: Hashable, Sendable {
        case advertisingOver, keepAlive, expiry, closing, answer, regret, resendAccept, repeatResult, backOnline, sync,
            refill
        case ask(PaymentID)
        case fragmentGap(String)
        case sessionOver(String)
        case comparison(String)
    }

    enum Job: Sendable {
        case alarm(Int)
        case pump(String, AsyncStream<Parcel>, @Sendable ([UInt8]) async -> Void)
        case ask(PaymentID)
        case compare(String, Comparison)
        case sync
        case refill
    }

    /// What a message was answered to: the central it came from, and its number.
    struct Source: Sendable {
        let central: String
        var number: Int?
        /// A request, in the handshake or after it: refusing it ends the session.
        var isRequest = false
    }

    /// - Parameters:
    ///   - acquirer: Nil for a phone that never reaches the gateway.
    ///   - gateway: The WalletConnect Pay gateway, for what became of a wallet's payment; nil where the phone cannot ask it.
    ///   - linkWallet: What pays a terminal's payment link; nil where this phone pays none.
    ///   - storage: Nil for a phone that forgets everything with its power.
    ///   - executor: Where the phone works; nil for a queue of its own, as storing blocks.
    ///   - log: What the screen and the log would show, in order.
    ///   - onDeath: Called where `diesAt` says; a program ends itself there.
    /// - Throws: Where the storage cannot be read. The phone must not go on: a payment may be open in it.
    public init(
        _ configuration: PhoneConfiguration,
        acquirer: (any PhoneAcquirer)? = nil,
        gateway: (any PhoneGateway)? = nil,
        linkWallet: LinkWallet? = nil,
        clock: SandboxClock = .system,
        storage: (any PhoneStorage)? = nil,
        executor: (any SerialExecutor)? = nil,
        onDeath: @escaping @Sendable (KillPoint) -> Void = { _ in },
        log: @escaping @Sendable (PhoneEvent) -> Void = { _ in }
    ) throws(StateFileError) {
        (self.configuration, self.acquirer, self.gateway) = (configuration, acquirer, gateway)
        self.linkWallet = linkWallet
        queue = executor ?? QueueExecutor(label: "sandbox phone")
        (self.clock, self.storage, self.log, self.onDeath) = (clock, storage, log, onDeath)
        (advertisement, advertising) = AsyncStream.makeStream(of: ServiceUUID?.self)
        (jobs, job) = AsyncStream.makeStream(of: Job.self)
        isOnline = configuration.isOnline
        let kept = try storage?.load()
        if let kept {
            let memory = try PhoneMemory(reading: kept)
            let keys = [memory.deviceKey] + memory.passKeys.values
            guard keys.allSatisfy({ (try? ES256Signer(scalar: $0)) != nil }) else {
                throw StateFileError(description: "the phone's state file holds a key that is none")
            }
            self.memory = memory
        } else {
            memory = PhoneMemory(deviceKey: Self.freshKey().bytes)
        }
        for key in configuration.keys where !memory.keys.contains(key) { memory.keys.append(key) }
    }

    /// A new key. One draw in 2^32 is none.
    static func freshKey() -> (signer: ES256Signer, bytes: [UInt8]) {
        while true {
            let bytes = Self.randomBytes(32)
            if let signer = try? ES256Signer(scalar: bytes) { return (signer, bytes) }
        }
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    var now: Int { Int(clamping: clock.now().millisecondsSince1970) }

    // MARK: Running

    /// Opens the pay screen and lives until the task is cancelled, the power goes out, or the one payment is over.
    /// - Returns: How the last payment ended; nil where there was none.
    @discardableResult
    public func run() async -> PhoneOutcome? {
        start()
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { pumps in
                await withDiscardingTaskGroup { others in
                    for await next in jobs {
                        if case .pump(let central, let parcels, let notify) = next {
                            pumps.addTask { await self.pump(central, parcels, notify) }
                        } else {
                            others.addTask { await self.perform(next) }
                        }
                    }
                    others.cancelAll()
                }
                // What was to be said is said before the phone goes.
                for subscription in subscriptions.values { subscription.outbox.finish() }
            }
        } onCancel: {
            job.finish()
        }
        advertising.finish()
        if memory.payment.mayBeCharged || !memory.payment.watched.isEmpty { return .unknown }
        return finished ?? memory.payment.current.flatMap { outcome(of: $0.paymentID) }
    }

    private func start() {
        guard !isDead else { return }
        feed(.restarted)
        save()
        isPreparing = configuration.preparesFirst && memory.keys.isEmpty && acquirer != nil
        if isPreparing { isOnline = true }
        log(.online(isOnline))
        if isOnline { cameOnline() }
        if !isPreparing { openShop() }
        arm()
    }

    /// From here on terminals may come.
    func openShop() {
        isPreparing = false
        if !configuration.isOnline { setOnline(false) }
        if let delay = configuration.backOnlineAfter, !isOnline {
            deadlines[.backOnline] = now + delay.wholeMilliseconds
        }
        openPayScreen()
    }

    /// Ends `run()`; an open payment stays open.
    public func end() { stop() }

    /// Ends `run()`.
    func stop() {
        deadlines = [:]
        job.finish()
    }

    func begin(_ next: Job) { if !isDead { job.yield(next) } }

    private func perform(_ next: Job) async {
        switch next {
        case .alarm(let time):
            let wait = time - now
            if wait > 0 { try? await clock.sleep(.milliseconds(wait)) }
            guard !Task.isCancelled else { return }
            if armed == time { armed = nil }
            tick()
        case .pump: break
        case .ask(let id): await ask(id)
        case .compare(let central, let comparison): await compare(comparison, from: central)
        case .sync: await sync()
        case .refill: await refill()
        }
    }

    /// Does what is due by the clock. Alarms call it; a test with a clock of its own may.
    public func tick() {
        guard !isDead else { return }
        let due = deadlines.filter { $0.value <= now }.sorted { $0.value < $1.value }
        for (timer, time) in due where deadlines[timer] == time {
            deadlines[timer] = nil
            fire(timer)
        }
        arm()
    }

    /// One sleeper for the earliest moment; later ones follow when it wakes.
    func arm() {
        guard !isDead, let earliest = deadlines.values.min(), armed.map({ earliest < $0 }) ?? true else { return }
        armed = earliest
        job.yield(.alarm(earliest))
    }

    // MARK: The person

    /// Opens the pay screen: from now on terminals may find this phone.
    public func openPayScreen() {
        guard !isDead else { return }
        feed(.payScreenOpened)
    }

    /// Closes the pay screen. What is asked is declined; a payment that was agreed to goes on until its end is known.
    public func closePayScreen() {
        guard !isDead else { return }
        feed(.payScreenClosed)
        if configuration.isOnce, memory.payment.state == .idle, owner == nil { stop() }
    }

    public func setOnline(_ isOnline: Bool) {
        guard !isDead, self.isOnline != isOnline else { return }
        self.isOnline = isOnline
        log(.online(isOnline))
        if isOnline { cameOnline() }
        arm()
    }

    // MARK: The radio

    /// READ from its start: a new session for that central.
    /// - Returns: 45 bytes; the rest of a long read returns the rest of the same.
    public func read(by central: String) -> [UInt8] {
        guard !isDead else { return [] }
        makeRoom(for: central)
        sessionCount += 1
        if memory.sessionName.isEmpty { memory.sessionName = Self.randomBytes(Hello.sessionNameBytes) }
        let prologue = Prologue(service: configuration.service, tagID: configuration.tag?.tagID)
        guard
            let hello = Hello(
                isTagged: configuration.tag != nil,
                maximumMessageBytes: configuration.messageBytes,
                sessionID: memory.sessionName
            )
        else { return [] }
        var session = PhoneSession(number: sessionCount, hello: hello, prologue: prologue, nowMilliseconds: now)
        if let subscription = subscriptions[central] {
            _ = session.subscribed(maximumValueLength: subscription.maximumValueLength)
        }
        sessions[central] = session
        dropComparison(central)
        deadlines[.fragmentGap(central)] = nil
        deadlines[.sessionOver(central)] = now + SecureSession.maximumLife.wholeMilliseconds
        feed(.read, from: Source(central: central))
        return session.firstMessage
    }

    /// Terminals in range are few; whoever reads on and on under new names gets no memory for it.
    private func makeRoom(for central: String) {
        guard sessions[central] == nil, sessions.count >= 8 else { return }
        let others = sessions.filter { $0.key != owner }
        guard let oldest = others.min(by: { $0.value.number < $1.value.number })?.key else { return }
        forget(oldest)
    }

    /// - Parameters:
    ///   - maximumValueLength: Bytes of one notification.
    ///   - notify: Sends one.
    public func subscribe(
        central: String,
        maximumValueLength: Int,
        notify: @escaping @Sendable ([UInt8]) async -> Void
    ) {
        guard !isDead else { return }
        subscriptions[central]?.outbox.finish()
        let (parcels, outbox) = AsyncStream.makeStream(of: Parcel.self)
        subscriptions[central] = Subscription(maximumValueLength: maximumValueLength, outbox: outbox)
        job.yield(.pump(central, parcels, notify))
        guard var session = sessions[central] else { return }
        let waiting = session.subscribed(maximumValueLength: maximumValueLength)
        sessions[central] = session
        for parcel in waiting { post(parcel, session: session.number, to: central) }
    }

    /// The link is down.
    public func unsubscribe(central: String) {
        guard !isDead else { return }
        subscriptions.removeValue(forKey: central)?.outbox.finish()
        endSession(central, "the terminal is gone")
        sessions[central] = nil
        arm()
    }

    /// One attribute value, as it was written.
    public func write(_ fragment: [UInt8], by central: String) {
        guard !isDead, var session = sessions[central], !session.isClosed else { return }
        do throws(FramingError) {
            let arrival = try session.receive(fragment, nowMilliseconds: now)
            deadlines[.fragmentGap(central)] = session.fragmentDeadline.map { $0.wholeMilliseconds + 1 }
            sessions[central] = session
            switch arrival {
            case nil: break
            case .control(let code): endSession(central, "control code \(code.rawValue)")
            case .message(let message): received(message, from: central)
            }
        } catch {
            sessions[central] = session
            control(.framingError, to: central)
        }
        arm()
    }

    // MARK: Sending

    private func pump(
        _ central: String,
        _ parcels: AsyncStream<Parcel>,
        _ notify: @Sendable ([UInt8]) async -> Void
    ) async {
        for await parcel in parcels {
            subscriptions[central]?.backlog -= 1
            for (place, fragment) in parcel.fragments.enumerated() {
                // A new reading of READ leaves nothing of the session before it.
                guard !isDead, sessions[central]?.number == parcel.session else { break }
                if place == 0, let type = parcel.type, dies(.before, type) { return }
                await notify(fragment)
                if place == parcel.fragments.count - 1, let type = parcel.type, dies(.sent, type) { return }
            }
        }
    }

    func post(_ parcel: (type: Int?, fragments: [[UInt8]]), session: Int, to central: String) {
        guard var subscription = subscriptions[central] else { return }
        subscription.backlog += 1
        subscriptions[central] = subscription
        // A terminal that asks and asks without reading the answers.
        guard subscription.backlog <= 64 else {
            sessions[central]?.isClosed = true
            return
        }
        subscription.outbox.yield(Parcel(session: session, type: parcel.type, fragments: parcel.fragments))
    }

    // MARK: Power

    /// True where the power has gone out just now.
    func dies(_ moment: KillPoint.Moment, _ type: Int) -> Bool {
        guard !isDead, let point = configuration.diesAt, point == KillPoint(moment, type) else { return isDead }
        isDead = true
        log(.died(point))
        onDeath(point)
        stop()
        return true
    }

    /// On the disk before anything else happens.
    /// - Returns: False where it is not: then nothing leaves this phone any more.
    @discardableResult
    func save(tidying: Bool = true) -> Bool {
        guard !isDead else { return false }
        if tidying { memory.tidy(nowMilliseconds: now) }
        guard let storage else { return true }
        do throws(StateFileError) {
            try storage.save(memory.text)
            return true
        } catch {
            for central in sessions.keys { control(.closing, to: central) }
            isDead = true
            log(.broken(error.description))
            stop()
            return false
        }
    }
}

extension Duration {
    /// Whole milliseconds.
    var wholeMilliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
