import Executors
import Glibc

/// Sends jobs to a receipt printer, one after the other.
///
/// Works on a queue of its own, which it may block for as long as its limits say; nothing else waits for it. What it says
/// of a job is about paper only, and never more than the printer let it know.
public actor ReceiptPrinter {
    /// How long a job may take.
    public struct Limits: Sendable {
        /// Until the printer's address is found and the connection stands.
        public var connect: Duration
        /// Until it took every byte.
        public var send: Duration
        /// For which what it says by itself is heard, before it is asked.
        public var settling: Duration
        /// Until it answered that it is done; not all do.
        public var answer: Duration
        /// Until it ended the conversation, where it did not answer.
        public var closing: Duration

        public init(
            connect: Duration = .seconds(4),
            send: Duration = .seconds(7),
            settling: Duration = .milliseconds(200),
            answer: Duration = .seconds(2),
            closing: Duration = .seconds(2)
        ) {
            (self.connect, self.send, self.settling) = (connect, send, settling)
            (self.answer, self.closing) = (answer, closing)
        }
    }

    /// More than the longest receipt takes.
    public static let mostBytes = 64 * 1024

    private let limits: Limits
    private let mayReach: @Sendable (_ address: String) -> Bool
    private let queue = QueueExecutor(label: "till.paper")

    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    /// - Parameter mayReach: Whether a printer may be at an IP address, which is asked each time for the address that is connected to.
    public init(limits: Limits = Limits(), mayReach: @escaping @Sendable (_ address: String) -> Bool) {
        (self.limits, self.mayReach) = (limits, mayReach)
    }

    /// Sends `job` and says how far it got. Jobs that wait here are sent in order.
    public func print(_ job: [UInt8], at address: PrinterAddress) throws(PrintFailure) -> PrintOutcome {
        guard job.count <= Self.mostBytes else { throw .tooLong(bytes: job.count) }
        // Whoever made the address: no other port and no other path than one that could be entered.
        guard PrinterAddress(address.text) == address else { throw .notReached("this is no printer’s address") }
        switch address {
        case .network(let host, let port): return try printOverNetwork(job, host, port)
        case .device(let path): return try printTo(device: path, job)
        }
    }

    // MARK: - TCP

    /// `GS r 1`: tell how it stands with the paper. Carried out after all that was sent before it, so that the answer
    /// speaks for the whole job. Source: Epson ESC/POS command reference, `GS r`.
    private static let question: [UInt8] = [0x1D, 0x72, 1]

    private func printOverNetwork(
        _ job: [UInt8],
        _ host: String,
        _ port: UInt16
    ) throws(PrintFailure) -> PrintOutcome {
        let deadline = ContinuousClock.now + limits.connect
        let addresses = HostLookup.addresses(of: host, port: port, until: deadline)
        guard !addresses.isEmpty else { throw .notReached("its name is not known in this network") }
        var trouble = ""
        for address in addresses {
            guard address.text.map(mayReach) == true else {
                trouble = "no printer may be at this address"
                continue
            }
            let socket = Descriptor(
                socket(address.family, Int32(SOCK_STREAM.rawValue) | Self.nonBlocking | Self.closedOnExec, 0)
            )
            guard socket.raw >= 0 else {
                trouble = Descriptor.words(errno)
                continue
            }
            if let failed = Self.connect(socket, to: address, until: deadline) {
                trouble = failed
                continue
            }
            return try send(job, over: socket)
        }
        throw .notReached(trouble)
    }

    private static let nonBlocking = Int32(SOCK_NONBLOCK.rawValue)
    private static let closedOnExec = Int32(SOCK_CLOEXEC.rawValue)

    /// Nil where the connection stands, else why not.
    private static func connect(
        _ socket: borrowing Descriptor,
        to address: SocketAddress,
        until deadline: ContinuousClock.Instant
    ) -> String? {
        let raw = socket.raw
        let result = unsafe address.bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return Int32(-1) }
            return unsafe Glibc.connect(
                raw,
                start.assumingMemoryBound(to: sockaddr.self),
                socklen_t(buffer.count)
            )
        }
        if result == 0 { return nil }
        guard errno == EINPROGRESS else { return Descriptor.words(errno) }
        if socket.wait(for: Int32(POLLOUT), until: deadline) == .overdue { return "it does not answer" }
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(raw, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return Descriptor.words(errno) }
        return code == 0 ? nil : Descriptor.words(code)
    }

    private func send(_ job: [UInt8], over socket: borrowing Descriptor) throws(PrintFailure) -> PrintOutcome {
        let deadline = ContinuousClock.now + limits.send
        let (taken, trouble) = Self.write(job, to: socket, until: deadline)
        func unclear(_ why: String) -> PrintFailure { .unclear(sentBytes: taken, of: job.count, why) }
        if let trouble {
            if taken == 0 { throw .notReached(trouble) }
            throw unclear(trouble)
        }
        // What it has said so far is no answer: many printers tell their status as soon as somebody connects.
        var talk = PrinterTalk()
        let settled = ContinuousClock.now + limits.settling
        for _ in 0..<64 {
            let heard = Self.hear(&talk, on: socket, until: settled)
            if case .broken = heard { throw unclear("it broke off") }
            guard case .said = heard else { break }
        }
        if let trouble = Self.write(Self.question, to: socket, until: deadline).trouble { throw unclear(trouble) }
        switch Self.answer(&talk, on: socket, until: .now + limits.answer) {
        case .status(let status):
            if status & 0x0C != 0 { throw unclear("it has no paper") }
            return .confirmed
        case .hungUp, .broken: throw unclear("it broke off")
        case .nothing: break
        }
        // It does not answer, and has said by itself why it may not print.
        if let trouble = talk.trouble { throw unclear(trouble) }
        // It says nothing of itself. That somebody read every byte shows where it ends the conversation after us: had it
        // left one unread, the kernel would break the connection off.
        guard shutdown(socket.raw, Int32(SHUT_WR)) == 0 else { throw unclear("it broke off") }
        switch Self.answer(&talk, on: socket, until: .now + limits.closing) {
        case .status(let status) where status & 0x0C != 0: throw unclear("it has no paper")
        case .status, .hungUp:
            if let trouble = talk.trouble { throw unclear(trouble) }
            return .delivered
        case .broken: throw unclear("it broke off")
        case .nothing: throw unclear("it took every byte and does not say what became of it")
        }
    }

    private static func write(
        _ bytes: [UInt8],
        to socket: borrowing Descriptor,
        until deadline: ContinuousClock.Instant
    ) -> (taken: Int, trouble: String?) {
        unsafe socket.write(bytes, until: deadline, by: { unsafe Glibc.send($0, $1, $2, Int32(MSG_NOSIGNAL)) })
    }

    private enum Answer { case status(UInt8), hungUp, broken, nothing }

    /// The printer's answer to ``question``, whatever else it sends before.
    private static func answer(
        _ talk: inout PrinterTalk,
        on socket: borrowing Descriptor,
        until deadline: ContinuousClock.Instant
    ) -> Answer {
        // Bounded: a printer that talks without end is not listened to.
        for _ in 0..<64 {
            switch hear(&talk, on: socket, until: deadline) {
            case .said(let status?): return .status(status)
            case .said(nil): continue
            case .hungUp: return .hungUp
            case .broken: return .broken
            case .overdue: return .nothing
            }
        }
        return .nothing
    }

    private enum Heard { case said(UInt8?), hungUp, broken, overdue }

    /// Takes in what has come, or what comes first.
    private static func hear(
        _ talk: inout PrinterTalk,
        on socket: borrowing Descriptor,
        until deadline: ContinuousClock.Instant
    ) -> Heard {
        switch socket.wait(for: Int32(POLLIN), until: deadline) {
        case .overdue: return .overdue
        case .broken: return .broken
        case .ready: break
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(socket.raw, &bytes, bytes.count, 0)
        if count == 0 { return .hungUp }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .said(nil) : .broken }
        return .said(talk.take(bytes.prefix(count)))
    }

    // MARK: - Devices

    func printTo(device path: String, _ job: [UInt8]) throws(PrintFailure) -> PrintOutcome {
        let device = unsafe Descriptor(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC))
        guard device.raw >= 0 else { throw .notReached(Descriptor.words(errno)) }
        var facts = stat()
        guard unsafe fstat(device.raw, &facts) == 0, facts.st_mode & S_IFMT == S_IFCHR else {
            throw .notReached("there is no printer at this path")
        }
        let deadline = ContinuousClock.now + limits.send
        let (taken, trouble) = unsafe device.write(job, until: deadline, by: { unsafe Glibc.write($0, $1, $2) })
        if let trouble {
            if taken == 0 { throw .notReached(trouble) }
            throw .unclear(sentBytes: taken, of: job.count, trouble)
        }
        // The driver takes a last piece and sends it later; closing before that throws it away.
        switch device.wait(for: Int32(POLLOUT), until: deadline) {
        case .ready: return .delivered
        case .overdue: throw .unclear(sentBytes: taken, of: job.count, "it did not take the receipt in time")
        case .broken: throw .unclear(sentBytes: taken, of: job.count, "it broke off")
        }
    }
}
