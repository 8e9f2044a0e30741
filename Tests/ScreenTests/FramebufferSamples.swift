import Foundation
import Screen
import TestSupport

extension FramebufferLayout {
    /// The pixel formats met in the field, with `padding` bytes after each row.
    static func sample(_ format: String, _ size: PixelSize, padding: Int = 0) -> FramebufferLayout {
        switch format {
        case "rgb565": return .rgb565(size, strideBytes: size.width * 2 + padding)
        case "rgb888": return .rgb888(size, strideBytes: size.width * 3 + padding)
        case "xrgb8888": return .xrgb8888(size, strideBytes: size.width * 4 + padding)
        default:
            return FramebufferLayout(
                size: size,
                strideBytes: size.width * 4 + padding,
                bitsPerPixel: 32,
                red: Channel(offset: 0, length: 8),
                green: Channel(offset: 8, length: 8),
                blue: Channel(offset: 16, length: 8),
                startBytes: 0
            )
        }
    }
}

extension ForeignDecoder.Picture {
    init(path: String, layout: FramebufferLayout, rotation: Rotation = .none) {
        self.init(
            path: path,
            width: layout.size.width,
            height: layout.size.height,
            stride: layout.strideBytes,
            bitsPerPixel: layout.bitsPerPixel,
            channels: [layout.red, layout.green, layout.blue].map { [$0.offset, $0.length] },
            rotation: rotation.rawValue
        )
    }
}

extension TemporaryFolder {
    func copy(_ name: String, to other: String) throws -> String {
        try FileManager.default.copyItem(atPath: file(name), toPath: file(other))
        return file(other)
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
    }
}
