internal import FoundationEssentials
internal import StrictJSON

/// A client of one relay: it keeps a connection while ``run()`` runs, and makes every subscription again after each break.
///
/// It hands on what comes in, each message once, and tells the relay so only after ``acknowledge(_:)`` and after
/// ``RelayMemory`` has remembered it. It repeats no publication by itself, but for ``publishUntilConfirmed(_:)``.
public actor RelayClient: RelayPort {
    let settings: RelayClientSettings
    let identity: RelayIdentity
    let memory: any RelayMemory
    let clock: RelayClock
    private let sockets: any WebSocketPort

    public nonisolated let messages: AsyncStream<RelayMessage>
    let incoming: AsyncStream<RelayMessage>.Continuation
    public nonisolated let connectionStates: AsyncStream<RelayConnectionState>
    private let connectionChanges: AsyncStream<RelayConnectionState>.Continuation

    var link = RelayLink.idle
    var counts = RelayCounts()
    private var watchers: [UInt64: AsyncStream<RelayStatus>.Continuation] = [:]
    private var shown: RelayStatus?
    private var isRunning = false
    private var wake: AsyncStream<Void>.Continuation?

    /// What is subscribed or shall be, with the relay's name for it where known.
    var topics: [Topic: String?] = [:]
    /// What was unsubscribed here: nobody waits for its messages any more.
    var former: Set<Topic> = []
    var connection: Connection?
    var lastRequestID: UInt64 = 0
    var nextReceipt: UInt64 = 1
    /// Messages handed on and not yet acknowledged.
    var inHand: [RelayMark: InHand] = [:]
    var marks: [UInt64: RelayMark] = [:]
    var bytesInHand = 0
    /// What went out from here: relays may send it back.
    var own: [RelayMark] = []
    var ownMarks: Set<RelayMark> = []

    /// One open connection and what belongs to it alone.
    struct Connection {
        let line: any WebSocketLine
        /// Requests by number.
        var pending: [UInt64: Pending] = [:]
        /// Requests that wait until others are answered, first come first.
        var queue: [UInt64] = []
        let outgoing: AsyncStream<String>.Continuation
        /// Frames handed to the writer and not yet written.
        var unwritten = 0
        let chores: AsyncStream<Void>.Continuation
        var toFetch: Set<Topic> = []
        /// Where fetching did not help or storage refused: asked again at this time.
        var fetchAgainAt: Duration?
        var fetchAgain: Set<Topic> = []
        var cannotFetch = false
        var lastSign: Duration
        var pingedAt: Duration?
        var malformed = 0
        /// Messages of topics that nobody here has asked for yet, and when each came.
        var strays: [(copy: RelayID, topic: Topic, at: Duration)] = []
        /// Why it has to end, where that is known before it ends.
        var verdict: RelayTrouble?
        var isReady = false
    }

    struct Pending {
        let text: String
        let deadline: Duration
        let answer: CheckedContinuation<Result<ExactJSON, RelayFailure>, Never>
    }

    struct InHand {
        let receipt: UInt64
        let topic: Topic
        let bytes: Int
        let publishedAt: Int64?
        /// The relay's numbers for its copies over the connection of that number.
        var copies: [RelayID] = []
        var connection: Int
        /// When it was handed on last, and how long until a copy may be handed on again: whoever took it may have failed.
        var handedAt: Duration
        var patience = Duration.seconds(30)
    }

    /// Counts connections, so that an acknowledgement never goes to another one than its message came from.
    var connectionNumber = 0

    /// Starts nothing yet.
    /// - Throws: ``RelayTrouble/misuse(_:)`` for an address that is none.
    public init(
        settings: RelayClientSettings,
        identity: RelayIdentity,
        sockets: any WebSocketPort,
        memory: any RelayMemory,
        clock: RelayClock
    ) throws(RelaySettingsError) {
        if let objection = settings.objection { throw objection }
        (self.settings, self.identity, self.sockets) = (settings, identity, sockets)
        (self.memory, self.clock) = (memory, clock)
        // Its length is bounded by what may be in hand.
        (messages, incoming) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        (connectionStates, connectionChanges) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
        connectionChanges.yield(.disconnected(reason: "not started"))
    }

    /// Connects, and connects again, until the task is cancelled. Call once.
    public func run() async {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        var failures = 0
        while !Task.isCancelled {
            show(.connecting)
            let (trouble, lasted) = await connectOnce()
            guard !Task.isCancelled else { break }
            // Whoever is sent away again and again must not come running.
            failures = lasted >= .seconds(10) ? 0 : failures + 1
            let pause = pause(after: trouble, failures: failures)
            show(trouble.next == .stop ? .stopped(trouble) : .waiting(trouble, retryIn: pause))
            await wait(pause, untilClockIsSet: trouble.next == .stop)
        }
        show(.idle)
        incoming.finish()
        connectionChanges.finish()
        for watcher in watchers.values { watcher.finish() }
        watchers = [:]
    }

    /// Tries at once, where it waits: the network is back, or someone corrected what the relay refused.
    public func restart() { wake?.yield() }

    /// How it stands.
    public var status: RelayStatus {
        RelayStatus(
            link: link,
            counts: counts,
            subscriptions: topics.count,
            outstanding: connection?.pending.count ?? 0,
            unstored: inHand.count
        )
    }

    /// How it stands now and after every change, at most once a second for the counts. Only the newest is kept for who
    /// is slow.
    public func statuses() -> AsyncStream<RelayStatus> {
        let (stream, continuation) = AsyncStream.makeStream(of: RelayStatus.self, bufferingPolicy: .bufferingNewest(1))
        lastRequestID += 1
        let key = lastRequestID
        watchers[key] = continuation
        continuation.yield(status)
        return stream
    }

    private func connectOnce() async -> (RelayTrouble, lasted: Duration) {
        do throws(WebSocketFailure) {
            let line = try await sockets.connect(try handshake())
            counts.connections += 1
            let start = clock.elapsed()
            let trouble = await serve(line)
            return (trouble, clock.elapsed() - start)
        } catch {
            counts.failedConnections += 1
            return (RelayTrouble(error), .zero)
        }
    }

    private func handshake() throws(WebSocketFailure) -> WebSocketRequest {
        let subject = (0..<4).map { _ in
            let digits = String(clock.random(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let token: String
        do throws(RelayTokenError) {
            token = try RelayToken.signed(
                by: identity,
                subject: subject,
                audience: settings.url,
                issuedAt: clock.wallMilliseconds() / 1000
            )
        } catch {
            throw .address(reason: "the key cannot sign")
        }
        var query = "ua=" + settings.userAgent.percentEncoded
        if let projectID = settings.projectID { query = "projectId=\(projectID.percentEncoded)&" + query }
        let base = settings.url.split(separator: "/").count > 2 ? settings.url : settings.bareURL + "/"
        return WebSocketRequest(
            url: base + "?" + query,
            headers: [.init("Authorization", "Bearer " + token)],
            deadline: settings.deadline,
            messageLimitBytes: settings.frameLimitBytes
        )
    }

    private func pause(after trouble: RelayTrouble, failures: Int) -> Duration {
        let longest: Duration
        switch trouble.next {
        case .stop: longest = settings.refusedPause
        case .retryAtOnce where failures == 0: return .zero
        case .backOff: longest = settings.longPause
        case .retryAtOnce, .retry:
            guard !settings.pauses.isEmpty else { return .seconds(1) }
            longest = settings.pauses[min(max(failures, 1), settings.pauses.count) - 1]
        }
        // Between half of it and all of it: thousands of terminals must not return in the same moment.
        return longest / 2 + longest / 2 * (Double(clock.random() >> 11) / Double(1 << 53))
    }

    /// - Parameter untilClockIsSet: Whether to end also when somebody sets the wall clock: a relay refuses who is off.
    private func wait(_ pause: Duration, untilClockIsSet: Bool) async {
        if pause == .zero { return }
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wake = wake
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in wakes { return } }
            group.addTask { [clock] in try? await clock.sleep(pause) }
            if untilClockIsSet { group.addTask { [clock] in await clock.waitUntilSet() } }
            await group.next()
            group.cancelAll()
        }
        self.wake = nil
    }

    func show(_ link: RelayLink) {
        let wasConnected = self.link == .connected
        self.link = link
        if link == .connected {
            connectionChanges.yield(.connected)
        } else {
            switch link {
            case .waiting(let trouble, _), .stopped(let trouble):
                connectionChanges.yield(.disconnected(reason: trouble.reason))
            case .idle: connectionChanges.yield(.disconnected(reason: "stopped"))
            case .connecting, .connected:
                if wasConnected { connectionChanges.yield(.disconnected(reason: "connecting")) }
            }
        }
        showStatus()
    }

    func showStatus() {
        let status = status
        guard status != shown else { return }
        shown = status
        for (key, watcher) in watchers {
            if case .terminated = watcher.yield(status) { watchers[key] = nil }
        }
    }
}

/// Why a client cannot be made with these settings.
public enum RelaySettingsError: Error, Sendable, Equatable {
    /// Not `ws://` or `wss://` with a host, or with a query of its own.
    case url
    /// A time or a limit that is not above zero.
    case limit
}

extension RelayClientSettings {
    fileprivate var objection: RelaySettingsError? {
        let rest = url.hasPrefix("wss://") ? url.dropFirst(6) : url.hasPrefix("ws://") ? url.dropFirst(5) : ""
        let isPlain = rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard let first = rest.first, first != "/", isPlain, !rest.contains(where: { "?#@".contains($0) }) else {
            return .url
        }
        let times = [deadline, heartbeat, silence] + pauses + [longPause, refusedPause]
        let limits = [frameLimitBytes, outstandingLimit, unstoredLimit, unstoredLimitBytes, subscriptionLimit]
        return times.allSatisfy { $0 > .zero } && limits.allSatisfy { $0 > 0 } ? nil : .limit
    }

    fileprivate var bareURL: String { url.hasSuffix("/") ? String(url.dropLast()) : url }
}

extension String {
    fileprivate var percentEncoded: String {
        var bytes: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
