import Locks

/// What every callback of libmicrohttpd gets back through its `void *`: the parts of a server that its threads share.
final class ServerContext: Sendable {
    let configuration: WebServer.Configuration
    let handler: WebHandler
    let ledger = Ledger()
    let links: Links
    let bodies: BodyBudget
    let lingering = Lingering()
    /// libmicrohttpd's last message; tells why it did not start.
    let lastMessage = Mutex("")
    private let stopping = Atomic<Bool>(false)
    private let streams = Mutex((known: 0, unknown: 0))
    private let kept = Mutex<[ObjectIdentifier: KeptResponse]>([:])

    // The limits in nanoseconds: they are added to the clock with every request.
    let idle: Int64
    let opening: Int64
    let receiving: Int64
    let answering: Int64
    let sending: Int64

    init(configuration: WebServer.Configuration, handler: @escaping WebHandler) {
        (self.configuration, self.handler) = (configuration, handler)
        let limits = configuration.limits
        (links, bodies) = (Links(limits), BodyBudget(limits))
        (idle, opening, receiving) = (limits.idle.nanoseconds, limits.opening.nanoseconds, limits.receiving.nanoseconds)
        (answering, sending) = (limits.answering.nanoseconds, limits.sending.nanoseconds)
    }

    var isStopping: Bool { stopping.load(ordering: .sequentiallyConsistent) }

    /// From here on requests are answered 503, and running answers are asked to end.
    func beginStopping() {
        stopping.store(true, ordering: .sequentiallyConsistent)
        for link in links.all { endSoon(link.activity) }
    }

    func endSoon(_ activity: Link.Activity) {
        switch activity {
        case .none: break
        case .answer(let answer): answer.cancel()
        case .events(let feed): feed.finish()
        }
    }

    /// Ends a connection so that another one has its place. On the server's thread.
    func dismiss(_ link: Link) {
        endSoon(link.activity)
        links.cut(link)
    }

    /// Takes one of the places for event streams; give it back with `closeStream`. The last quarter is for those who are known.
    func openStream(isKnown: Bool) -> Bool {
        let most = configuration.limits.eventStreams
        return streams.withLock { streams in
            guard streams.known + streams.unknown < most, isKnown || streams.unknown < max(1, most - most / 4) else {
                return false
            }
            if isKnown { streams.known += 1 } else { streams.unknown += 1 }
            return true
        }
    }

    func closeStream(isKnown: Bool) {
        streams.withLock { streams in if isKnown { streams.known -= 1 } else { streams.unknown -= 1 } }
    }

    /// Ends what is overdue or has been left by its client. Any thread; `now` in monotonic nanoseconds.
    func sweep(at now: Int64) {
        lingering.sweep(at: now)
        for link in links.all {
            let activity = link.activity
            switch activity {
            case .events(let feed):
                // A suspended connection does not notice that the client has left.
                if links.isClosedByClient(link) { feed.finish() }
            case .answer(let answer):
                if link.isOverdue(at: now) { answer.giveUp(answering: .overdue) }
            case .none:
                if link.isOverdue(at: now) { links.cut(link) }
            }
        }
    }

    /// The finished form of `prepared` for this server, made at its first use.
    func finished(_ prepared: PreparedResponse) -> KeptResponse? {
        kept.withLock { kept in
            if let known = kept[ObjectIdentifier(prepared)] { return known }
            guard let made = KeptResponse(prepared, defaults: configuration.defaultHeaders) else { return nil }
            kept[ObjectIdentifier(prepared)] = made
            return made
        }
    }
}

/// Keeps `source` alive, so that no other answer can take its place in the table.
final class KeptResponse: Sendable {
    let source: PreparedResponse
    let handle: ResponseHandle

    init?(_ source: PreparedResponse, defaults: WebHeaders) {
        guard case .bytes(let body) = source.response.body,
            let handle = ResponseHandle(source.response, body: body, defaults: defaults)
        else { return nil }
        self.source = source
        self.handle = handle
    }
}
