/// The base path of an acquirer's API: every call's path is put behind it.
struct AcquirerAddress: Sendable, Equatable {
    private let prefix: String

    /// Nil unless `text` is `https://host[:port][/path]`, or `http` to this machine, in plain ASCII without query, fragment
    /// or user name.
    init?(_ text: String) {
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
        var kept = text[...]
        while kept.last == "/" { kept.removeLast() }
        prefix = String(kept)
    }

    func url(_ path: String) -> String { prefix + path }

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
