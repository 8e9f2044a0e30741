import CZlib
import Testing

@testable import Packing

/// Pictures from outside: what is taken is plain pixels, and nothing costs more than it may.
struct PNGTests {
    private static let sides = 1...64

    private func picture(_ width: Int = 5, _ height: Int = 3) throws -> Picture {
        let pixels = (0..<width * height).map { UInt32($0) &* 0x1020_3041 ^ 0x80FF_0000 }
        return try #require(Picture(width: width, height: height, pixels: pixels))
    }

    private func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }

    private func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let named = Array(name.utf8) + data
        return unsafe number(data.count) + named + number(Int(crc32(0, named, UInt32(named.count))))
    }

    private func packed(_ bytes: [UInt8]) -> [UInt8] {
        var room = compressBound(UInt(bytes.count))
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(room)) { buffer, count in
            unsafe _ = compress2(buffer.baseAddress, &room, bytes, UInt(bytes.count), 9)
            count = Int(room)
        }
    }

    /// A PNG of these parts.
    private func png(
        _ width: Int,
        _ height: Int,
        _ rows: [UInt8],
        kind: [UInt8] = [8, 6, 0, 0, 0],
        between: [UInt8] = [],
        after: [UInt8] = []
    ) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", number(width) + number(height) + kind)
            + between
            + chunk("IDAT", packed(rows)) + after + chunk("IEND", [])
    }

    private func fault(_ bytes: [UInt8]) -> PNG.Fault? {
        do throws(PNG.Fault) {
            _ = try PNG.decode(bytes, sides: Self.sides)
            return nil
        } catch { return error }
    }

    @Test func whatIsWrittenIsReadBack() throws {
        for (width, height) in [(1, 1), (5, 3), (64, 64), (64, 1)] {
            let picture = try picture(width, height)
            #expect(try PNG.decode(PNG.encode(picture), sides: Self.sides) == picture)
        }
    }

    /// Each filter, over two rows of two pixels without alpha, by hand.
    @Test func everyFilterIsTakenBack() throws {
        for filter in UInt8(0)...4 {
            let rows: [UInt8] = [0, 10, 20, 30, 40, 50, 60, filter, 1, 2, 3, 4, 5, 6]
            let picture = try PNG.decode(png(2, 2, rows, kind: [8, 2, 0, 0, 0]), sides: Self.sides)
            let second = picture.pixels[2...3].map {
                [UInt8(($0 >> 16) & 255), UInt8(($0 >> 8) & 255), UInt8($0 & 255)]
            }
            let expected: [[UInt8]] =
                switch filter {
                case 1: [[1, 2, 3], [5, 7, 9]]
                case 2: [[11, 22, 33], [44, 55, 66]]
                case 3: [[6, 12, 18], [27, 36, 45]]
                case 4: [[11, 22, 33], [44, 55, 66]]
                default: [[1, 2, 3], [4, 5, 6]]
                }
            #expect(second == expected, "filter \(filter)")
            #expect(picture.pixels.allSatisfy { $0 >> 24 == 255 })
        }
    }

    @Test func aBombCostsNoMoreThanItsHeaderMaySay() throws {
        // A header of a million pixels a side is refused before anything is unpacked.
        #expect(fault(png(1_000_000, 1_000_000, [0])) == .size)
        #expect(fault(png(0, 5, [0])) == .size)
        #expect(fault(png(65, 1, [UInt8](repeating: 0, count: 261))) == .size)
        // A small header with eight million bytes behind it.
        #expect(fault(png(2, 2, [UInt8](repeating: 0, count: 8_000_000))) == .damaged)
        #expect(fault(png(2, 2, [0, 0])) == .damaged)
    }

    @Test func whatIsNoPictureIsRefused() throws {
        let good = PNG.encode(try picture())
        #expect(fault([]) == .damaged)
        #expect(fault(Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)) == .damaged)
        #expect(fault([0xFF, 0xD8, 0xFF, 0xE0]) == .damaged)
        #expect(fault(good + [0]) == .damaged, "nothing follows a picture")
        for length in 0..<good.count { #expect(fault(Array(good[..<length])) == .damaged) }
        let rows = [UInt8](repeating: 0, count: 18)
        for kind: [UInt8] in [
            [16, 6, 0, 0, 0], [8, 3, 0, 0, 0], [8, 0, 0, 0, 0], [8, 6, 1, 0, 0], [8, 6, 0, 0, 1],
        ] {
            #expect(fault(png(2, 2, rows, kind: kind)) == .unsupported)
        }
        #expect(fault(png(2, 2, rows, between: chunk("ABCD", [1]))) == .unsupported)
        #expect(fault(png(2, 2, rows, between: chunk("tEXt", Array("a\u{0}b".utf8)))) == nil)
        #expect(fault(png(2, 2, [9] + rows.dropFirst())) == .damaged, "no such filter")
        let again = chunk("tEXt", [65]) + chunk("IDAT", packed(rows))
        #expect(fault(png(2, 2, rows, after: again)) == .damaged)
    }

    @Test func aFlippedBitIsNeverTakenForAnotherPicture() throws {
        let picture = try picture()
        let good = PNG.encode(picture)
        for index in good.indices {
            for bit in 0..<8 {
                var bytes = good
                bytes[index] ^= 1 << bit
                #expect(fault(bytes) != nil, "byte \(index), bit \(bit)")
            }
        }
    }
}
