/// The head of one file in an archive that every system can open.
///
/// Source: POSIX.1-2017, pax, "ustar Interchange Format".
struct TarHead: Sendable, Equatable {
    static let block = 512
    /// What ends an archive.
    static let end = [UInt8](repeating: 0, count: 2 * block)
    /// Eleven digits of base eight.
    static let mostBytes = 0o77_777_777_777

    let name: String
    let size: Int

    /// Zeros between the end of a file and the next block.
    var padding: Int { (Self.block - size % Self.block) % Self.block }

    func bytes(secondsSince1970: Int64) -> [UInt8] {
        var head = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: String, at start: Int, _ length: Int) {
            for (offset, byte) in text.utf8.prefix(length).enumerated() { head[start + offset] = byte }
        }
        func put(_ number: Int, at start: Int, _ length: Int) {
            let digits = String(max(0, number), radix: 8)
            put(String(repeating: "0", count: max(0, length - 1 - digits.count)) + digits, at: start, length - 1)
        }
        put(name, at: 0, 100)
        put(0o600, at: 100, 8)
        put(0, at: 108, 8)
        put(0, at: 116, 8)
        put(size, at: 124, 12)
        put(Int(clamping: secondsSince1970), at: 136, 12)
        put("        ", at: 148, 8)  // As the checksum counts itself.
        put("0", at: 156, 1)
        put("ustar\0" + "00", at: 257, 8)
        put(head.reduce(0) { $0 + Int($1) }, at: 148, 7)
        head[155] = 0x20
        return head
    }

    init(name: String, size: Int) { (self.name, self.size) = (name, size) }

    /// Nil where these are not the bytes of a plain file's head.
    init?(_ bytes: ArraySlice<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.block, bytes[156] == 0x30, bytes[257..<262].elementsEqual("ustar".utf8),
            let name = String(validating: bytes[0..<100].prefix { $0 != 0 }, as: UTF8.self),
            let size = Self.number(bytes[124..<136]), let sum = Self.number(bytes[148..<155])
        else { return nil }
        let counted = bytes.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 0x20 : Int($1.element)) }
        guard counted == sum else { return nil }
        (self.name, self.size) = (name, size)
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.prefix { $0 != 0 && $0 != 0x20 }
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: 8)
    }
}
