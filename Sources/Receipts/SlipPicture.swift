/// A picture on white paper, as plain pixels.
public struct SlipPicture: Sendable, Equatable {
    public let width: Int
    public let height: Int
    /// Row by row, `0x00RRGGBB`.
    public let pixels: [UInt32]

    /// - Parameter pixels: Row by row, `0xAARRGGBB`, the colours not multiplied by alpha; what can be seen through is white.
    /// - Returns: Nil unless there is one pixel for each place, and 1 to 4096 on each side.
    public init?(width: Int, height: Int, pixels: [UInt32]) {
        guard (1...4096).contains(width), (1...4096).contains(height), pixels.count == width * height else {
            return nil
        }
        (self.width, self.height) = (width, height)
        self.pixels = pixels.map { pixel in
            let alpha = pixel >> 24
            guard alpha < 255 else { return pixel & 0xFF_FFFF }
            return [16, 8, 0].reduce(UInt32(0)) { whole, shift in
                let colour = pixel >> UInt32(shift) & 0xFF
                return whole << 8 | (colour * alpha + 255 * (255 - alpha) + 127) / 255
            }
        }
    }

    /// How light the places are once the picture has shrunk to `columns` by `rows`, 0 (black) to 255: each the mean of what
    /// falls on it.
    func lightness(columns: Int, rows: Int) -> [Int] {
        var result: [Int] = []
        result.reserveCapacity(columns * rows)
        for row in 0..<rows {
            let (top, bottom) = (row * height / rows, max(row * height / rows + 1, (row + 1) * height / rows))
            for column in 0..<columns {
                let left = column * width / columns
                let right = max(left + 1, (column + 1) * width / columns)
                var sum = 0
                for y in top..<bottom {
                    for x in left..<right {
                        let pixel = Int(pixels[y * width + x])
                        // Source: Rec. ITU-R BT.601, luma.
                        sum += 299 * (pixel >> 16) + 587 * (pixel >> 8 & 0xFF) + 114 * (pixel & 0xFF)
                    }
                }
                result.append(sum / (1000 * (bottom - top) * (right - left)))
            }
        }
        return result
    }
}

/// A picture in dots that are printed or not.
struct Dots: Equatable {
    /// A multiple of 8.
    let columns: Int
    let rows: Int
    /// Row by row, eight dots in a byte, the first in its highest bit; a set bit is black.
    let bytes: [UInt8]

    /// The picture no larger than it is and than the room it has.
    /// - Parameters:
    ///   - width: Dots, 8 at least.
    ///   - height: Dots, 1 at least.
    /// - Returns: Nil where no dot would be black.
    init?(_ picture: SlipPicture, width: Int, height: Int) {
        var columns = min(picture.width, width)
        var rows = max(1, picture.height * columns / picture.width)
        if rows > height {
            rows = height
            columns = max(1, picture.width * rows / picture.height)
        }
        var light = picture.lightness(columns: columns, rows: rows)
        let stride = (columns + 7) / 8
        var bytes = [UInt8](repeating: 0, count: stride * rows)
        for row in 0..<rows {
            for column in 0..<columns {
                let place = row * columns + column
                let isBlack = light[place] < 128
                if isBlack { bytes[row * stride + column / 8] |= 0x80 >> UInt8(column % 8) }
                // What one dot is too light or too dark goes to those that come after it. Source: Floyd and Steinberg 1976.
                let error = light[place] - (isBlack ? 0 : 255)
                func pass(_ part: Int, right: Int, below: Int) {
                    guard (0..<columns).contains(column + right), row + below < rows else { return }
                    light[place + right + below * columns] += error * part / 16
                }
                pass(7, right: 1, below: 0)
                pass(3, right: -1, below: 1)
                pass(5, right: 0, below: 1)
                pass(1, right: 1, below: 1)
            }
        }
        guard bytes.contains(where: { $0 != 0 }) else { return nil }
        (self.columns, self.rows, self.bytes) = (stride * 8, rows, bytes)
    }

    /// So many rows go in one command: the least that printers hold.
    private static let band = 64

    /// `GS v 0`, as often as it takes. Source: Epson ESC/POS command reference, `GS v 0`: width in bytes, height in dots, each
    /// with its lower byte first.
    var commands: [UInt8] {
        let stride = columns / 8
        return Swift.stride(from: 0, to: rows, by: Self.band).flatMap { first in
            let count = min(Self.band, rows - first)
            return [0x1D, 0x76, 0x30, 0, UInt8(stride & 0xFF), UInt8(stride >> 8), UInt8(count), 0]
                + bytes[first * stride..<(first + count) * stride]
        }
    }
}
