import Payments
import StrictJSON
import WalletConnect
import WebSocket

/// A WalletConnect relay: it keeps envelopes that it cannot open until they were taken or their time is over.
///
/// One actor holds everything; what happens on one connection cannot hold up another.
public actor Relay {
    public nonisolated let configuration: RelayConfiguration
    let clock: SandboxClock
    var mailboxes: RelayMailboxes
    var faults = RelayFaultPlan()
    var counts = RelayMeter()
    var sessions: [UInt64: RelaySession] = [:]
    /// Connections by client: one client may have several.
    var sessionsOfClient: [String: Set<UInt64>] = [:]
    private var nextSession: UInt64 = 1
    private var pushCounter: UInt64 = 0
    private var rates: [String: (end: WallTime, calls: Int)] = [:]

    private var journal: RelayJournal?
    /// What the disk does not have yet, and who is answered when it has.
    private var unwritten: [RelayRecord] = []
    private var held: [HeldAnswer] = []
    private let (writes, writeWanted) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// A relay that forgets everything with its process.
    public init(_ configuration: RelayConfiguration, clock: SandboxClock) {
        (self.configuration, self.clock) = (configuration, clock)
        (mailboxes, journal) = (RelayMailboxes(), nil)
        for fault in configuration.faults { faults.set(fault) }
    }

    private init(
        _ configuration: RelayConfiguration,
        clock: SandboxClock,
        _ journal: RelayJournal,
        _ mailboxes: RelayMailboxes
    ) {
        (self.configuration, self.clock) = (configuration, clock)
        (self.mailboxes, self.journal) = (mailboxes, journal)
        for fault in configuration.faults { faults.set(fault) }
    }

    /// A relay that confirms nothing before it is in this file.
    /// - Returns: The relay, and how many bytes of an unfinished last line were dropped.
    public static func remembering(
        _ configuration: RelayConfiguration,
        in path: String,
        clock: SandboxClock
    ) async throws(StateFileError) -> (Relay, tornBytes: Int) {
        let (journal, content) = try await RelayJournal.open(path, at: clock.now())
        return (Relay(configuration, clock: clock, journal, content.mailboxes), content.tornBytes)
    }

    /// Writes the state file, ends what is over and sends again what was not acknowledged, until the task is cancelled.
    /// - Throws: When the state file cannot be written any more.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.writeRecords() }
            group.addTask { try await self.sweep() }
            // Both end with an error only, or when the task is cancelled.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: - Connections

    /// - Returns: The connection's number, and what is to be sent over it.
    func open(_ client: String, _ connection: WebSocketConnection) -> (UInt64, AsyncStream<RelayOutgoing>) {
        let (stream, outgoing) = AsyncStream.makeStream(of: RelayOutgoing.self)
        let id = nextSession
        nextSession += 1
        sessions[id] = RelaySession(client: client, connection: connection, outgoing: outgoing, heardAt: clock.now())
        sessionsOfClient[client, default: []].insert(id)
        counts.opened += 1
        for topic in mailboxes.topics(of: client) { queueWaiting(topic, id) }
        push(id)
        return (id, stream)
    }

    func end(_ id: UInt64) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        session.outgoing.finish()
        sessionsOfClient[session.client]?.remove(id)
        if sessionsOfClient[session.client]?.isEmpty == true { sessionsOfClient[session.client] = nil }
    }

    func heard(_ id: UInt64) { sessions[id]?.heardAt = clock.now() }

    /// Ends a connection for a reason; its reader and writer see to the rest.
    func close(_ id: UInt64, _ code: UInt16, _ reason: String) {
        guard let session = sessions[id] else { return }
        counts.closed[code, default: 0] += 1
        session.connection.close(code: code, reason: reason)
    }

    func sent(_ id: UInt64, bytes: Int) { sessions[id]?.queuedBytes -= bytes }

    /// Hands one frame to a connection. Who reads nothing of what they asked for is sent away.
    func send(_ outgoing: RelayOutgoing, over id: UInt64) {
        guard var session = sessions[id] else { return }
        session.queuedBytes += outgoing.text.utf8.count
        sessions[id] = session
        guard session.queuedBytes <= Self.queueLimitBytes else {
            close(id, 1008, "answers are not read")
            end(id)
            return
        }
        session.outgoing.yield(outgoing)
    }

    private static let queueLimitBytes = 32 * 1_048_576

    /// Answers a request, with what goes wrong after the work, and then sends what waits in `topics`: a client ignores
    /// messages of a topic whose subscription it has not seen confirmed.
    /// - Parameter stored: Whether the answer promises that something was stored.
    func answer(
        _ id: UInt64,
        _ frame: RelayFrame,
        _ faults: [RelayFault],
        stored: Bool = false,
        thenDeliver topics: [String] = []
    ) {
        let answer = HeldAnswer(session: id, frame: RelayOutgoing(frame.text, faults), topics: topics)
        if stored, journal != nil, !unwritten.isEmpty || !held.isEmpty || isWriting {
            held.append(answer)
        } else {
            give(answer)
        }
    }

    private func give(_ answer: HeldAnswer) {
        if let frame = answer.frame { send(frame, over: answer.session) }
        if !answer.topics.isEmpty { deliver(answer.topics, answer.session) }
    }

    private struct HeldAnswer {
        let session: UInt64
        /// Nil where it gets lost.
        let frame: RelayOutgoing?
        let topics: [String]
    }

    /// Nil when the client may call.
    func excess(_ client: String) -> RelayAnswerError? {
        guard let limit = configuration.rateLimit else { return nil }
        let now = clock.now()
        var window = rates[client] ?? (now, 0)
        if window.end <= now { window = (now.advanced(by: .seconds(limit.seconds)), 0) }
        guard window.calls < limit.calls else {
            counts.limited += 1
            return .tooManyRequests
        }
        window.calls += 1
        rates[client] = window
        return nil
    }

    // MARK: - Deliveries

    func queueWaiting(_ topic: String, _ id: UInt64) {
        guard let client = sessions[id]?.client else { return }
        for letter in mailboxes.waiting(topic, for: client) where sessions[id]?.inFlight.contains(letter.name) == false
        {
            sessions[id]?.toPush.append(letter.name)
        }
    }

    /// Sends what waits, as far as the window allows.
    func push(_ id: UInt64) {
        while var session = sessions[id], session.unacknowledged.count < configuration.pushWindow,
            session.unacknowledgedBytes < 4 * configuration.messageLimitBytes, let name = session.toPush.popFirst()
        {
            sessions[id] = session
            guard let letter = mailboxes.letter(name), !letter.takers.contains(session.client),
                !session.inFlight.contains(name), mailboxes.subscribers(of: name.topic).contains(session.client)
            else { continue }
            let number = nextPushNumber()
            session.inFlight.insert(name)
            session.unacknowledgedBytes += letter.bytes
            session.unacknowledged[number] = .init(name: name, bytes: letter.bytes, sentAt: clock.now())
            sessions[id] = session
            counts.pushes += 1
            push(letter, number, id)
        }
    }

    func push(_ letter: RelayMailboxes.Letter, _ number: UInt64, _ id: UInt64) {
        guard let client = sessions[id]?.client else { return }
        let subscription = Self.subscriptionID(letter.topic, client)
        let frame = RelayFrame.call(RelayID(number), .delivery(subscription: subscription, letter.parcel))
        let met = faults.meeting(.push)
        if let outgoing = RelayOutgoing(frame.text, met) { send(outgoing, over: id) }
    }

    /// Below 2^53, for clients that count in floating point.
    private func nextPushNumber() -> UInt64 {
        pushCounter = max(pushCounter + 1, UInt64(max(0, clock.now().millisecondsSince1970)) << 8)
        return pushCounter
    }

    static func subscriptionID(_ topic: String, _ client: String) -> String { RelayRecord.hash(topic + client) }

    // MARK: - State file

    private var isWriting = false

    func record(_ record: RelayRecord) {
        guard journal != nil else { return }
        unwritten.append(record)
        writeWanted.yield()
    }

    /// One write at a time; what comes meanwhile goes together with the next.
    private func writeRecords() async throws {
        for await _ in writes {
            while !unwritten.isEmpty || !held.isEmpty {
                guard var file = journal else { return }
                let (records, answers) = (unwritten, held)
                (unwritten, held, isWriting) = ([], [], true)
                try await file.append(records)
                if file.isWorthRenewing(mailboxes) {
                    // What came meanwhile is in the mailboxes already; recorded twice, it is still the same.
                    try await file.renew(mailboxes)
                }
                journal = file
                isWriting = false
                for answer in answers { give(answer) }
            }
        }
        try Task.checkCancellation()
    }

    // MARK: - Time

    private func sweep() async throws {
        while true {
            try await clock.sleep(.seconds(1))
            let now = clock.now()
            counts.expired += mailboxes.expire(at: now)
            rates = rates.filter { $0.value.end > now }
            for id in sessions.keys.sorted() { sweep(id, now) }
        }
    }

    private func sweep(_ id: UInt64, _ now: WallTime) {
        guard let session = sessions[id] else { return }
        let quiet = session.heardAt.duration(to: now)
        guard quiet < configuration.idle * 2 else { return close(id, 4008, "stale") }
        if quiet >= configuration.idle, !session.isPinged {
            sessions[id]?.isPinged = true
            sessions[id]?.outgoing.yield(.ping)
        } else if quiet < configuration.idle, session.isPinged {
            sessions[id]?.isPinged = false
        }
        for (number, sent) in session.unacknowledged where sent.sentAt.duration(to: now) >= configuration.resendAfter {
            guard let letter = mailboxes.letter(sent.name), sent.tries < 4 else {
                // Given up on this connection: the next subscription brings it again.
                sessions[id]?.letGo(number)
                continue
            }
            sessions[id]?.unacknowledged[number]?.sentAt = now
            sessions[id]?.unacknowledged[number]?.tries += 1
            counts.resent += 1
            push(letter, number, id)
        }
        push(id)
    }
}

extension RelayMailboxes.Letter {
    var parcel: RelayParcel {
        RelayParcel(
            topic: topic,
            message: message,
            publishedAt: publishedAt.millisecondsSince1970,
            tag: tag,
            attestation: attestation
        )
    }
}
