import Foundation
import Glibc
import Locks

/// A printer on a real socket that behaves as told.
public final class FakePrinter: Sendable {
    public enum Manner: Sendable {
        /// Answers how it stands with the paper, by this byte, when it is asked.
        case answering(UInt8)
        /// Says the first as soon as somebody connects, and the second when it is asked.
        case telling([UInt8], then: [UInt8])
        /// Takes everything, says nothing, and closes when the terminal does.
        case mute
        /// Takes everything and holds the line open for ever.
        case clinging
        /// Reads nothing.
        case deaf
        /// Reads so many bytes and hangs up.
        case hangingUp(after: Int)
        /// Sends this byte without end.
        case chattering(UInt8)
    }

    public let port: UInt16
    private let listener: Int32
    private let accepts: Bool
    private let state = Mutex<(jobs: [[UInt8]], mostAtOnce: Int, atOnce: Int, isOver: Bool)>(([], 0, 0, false))

    /// - Parameter accepts: Whether it takes connections at all; the kernel holds the first ones for it.
    public init(_ manner: Manner, accepts: Bool = true) throws {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if case .deaf = manner {
            var size: Int32 = 2048
            _ = unsafe setsockopt(raw, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = unsafe bind(raw, $0, length)
                _ = listen(raw, accepts ? 8 : 0)
                _ = unsafe getsockname(raw, $0, &length)
            }
        }
        (listener, self.accepts) = (raw, accepts)
        port = UInt16(bigEndian: address.sin_port)
        guard accepts else { return }
        // Threads: the shared pool has as many as cores, and these wait.
        Thread.detachNewThread { [self] in
            while true {
                let peer = accept(raw, nil, nil)
                guard peer >= 0 else { break }
                Thread.detachNewThread { self.serve(peer, manner) }
            }
            Glibc.close(raw)
        }
    }

    /// Takes no more; what was taken stays.
    public func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        // Else the thread does it: before, another printer could get the number that it still takes connections from.
        if !accepts { Glibc.close(listener) }
    }

    public var jobs: [[UInt8]] { state.withLock { $0.jobs } }
    public var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    private func serve(_ peer: Int32, _ manner: Manner) {
        state.withLock {
            $0.atOnce += 1
            $0.mostAtOnce = max($0.mostAtOnce, $0.atOnce)
        }
        if case .telling(let status, _) = manner {
            var status = status
            _ = unsafe send(peer, &status, status.count, Int32(MSG_NOSIGNAL))
        }
        var job: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        reading: while true {
            var limit = buffer.count
            switch manner {
            case .hangingUp(let after):
                limit = min(limit, after - job.count)
                if limit <= 0 { break reading }
            case .deaf:
                // Until the terminal leaves, which a peek shows without reading.
                var poll = pollfd(fd: peer, events: 0x2000, revents: 0)
                _ = unsafe Glibc.poll(&poll, 1, 10_000)
                break reading
            case .chattering(let byte):
                var bytes = [UInt8](repeating: byte, count: 64)
                _ = unsafe send(peer, &bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            default: break
            }
            let count = unsafe recv(peer, &buffer, limit, 0)
            guard count > 0 else { break }
            job += buffer.prefix(count)
            guard job.suffix(3) == [0x1D, 0x72, 1] else { continue }
            var answer: [UInt8] =
                switch manner {
                case .answering(let byte): [byte]
                case .telling(_, let bytes): bytes
                default: []
                }
            if !answer.isEmpty { _ = unsafe send(peer, &answer, answer.count, Int32(MSG_NOSIGNAL)) }
        }
        if case .clinging = manner {
            var poll = pollfd(fd: peer, events: 0, revents: 0)
            _ = unsafe Glibc.poll(&poll, 1, 3000)
        }
        state.withLock {
            $0.jobs.append(job)
            $0.atOnce -= 1
        }
        Glibc.close(peer)
    }
}
