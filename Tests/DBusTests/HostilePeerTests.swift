import DBus
import Dispatch
import Glibc
import Testing

/// What pretends to be a message bus, and is none.
@Suite(.timeLimit(.minutes(1)))
struct HostilePeerTests {
    @Test func aSocketThatSaysNothingEndsTheOpeningInTime() async throws {
        let peer = try Peer { _ in }
        await #expect(throws: BusError.noAnswer(after: .milliseconds(200))) {
            _ = try await BusConnection.open(address: peer.address, timeout: .milliseconds(200))
        }
    }

    @Test func aSocketThatClosesIsAnError() async throws {
        let peer = try Peer { $0.close() }
        await expectDisconnected(peer)
    }

    @Test func garbageInPlaceOfAMessageEndsTheConnection() async throws {
        let peer = try Peer { link in
            link.authenticate()
            link.send(Array(repeating: 0x41, count: 4_096))
        }
        await expectDisconnected(peer)
    }

    @Test func aMessageThatSaysItIsLargerThanAllLimitsEndsTheConnection() async throws {
        let peer = try Peer { link in
            link.authenticate()
            // Little endian, an answer, version 1, and 100 MB of body to come.
            link.send([0x6C, 2, 1, 1, 0, 0, 0, 6, 1, 0, 0, 0, 0, 0, 0, 0])
        }
        await expectDisconnected(peer)
    }

    @Test func anAnswerThatIsNestedTooDeepIsUnreadable() async throws {
        let peer = try Peer { link in
            link.authenticate()
            let variant: [UInt8] = [1, UInt8(ascii: "v"), 0]
            let body = Array(repeating: variant, count: BusLimits.depth + 4).joined() + [1, UInt8(ascii: "y"), 0, 7]
            link.send(answer(toSerial: 1, signature: "v", body: Array(body)))
        }
        await expectUnreadable(peer, "deeper than \(BusLimits.depth) levels")
    }

    @Test func anAnswerWithTooManyValuesIsUnreadable() async throws {
        let peer = try Peer { link in
            link.authenticate()
            let count = BusLimits.values + 1
            let bytes = UInt32(count * 2)
            let length = [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: bytes >> UInt32($0)) }
            link.send(answer(toSerial: 1, signature: "an", body: length + Array(repeating: 0, count: count * 2)))
        }
        await expectUnreadable(peer, "more than \(BusLimits.values) values")
    }

    @Test func anAnswerToNoCallIsIgnored() async throws {
        let peer = try Peer { link in
            link.authenticate()
            let text: [UInt8] = [4, 0, 0, 0] + Array(":1.9".utf8) + [0]
            link.send(answer(toSerial: 999, signature: "s", body: text))
            link.send(answer(toSerial: 1, signature: "s", body: text))
        }
        let bus = try await BusConnection.open(address: peer.address)
        #expect(bus.uniqueName == ":1.9")
    }

    private func expectDisconnected(_ peer: Peer) async {
        let error = await #expect(throws: BusError.self) { _ = try await BusConnection.open(address: peer.address) }
        if case .disconnected = error { return }
        Issue.record("\(String(describing: error))")
    }

    private func expectUnreadable(_ peer: Peer, _ reason: String) async {
        await #expect(throws: BusError.unreadable(reason: reason)) {
            _ = try await BusConnection.open(address: peer.address)
        }
    }
}

/// A method return in the wire format. Source: D-Bus specification 0.42, "Message Protocol".
private func answer(toSerial serial: Int, signature: String, body: [UInt8]) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> $0) } }
    var fields: [UInt8] = [5, 1, UInt8(ascii: "u"), 0] + number(serial)
    fields += [8, 1, UInt8(ascii: "g"), 0, UInt8(signature.utf8.count)] + Array(signature.utf8) + [0]
    var message: [UInt8] = [0x6C, 2, 1, 1] + number(body.count) + number(1) + number(fields.count) + fields
    while message.count % 8 != 0 { message.append(0) }
    return message + body
}

/// A listening socket whose first guest meets `behaviour`.
private final class Peer: Sendable {
    let address: String
    private let listener: Int32
    private let path: String

    struct Link {
        let socket: Int32

        func close() { Glibc.close(socket) }

        func send(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes {
                    unsafe Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        /// Agrees to everything until the guest's first call came.
        func authenticate() {
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while !text.contains("BEGIN") || !text.contains("Hello") {
                let count = unsafe recv(socket, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                let new = String(decoding: buffer.prefix(count), as: UTF8.self)
                text += new
                if new.contains("AUTH ") { send(Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8)) }
                if new.contains("NEGOTIATE_UNIX_FD") { send(Array("AGREE_UNIX_FD\r\n".utf8)) }
            }
        }
    }

    init(_ behaviour: @escaping @Sendable (Link) -> Void) throws {
        // A socket's path has room for 107 bytes: the folder for temporary files may be longer.
        path = "/tmp/till-hostile-\(getpid())-\(UInt64.random(in: 0...(.max)))"
        address = "unix:path=" + path
        let listener = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let bound = unsafe withUnsafePointer(to: &name) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(listener, 1) == 0)
        self.listener = listener
        // A queue of its own, since it waits.
        DispatchQueue(label: "hostile peer").async {
            let socket = accept(listener, nil, nil)
            guard socket >= 0 else { return }
            behaviour(Link(socket: socket))
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unsafe unlink(path)
    }
}
