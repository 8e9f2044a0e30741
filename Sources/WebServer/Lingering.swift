import Glibc
import Locks

/// Sockets of requests that were answered while their bodies were still coming.
///
/// libmicrohttpd closes such a connection at once. Bytes that nobody has read then make the system reset it, and the client loses the
/// answer that says why. So the socket is kept open for two seconds, or until the client has closed its side, and what comes is
/// dropped. Source: RFC 9112, 9.6.
final class Lingering: Sendable {
    private struct Guest {
        let socket: Int32
        /// Monotonic nanoseconds.
        let until: Int64
    }

    /// Sockets at a time. Each costs the system's buffer; one more is closed as libmicrohttpd closes it.
    private static let most = 32
    private static let time: Int64 = 2_000_000_000
    /// Dropped of one socket in one turn.
    private static let mostBytes = 512 * 1024

    private let guests = Mutex<[Guest]>([])

    var isEmpty: Bool { guests.withLock { $0.isEmpty } }

    /// Keeps a socket open that is about to be closed by its number.
    func keep(_ socket: Int32, at now: Int64) {
        guests.withLock { guests in
            guard guests.count < Self.most else { return }
            let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
            if copy >= 0 { guests.append(Guest(socket: copy, until: now + Self.time)) }
        }
    }

    /// Drops what has come and closes what is over. Any thread; does not wait.
    func sweep(at now: Int64) {
        guests.withLock { guests in
            guests.removeAll { guest in
                guard guest.until <= now || Self.isOver(guest.socket) else { return false }
                close(guest.socket)
                return true
            }
        }
    }

    /// Closes all of them.
    func end() { sweep(at: .max) }

    private static func isOver(_ socket: Int32) -> Bool {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 1) { buffer in
            var left = mostBytes
            while left > 0 {
                let count = unsafe recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count == 0 { return true }
                if count < 0 { return errno != EAGAIN && errno != EINTR }
                left -= count
            }
            return false
        }
    }
}
