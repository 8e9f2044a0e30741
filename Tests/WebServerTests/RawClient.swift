import Dispatch
import Glibc
import WebServer

/// An HTTP client that sends exactly the bytes it is told to, over a real socket. Waits on its own queue, so that a test
/// which waits takes no thread from the server's tasks.
final class RawClient: Sendable {
    enum Failure: Error { case system(String), silence, closed, notHTTP(String) }

    struct Answer: Sendable {
        var status: Int
        var fields: [(name: String, value: String)]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
        subscript(name: String) -> String? { fields.first { $0.name.lowercased() == name.lowercased() }?.value }
    }

    private let socket: Int32
    private let queue = DispatchQueue(label: "raw client")
    /// Bytes that came after the answer that was last read. Used on `queue` only.
    @safe nonisolated(unsafe) private var rest: [UInt8] = []

    /// - Parameters:
    ///   - source: The client's own address of loopback, such as `127.0.1.7`: another machine, for the server.
    ///   - receiveBuffer: The system's buffer for what this client does not read, in bytes.
    init(
        _ server: WebServer,
        address: String = "127.0.0.1",
        from source: String? = nil,
        receiveBuffer: Int32? = nil
    ) throws {
        socket = Glibc.socket(address.contains(":") ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if var size = receiveBuffer {
            unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        if let source {
            var own = sockaddr_in()
            own.sin_family = sa_family_t(AF_INET)
            unsafe inet_pton(AF_INET, source, &own.sin_addr)
            let bound = unsafe withGeneric(&own) { unsafe bind(socket, $0, $1) }
            guard bound == 0 else { throw Failure.system(unsafe String(cString: strerror(errno))) }
        }
        let result: Int32
        if address.contains(":") {
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            target.sin6_port = server.port.bigEndian
            unsafe inet_pton(AF_INET6, address, &target.sin6_addr)
            result = unsafe withGeneric(&target) { unsafe connect(socket, $0, $1) }
        } else {
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = server.port.bigEndian
            unsafe inet_pton(AF_INET, address, &target.sin_addr)
            result = unsafe withGeneric(&target) { unsafe connect(socket, $0, $1) }
        }
        // Every property is set: `deinit` runs after this error too and closes the socket.
        guard result == 0 else { throw Failure.system(unsafe String(cString: strerror(errno))) }
    }

    deinit { close(socket) }

    /// Ends the connection as a browser does that is closed; the descriptor stays until the client is gone.
    func leave() { _ = shutdown(socket, Int32(SHUT_RDWR)) }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// - Throws: `closed` when the server has closed the connection.
    func send(_ bytes: [UInt8]) async throws {
        try await onQueue {
            var sent = 0
            while sent < bytes.count {
                let count = unsafe bytes[sent...].withUnsafeBytes {
                    unsafe Glibc.send(self.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure.closed }
                sent += count
            }
        }
    }

    /// Sends a request with `Host: till.local` and reads the answer.
    func get(_ target: String, method: String = "GET", headers: String = "", body: String? = nil) async throws -> Answer
    {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: till.local\r\n" + headers
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        try await send(text + "\r\n" + (body ?? ""))
        return try await answer(isHEAD: method == "HEAD")
    }

    func answer(isHEAD: Bool = false) async throws -> Answer {
        try await onQueue {
            var answer = try Self.parseHead(try self.read(until: "\r\n\r\n"))
            if isHEAD || answer.status == 304 || answer.status == 204 { return answer }
            if answer["Transfer-Encoding"] == "chunked" {
                while true {
                    let line = String(decoding: try self.read(until: "\r\n").dropLast(2), as: UTF8.self)
                    guard let count = Int(line, radix: 16) else { throw Failure.notHTTP(line) }
                    answer.body += try self.read(exactly: count + 2).dropLast(2)
                    if count == 0 { return answer }
                }
            }
            answer.body = try self.read(exactly: Int(answer["Content-Length"] ?? "") ?? 0)
            return answer
        }
    }

    /// The head of an answer whose body comes bit by bit.
    func head() async throws -> Answer { try await onQueue { try Self.parseHead(try self.read(until: "\r\n\r\n")) } }

    /// Reads until `text` has come.
    func expect(_ text: String) async throws { _ = try await onQueue { try self.read(until: text) } }

    /// Reads until `text` has come, and returns all that came before and it.
    func until(_ text: String) async throws -> String {
        try await onQueue { String(decoding: try self.read(until: text), as: UTF8.self) }
    }

    /// The next byte; nil where the server closes the connection instead.
    func firstByte() async throws -> UInt8? { try await onQueue { try self.fill() ? self.take(1).first : nil } }

    /// Everything until the server closes the connection.
    func untilClosed() async throws -> [UInt8] {
        try await onQueue {
            while try self.fill() {}
            defer { self.rest = [] }
            return self.rest
        }
    }

    private func onQueue<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }

    private func read(until mark: String) throws -> [UInt8] {
        let mark = Array(mark.utf8)
        while true {
            if let start = rest.firstRange(of: mark) { return take(start.upperBound) }
            guard try fill() else { throw Failure.closed }
        }
    }

    private func read(exactly count: Int) throws -> [UInt8] {
        while rest.count < count { guard try fill() else { throw Failure.closed } }
        return take(count)
    }

    private func take(_ count: Int) -> [UInt8] {
        defer { rest.removeFirst(count) }
        return Array(rest[..<count])
    }

    private func fill() throws -> Bool {
        var part = [UInt8](repeating: 0, count: 16 * 1024)
        let count = unsafe part.withUnsafeMutableBytes { unsafe recv(socket, $0.baseAddress, $0.count, 0) }
        if count < 0 {
            if errno == EAGAIN { throw Failure.silence }
            if errno == ECONNRESET { return false }
            throw Failure.system(unsafe String(cString: strerror(errno)))
        }
        rest += part[..<count]
        return count > 0
    }

    private static func parseHead(_ bytes: [UInt8]) throws -> Answer {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw Failure.notHTTP(String(decoding: bytes, as: UTF8.self))
        }
        let fields = lines.dropFirst().map { line -> (name: String, value: String) in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (String(line[..<colon]), String(line[colon...].dropFirst().drop { $0 == " " }))
        }
        return Answer(status: status, fields: fields, body: [])
    }
}

private func withGeneric<Address>(_ address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32)
    -> Int32
{
    unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe body($0, socklen_t(MemoryLayout<Address>.size))
        }
    }
}
