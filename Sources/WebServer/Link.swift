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

    let peerAddress: String
    private let socket: Int32
    /// Monotonic nanoseconds. `Int64.max`: no deadline.
    private let deadline: Atomic<Int64>
    private let answering = Atomic<Bool>(false)
    private let current = Mutex(Activity.none)

    init(socket: Int32, peerAddress: String, deadline: Int64) {
        (self.socket, self.peerAddress) = (socket, peerAddress)
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

    func setDeadline(_ nanoseconds: Int64) { deadline.store(nanoseconds, ordering: .relaxed) }
    func shortenDeadline(_ nanoseconds: Int64) {
        if nanoseconds < deadline.load(ordering: .relaxed) { setDeadline(nanoseconds) }
    }
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
    private let links = Mutex<[ObjectIdentifier: Link]>([:])
    /// Says something whenever there are connections after there were none. For one reader.
    let awakenings: AsyncStream<Void>
    private let awakening: AsyncStream<Void>.Continuation

    init() { (awakenings, awakening) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func add(_ link: Link) {
        links.withLock { links in
            if links.isEmpty { awakening.yield() }
            links[ObjectIdentifier(link)] = link
        }
    }

    var isEmpty: Bool { links.withLock { $0.isEmpty } }

    func remove(_ link: Link) { links.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(link)) } }

    /// Ends the connection, from any thread. Nothing happens when it is closed already.
    func cut(_ link: Link) { links.withLock { $0[ObjectIdentifier(link)]?.shutDown() } }

    /// True when the client has closed its side of the connection, or all of it.
    func isClosedByClient(_ link: Link) -> Bool {
        links.withLock { $0[ObjectIdentifier(link)]?.isClosedByClient ?? true }
    }

    var all: [Link] { links.withLock { Array($0.values) } }

    func contains(where condition: (Link) -> Bool) -> Bool { links.withLock { $0.values.contains(where: condition) } }
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
