import CPango
import Packing

/// A band of a page while it is drawn: at most a few hundred rows, so that no second copy of the whole screen exists.
///
/// Owns its pixels and the cairo surface over them.
/// Source: cairo 1.16, `cairo_image_surface_create_for_data` (CAIRO_FORMAT_RGB24: 32 bits, upper 8 unused).
@safe struct Canvas: ~Copyable {
    /// Where on the page this band is.
    let frame: PixelRect
    private let pixels: UnsafeMutableBufferPointer<UInt32>
    private let surface: OpaquePointer
    let cairo: OpaquePointer

    /// Largest band, in pixels: 1 MB.
    private static let bandPixels = 262_144

    /// Cuts `part` of a page into bands that fit the memory meant for them.
    /// Their heights are multiples of `rowStep`, except the last one's.
    static func bands(of part: PixelRect, rowStep: Int = 1) -> [PixelRect] {
        let rows = max(1, bandPixels / max(1, part.width) / rowStep) * rowStep
        return stride(from: part.y, to: part.bottom, by: rows).map { top in
            PixelRect(x: part.x, y: top, width: part.width, height: min(rows, part.bottom - top))
        }
    }

    /// - Precondition: `frame` is not empty.
    init(frame: PixelRect, ground: Colour) {
        precondition(!frame.isEmpty)
        let pixels = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: frame.area)
        unsafe pixels.initialize(repeating: ground.rgb)
        let bytes = unsafe UnsafeMutableRawPointer(pixels.baseAddress)?.assumingMemoryBound(to: UInt8.self)
        unsafe surface = cairo_image_surface_create_for_data(
            bytes,
            CAIRO_FORMAT_RGB24,
            Int32(frame.width),
            Int32(frame.height),
            Int32(frame.width * 4)
        )
        unsafe cairo = cairo_create(surface)
        unsafe cairo_translate(cairo, Double(-frame.x), Double(-frame.y))
        self.frame = frame
        unsafe self.pixels = pixels
    }

    deinit {
        // Cairo never returns null here: without memory it returns an inert object that these calls accept.
        unsafe cairo_destroy(cairo)
        unsafe cairo_surface_finish(surface)
        unsafe cairo_surface_destroy(surface)
        unsafe pixels.deallocate()
    }

    /// The pixels, row by row without gaps, as `0xFFRRGGBB`.
    func withPixels<Failure: Error>(_ body: (Span<UInt32>) throws(Failure) -> Void) throws(Failure) {
        unsafe cairo_surface_flush(surface)
        // Cairo leaves the upper bits undefined. Opaque is right where a device takes them for alpha. Not with `|=`:
        // Swift 6.3 stops at it when it builds for the thread sanitizer (“Invalid bitcast”).
        for index in unsafe pixels.indices { unsafe pixels[index] = pixels[index] | 0xFF00_0000 }
        try unsafe body(UnsafeBufferPointer(pixels).span)
    }

    func draw(_ element: Drawing.Element, typesetter: Typesetter) {
        let visible = element.bounds.intersection(frame)
        guard !visible.isEmpty else { return }
        switch element {
        case .panel(let rect, let radius, let colour):
            if radius == 0 { fill(rect, colour) } else { fillRounded(rect, radius: radius, colour) }
        case .text(let text, let x, let y, let colour, _):
            unsafe typesetter.draw(text, x: x, y: y, colour: colour, on: cairo)
        case .qr(let qr):
            draw(qr)
        case .mark(let mark, let rect, let colour, let ground):
            unsafe cairo_save(cairo)
            unsafe mark.draw(on: cairo, frame: rect, colour: colour, ground: ground)
            unsafe cairo_restore(cairo)
        case .picture(let picture, let rect): draw(picture, in: rect)
        }
    }

    /// Each pixel is the mean of those that it stands for, over what is there already. Plain arithmetic: no library reads a
    /// picture from outside.
    private func draw(_ picture: Picture, in rect: PixelRect) {
        let part = rect.intersection(frame)
        guard !part.isEmpty else { return }
        unsafe cairo_surface_flush(surface)
        for y in part.y..<part.bottom {
            let rows = picture.span(y - rect.y, of: rect.height, length: picture.height)
            for x in part.x..<part.right {
                let colour = picture.mean(picture.span(x - rect.x, of: rect.width, length: picture.width), rows)
                let place = (y - frame.y) * frame.width + x - frame.x
                unsafe pixels[place] = colour.over(pixels[place])
            }
        }
        unsafe cairo_surface_mark_dirty(surface)
    }

    /// Fills whole pixels, without cairo.
    private func fill(_ rect: PixelRect, _ colour: Colour) {
        let part = rect.intersection(frame)
        guard !part.isEmpty else { return }
        unsafe cairo_surface_flush(surface)
        for y in part.y..<part.bottom {
            let start = (y - frame.y) * frame.width + part.x - frame.x
            unsafe pixels[start..<start + part.width].update(repeating: colour.rgb)
        }
        unsafe cairo_surface_mark_dirty(surface)
    }

    /// Modules are whole device pixels, pure black on pure white: nothing blends, nothing is smoothed.
    private func draw(_ qr: PlacedQR) {
        fill(qr.frame, .white)
        let symbol = qr.symbol
        let part = symbol.intersection(frame)
        guard !part.isEmpty else { return }
        unsafe cairo_surface_flush(surface)
        for row in 0..<qr.code.width {
            let top = max(part.y, symbol.y + row * qr.module)
            let bottom = min(part.bottom, symbol.y + (row + 1) * qr.module)
            guard top < bottom else { continue }
            let first = (top - frame.y) * frame.width - frame.x
            for column in 0..<qr.code.width where qr.code.isDark(row: row, column: column) {
                let left = max(part.x, symbol.x + column * qr.module)
                let right = min(part.right, symbol.x + (column + 1) * qr.module)
                guard left < right else { continue }
                for offset in 0..<bottom - top {
                    let start = first + offset * frame.width
                    unsafe pixels[start + left..<start + right].update(repeating: Colour.black.rgb)
                }
            }
        }
        unsafe cairo_surface_mark_dirty(surface)
    }

    private func fillRounded(_ rect: PixelRect, radius: Int, _ colour: Colour) {
        unsafe cairo.roundedRectangle(rect, radius: Double(radius))
        unsafe cairo_set_source_rgb(cairo, colour.red, colour.green, colour.blue)
        unsafe cairo_fill(cairo)
    }
}

extension OpaquePointer {
    /// Adds a rectangle with round corners to the path of this cairo context.
    @unsafe func roundedRectangle(_ rect: PixelRect, radius wanted: Double) {
        let radius = min(wanted, Double(min(rect.width, rect.height)) / 2)
        let (left, top) = (Double(rect.x), Double(rect.y))
        let (right, bottom) = (Double(rect.right), Double(rect.bottom))
        unsafe cairo_new_sub_path(self)
        unsafe cairo_arc(self, right - radius, top + radius, radius, -.pi / 2, 0)
        unsafe cairo_arc(self, right - radius, bottom - radius, radius, 0, .pi / 2)
        unsafe cairo_arc(self, left + radius, bottom - radius, radius, .pi / 2, .pi)
        unsafe cairo_arc(self, left + radius, top + radius, radius, .pi, 1.5 * .pi)
        unsafe cairo_close_path(self)
    }
}
