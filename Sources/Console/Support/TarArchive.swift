import Payments

/// Some files as one, which every system can open.
///
/// Source: POSIX.1-2017, pax, "ustar Interchange Format".
struct TarArchive {
    private static let block = 512

    private(set) var bytes: [UInt8] = []

    /// - Parameter name: At most 100 bytes of ASCII, with `/` between folders.
    mutating func add(_ name: String, _ content: [UInt8], at time: WallTime) {
        var head = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: String, at start: Int, _ length: Int) {
            for (offset, byte) in text.utf8.prefix(length).enumerated() { head[start + offset] = byte }
        }
        /// Digits of base eight, with zeros before them and a zero byte behind.
        func put(_ number: Int, at start: Int, _ length: Int) {
            let digits = String(max(0, number), radix: 8)
            put(String(repeating: "0", count: max(0, length - 1 - digits.count)) + digits, at: start, length - 1)
        }
        put(name, at: 0, 100)
        put(0o600, at: 100, 8)
        put(0, at: 108, 8)
        put(0, at: 116, 8)
        put(content.count, at: 124, 12)
        put(Int(clamping: time.secondsSince1970), at: 136, 12)
        put("        ", at: 148, 8)  // As the checksum counts itself.
        put("0", at: 156, 1)
        put("ustar\0" + "00", at: 257, 8)
        let sum = head.reduce(0) { $0 + Int($1) }
        put(sum, at: 148, 7)
        head[155] = 0x20
        bytes += head + content
        let rest = content.count % Self.block
        if rest > 0 { bytes += [UInt8](repeating: 0, count: Self.block - rest) }
    }

    /// The whole, with its end.
    var finished: [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * Self.block) }
}
