import Packing

extension Picture {
    /// The largest size in these proportions that fits; at least a pixel, and no more than twice the picture's own.
    func size(within room: PixelSize) -> PixelSize {
        let scale = min(Double(room.width) / Double(width), Double(room.height) / Double(height), 2)
        return PixelSize(width: max(1, Int(Double(width) * scale)), height: max(1, Int(Double(height) * scale)))
    }

    /// Which of `length` pixels in a row the one at `index` of `count` stands for; at least one.
    func span(_ index: Int, of count: Int, length: Int) -> Range<Int> {
        let first = min(length - 1, index * length / count)
        return first..<max(first + 1, min(length, (index + 1) * length / count))
    }

    /// The mean of a rectangle's pixels, each counted by how opaque it is.
    func mean(_ columns: Range<Int>, _ rows: Range<Int>) -> Blend {
        var (alpha, red, green, blue) = (0 as UInt32, 0 as UInt32, 0 as UInt32, 0 as UInt32)
        for row in rows {
            for column in columns {
                let pixel = pixels[row * width + column]
                let weight = pixel >> 24
                alpha += weight
                red += (pixel >> 16 & 255) * weight
                green += (pixel >> 8 & 255) * weight
                blue += (pixel & 255) * weight
            }
        }
        guard alpha > 0 else { return Blend(alpha: 0, red: 0, green: 0, blue: 0) }
        let count = UInt32(columns.count * rows.count)
        return Blend(alpha: alpha / count, red: red / alpha, green: green / alpha, blue: blue / alpha)
    }

    /// A colour and how much of it there is, each 0 to 255.
    struct Blend {
        let alpha, red, green, blue: UInt32

        func over(_ ground: UInt32) -> UInt32 {
            func mixed(_ value: UInt32, _ shift: UInt32) -> UInt32 {
                ((value * alpha + (ground >> shift & 255) * (255 - alpha) + 127) / 255) << shift
            }
            return 0xFF00_0000 | mixed(red, 16) | mixed(green, 8) | mixed(blue, 0)
        }
    }
}
