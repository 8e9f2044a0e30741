/// The base path of an acquirer's API in one canonical form: every call's path is put behind it.
///
/// Two addresses are equal exactly where calls go to the same URLs.
public struct AcquirerAddress: Sendable, Hashable {
    /// Host in lower case; the scheme's usual port and slashes at the end are left out.
    public let text: String

    /// Nil unless `text` is `https://host[:port][/path]`, or `http` to this machine, in plain ASCII without query, fragment
    /// or user name.
    public init?(_ text: String) {
        let isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://"), text.utf8.count <= 1024,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#"?#@\"<>^`{|}"#.utf8.contains($0) })
        else { return nil }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, Self.isHost(host), parts.count <= 2,
            parts.count == 1 || UInt16(parts[1]).map({ $0 > 0 }) == true
        else { return nil }
        guard isSecure || host == "127.0.0.1" || host == "localhost" else { return nil }
        var path = rest.dropFirst(authority.count)
        while path.last == "/" { path.removeLast() }
        let port = parts.count == 2 ? UInt16(parts[1]) : nil
        let shown = port.map { $0 == (isSecure ? 443 : 80) ? "" : ":\($0)" } ?? ""
        self.text = (isSecure ? "https://" : "http://") + host.lowercased() + shown + path
    }

    /// Whether two texts name the same acquirer, however somebody typed them.
    public static func areSame(_ one: String, _ other: String) -> Bool {
        guard let first = AcquirerAddress(one), let second = AcquirerAddress(other) else { return one == other }
        return first == second
    }

    func url(_ path: String) -> String { text + path }

    private static func isHost(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                !label.isEmpty && label.utf8.count <= 63 && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { byte in
                        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                            || byte == 0x2D
                    }
            }
    }
}
