import Dispatch
import Glibc
import Locks

/// A socket address as the kernel takes it.
struct SocketAddress: Sendable, Equatable {
    var family: Int32
    var bytes: [UInt8]

    /// The address in numbers, without its port; nil where it is none.
    var text: String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let length = socklen_t(text.count)
        let result = unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return Int32(-1) }
            return unsafe getnameinfo(
                start.assumingMemoryBound(to: sockaddr.self),
                socklen_t(buffer.count),
                &text,
                length,
                nil,
                0,
                NI_NUMERICHOST
            )
        }
        guard result == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Finds the addresses of a host, for no longer than it may take.
enum HostLookup {
    static let most = 4

    /// Empty where there are none, or where nobody said so in time.
    static func addresses(
        of host: String,
        port: UInt16,
        until deadline: ContinuousClock.Instant
    ) -> [SocketAddress] {
        let known = ask(host, port, AI_NUMERICHOST)
        guard known.isEmpty else { return known }
        // The system's resolver has no deadline of its own: it goes on without us and what it finds then is forgotten.
        let answer = Answer()
        DispatchQueue.global(qos: .utility).async {
            let found = ask(host, port, 0)
            answer.found.withLock { $0 = found }
            answer.isThere.signal()
        }
        let left = ContinuousClock.now.duration(to: deadline)
        let milliseconds = Int(
            max(0, left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000)
        )
        guard answer.isThere.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return [] }
        return answer.found.withLock { $0 }
    }

    private final class Answer: Sendable {
        let found = Mutex<[SocketAddress]>([])
        let isThere = DispatchSemaphore(value: 0)
    }

    private static func ask(_ host: String, _ port: UInt16, _ flags: Int32) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = flags | AI_NUMERICSERV
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, String(port), &hints, &list) == 0, let first = unsafe list else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var result: [SocketAddress] = []
        var next: UnsafeMutablePointer<addrinfo>? = unsafe first
        while let one = unsafe next, result.count < most {
            if let address = unsafe one.pointee.ai_addr {
                let bytes = unsafe UnsafeRawBufferPointer(start: address, count: Int(one.pointee.ai_addrlen))
                result.append(SocketAddress(family: unsafe one.pointee.ai_family, bytes: unsafe Array(bytes)))
            }
            unsafe next = one.pointee.ai_next
        }
        return result
    }
}
