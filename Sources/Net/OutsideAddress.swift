import Glibc

/// Where an address leads that somebody typed: the terminal must not become the way into what only it can reach.
///
/// Decided in docs/decisions/0014-webhooks.md.
public enum AddressPlace: Sendable, Equatable {
    case everywhere
    /// In the shop's own network: RFC 1918, and unique local addresses of RFC 4193.
    case local
    /// This machine itself.
    case loopback
    /// A cloud's metadata, a link's own addresses, several machines, or none: nothing a shop has a server at.
    case forbidden

    /// - Parameter text: An IPv4 or IPv6 address in numbers, without brackets; nil where it is none.
    public init?(_ text: String) {
        var four = in_addr()
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            self = Self.place(Self.withBytes(of: UInt32(bigEndian: four.s_addr)))
            return
        }
        var six = in6_addr()
        // A zone is a link's own business, and so not for us.
        guard unsafe inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &six) == 1 else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &six) { unsafe Array($0) }
        self = text.contains("%") ? .forbidden : Self.place(of: bytes)
    }

    /// The one way to write an address, so that two can be compared; the text itself where it is none.
    static func plain(_ text: String) -> String {
        var four = in_addr()
        var six = in6_addr()
        var plain = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let length = socklen_t(plain.count)
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            unsafe inet_ntop(AF_INET, &four, &plain, length)
        } else if unsafe inet_pton(AF_INET6, text, &six) == 1 {
            unsafe inet_ntop(AF_INET6, &six, &plain, length)
        } else {
            return text
        }
        return String(decoding: plain.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func withBytes(of number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// Source: IANA, IPv4 Special-Purpose Address Registry.
    private static func place(_ four: [UInt8]) -> AddressPlace {
        switch (four[0], four[1]) {
        case (127, _): .loopback
        case (10, _), (172, 16...31), (192, 168): .local
        case (0, _), (169, 254), (224..., _): .forbidden
        // Where a large cloud keeps its metadata, in the range that providers share.
        case (100, 100) where four[2] == 100 && four[3] == 200: .forbidden
        case (192, 0) where four[2] == 0: .forbidden
        default: .everywhere
        }
    }

    /// Source: IANA, IPv6 Special-Purpose Address Registry; of IPv4 addresses in these, public ones behind a translation.
    private static func place(of six: [UInt8]) -> AddressPlace {
        let isZero = { (range: Range<Int>) in six[range].allSatisfy { $0 == 0 } }
        if isZero(0..<15), six[15] == 1 { return .loopback }
        // An IPv4 address in other clothes: whoever means it writes it as one.
        if isZero(0..<10), six[10] == 0xFF, six[11] == 0xFF { return .forbidden }
        if isZero(0..<12) { return .forbidden }
        // NAT64, the well-known and the local prefix; 6to4.
        if six[0..<4].elementsEqual([0x00, 0x64, 0xFF, 0x9B]) { return embedded(Array(six[12...])) }
        if six[0] == 0x20, six[1] == 0x02 { return embedded(Array(six[2..<6])) }
        // A cloud's metadata, in what is otherwise a shop's own range.
        if six[0] == 0xFD, six[1] == 0x00, six[2] == 0x0E, six[3] == 0xC2 { return .forbidden }
        if six[0] & 0xFE == 0xFC { return .local }
        if six[0] == 0xFE, six[1] & 0xC0 != 0 { return .forbidden }
        return six[0] == 0xFF ? .forbidden : .everywhere
    }

    /// Behind a translation nobody's private network is meant.
    private static func embedded(_ four: [UInt8]) -> AddressPlace {
        place(four) == .everywhere ? .everywhere : .forbidden
    }
}
