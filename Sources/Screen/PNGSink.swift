import CPango
import Glibc

/// A PNG file that always holds the whole current page: for development, documentation and remote looks.
///
/// Each page replaces the file at once: a reader sees the old picture or the new one, never half of one. Holds the
/// picture in memory (4 bytes a pixel).
/// Source: cairo 1.16, `cairo_surface_write_to_png_stream`; rename(2).
public final class PNGSink: PixelSink {
    public let name: String
    public let surface: Surface
    private var pixels: [UInt32]
    private var isChanged = false

    /// - Throws: `cannotOpen` when the size is not a picture's. The file itself is first written with the first page.
    public init(path: String, size: PixelSize) throws(ScreenError) {
        guard (1...32_767).contains(size.width), (1...32_767).contains(size.height) else {
            throw .cannotOpen(path: path, reason: "a picture of \(size.width) × \(size.height) cannot be written")
        }
        name = path
        surface = Surface(size: size)
        pixels = Array(repeating: 0, count: size.width * size.height)
    }

    public func write(_ part: Span<UInt32>, to rect: PixelRect) throws(ScreenError) {
        guard PixelRect(surface.size).contains(rect), part.count == rect.area else {
            throw .cannotDraw(sink: name, reason: "the part to draw is not inside the picture")
        }
        for y in 0..<rect.height {
            let row = (rect.y + y) * surface.size.width + rect.x
            for x in 0..<rect.width { pixels[row + x] = part[y * rect.width + x] }
        }
        isChanged = true
    }

    public func finish() throws(ScreenError) {
        guard isChanged else { return }
        let temporary = "\(name).new"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("cannot make \(temporary)") }
        let isWritten = encode(to: descriptor) && fsync(descriptor) == 0
        let reason = failure("cannot write \(temporary)")
        guard Glibc.close(descriptor) == 0, isWritten else {
            unsafe unlink(temporary)
            throw reason
        }
        guard unsafe rename(temporary, name) == 0 else {
            let reason = failure("cannot replace the picture")
            unsafe unlink(temporary)
            throw reason
        }
        isChanged = false
    }

    public func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        guard PixelRect(surface.size).contains(part), factor > 0 else {
            throw .cannotDraw(sink: name, reason: "the part to read is not inside the picture")
        }
        let packing = PixelPacking(.xrgb8888(surface.size))
        let size = PixelSize(width: part.width / factor, height: part.height / factor)
        var grey: [UInt8] = []
        grey.reserveCapacity(size.width * size.height)
        for row in 0..<size.height {
            for column in 0..<size.width {
                var sum: UInt32 = 0
                for y in 0..<factor {
                    let start = (part.y + row * factor + y) * surface.size.width + part.x + column * factor
                    for x in 0..<factor { sum += packing.grey(pixels[start + x]) }
                }
                grey.append(UInt8(min(255, sum / UInt32(256 * factor * factor))))
            }
        }
        return GreyImage(size: size, pixels: grey)
    }

    /// Leaves the last page where it is.
    public func close() {}

    private func failure(_ what: String) -> ScreenError {
        .cannotDraw(sink: name, reason: "\(what): \(systemReason())")
    }

    private func encode(to descriptor: Int32) -> Bool {
        let (width, height) = (Int32(surface.size.width), Int32(surface.size.height))
        return unsafe pixels.withUnsafeMutableBytes { bytes in
            let data = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let surface = unsafe cairo_image_surface_create_for_data(data, CAIRO_FORMAT_RGB24, width, height, width * 4)
            defer { unsafe cairo_surface_destroy(surface) }  // Before the pixels go: this scope holds both.
            // The closure argument carries the descriptor as a number; there is nothing to keep alive.
            let target = unsafe UnsafeMutableRawPointer(bitPattern: Int(descriptor) + 1)
            return unsafe cairo_surface_write_to_png_stream(surface, appendToFile, target) == CAIRO_STATUS_SUCCESS
        }
    }
}

/// Cairo's writer callback. `context` is the file descriptor plus 1, so that 0 is not a null pointer.
private func appendToFile(
    context: UnsafeMutableRawPointer?,
    data: UnsafePointer<UInt8>?,
    count: UInt32
) -> cairo_status_t {
    let descriptor = Int32(Int(bitPattern: context) - 1)
    var written = 0
    while written < Int(count) {
        guard let data = unsafe data else { return CAIRO_STATUS_WRITE_ERROR }
        let result = unsafe write(descriptor, data + written, Int(count) - written)
        if result < 0, errno == EINTR { continue }
        guard result > 0 else { return CAIRO_STATUS_WRITE_ERROR }
        written += result
    }
    return CAIRO_STATUS_SUCCESS
}
