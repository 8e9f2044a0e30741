/// Compresses what is served many times and read once: fast enough for the start, and small code.
///
/// One block with the fixed codes. Source: RFC 1951 (DEFLATE), section 3.2.6; RFC 1952 (gzip).
enum Gzip {
    private static let window = 32_768
    private static let longestMatch = 258
    private static let shortestMatch = 3
    /// Earlier places that are compared for each match. Four times as many save 4 %.
    private static let tries = 16
    private static let hashBits = 15

    /// `bytes` as a gzip member without name and time, so that the same bytes are always the same.
    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var bits = BitWriter([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255])
        bits.write(0b011, 3)  // The last block, with the fixed codes.
        var heads = [Int](repeating: -1, count: 1 << hashBits)
        var earlier = [Int](repeating: -1, count: window)
        var at = 0
        func hash(_ place: Int) -> Int {
            let three = Int(bytes[place]) << 16 | Int(bytes[place + 1]) << 8 | Int(bytes[place + 2])
            return ((three &* 2_654_435_761) >> 12) & ((1 << hashBits) - 1)
        }
        func remember(_ place: Int) {
            guard place + shortestMatch <= bytes.count else { return }
            let key = hash(place)
            earlier[place % window] = heads[key]
            heads[key] = place
        }
        while at < bytes.count {
            let (length, distance) = match(in: bytes, at: at, heads: heads, earlier: earlier, hash: hash)
            if length < shortestMatch {
                bits.literal(Int(bytes[at]))
                remember(at)
                at += 1
            } else {
                bits.length(length)
                bits.distance(distance)
                for place in at..<at + length { remember(place) }
                at += length
            }
        }
        bits.literal(256)
        var result = bits.finished
        for value in [checksum(bytes), UInt32(truncatingIfNeeded: bytes.count)] {
            for shift in stride(from: 0, to: 32, by: 8) {
                result.append(UInt8(truncatingIfNeeded: value >> UInt32(shift)))
            }
        }
        return result
    }

    private static func match(
        in bytes: [UInt8],
        at place: Int,
        heads: [Int],
        earlier: [Int],
        hash: (Int) -> Int
    ) -> (length: Int, distance: Int) {
        guard place + shortestMatch <= bytes.count else { return (0, 0) }
        let most = min(longestMatch, bytes.count - place)
        var best = (length: 0, distance: 0)
        var other = heads[hash(place)]
        var left = tries
        while other >= 0, place - other <= window - longestMatch, left > 0 {
            var length = 0
            while length < most, bytes[other + length] == bytes[place + length] { length += 1 }
            if length > best.length { best = (length, place - other) }
            if length == most { break }
            other = earlier[other % window]
            left -= 1
        }
        return best
    }

    /// Source: RFC 1952, section 8 (CRC-32).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        let table = (0..<256).map { index in
            (0..<8).reduce(UInt32(index)) { (value: UInt32, _: Int) -> UInt32 in
                value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1
            }
        }
        var value = UInt32.max
        for byte in bytes { value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ (value >> 8) }
        return ~value
    }
}

/// Writes bits from the least significant one on, and the fixed codes of RFC 1951.
private struct BitWriter {
    private var bytes: [UInt8]
    private var pending = 0
    private var count = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func write(_ value: Int, _ width: Int) {
        pending |= value << count
        count += width
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            count -= 8
        }
    }

    /// Codes go out from their most significant bit on.
    private mutating func code(_ value: Int, _ width: Int) {
        var reversed = 0
        for bit in 0..<width where (value >> bit) & 1 == 1 { reversed |= 1 << (width - 1 - bit) }
        write(reversed, width)
    }

    mutating func literal(_ symbol: Int) {
        switch symbol {
        case ..<144: code(0x30 + symbol, 8)
        case ..<256: code(0x190 + symbol - 144, 9)
        case ..<280: code(symbol - 256, 7)
        default: code(0xC0 + symbol - 280, 8)
        }
    }

    /// - Parameter length: 3 to 258.
    mutating func length(_ length: Int) {
        if length == 258 { return literal(285) }
        let rest = length - 3
        guard rest >= 8 else { return literal(257 + rest) }
        let extra = Int.bitWidth - rest.leadingZeroBitCount - 3
        literal(257 + 4 * extra + (rest >> extra))
        write(rest & ((1 << extra) - 1), extra)
    }

    /// - Parameter distance: 1 to 32768.
    mutating func distance(_ distance: Int) {
        let rest = distance - 1
        guard rest >= 4 else { return code(rest, 5) }
        let extra = Int.bitWidth - rest.leadingZeroBitCount - 2
        code(2 * extra + (rest >> extra), 5)
        write(rest & ((1 << extra) - 1), extra)
    }

    var finished: [UInt8] { count == 0 ? bytes : bytes + [UInt8(truncatingIfNeeded: pending)] }
}
