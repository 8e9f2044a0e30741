import CZlib

/// Reads and writes pictures as PNG. Of PNG it takes what browsers write: 8 bits, with or without alpha, not interlaced.
///
/// Everything is bounded by the header before anything is unpacked, and nothing but pixels comes out.
/// Source: PNG third edition, W3C.
public enum PNG {
    /// Why bytes are not taken as a picture.
    public enum Fault: Error, Sendable, Equatable {
        /// Not a PNG, or one that ends early, says something twice, or does not add up.
        case damaged
        /// Palettes, 16 bits, grey, interlacing, or a part that changes what is seen and that is not known here.
        case unsupported
        /// More or fewer pixels than are taken.
        case size
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The picture in `bytes`.
    /// - Parameters:
    ///   - sides: How wide and how high it may be, in pixels.
    /// - Throws: ``Fault``. What was allocated until then is at most the picture that its header names, within `sides`.
    public static func decode(_ bytes: [UInt8], sides: ClosedRange<Int>) throws(Fault) -> Picture {
        guard bytes.starts(with: signature) else { throw .damaged }
        var reader = ChunkReader(bytes: bytes, at: signature.count)
        let header = try Header(try reader.next(), sides: sides)
        var packed: [UInt8] = []
        var dataIsOver = false
        while true {
            let chunk = try reader.next()
            if chunk.name == "IDAT" {
                guard !dataIsOver else { throw .damaged }
                packed += chunk.data
                continue
            }
            dataIsOver = !packed.isEmpty
            if chunk.name == "IEND" { break }
            // An upper case first letter: whoever does not know the part cannot show the picture.
            guard chunk.name.utf8.first.map({ $0 & 0x20 != 0 }) == true else { throw .unsupported }
        }
        guard reader.isAtEnd, !packed.isEmpty else { throw .damaged }
        return try unfiltered(try unpacked(packed, count: header.rowBytes * header.height), header)
    }

    /// The picture as PNG, with alpha.
    public static func encode(_ picture: Picture) -> [UInt8] {
        var rows: [UInt8] = []
        rows.reserveCapacity((picture.width * 4 + 1) * picture.height)
        for (index, pixel) in picture.pixels.enumerated() {
            if index % picture.width == 0 { rows.append(0) }  // This row is not filtered.
            for shift in [16, 8, 0, 24] { rows.append(UInt8(truncatingIfNeeded: pixel >> UInt32(shift))) }
        }
        var room = compressBound(UInt(rows.count))
        let packed = unsafe [UInt8](unsafeUninitializedCapacity: Int(room)) { buffer, count in
            let result = unsafe compress2(buffer.baseAddress, &room, rows, UInt(rows.count), Z_BEST_COMPRESSION)
            count = result == Z_OK ? Int(room) : 0
        }
        let header = number(picture.width) + number(picture.height) + [8, 6, 0, 0, 0]
        return signature + chunk("IHDR", header) + chunk("IDAT", packed) + chunk("IEND", [])
    }

    private struct Header {
        let width: Int
        let height: Int
        /// Bytes of one pixel: 3, or 4 with alpha.
        let depth: Int
        var rowBytes: Int { width * depth + 1 }

        init(_ chunk: Chunk, sides: ClosedRange<Int>) throws(Fault) {
            let data = Array(chunk.data)
            guard chunk.name == "IHDR", data.count == 13 else { throw .damaged }
            (width, height) = (PNG.number(data[0..<4]), PNG.number(data[4..<8]))
            guard sides.contains(width), sides.contains(height) else { throw .size }
            guard data[8] == 8, data[9] == 2 || data[9] == 6, data[10...12].allSatisfy({ $0 == 0 }) else {
                throw .unsupported
            }
            depth = data[9] == 6 ? 4 : 3
        }
    }

    private struct Chunk {
        let name: String
        let data: ArraySlice<UInt8>
    }

    private struct ChunkReader {
        let bytes: [UInt8]
        var at: Int

        var isAtEnd: Bool { at == bytes.count }

        mutating func next() throws(Fault) -> Chunk {
            guard bytes.count - at >= 12 else { throw .damaged }
            let length = PNG.number(bytes[at..<at + 4])
            guard length <= bytes.count - at - 12 else { throw .damaged }
            let named = bytes[at + 4..<at + 8 + length]
            let name = named.prefix(4)
            guard name.allSatisfy({ (0x41...0x5A).contains($0 & ~0x20) }),
                PNG.checksum(named) == PNG.number(bytes[at + 8 + length..<at + 12 + length])
            else { throw .damaged }
            at += 12 + length
            return Chunk(name: String(decoding: name, as: UTF8.self), data: named.dropFirst(4))
        }
    }

    /// Exactly `count` bytes: a stream that has more or fewer is no picture of this size.
    private static func unpacked(_ packed: [UInt8], count: Int) throws(Fault) -> [UInt8] {
        var room = UInt(count)
        var isWhole = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            isWhole = unsafe uncompress(buffer.baseAddress, &room, packed, UInt(packed.count)) == Z_OK
            length = isWhole ? Int(room) : 0
        }
        guard isWhole, bytes.count == count else { throw .damaged }
        return bytes
    }

    /// Takes each row's filter back. Source: PNG third edition, 9.2.
    private static func unfiltered(_ rows: [UInt8], _ header: Header) throws(Fault) -> Picture {
        let (width, depth) = (header.width * header.depth, header.depth)
        var above = [UInt8](repeating: 0, count: width)
        var pixels: [UInt32] = []
        pixels.reserveCapacity(header.width * header.height)
        for start in stride(from: 0, to: rows.count, by: header.rowBytes) {
            let filter = rows[start]
            guard filter <= 4 else { throw .damaged }
            var row = Array(rows[start + 1..<start + 1 + width])
            for index in row.indices {
                let left = index >= depth ? Int(row[index - depth]) : 0
                let up = Int(above[index])
                let corner = index >= depth ? Int(above[index - depth]) : 0
                let guess =
                    switch filter {
                    case 1: left
                    case 2: up
                    case 3: (left + up) / 2
                    case 4: paeth(left, up, corner)
                    default: 0
                    }
                row[index] &+= UInt8(guess)
            }
            for index in stride(from: 0, to: width, by: depth) {
                let alpha = depth == 4 ? UInt32(row[index + 3]) : 255
                pixels.append(
                    alpha << 24 | UInt32(row[index]) << 16 | UInt32(row[index + 1]) << 8 | UInt32(row[index + 2])
                )
            }
            above = row
        }
        guard let picture = Picture(width: header.width, height: header.height, pixels: pixels) else { throw .damaged }
        return picture
    }

    private static func paeth(_ left: Int, _ up: Int, _ corner: Int) -> Int {
        let guess = left + up - corner
        let (a, b, c) = (abs(guess - left), abs(guess - up), abs(guess - corner))
        return a <= b && a <= c ? left : b <= c ? up : corner
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let named = Array(name.utf8) + data
        return number(data.count) + named + number(checksum(named[...]))
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> Int {
        let copy = Array(bytes)
        return unsafe Int(crc32(0, copy, UInt32(copy.count)))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
