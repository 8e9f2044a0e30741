import CMicrohttpd
import Glibc
import Locks

/// A request's connection as libmicrohttpd names it.
///
/// Valid on the server's thread while the request runs, and on any thread while the connection is suspended. Only
/// `suspend` and `resume` are called on it off the server's thread, which libmicrohttpd allows.
@safe struct Connection: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    func suspend() { unsafe MHD_suspend_connection(pointer) }
    func resume() { unsafe MHD_resume_connection(pointer) }
}

/// An open connection, from accept to close. Its socket stays open for as long as it is in `Links`.
final class Link: Sendable {
    /// What the connection waits for when it is neither receiving nor sending.
    enum Activity {
        case none
        case answer(PendingAnswer)
        case events(EventFeed)
    }

    /// The server that it belongs to, which outlives it.
    unowned let context: ServerContext
    let peerAddress: String
    /// Whom it counts for where connections become too many.
    let source: String
    private let socket: Int32
    /// Monotonic nanoseconds. `Int64.max`: no deadline.
    private let deadline: Atomic<Int64>
    private let answering = Atomic<Bool>(false)
    private let known = Atomic<Bool>(false)
    private let asked = Atomic<Bool>(false)
    private let current = Mutex(Activity.none)
    private let greeted = Atomic<Bool>(true)
    private let unread = Atomic<Bool>(false)

    init(context: ServerContext, socket: Int32, peerAddress: String, deadline: Int64) {
        (self.context, self.socket, self.peerAddress) = (context, socket, peerAddress)
        source = WebServer.source(of: peerAddress)
        self.deadline = Atomic(deadline)
    }

    var activity: Activity {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// From the complete request until its answer is sent.
    var isAnswering: Bool {
        get { answering.load(ordering: .sequentiallyConsistent) }
        set { answering.store(newValue, ordering: .sequentiallyConsistent) }
    }

    /// Whether the handler's owner knows who sent the last request.
    var isKnown: Bool {
        get { known.load(ordering: .relaxed) }
        set { known.store(newValue, ordering: .relaxed) }
    }

    /// Whether a request was answered before its body had come.
    var hasUnreadBody: Bool {
        get { unread.load(ordering: .relaxed) }
        set { unread.store(newValue, ordering: .relaxed) }
    }

    /// Has the socket stay open for the rest of that body. From `connectionChanged`, before it is closed.
    func linger(in lingering: Lingering) { if hasUnreadBody { lingering.keep(socket, at: monotonicNanoseconds()) } }

    /// False while it is not known whether the client speaks TLS, where it should.
    var isGreeted: Bool {
        get { greeted.load(ordering: .relaxed) }
        set { greeted.store(newValue, ordering: .relaxed) }
    }

    /// As recv(2). The first byte decides who reads on: GnuTLS, or nobody. On the server's thread.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if !isGreeted {
            var first: UInt8 = 0
            if unsafe recv(socket, &first, 1, Int32(MSG_PEEK)) == 1 {
                isGreeted = true
                if PlainGreeting.begins(with: first) {
                    PlainGreeting(context).answer(on: socket)
                    return 0  // The end, for GnuTLS: libmicrohttpd then closes the connection.
                }
            }
        }
        return unsafe recv(socket, buffer.baseAddress, buffer.count, 0)
    }

    /// Whether the head of a request has come.
    var hasAsked: Bool {
        get { asked.load(ordering: .relaxed) }
        set { asked.store(newValue, ordering: .relaxed) }
    }

    fileprivate func guest(number: Int, isFromKnownAddress: Bool) -> Crowd.Guest {
        let stage: Crowd.Stage =
            switch activity {
            case .events: .listening
            case .answer: .answering
            case .none: isAnswering ? .answering : .quiet
            }
        return Crowd.Guest(
            number: number,
            source: source,
            isKnown: isKnown,
            isFromKnownAddress: isFromKnownAddress,
            hasAsked: hasAsked,
            stage: stage
        )
    }

    func setDeadline(_ nanoseconds: Int64) { deadline.store(nanoseconds, ordering: .relaxed) }
    func isOverdue(at now: Int64) -> Bool { deadline.load(ordering: .relaxed) <= now }

    /// libmicrohttpd then sees the connection closed and tidies up. Call through `Links`.
    fileprivate func shutDown() { _ = shutdown(socket, Int32(SHUT_RDWR)) }

    /// Does not wait. Call through `Links`.
    fileprivate var isClosedByClient: Bool {
        var query = pollfd(fd: socket, events: Int16(pollPeerClosed), revents: 0)
        guard unsafe poll(&query, 1, 0) > 0 else { return false }
        return query.revents & Int16(pollPeerClosed | POLLHUP | POLLERR) != 0
    }
}

/// The open connections. A socket is used from other threads only under this lock: libmicrohttpd reports a closed
/// connection before it closes the socket, and `remove` then waits, so no reused number is ever meant.
final class Links: Sendable {
    private struct State {
        var links: [ObjectIdentifier: Entry] = [:]
        var nextNumber = 0
        /// Where somebody known came from lately, with the number of the connection. At most ``Links/mostKnownAddresses``.
        var knownAddresses: [String: Int] = [:]
        var arrivals: Arrivals
    }

    private struct Entry {
        let link: Link
        let number: Int
        /// Was told to go; libmicrohttpd has not noticed yet.
        var isLeaving = false
    }

    private let state: Mutex<State>
    private let crowd: Crowd
    private static let mostKnownAddresses = 128
    /// Says something whenever there are connections after there were none. For one reader.
    let awakenings: AsyncStream<Void>
    private let awakening: AsyncStream<Void>.Continuation

    init(_ limits: WebServer.Limits) {
        state = Mutex(State(arrivals: Arrivals(perSecond: limits.newConnectionsPerSecond)))
        crowd = Crowd(
            most: max(1, limits.connections),
            mostOfSource: max(1, limits.connectionsPerAddress),
            mostBeforeRequest: max(1, limits.connectionsBeforeRequest)
        )
        (awakenings, awakening) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter now: Monotonic nanoseconds.
    /// - Returns: The connection that has to go for it, if any: it does not count any more. The new one itself where its source
    ///   opens connections too fast. End it with ``cut(_:)``.
    func add(_ link: Link, at now: Int64) -> Link? {
        state.withLock { state in
            if state.links.isEmpty { awakening.yield() }
            let newcomer = state.nextNumber
            state.nextNumber += 1
            state.links[ObjectIdentifier(link)] = Entry(link: link, number: newcomer)
            if state.knownAddresses[link.peerAddress] == nil, !state.arrivals.take(link.source, at: now) {
                state.links[ObjectIdentifier(link)]?.isLeaving = true
                return link
            }
            // Nobody has to go where there is room for all of them before their first request.
            guard state.links.count > min(crowd.mostOfSource, crowd.mostBeforeRequest, crowd.most) else { return nil }
            let staying = state.links.values.filter { !$0.isLeaving }
            let guests = staying.map { entry in
                entry.link.guest(
                    number: entry.number,
                    isFromKnownAddress: state.knownAddresses[entry.link.peerAddress] != nil
                )
            }
            guard let number = crowd.leaver(among: guests, newcomer: newcomer),
                let leaver = staying.first(where: { $0.number == number })?.link
            else { return nil }
            state.links[ObjectIdentifier(leaver)]?.isLeaving = true
            return leaver
        }
    }

    /// Notes who sent a request, as its head says.
    func note(_ link: Link, isKnown: Bool) {
        link.hasAsked = true
        guard isKnown else {
            link.isKnown = false
            return
        }
        guard !link.isKnown else { return }  // Noted before: most requests.
        link.isKnown = true
        state.withLock { state in
            guard let number = state.links[ObjectIdentifier(link)]?.number else { return }
            state.knownAddresses[link.peerAddress] = number
            if state.knownAddresses.count > Self.mostKnownAddresses,
                let oldest = state.knownAddresses.min(by: { $0.value < $1.value })
            {
                state.knownAddresses[oldest.key] = nil
            }
        }
    }

    var isEmpty: Bool { state.withLock { $0.links.isEmpty } }

    func remove(_ link: Link) { state.withLock { _ = $0.links.removeValue(forKey: ObjectIdentifier(link)) } }

    /// Ends the connection, from any thread. Nothing happens when it is closed already.
    func cut(_ link: Link) { state.withLock { $0.links[ObjectIdentifier(link)]?.link.shutDown() } }

    /// True when the client has closed its side of the connection, or all of it.
    func isClosedByClient(_ link: Link) -> Bool {
        state.withLock { $0.links[ObjectIdentifier(link)]?.link.isClosedByClient ?? true }
    }

    var all: [Link] { state.withLock { $0.links.values.map(\.link) } }

    func contains(where condition: (Link) -> Bool) -> Bool {
        state.withLock { $0.links.values.contains { condition($0.link) } }
    }
}

/// Nanoseconds of the clock that no one sets, some milliseconds exact: for limits of seconds that is enough, and each request
/// asks three times. Source: clock_gettime(2), `CLOCK_MONOTONIC_COARSE`.
func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// The other side has closed its half. Source: poll(2), `POLLRDHUP`, which glibc shows to GNU sources only.
private let pollPeerClosed: Int32 = 0x2000
