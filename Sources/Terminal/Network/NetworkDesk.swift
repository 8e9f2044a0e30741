public import Journal
public import Logging
public import Payments
public import WiFi

/// What the owner does with the machine's network: which Wi-Fi it is in.
///
/// Joining goes on by itself once it has begun: the page that asked for it may be reached over the very network that it leaves.
/// Passphrases are handed on and kept nowhere.
public actor NetworkDesk {
    /// The joining that goes on, or the last one.
    public struct Attempt: Sendable, Equatable {
        public enum Stage: String, Sendable {
            /// → joined, failed
            case joining
            case joined, failed
        }

        public let name: WiFiName
        public fileprivate(set) var stage = Stage.joining
        /// Why it failed.
        public fileprivate(set) var reason: Reason?
    }

    /// Which network is wanted.
    public enum Wish: Sendable, Equatable {
        case heard(WiFiNetwork.ID)
        /// One that does not say its name.
        case hidden(WiFiName)

        var name: WiFiName {
            switch self {
            case .heard(let id): id.name
            case .hidden(let name): name
            }
        }
    }

    /// How everything stands.
    public struct View: Sendable, Equatable {
        public let state: WiFiState
        /// The best first.
        public let networks: [WiFiNetwork]
        public let known: [KnownWiFiNetwork]
        public let attempt: Attempt?
        /// The numbers that the network in use gave the terminal; empty while it has given none.
        public let addresses: [String]
        public let isChargeOpen: Bool
    }

    private struct Job: Sendable {
        let wish: Wish
        let passphrase: Passphrase?
        let who: Payments.Actor
        let place: String
        let waits: Bool
        let told: AsyncStream<Attempt>.Continuation?
    }

    /// Until a network is left for another: the answer to the page goes by it.
    static let grace = Duration.seconds(1)

    private let radio: any Wireless
    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let logger: Logger
    private let addresses: @Sendable (_ interface: String) -> [String]
    private let audit: @Sendable (AuditEntry) async throws(JournalError) -> Void
    private let jobs = AsyncStream.makeStream(of: Job.self, bufferingPolicy: .bufferingOldest(1))
    private var attempt: Attempt?

    /// - Parameters:
    ///   - addresses: The machine's numbers on an interface such as `wlan0`.
    ///   - audit: Keeps an entry of the audit log.
    public init(
        radio: any Wireless,
        desk: ChargeDesk,
        clock: TerminalClock,
        logger: Logger,
        addresses: @escaping @Sendable (_ interface: String) -> [String],
        audit: @escaping @Sendable (AuditEntry) async throws(JournalError) -> Void
    ) {
        (self.radio, self.desk, self.clock, self.logger) = (radio, desk, clock, logger)
        (self.addresses, self.audit) = (addresses, audit)
    }

    /// Joins what is asked for, until cancelled.
    public func run() async {
        for await job in jobs.stream { await join(job) }
    }

    /// How everything stands now.
    public func view() async -> View {
        let state = await radio.state
        var networks: [WiFiNetwork] = []
        if state.station != nil { networks = (try? await radio.networks()) ?? [] }  // The state says what is wrong.
        return View(
            state: state,
            networks: networks,
            known: await radio.known,
            attempt: attempt,
            addresses: state.station.map { $0.link.isJoined ? addresses($0.interface) : [] } ?? [],
            isChargeOpen: await desk.holdsCharge
        )
    }

    /// Begins to listen for networks.
    public func scan() async throws(NetworkRefusal) {
        try await check(.scan)
        do throws(WiFiError) { try await radio.scan() } catch { throw .failed(error, name: nil) }
    }

    /// Begins to join a network. ``view()`` tells what becomes of it.
    public func join(_ wish: Wish, passphrase: Passphrase?, by who: Payments.Actor) async throws(NetworkRefusal) {
        try await begin(wish, passphrase, who, "", nil)
    }

    /// Joins a network, and tells what became of it. Where the caller is cancelled the joining goes on all the same.
    ///
    /// - Parameter place: Where the wish came from, for the audit log.
    public func follow(
        _ wish: Wish,
        passphrase: Passphrase?,
        by who: Payments.Actor,
        from place: String
    ) async throws(NetworkRefusal) -> Attempt {
        let (ends, continuation) = AsyncStream.makeStream(of: Attempt.self)
        try await begin(wish, passphrase, who, place, continuation)
        for await end in ends { return end }
        throw .failed(.interrupted, name: wish.name)
    }

    private func begin(
        _ wish: Wish,
        _ passphrase: Passphrase?,
        _ who: Payments.Actor,
        _ place: String,
        _ told: AsyncStream<Attempt>.Continuation?
    ) async throws(NetworkRefusal) {
        let link = try await check(.join)
        // Of two at once the second comes here after the first.
        guard attempt?.stage != .joining else { throw .working }
        attempt = Attempt(name: wish.name)
        jobs.continuation.yield(
            Job(wish: wish, passphrase: passphrase, who: who, place: place, waits: link != .none, told: told)
        )
    }

    /// Whether there is a radio, and it is in no network nor on its way into one.
    var isAlone: Bool {
        get async { await radio.state.station?.link == WiFiState.Link.none }
    }

    /// The machine's numbers in the network that it is in; empty while it has none.
    var addressesNow: [String] {
        get async {
            guard let station = await radio.state.station, station.link.isJoined else { return [] }
            return addresses(station.interface)
        }
    }

    /// Leaves the network.
    public func leave() async throws(NetworkRefusal) {
        try await check(.leave)
        do throws(WiFiError) { try await radio.leave() } catch { throw .failed(error, name: nil) }
        attempt = nil
    }

    /// Has a network and its passphrase forgotten, and left where the terminal is in it.
    public func forget(_ id: WiFiNetwork.ID) async throws(NetworkRefusal) {
        try await check(.forget(id))
        do throws(WiFiError) { try await radio.forget(id) } catch { throw .failed(error, name: id.name) }
        if attempt?.name == id.name { attempt = nil }
    }

    @discardableResult
    private func check(_ change: NetworkRules.Change) async throws(NetworkRefusal) -> WiFiState.Link {
        let isChargeOpen = await desk.holdsCharge
        let link: WiFiState.Link
        switch await radio.state {
        case .ready(let station): link = station.link
        case .unavailable(let reason):
            // What is known is known without a radio, too.
            guard case .forget = change else { throw .failed(.unavailable(reason), name: nil) }
            link = .none
        }
        let isWorking = attempt?.stage == .joining
        if let refusal = NetworkRules.refusal(change, link: link, isWorking: isWorking, isChargeOpen: isChargeOpen) {
            throw refusal
        }
        return link
    }

    private func join(_ job: Job) async {
        if job.waits { try? await clock.sleep(Self.grace) }  // Throws only when the terminal stops.
        let name = job.wish.name
        var failure: WiFiError?
        do throws(WiFiError) {
            switch job.wish {
            case .heard(let id): try await radio.join(id, passphrase: job.passphrase)
            case .hidden(let name): try await radio.joinHidden(name, passphrase: job.passphrase)
            }
        } catch { failure = error }
        let reason = failure.map { NetworkRules.reason(NetworkRefusal.failed($0, name: name)) }
        let entry = AuditEntry(
            at: clock.wallTime(),
            who: job.who,
            from: job.place,
            what: "network.join",
            result: failure == nil ? "ok" : "failed",
            detail: [name.shown, reason?.code].compactMap(\.self).joined(separator: " ")
        )
        do throws(JournalError) { try await audit(entry) } catch {
            logger.critical("the audit log takes no entry", metadata: ["what": "network.join", "error": "\(error)"])
        }
        // Told once it is written down.
        attempt?.stage = failure == nil ? .joined : .failed
        attempt?.reason = reason
        logger.notice(
            "a Wi-Fi network was \(failure == nil ? "joined" : "not joined")",
            metadata: ["why": "\(reason?.code ?? "")"]
        )
        if let attempt { job.told?.yield(attempt) }
        job.told?.finish()
    }
}

extension WiFiState.Link {
    /// Whether it is in a network.
    var isJoined: Bool { if case .joined = self { true } else { false } }
}
