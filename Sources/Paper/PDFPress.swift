import CPaperPDF
import Executors
public import Receipts

/// Sets slips as PDF documents: one page as wide as a roll of 80 mm and as long as the text, with its fonts in it and the
/// text as text.
///
/// Works on a queue of its own: fonts are read from files.
public actor PDFPress {
    public enum Failure: Error, Sendable, Equatable {
        /// cairo's own word, by its number. No document was made.
        case notDrawn(status: UInt32)
    }

    private let queue = QueueExecutor(label: "till.pdf")

    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    public init() {}

    /// - Parameters:
    ///   - title: What viewers show as the document's name. Clean text.
    ///   - made: When, as `2026-11-22T13:33:05Z`.
    public func pdf(of slip: Slip, title: String, made: String) throws(Failure) -> [UInt8] {
        let sheet = Sheet(readsRightToLeft: slip.readsRightToLeft)
        sheet.set(slip.picture)
        let height = sheet.set(slip)
        let output = Output()
        // The stream is closed before this scope ends, so that `output` outlives every call.
        let target = unsafe Unmanaged.passUnretained(output).toOpaque()
        let surface = unsafe cairo_pdf_surface_create_for_stream(
            { target, bytes, count in
                guard let target = unsafe target, let bytes = unsafe bytes else { return CAIRO_STATUS_WRITE_ERROR }
                unsafe Unmanaged<Output>.fromOpaque(target).takeUnretainedValue().bytes
                    .append(contentsOf: UnsafeBufferPointer(start: bytes, count: Int(count)))
                return CAIRO_STATUS_SUCCESS
            },
            target,
            Sheet.width,
            height
        )
        defer { unsafe cairo_surface_destroy(surface) }
        unsafe cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, title)
        unsafe cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR, "Till")
        unsafe cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, made)
        let cairo = unsafe cairo_create(surface)
        if let cairo = unsafe cairo { unsafe sheet.draw(on: cairo) }
        let drawn = unsafe cairo_status(cairo)
        unsafe cairo_destroy(cairo)
        unsafe cairo_surface_finish(surface)
        let status = unsafe drawn == CAIRO_STATUS_SUCCESS ? cairo_surface_status(surface) : drawn
        guard status == CAIRO_STATUS_SUCCESS else { throw .notDrawn(status: status.rawValue) }
        return withExtendedLifetime(output) { output.bytes }
    }

    private final class Output {
        var bytes: [UInt8] = []
    }
}

/// The parts of a slip, set and placed, in points. Owns its fonts, context and layouts; for one scope.
/// Source: Pango 1.50, `PangoLayout`, `pango_cairo_font_map_new`.
@safe private final class Sheet {
    /// 80 mm.
    static let width = 80 / 25.4 * 72
    private static let margin = 4 / 25.4 * 72
    private static let fonts = "DejaVu Sans, WenQuanYi Micro Hei, sans-serif"
    private static let space = width - 2 * margin

    private let fontMap: UnsafeMutablePointer<PangoFontMap>
    private let context: OpaquePointer
    private let readsRightToLeft: Bool
    private var placed: [(line: SetLine, x: Double, y: Double)] = []
    private var rules: [Double] = []
    private var logo: Logo?
    private var y = margin

    init(readsRightToLeft: Bool) {
        self.readsRightToLeft = readsRightToLeft
        unsafe fontMap = pango_cairo_font_map_new()
        unsafe context = pango_font_map_create_context(fontMap)
        let options = unsafe cairo_font_options_create()
        unsafe cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
        unsafe cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
        unsafe pango_cairo_context_set_font_options(context, options)  // Copies.
        unsafe cairo_font_options_destroy(options)
        unsafe pango_context_set_base_dir(context, readsRightToLeft ? PANGO_DIRECTION_RTL : PANGO_DIRECTION_LTR)
    }

    deinit {
        // The lines hold references of their own to the context, so the order does not matter.
        unsafe g_object_unref(UnsafeMutableRawPointer(context))
        unsafe g_object_unref(fontMap)
    }

    /// Places the picture, 40 mm wide and 20 mm high at most, and no larger than four of its pixels to three points.
    func set(_ picture: SlipPicture?) {
        guard let picture else { return }
        let (width, height) = (Double(picture.width), Double(picture.height))
        let scale = min(40 / 25.4 * 72 / width, 20 / 25.4 * 72 / height, 0.75)
        guard let image = Logo(picture, scale: scale) else { return }
        logo = image
        y += height * scale + 6
    }

    /// Places every part and returns the height they take.
    func set(_ slip: Slip) -> Double {
        for block in slip.blocks {
            switch block {
            case .title(let text): place(text, size: 13, isBold: true, PANGO_ALIGN_CENTER)
            case .stamp(let text): place(text, size: 12, isBold: true, PANGO_ALIGN_CENTER)
            case .centred(let text): place(text, size: 8, isBold: false, PANGO_ALIGN_CENTER)
            case .words(let text): place(text, size: 8, isBold: false, PANGO_ALIGN_LEFT)
            case .pair(let name, let value, let isStrong): pair(name, value, size: isStrong ? 12 : 8, isBold: isStrong)
            case .rule:
                rules.append(y + 4)
                y += 8
            case .code: break
            }
        }
        return y + Self.margin
    }

    func draw(on cairo: OpaquePointer) {
        unsafe cairo_set_source_rgb(cairo, 0, 0, 0)
        unsafe cairo_set_line_width(cairo, 0.5)
        for rule in rules {
            unsafe cairo_move_to(cairo, Self.margin, rule)
            unsafe cairo_line_to(cairo, Self.width - Self.margin, rule)
            unsafe cairo_stroke(cairo)
        }
        if let logo { unsafe logo.draw(on: cairo, centre: Self.width / 2, top: Self.margin) }
        for part in placed {
            unsafe cairo_move_to(cairo, part.x, part.y)
            unsafe pango_cairo_show_layout(cairo, part.line.layout)
        }
    }

    private func place(_ text: String, size: Double, isBold: Bool, _ alignment: PangoAlignment) {
        guard !text.isEmpty else { return }
        let line = unsafe SetLine(text, Self.fonts, size, isBold: isBold, context)
        line.fill(Self.space, alignment)
        put(line, x: Self.margin)
    }

    /// Name first and value at the end of the line; the value below where they do not fit side by side.
    private func pair(_ name: String, _ value: String, size: Double, isBold: Bool) {
        let first = unsafe SetLine(name, Self.fonts, size, isBold: isBold, context)
        let last = unsafe SetLine(value, Self.fonts, size, isBold: isBold, context)
        let (nameWidth, valueWidth) = (first.extent.width, last.extent.width)
        guard nameWidth + valueWidth + size <= Self.space else {
            // Pango swaps both for a text that itself reads from right to left.
            first.fill(Self.space, PANGO_ALIGN_LEFT)
            last.fill(Self.space, readsRightToLeft ? PANGO_ALIGN_LEFT : PANGO_ALIGN_RIGHT)
            put(first, x: Self.margin)
            put(last, x: Self.margin)
            return
        }
        let top = y
        let end = Self.width - Self.margin
        put(first, x: readsRightToLeft ? end - nameWidth : Self.margin)
        let below = y
        y = top
        put(last, x: readsRightToLeft ? Self.margin : end - valueWidth)
        y = max(y, below)
    }

    private func put(_ line: SetLine, x: Double) {
        placed.append((line, x, y))
        y += line.extent.height + 1
    }
}

/// A picture as cairo holds it. Owns its surface, of which the document takes a copy.
@safe private final class Logo {
    private let surface: OpaquePointer
    private let width: Double
    private let scale: Double

    /// - Returns: Nil where there is no memory for it; the document then goes without.
    init?(_ picture: SlipPicture, scale: Double) {
        let made = unsafe cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(picture.width), Int32(picture.height))
        guard let made = unsafe made, unsafe cairo_surface_status(made) == CAIRO_STATUS_SUCCESS,
            let bytes = unsafe cairo_image_surface_get_data(made)
        else {
            if let made = unsafe made { unsafe cairo_surface_destroy(made) }
            return nil
        }
        let stride = unsafe Int(cairo_image_surface_get_stride(made))
        unsafe cairo_surface_flush(made)
        for row in 0..<picture.height {
            // cairo's rows begin where a pixel may: each is at least as long as its pixels.
            let line = unsafe UnsafeMutableRawPointer(bytes + row * stride)
            for column in 0..<picture.width {
                unsafe line.storeBytes(
                    of: picture.pixels[row * picture.width + column],
                    toByteOffset: column * 4,
                    as: UInt32.self
                )
            }
        }
        unsafe cairo_surface_mark_dirty(made)
        unsafe surface = made
        (width, self.scale) = (Double(picture.width), scale)
    }

    deinit { unsafe cairo_surface_destroy(surface) }

    func draw(on cairo: OpaquePointer, centre: Double, top: Double) {
        unsafe cairo_save(cairo)
        unsafe cairo_translate(cairo, centre - width * scale / 2, top)
        unsafe cairo_scale(cairo, scale, scale)
        unsafe cairo_set_source_surface(cairo, surface, 0, 0)
        unsafe cairo_paint(cairo)
        unsafe cairo_restore(cairo)
    }
}

/// One text as Pango set it. Owns its layout.
@safe private final class SetLine {
    let layout: OpaquePointer

    init(_ text: String, _ fonts: String, _ size: Double, isBold: Bool, _ context: OpaquePointer) {
        unsafe layout = pango_layout_new(context)
        let font = unsafe pango_font_description_from_string(fonts)
        unsafe pango_font_description_set_absolute_size(font, size * Double(PANGO_SCALE))
        unsafe pango_font_description_set_weight(font, isBold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL)
        unsafe pango_layout_set_font_description(layout, font)  // Copies.
        unsafe pango_font_description_free(font)
        unsafe pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        unsafe pango_layout_set_auto_dir(layout, 1)
        unsafe pango_layout_set_text(layout, text, Int32(text.utf8.count))
    }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(layout)) }

    /// Breaks the text into lines of `width` points.
    func fill(_ width: Double, _ alignment: PangoAlignment) {
        unsafe pango_layout_set_width(layout, Int32(width * Double(PANGO_SCALE)))
        unsafe pango_layout_set_alignment(layout, alignment)
    }

    /// In points.
    var extent: (width: Double, height: Double) {
        var (width, height): (Int32, Int32) = (0, 0)
        unsafe pango_layout_get_size(layout, &width, &height)
        return (Double(width) / Double(PANGO_SCALE), Double(height) / Double(PANGO_SCALE))
    }
}
