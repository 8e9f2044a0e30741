public import Glibc

/// The service manager that started this program: it is told when the program is ready and that it still works.
///
/// Messages are datagrams that nobody answers. Sending one never waits.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3).
public struct ServiceManager: Sendable, Equatable {
    /// What it can be told.
    public enum Message: Sendable, Equatable {
        /// The program serves.
        case ready
        /// The program is on its way to its end.
        case stopping
        /// The program still works. Where this does not come in time, the manager ends the program and starts it again.
        case alive
        /// The start goes on for at least so long from now.
        case starting(Duration)
        /// Words for whoever asks the manager how the program is; one line.
        case status(String)

        var text: String {
            switch self {
            case .ready: "READY=1"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            case .starting(let time): "EXTEND_TIMEOUT_USEC=\(time.components.seconds * 1_000_000)"
            case .status(let words): "STATUS=" + words.replacing("\n", with: " ")
            }
        }
    }

    /// Why a message did not leave.
    public struct SendError: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    /// Within this time ``Message/alive`` must come again; nil where nobody watches.
    public let watchdog: Duration?
    private let path: [UInt8]

    /// - Parameters:
    ///   - environment: Of this process, `NOTIFY_SOCKET` and the watchdog's among it.
    ///   - process: This process's number. The watchdog may be meant for another.
    /// - Returns: Nil where no manager listens, or its address is none.
    public init?(environment: [String: String], process: Int32 = getpid()) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@") else {
            return nil
        }
        // A name that begins with @ is in no folder: its first byte is a zero. Source: unix(7).
        path = address.hasPrefix("@") ? [0] + address.utf8.dropFirst() : Array(address.utf8)
        guard path.count > 1, path.count < Self.pathLimit else { return nil }
        let isMine = environment["WATCHDOG_PID"].map { Int32($0) == process } ?? true
        watchdog = environment["WATCHDOG_USEC"].flatMap(Int64.init)
            .flatMap { isMine && $0 > 0 ? .microseconds($0) : nil }
    }

    private static let pathLimit = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

    /// - Throws: The manager is gone or does not read. The program goes on.
    public func tell(_ messages: Message...) throws(SendError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure() }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in unsafe room.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + path.count } ?? 0)
        let text = Array(messages.map(\.text).joined(separator: "\n").utf8)
        let sent = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe sendto(
                    descriptor,
                    text,
                    text.count,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                    address,
                    length
                )
            }
        }
        guard sent == text.count else { throw Self.failure() }
    }

    private static func failure() -> SendError {
        SendError(description: "the service manager could not be told: \(unsafe String(cString: strerror(errno)))")
    }
}
