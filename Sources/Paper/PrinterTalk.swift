/// What a printer sends, told apart byte by byte: the answer to `GS r 1`, and status that it sends by itself.
///
/// Source: Epson ESC/POS command reference, `GS r`, `GS a` (Automatic Status Back), "Identification of transmission status";
/// Star Line Mode command specifications, "Automatic Status".
struct PrinterTalk: Equatable {
    /// What the last automatic status of an Epson says of printing; nil where it is well, or none came.
    private(set) var trouble: String?
    /// What is there of an automatic status whose other bytes are still to come.
    private var block: [UInt8] = []
    private var blockLength = 0

    /// Takes what came in, in pieces of any length.
    /// - Returns: The last answer in it: two bits say that the paper comes to its end, two that there is none.
    mutating func take(_ bytes: some Sequence<UInt8>) -> UInt8? {
        var answer: UInt8?
        for byte in bytes {
            if block.count < blockLength {
                block.append(byte)
                if block.count == blockLength { end() }
            } else if byte & 0x93 == 0x10 {
                begin(byte, length: 4)
            } else if byte & 0xB1 == 0x21 {
                // Star counts the bytes in bits 1, 2, 3 and 5.
                begin(byte, length: Int(byte & 0x0E) >> 1 | 8)
            } else if byte & 0xF0 == 0 && [0x00, 0x03, 0x0C, 0x0F].contains(byte) {
                answer = byte
            } else if ![0x11, 0x13].contains(byte), byte & 0x93 != 0x12 {
                // Nothing that is known, so that what comes with it may mean anything.
                return answer
            }
        }
        return answer
    }

    private mutating func begin(_ byte: UInt8, length: Int) { (block, blockLength) = ([byte], length) }

    private mutating func end() {
        defer { (block, blockLength) = ([], 0) }
        guard block[0] & 0x93 == 0x10, block.dropFirst().allSatisfy({ $0 & 0x90 == 0 }) else { return }
        trouble =
            block[2] & 0x0C != 0
            ? "it has no paper"
            : block[0] & 0x20 != 0
                ? "its cover is open"
                : block[1] & 0x6C != 0 ? "it reports a fault" : block[0] & 0x08 != 0 ? "it is offline" : nil
    }
}
