import Glibc

/// The numbers under which others in the network reach this machine, as the system knows them now.
public enum MachineAddresses {
    /// One address of an interface.
    struct Found: Sendable, Equatable {
        let interface: String
        let text: String

        init(_ interface: String, _ text: String) { (self.interface, self.text) = (interface, text) }
    }

    /// Those that a phone in the shop could use, the best first; empty while there is no network. Costs some system calls.
    @Sendable public static func now() -> [String] { ranked(read()) }

    /// Where the page is under one of them, or under a name: `https://…` without a path.
    public static func page(at host: String, port: UInt16) -> String {
        "https://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(port)"
    }

    /// Every address of this machine, those that nobody else can use too. Costs some system calls.
    public static func all() -> [String] { read().map { String($0.text.prefix { $0 != "%" }) } }

    /// Those of one interface that others in its network can use, the best first. Costs some system calls.
    public static func on(_ interface: String) -> [String] {
        order(read()).filter { $0.interface == interface }.map(\.text)
    }

    /// Those under which a server answers that listens on `address`, with the kernel's numbers of their interfaces.
    /// - Parameter address: `0.0.0.0` stands for each of IPv4, `::` for all of them.
    public static func answering(on address: String) -> [(interface: UInt32, text: String)] {
        answering(on: address, read()).compactMap { one in
            let interface = unsafe if_nametoindex(one.interface)
            return interface == 0 ? nil : (interface, one.text)
        }
    }

    static func answering(on address: String, _ found: [Found]) -> [Found] {
        order(found).filter { one in
            switch address {
            case "0.0.0.0": !one.text.contains(":")
            case "::": true
            default: one.text == address
            }
        }
    }

    /// Those that a phone in the shop could use: no loopback, no link's own address, no bridge to a container.
    static func ranked(_ found: [Found]) -> [String] { order(found).map(\.text) }

    private static func order(_ found: [Found]) -> [Found] {
        let inner = ["lo", "docker", "br-", "veth", "virbr", "cni", "podman"]
        return found.filter { one in
            !inner.contains(where: one.interface.hasPrefix)
                && !["127.", "169.254.", "0.", "::1", "fe80:"].contains(where: one.text.hasPrefix) && one.text != "::"
        }
        .enumerated()
        // Phones and cameras read short numbers better, and every shop's network has them.
        .sorted { rank($0.element, $0.offset) < rank($1.element, $1.offset) }
        .map(\.element)
    }

    private static func rank(_ one: Found, _ offset: Int) -> (Int, Int) {
        let isLocal = ["10.", "192.168.", "172."].contains(where: one.text.hasPrefix)
        return (one.text.contains(":") ? 2 : isLocal ? 0 : 1, offset)
    }

    private static func read() -> [Found] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&first) == 0 else { return [] }
        defer { unsafe freeifaddrs(first) }
        var found: [Found] = []
        var next = unsafe first
        while let entry = unsafe next?.pointee {
            unsafe next = entry.ifa_next
            guard let address = unsafe entry.ifa_addr, unsafe entry.ifa_flags & UInt32(IFF_UP) != 0 else {
                continue
            }
            let length: socklen_t
            switch unsafe Int32(address.pointee.sa_family) {
            case AF_INET: length = socklen_t(MemoryLayout<sockaddr_in>.size)
            case AF_INET6: length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            default: continue
            }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard unsafe getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
                continue
            }
            let name = unsafe String(cString: entry.ifa_name)
            found.append(
                Found(name, String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            )
        }
        return found
    }
}

/// Where the page is: by the name that was configured, else by the number that the machine has just now or by the name that
/// the network finds it under.
struct OwnAddress: Sendable {
    private let name: String?
    private let port: UInt16
    private let local: @Sendable () -> String?
    private let numbers: @Sendable () -> [String]

    /// - Parameters:
    ///   - names: Those the terminal answers under.
    ///   - isEverywhere: Whether it answers under each of the machine's numbers too.
    ///   - local: The name it is found by in the local network, while it is.
    init(
        names: [String],
        port: UInt16,
        isEverywhere: Bool,
        local: @escaping @Sendable () -> String? = { nil },
        numbers: @escaping @Sendable () -> [String]
    ) {
        name = names.first { $0 != "localhost" } ?? (isEverywhere ? nil : "localhost")
        (self.port, self.local, self.numbers) = (port, local, numbers)
    }

    /// Whether it may be another later: a network comes, or gives another number.
    var changes: Bool { name == nil }

    /// For codes and links, `https://…` without a path: not every phone finds names in `.local`, each finds a number. Nil while
    /// nobody else could reach the terminal.
    var reachable: String? { (name ?? numbers().first ?? local()).map(text) }

    /// All of them, the best first: by name and by number.
    var all: @Sendable () -> [String] {
        let (name, local, numbers) = (name, local, numbers)
        return { [text] in ([name, local()].compactMap(\.self) + numbers()).map(text) }
    }

    /// For people, who type and remember a name sooner than a number; while nobody else could reach the terminal, as it is
    /// reached from itself.
    var text: String { text(name ?? local() ?? numbers().first ?? "localhost") }

    /// For codes: the same where there is no other.
    var code: String { reachable ?? text("localhost") }

    @Sendable private func text(_ host: String) -> String { MachineAddresses.page(at: host, port: port) }
}
