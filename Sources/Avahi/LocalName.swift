/// The name by which one terminal is found in the shop's network: `till-7k3f.local`, and what it falls back on.
///
/// Source: RFC 6762, section 3 (names in `.local`) and 9 (what a host does whose name is taken).
public struct LocalName: Sendable, Equatable {
    /// Up to this many are tried: `till-7k3f`, `till-7k3f-2` and so on.
    public static let most = 9

    /// Four characters that nobody takes for one another, in lower case as browsers write names.
    public let code: String

    /// - Parameter identity: Bytes that stay the same for this device and are no other's. Four at least are used; of fewer, what
    ///   is missing counts as zero. The name says nothing about them that could be turned back.
    public init(identity: [UInt8]) {
        var number: UInt32 = 0
        for index in 0..<4 { number = number << 8 | UInt32(index < identity.count ? identity[index] : 0) }
        var text = ""
        for _ in 0..<4 {
            text.append(Self.alphabet[Int(number % UInt32(Self.alphabet.count))])
            number /= UInt32(Self.alphabet.count)
        }
        code = text
    }

    private static let alphabet = Array("23456789abcdefghjkmnpqrstuvwxyz")

    /// The host name without its domain.
    /// - Parameter number: From 1, which is the name itself.
    public func label(_ number: Int) -> String { number <= 1 ? "till-\(code)" : "till-\(code)-\(number)" }

    /// The whole host name.
    public func host(_ number: Int) -> String { label(number) + ".local" }

    /// What lists of services show to people.
    func service(_ number: Int) -> String { number <= 1 ? "Till \(code)" : "Till \(code) (\(number))" }
}

/// One address under which the terminal answers, and where.
public struct LocalAddress: Sendable, Hashable {
    /// The kernel's number of the network interface, from 1.
    public let interface: Int32
    /// In numbers, IPv4 or IPv6 without a zone.
    public let text: String

    public init(interface: Int32, text: String) { (self.interface, self.text) = (interface, text) }

    var isIPv6: Bool { text.contains(":") }
}

/// Whether the terminal is found by its name.
public enum NameStanding: Sendable, Equatable {
    /// Being asked for, or nothing is known yet.
    case asking
    /// The others in the network find it under this host name.
    case published(host: String)
    /// There is no network that it could be found in.
    case noNetwork
    /// Avahi does not run on this machine.
    case noDaemon
    /// There is no message bus, or it says no.
    case noBus(String)
    /// Avahi says no, in its words.
    case refused(String)
    /// Others have this name and everything it falls back on.
    case taken

    /// The name while it is published.
    public var host: String? { if case .published(let host) = self { host } else { nil } }
}
