import Foundation
import Glibc
import Locks

/// A server on loopback that does what no good server does: one script for each connection, on plain sockets.
final class ScriptedServer: Sendable {
    enum Script: Sendable {
        /// Sends these bytes after the request's head and body have come, then closes.
        case answer([UInt8])
        /// Sends these bytes after a whole TLS record has come, as a server does that speaks plain HTTP, then closes.
        case answerToHello([UInt8])
        /// Reads this many bytes of the request, then cuts the connection with a reset.
        case cutAfterReading(Int)
        /// Takes everything and says nothing.
        case silence
        /// Sends these bytes, then goes on with one more each 20 ms, for ever.
        case drip([UInt8])
    }

    let port: UInt16
    private let listener: Int32
    private let script: Script
    private let isStopped = Atomic<Bool>(false)
    private let seen = Mutex<[[UInt8]]>([])
    private let open = Atomic<Int>(0)

    /// Connections that neither side has ended.
    var openConnections: Int { open.load(ordering: .relaxed) }

    /// What came over each connection so far.
    var requests: [String] { seen.withLock { $0.map { String(decoding: $0, as: UTF8.self) } } }

    init(_ script: Script) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        self.listener = listener
        self.script = script
        Thread.detachNewThread { [self] in serve() }
    }

    /// Once only counts: by a second time the descriptor's number may be somebody else's.
    func stop() {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func serve() {
        defer { close(listener) }
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            open.add(1, ordering: .relaxed)
            let index = seen.withLock { seen in
                seen.append([])
                return seen.count - 1
            }
            Thread.detachNewThread { [self] in
                play(on: connection, index)
                close(connection)
                open.subtract(1, ordering: .relaxed)
            }
        }
    }

    private func play(on connection: Int32, _ index: Int) {
        switch script {
        case .answer(let bytes):
            read(connection, index, until: Self.isWhole)
            write(connection, bytes)
        case .answerToHello(let bytes):
            // Source: RFC 8446, section 5.1: type, version, and the length of what follows.
            read(connection, index) { $0.count >= 5 && $0.count >= 5 + (Int($0[3]) << 8 | Int($0[4])) }
            write(connection, bytes)
        case .cutAfterReading(let count):
            read(connection, index) { $0.count >= count }
            // No lingering: the peer gets a reset, not an orderly end.
            var linger = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        case .silence:
            read(connection, index) { _ in false }
        case .drip(let start):
            read(connection, index, until: Self.isWhole)
            write(connection, start)
            while write(connection, [UInt8(ascii: " ")]) { usleep(20_000) }
        }
    }

    private func read(_ connection: Int32, _ index: Int, until isEnough: ([UInt8]) -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 1)
        while !seen.withLock({ isEnough($0[index]) }) {
            guard unsafe recv(connection, &buffer, buffer.count, 0) == 1 else { return }
            seen.withLock { $0[index].append(buffer[0]) }
        }
    }

    @discardableResult
    private func write(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
        unsafe send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private static func isWhole(_ request: [UInt8]) -> Bool {
        let text = String(decoding: request, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n")?.upperBound else { return false }
        let length = text.lowercased().firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
        return text[end...].utf8.count >= length
    }
}
