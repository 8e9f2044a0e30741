/// Where a receipt printer is.
public enum PrinterAddress: Sendable, Hashable {
    /// Takes raw bytes over TCP.
    case network(host: String, port: UInt16)
    /// A character device of the kernel's printer drivers.
    case device(path: String)

    /// The port that receipt printers listen on.
    public static let usualPort: UInt16 = 9100

    /// Nil unless `text` is a name or an address of a host, perhaps with a port from 1024 on, or `/dev/usb/lp0`,
    /// `/dev/lp0` and so on. An IPv6 address stands in brackets.
    public init?(_ text: String) {
        guard (1...260).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        if text.hasPrefix("/") {
            guard Self.isPrinterDevice(text) else { return nil }
            self = .device(path: text)
            return
        }
        var host = text[...]
        var port = String(Self.usualPort)[...]
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":"), host.contains(":"), host.utf8.allSatisfy(Self.isOfIPv6) else {
                return nil
            }
            if !rest.isEmpty { port = rest.dropFirst() }
        } else {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard (1...2).contains(parts.count), Self.isHost(parts[0]) else { return nil }
            host = parts[0]
            if parts.count == 2 { port = parts[1] }
        }
        // Below 1024 are services that take more than paper.
        guard let number = UInt16(port), number >= 1024, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        self = .network(host: String(host), port: number)
    }

    /// As it is entered, with its port.
    public var text: String {
        switch self {
        case .network(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .device(let path): path
        }
    }

    private static func isPrinterDevice(_ path: String) -> Bool {
        for folder in ["/dev/usb/lp", "/dev/lp"] where path.hasPrefix(folder) {
            let number = path.dropFirst(folder.count)
            return (1...2).contains(number.utf8.count) && number.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        return false
    }

    /// Source: RFC 1123, section 2.1.
    private static func isHost(_ text: Substring) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy {
                    (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
                }
        }
    }

    private static func isOfIPv6(_ byte: UInt8) -> Bool {
        (0x61...0x66).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: ":")
            || byte == UInt8(ascii: ".")
    }
}
