import Glibc

/// A bound, listening TCP socket. libmicrohttpd could make one itself, but would not say why it failed.
struct ListeningSocket: ~Copyable {
    let descriptor: Int32
    let port: UInt16
    /// Some 3 MB a second over a network that takes 20 ms there and back.
    private static let receiveBytes: Int32 = 64 * 1024

    /// - Parameter address: An IPv4 or IPv6 address in numbers. `::` takes IPv4 clients too.
    init(address: String, port: UInt16) throws(WebServer.StartError) {
        let isIPv6 = address.contains(":")
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system(detail: Self.errorText("socket")) }
        do throws(WebServer.StartError) {
            Self.set(SOL_SOCKET, SO_REUSEADDR, 1, on: descriptor)  // A restart need not wait for old connections.
            // Each connection has this from its start. What the system keeps of bytes that nobody has read yet counts against the
            // unit's memory, and grows to megabytes a connection without a limit. Source: socket(7), `SO_RCVBUF`; tcp(7).
            Self.set(SOL_SOCKET, SO_RCVBUF, Self.receiveBytes, on: descriptor)
            if isIPv6 { Self.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0, on: descriptor) }
            try Self.bind(descriptor, address: address, port: port, isIPv6: isIPv6)
            guard listen(descriptor, SOMAXCONN) == 0 else {
                throw errno == EADDRINUSE ? .portInUse(port) : .system(detail: Self.errorText("listen"))
            }
            self = ListeningSocket(descriptor: descriptor, port: try Self.boundPort(descriptor))
        } catch {
            close(descriptor)
            throw error
        }
    }

    private init(descriptor: Int32, port: UInt16) { (self.descriptor, self.port) = (descriptor, port) }

    deinit { close(descriptor) }

    /// A second descriptor of the same socket, which the caller closes. It listens on when this value is gone.
    func duplicate() throws(WebServer.StartError) -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .system(detail: Self.errorText("fcntl")) }
        return copy
    }

    private static func set(_ level: Int32, _ option: Int32, _ value: Int32, on descriptor: Int32) {
        var value = value
        _ = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func bind(
        _ descriptor: Int32,
        address: String,
        port: UInt16,
        isIPv6: Bool
    ) throws(WebServer.StartError) {
        let result: Int32
        if isIPv6 {
            var socketAddress = sockaddr_in6()
            socketAddress.sin6_family = sa_family_t(AF_INET6)
            socketAddress.sin6_port = port.bigEndian
            guard unsafe inet_pton(AF_INET6, address, &socketAddress.sin6_addr) == 1 else {
                throw .invalidAddress(address)
            }
            result = unsafe withGenericAddress(of: &socketAddress) { unsafe Glibc.bind(descriptor, $0, $1) }
        } else {
            var socketAddress = sockaddr_in()
            socketAddress.sin_family = sa_family_t(AF_INET)
            socketAddress.sin_port = port.bigEndian
            guard unsafe inet_pton(AF_INET, address, &socketAddress.sin_addr) == 1 else {
                throw .invalidAddress(address)
            }
            result = unsafe withGenericAddress(of: &socketAddress) { unsafe Glibc.bind(descriptor, $0, $1) }
        }
        guard result != 0 else { return }
        switch errno {
        case EADDRINUSE: throw .portInUse(port)
        case EACCES: throw .notPermitted(port: port)
        case EADDRNOTAVAIL: throw .addressNotAvailable(address)
        default: throw .system(detail: errorText("bind"))
        }
    }

    private static func boundPort(_ descriptor: Int32) throws(WebServer.StartError) -> UInt16 {
        guard let port = Self.port(of: descriptor) else { throw .system(detail: errorText("getsockname")) }
        return port
    }

    /// This side's port of a socket; nil where the system does not say.
    static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_in6()  // The port lies at the same place in both families' addresses.
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return result == 0 ? UInt16(bigEndian: storage.sin6_port) : nil
    }

    private static func errorText(_ call: String) -> String { "\(call): \(unsafe String(cString: strerror(errno)))" }
}

private func withGenericAddress<Address>(
    of address: inout Address,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe body($0, socklen_t(MemoryLayout<Address>.size))
        }
    }
}
