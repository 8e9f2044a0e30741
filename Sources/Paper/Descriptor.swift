import Glibc

/// An open, non-blocking file descriptor, closed at the end of its scope.
struct Descriptor: ~Copyable {
    let raw: Int32

    init(_ raw: Int32) { self.raw = raw }

    deinit { close(raw) }

    /// What the kernel says of waiting for it.
    enum Readiness { case ready, overdue, broken }

    /// Waits until `events` can be done, or until `deadline`.
    func wait(for events: Int32, until deadline: ContinuousClock.Instant) -> Readiness {
        while true {
            var question = pollfd(fd: raw, events: Int16(events), revents: 0)
            let left = ContinuousClock.now.duration(to: deadline)
            let milliseconds = max(
                0,
                left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            )
            let found = unsafe poll(&question, 1, Int32(min(milliseconds, 60_000)))
            if found < 0, errno == EINTR { continue }
            if found < 0 { return .broken }
            if found == 0 {
                if ContinuousClock.now >= deadline { return .overdue }
                continue
            }
            // What can still be done comes first: a printer may have answered before it hung up.
            if Int32(question.revents) & events != 0 { return .ready }
            return .broken
        }
    }

    /// Writes until all of `bytes` was taken or `deadline`.
    /// - Parameter onWire: What writes to this kind of file, with the meaning of `write`.
    /// - Returns: How many were taken, and why no more; nil where all were.
    func write(
        _ bytes: [UInt8],
        until deadline: ContinuousClock.Instant,
        by onWire: (Int32, UnsafeRawPointer?, Int) -> Int
    ) -> (taken: Int, trouble: String?) {
        var taken = 0
        while taken < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe onWire(raw, buffer.baseAddress.map { unsafe $0 + taken }, buffer.count - taken)
            }
            if count > 0 {
                taken += count
                continue
            }
            if count < 0, errno == EINTR { continue }
            guard count < 0, errno == EAGAIN else {
                return (taken, count == 0 ? "it takes nothing more" : Self.words(errno))
            }
            switch wait(for: Int32(POLLOUT), until: deadline) {
            case .ready: break
            case .overdue: return (taken, "it did not take the receipt in time")
            case .broken: return (taken, "it broke off")
            }
        }
        return (taken, nil)
    }

    /// The kernel's word for an error, in ours.
    static func words(_ code: Int32) -> String {
        switch code {
        case ECONNREFUSED: "nobody answers at its address"
        case ECONNRESET, EPIPE: "it broke off"
        case EHOSTUNREACH, ENETUNREACH: "there is no way to its address"
        case ETIMEDOUT: "it does not answer"
        case ENOENT, ENXIO, ENODEV: "no printer is plugged in there"
        case EISDIR, ENOTDIR, ELOOP: "there is no printer at this path"
        case EACCES, EPERM: "the terminal may not use it"
        case EBUSY: "another program uses it"
        case EIO: "it does not work"
        case ENOSPC: "it has no paper"
        case EINVAL: "its address is one of a single link (fe80…), which leads nowhere without the link’s name"
        default: "error \(code) of the system"
        }
    }
}
