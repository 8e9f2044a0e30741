import Packing

/// A page as a list of things to draw, back to front. Comparing two of them tells which pixels change.
struct Drawing: Sendable, Equatable {
    var size: PixelSize
    var ground: Colour
    var elements: [Element] = []

    enum Element: Sendable, Equatable {
        case panel(PixelRect, radius: Int, Colour)
        /// `ink` is all that drawing the text can touch.
        case text(SetText, x: Int, y: Int, Colour, ink: PixelRect)
        case qr(PlacedQR)
        case mark(Mark, PixelRect, Colour, ground: Colour)
        /// Fills the frame, whatever its own size.
        case picture(Picture, PixelRect)

        /// Every pixel this can touch.
        var bounds: PixelRect {
            switch self {
            case .panel(let frame, _, _), .mark(_, let frame, _, _), .picture(_, let frame): frame
            case .text(_, _, _, _, let ink): ink
            case .qr(let qr): qr.frame
            }
        }
    }

    var codes: [PlacedQR] { elements.compactMap { if case .qr(let code) = $0 { code } else { nil } } }

    /// The parts that must be drawn again when this page replaces `old`: everywhere an element went, came or changed.
    /// Parts do not overlap.
    /// - Parameter cell: parts are made of whole cells of this size, if any.
    func damage(since old: Drawing?, cell: PixelSize? = nil) -> [PixelRect] {
        let all = PixelRect(size)
        guard let old, old.size == size, old.ground == ground else { return [all] }
        let gone = old.elements.filter { !elements.contains($0) }
        let came = elements.filter { !old.elements.contains($0) }
        var parts: [PixelRect] = []
        for element in gone + came {
            var part = element.bounds.roundedOut(to: cell).intersection(all)
            guard !part.isEmpty else { continue }
            // Joining may reach further parts, so look again until nothing overlaps.
            while let index = parts.firstIndex(where: { $0.intersects(part) }) {
                part = part.union(parts.remove(at: index))
            }
            parts.append(part)
        }
        return parts
    }
}

extension PixelRect {
    /// The smallest rectangle of whole cells around this one.
    func roundedOut(to cell: PixelSize?) -> PixelRect {
        guard let cell, !isEmpty else { return self }
        let left = max(0, x) / cell.width * cell.width
        let top = max(0, y) / cell.height * cell.height
        return PixelRect(
            x: left,
            y: top,
            width: (right - left + cell.width - 1) / cell.width * cell.width,
            height: (bottom - top + cell.height - 1) / cell.height * cell.height
        )
    }
}
