import CPango

/// What to write, how large, and into which space; not where.
struct TextSpec: Sendable, Hashable {
    enum Weight: Sendable, Hashable { case regular, bold }
    enum Alignment: Sendable, Hashable { case leading, centre, trailing }

    var text: String
    /// Pixels from baseline to baseline are about 1.2 times this.
    var largest: Int
    /// Text that does not fit at this size is cut with an ellipsis.
    var smallest: Int
    var weight = Weight.regular
    var alignment = Alignment.leading
    var isMonospaced = false
    /// The space it must fit in, in pixels.
    var width: Int
    var lines = 1
    /// Stays on one line as long as that takes no smaller size than this; nil when lines may break at any size.
    var oneLineDownTo: Int?
    /// For links and the like, which have no words.
    var breaksAnywhere = false
}

/// Text of a chosen size. `id` finds it again in the typesetter that set it.
struct SetText: Sendable, Hashable {
    var spec: TextSpec
    /// The size chosen, between the two in `spec`.
    var fontSize: Int
    /// Of the lines as set, from the top of the first to the bottom of the last.
    var size: PixelSize
    /// Width of the widest line, at most the width asked for.
    var widestLine: Int
    var isCut: Bool
    /// Characters no font here can show; drawn as boxes.
    var unknownGlyphs: Int
}

/// Shapes and measures text in any script, and draws it.
///
/// Keeps what it set until `forgetUnused()`, so that a page redrawn for its clock sets the clock only. Owns its fonts,
/// its context and every layout; for use from one thread at a time.
/// Source: Pango 1.50, `PangoLayout`, `pango_cairo_font_map_new`.
@safe final class Typesetter {
    private let fonts: UnsafeMutablePointer<PangoFontMap>
    private let context: OpaquePointer
    private let readsRightToLeft: Bool
    /// In a terminal window every character is one cell, so there is one size. Nil for pixels.
    private let cell: PixelSize?
    private var kept: [TextSpec: Kept] = [:]

    private struct Kept {
        var text: SetText
        let layout: Layout
        var isUsed: Bool
    }

    static let sans = "DejaVu Sans, WenQuanYi Micro Hei, sans-serif"
    /// Width of every character of DejaVu Sans Mono, in parts of the font size: 1233 of 2048 units.
    private static let monospacedAdvance = 1233.0 / 2048
    static let monospaced = "DejaVu Sans Mono, WenQuanYi Micro Hei Mono, monospace"

    init(languageTag: String, readsRightToLeft: Bool, cell: PixelSize? = nil) {
        // Not the default font map: that is one per thread, and a queue's thread changes.
        unsafe fonts = pango_cairo_font_map_new()
        unsafe context = pango_font_map_create_context(fonts)
        self.readsRightToLeft = readsRightToLeft
        self.cell = cell
        let options = unsafe cairo_font_options_create()
        unsafe cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
        unsafe cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT)
        unsafe cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
        unsafe pango_cairo_context_set_font_options(context, options)  // Copies.
        unsafe cairo_font_options_destroy(options)
        unsafe pango_context_set_language(context, pango_language_from_string(languageTag))
        unsafe pango_context_set_base_dir(context, readsRightToLeft ? PANGO_DIRECTION_RTL : PANGO_DIRECTION_LTR)
    }

    deinit {
        // The layouts hold references of their own to the context, so the order does not matter.
        unsafe g_object_unref(UnsafeMutableRawPointer(context))
        unsafe g_object_unref(fonts)
    }

    /// Sets `spec` at the largest size that fits.
    func set(_ spec: TextSpec) -> SetText {
        if let text = kept[spec]?.text {
            kept[spec]?.isUsed = true
            return text
        }
        let layout = unsafe Layout(context: context)
        let text = fit(spec, on: layout)
        kept[spec] = Kept(text: text, layout: layout, isUsed: true)
        return text
    }

    /// Draws into `cairo` with the upper left corner of the text's space at the origin given.
    func draw(_ text: SetText, x: Int, y: Int, colour: Colour, on cairo: OpaquePointer) {
        guard let layout = kept[text.spec]?.layout else { return }
        unsafe cairo_save(cairo)
        unsafe cairo_translate(cairo, Double(x), Double(y))
        unsafe cairo_set_source_rgb(cairo, colour.red, colour.green, colour.blue)
        unsafe pango_cairo_show_layout(cairo, layout.raw)
        unsafe cairo_restore(cairo)
    }

    /// The part of the text's surroundings that drawing it can touch, relative to its upper left corner.
    func inkBounds(of text: SetText) -> PixelRect {
        let space = PixelRect(x: 0, y: 0, width: text.spec.width, height: text.size.height)
        guard let layout = kept[text.spec]?.layout else { return space }
        var ink = PangoRectangle()
        unsafe pango_layout_get_pixel_extents(layout.raw, &ink, nil)
        return PixelRect(x: Int(ink.x), y: Int(ink.y), width: Int(ink.width), height: Int(ink.height))
            .inset(by: -2).union(space)
    }

    /// The lines as they were broken, for sinks that write characters instead of pixels.
    func lines(of text: SetText) -> [String] {
        guard let layout = kept[text.spec]?.layout else { return [] }
        let bytes = Array(text.spec.text.utf8)
        return (0..<Int(unsafe pango_layout_get_line_count(layout.raw))).compactMap { index in
            guard let line = unsafe pango_layout_get_line_readonly(layout.raw, Int32(index)) else { return nil }
            let start = Int(unsafe line.pointee.start_index)
            let end = start + Int(unsafe line.pointee.length)
            return String(decoding: bytes[start..<min(end, bytes.count)], as: UTF8.self)
        }
    }

    /// Drops all text not asked for since the last call. Call once per page.
    func forgetUnused() {
        kept = kept.filter { $0.value.isUsed }.mapValues { Kept(text: $0.text, layout: $0.layout, isUsed: false) }
    }

    private func fit(_ wanted: TextSpec, on layout: borrowing Layout) -> SetText {
        unsafe pango_layout_set_text(layout.raw, wanted.text, Int32(wanted.text.utf8.count))
        unsafe pango_layout_set_auto_dir(layout.raw, 1)
        unsafe pango_layout_set_alignment(layout.raw, alignment(of: wanted, on: layout))
        unsafe pango_layout_set_line_spacing(layout.raw, cell == nil ? 1.08 : 0)
        var spec = wanted
        if let least = spec.oneLineDownTo, cell == nil {
            var single = spec
            single.lines = 1
            let size = Double(spec.largest) / max(1, wordExcess(single, size: spec.largest, on: layout))
            if Int(size) >= least { spec.lines = 1 }
        }
        var size = cell?.height ?? spec.largest
        let smallest = cell?.height ?? min(spec.smallest, spec.largest)
        while size > smallest {
            let excess = wordExcess(spec, size: size, on: layout)
            if excess <= 1 { break }
            // One line scales with its size, so one step is near; wrapped lines are found by small steps.
            let step = spec.lines == 1 ? Int(Double(size) / excess) : size - max(1, size / 14)
            size = max(smallest, min(size - 1, step))
        }
        var text = finish(spec, size: size, on: layout)
        text.spec = wanted
        return text
    }

    /// By how much the text at `size` is too wide (or has too many lines): at most 1 when it fits.
    private func wordExcess(_ spec: TextSpec, size: Int, on layout: borrowing Layout) -> Double {
        unsafe setFont(spec, size: size, on: layout.raw)
        unsafe pango_layout_set_ellipsize(layout.raw, PANGO_ELLIPSIZE_NONE)
        unsafe pango_layout_set_height(layout.raw, -1)
        unsafe pango_layout_set_wrap(layout.raw, spec.breaksAnywhere ? PANGO_WRAP_CHAR : PANGO_WRAP_WORD)
        unsafe pango_layout_set_width(layout.raw, spec.lines == 1 ? -1 : Int32(spec.width) * PANGO_SCALE)
        var extents = PangoRectangle()
        unsafe pango_layout_get_pixel_extents(layout.raw, nil, &extents)
        let width = Double(extents.width) / Double(max(1, spec.width))
        let lines = Double(unsafe pango_layout_get_line_count(layout.raw)) / Double(spec.lines)
        return max(width, lines)
    }

    private func finish(_ spec: TextSpec, size: Int, on layout: borrowing Layout) -> SetText {
        unsafe setFont(spec, size: size, on: layout.raw)
        unsafe pango_layout_set_wrap(layout.raw, spec.breaksAnywhere ? PANGO_WRAP_CHAR : PANGO_WRAP_WORD_CHAR)
        unsafe pango_layout_set_width(layout.raw, Int32(spec.width) * PANGO_SCALE)
        unsafe pango_layout_set_height(layout.raw, -Int32(spec.lines))  // Negative: counted in lines.
        unsafe pango_layout_set_ellipsize(layout.raw, PANGO_ELLIPSIZE_END)
        var extents = PangoRectangle()
        unsafe pango_layout_get_pixel_extents(layout.raw, nil, &extents)
        let lines = Int(unsafe pango_layout_get_line_count(layout.raw))
        return SetText(
            spec: spec,
            fontSize: size,
            size: PixelSize(width: spec.width, height: cell.map { $0.height * lines } ?? Int(extents.height)),
            widestLine: min(spec.width, Int(extents.width)),
            isCut: unsafe pango_layout_is_ellipsized(layout.raw) != 0,
            unknownGlyphs: Int(unsafe pango_layout_get_unknown_glyphs_count(layout.raw))
        )
    }

    private func setFont(_ spec: TextSpec, size: Int, on layout: OpaquePointer) {
        let font = unsafe pango_font_description_new()
        defer { unsafe pango_font_description_free(font) }  // The layout keeps a copy.
        let isMonospaced = spec.isMonospaced || cell != nil
        let pixels = cell.map { Double($0.width) / Self.monospacedAdvance } ?? Double(size)
        unsafe pango_font_description_set_family(font, isMonospaced ? Self.monospaced : Self.sans)
        unsafe pango_font_description_set_weight(font, spec.weight == .bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL)
        unsafe pango_font_description_set_absolute_size(font, pixels * Double(PANGO_SCALE))
        unsafe pango_layout_set_font_description(layout, font)
    }

    /// Pango swaps left and right for paragraphs that read against the page's direction. A column shall keep one edge,
    /// whichever script a name is in, so this swaps them back.
    private func alignment(of spec: TextSpec, on layout: borrowing Layout) -> PangoAlignment {
        let textReadsRightToLeft = unsafe pango_layout_get_direction(layout.raw, 0) == PANGO_DIRECTION_RTL
        let isSwapped = textReadsRightToLeft != readsRightToLeft
        switch spec.alignment {
        case .centre: return PANGO_ALIGN_CENTER
        case .leading: return readsRightToLeft != isSwapped ? PANGO_ALIGN_RIGHT : PANGO_ALIGN_LEFT
        case .trailing: return readsRightToLeft != isSwapped ? PANGO_ALIGN_LEFT : PANGO_ALIGN_RIGHT
        }
    }
}

/// Owns one Pango layout.
@safe private final class Layout {
    let raw: OpaquePointer

    init(context: OpaquePointer) { unsafe raw = pango_layout_new(context) }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(raw)) }
}
