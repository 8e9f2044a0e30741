/// The measures of one page: everything is a multiple of a unit, one hundredth of the shorter side.
struct Page {
    let surface: Surface
    let palette: Palette
    let text: ScreenText
    let typesetter: Typesetter

    var size: PixelSize { surface.size }
    /// A window of cells counts as lying: words stand beside a code there, never above it.
    var isLandscape: Bool { surface.cell != nil || size.width * 20 >= size.height * 23 }

    /// Pixels of one unit. Long, narrow pages count their longer side too, so that text keeps its proportion.
    private var unit: Double {
        let (short, long) = (Double(min(size.width, size.height)), Double(max(size.width, size.height)))
        return min(short, long / 1.5) / 100
    }

    func pixels(_ units: Double) -> Int { max(1, Int((units * unit).rounded())) }

    /// A vertical distance. Whole rows on a surface of cells, where small ones vanish.
    func gap(_ units: Double) -> Int {
        guard let cell = surface.cell else { return pixels(units) }
        return (pixels(units) + cell.height / 4) / cell.height * cell.height
    }

    func snapX(_ x: Int) -> Int { surface.cell.map { x / $0.width * $0.width } ?? x }
    func snapY(_ y: Int) -> Int { surface.cell.map { y / $0.height * $0.height } ?? y }

    func radius(_ units: Double) -> Int { surface.cell == nil ? pixels(units) : 0 }

    /// The page without its margin.
    var content: PixelRect {
        if let cell = surface.cell {
            return PixelRect(
                x: 2 * cell.width,
                y: cell.height,
                width: size.width - 4 * cell.width,
                height: size.height - 2 * cell.height
            )
        }
        return PixelRect(size).inset(by: pixels(5))
    }

    func set(
        _ string: String,
        _ style: Stack.Style,
        width: Int,
        scale: Double,
        alignment: TextSpec.Alignment
    ) -> SetText {
        // Below this many pixels letters run together; a page that shrinks further cuts text instead.
        let legible = 9
        return typesetter.set(
            TextSpec(
                text: string,
                largest: max(legible, pixels(style.size * scale)),
                smallest: max(legible, pixels(style.smallest * scale)),
                weight: style.weight,
                alignment: alignment,
                isMonospaced: style.isMonospaced,
                width: max(1, snapX(width)),
                lines: style.lines,
                oneLineDownTo: style.oneLineDownTo.map { max(legible, pixels($0 * scale)) },
                breaksAnywhere: style.breaksAnywhere
            )
        )
    }

    func element(_ set: SetText, x: Int, y: Int, _ colour: Colour) -> Drawing.Element {
        let ink = typesetter.inkBounds(of: set)
        return Drawing.Element.text(set, x: 0, y: 0, colour, ink: ink).moved(x: x, y: y)
    }

    var fitting: QRFitting { QRFitting(grid: surface.cell.map { $0.width } ?? 1) }
}
