/// The address of a gateway's API in one canonical form.
///
/// Two addresses are equal exactly where requests go to the same URLs: requests are made from what is compared.
/// Decided in docs/decisions/0034-one-gateway-one-value.md.
public struct GatewayAddress: Sendable, Hashable, CustomStringConvertible {
    /// `https://host[:port][/path]`, `http` to this machine only. Scheme and host are in lower case; the scheme's usual port,
    /// slashes at the end and `/v1` at the end are left out. The canonical form of this text is this text.
    public let text: String
    /// In lower case, without the port.
    public let host: String

    /// Nil unless `text` is `https://host[:port][/path]`, or `http` to this machine. A trailing `/v1` is understood.
    public init?(_ text: String) {
        guard let address = WebAddress(text), address.query == nil else { return nil }
        guard address.isSecure || address.isLoopback else { return nil }
        var path = address.path[...]
        while true {
            if path.last == "/" {
                path.removeLast()
            } else if path.hasSuffix("/v1") {
                path.removeLast(3)
            } else {
                break
            }
        }
        let usualPort: UInt16 = address.isSecure ? 443 : 80
        let port = address.port.map { $0 == usualPort ? "" : ":\($0)" } ?? ""
        host = address.host
        self.text = (address.isSecure ? "https://" : "http://") + address.host + port + path
    }

    private init(text: String, host: String) { (self.text, self.host) = (text, host) }

    /// The gateway that merchants are served by.
    static let production = GatewayAddress(
        text: WalletConnectPay.productionURL,
        host: String(WalletConnectPay.productionURL.dropFirst("https://".count))
    )

    public var description: String { text }

    func url(_ path: String) -> String { text + "/v1" + path }
}

/// The parts of an `http` or `https` address, split strictly: nothing that two readers could read in two ways.
struct WebAddress: Sendable, Equatable {
    let isSecure: Bool
    /// Lower case, letters, digits, dots and hyphens; IPv6 is not taken.
    let host: String
    let port: UInt16?
    let path: String
    let query: String?

    init?(_ text: String) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x5C }) else {
            return nil
        }
        let lower = text.lowercased()
        let rest: Substring
        if lower.hasPrefix("https://") {
            (isSecure, rest) = (true, text.dropFirst(8))
        } else if lower.hasPrefix("http://") {
            (isSecure, rest) = (false, text.dropFirst(7))
        } else {
            return nil
        }
        let authority = rest.prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else { return nil }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, Self.isHost(name) else { return nil }
        host = name.lowercased()
        if parts.count == 2 {
            guard let number = UInt16(parts[1]), number > 0 else { return nil }
            port = number
        } else {
            port = nil
        }
        let tail = rest.dropFirst(authority.count).prefix { $0 != "#" }
        path = String(tail.prefix { $0 != "?" })
        query = tail.firstIndex(of: "?").map { String(tail[tail.index(after: $0)...]) }
    }

    var isLoopback: Bool { host == "127.0.0.1" || host == "localhost" }

    /// The value of a query item, percent-decoded; nil where there is none or it does not decode.
    func item(_ name: String) -> String? { items(name).first ?? nil }

    /// Each value of a query item, percent-decoded; nil in the place of one that does not decode.
    func items(_ name: String) -> [String?] {
        (query ?? "").split(separator: "&").compactMap { pair -> String?? in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0] == name ? .some(PercentEncoding.decode(parts[1])) : nil
        }
    }

    private static func isHost(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                !label.isEmpty && label.utf8.count <= 63 && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
            }
    }
}

/// Hosts that a payment link may point to, each with its subdomains.
public struct LinkHosts: Sendable, Equatable {
    private let hosts: [String]

    public init(_ hosts: [String]) { self.hosts = hosts.map { $0.lowercased() } }

    /// Source: WalletConnect Pay documentation, payment links: only these may be trusted.
    public static let walletConnectPay = LinkHosts(["pay.walletconnect.com", "pay.wct.me"])

    /// True for an `https` link to one of the hosts, on its usual port.
    public func allow(_ link: String) -> Bool {
        guard let address = WebAddress(link), address.isSecure, address.port == nil || address.port == 443 else {
            return false
        }
        return contain(address.host)
    }

    func contain(_ host: String) -> Bool { hosts.contains { host == $0 || host.hasSuffix("." + $0) } }
}

/// Percent-encoding of RFC 3986, section 2: unreserved characters stay, every other byte becomes `%XX`.
enum PercentEncoding {
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return encoded
    }

    /// Nil where a `%` is not followed by two hexadecimal digits, or the bytes are not UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let high = rest.popFirst()?.hexadecimalDigit,
                let low = rest.popFirst()?.hexadecimalDigit
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
