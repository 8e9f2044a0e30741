import Packing

/// Things one below the other, with sizes in units of the page; shrunk together until they fit.
struct Stack {
    enum Item {
        case text(String, Style)
        /// A small shape before a line of text.
        case marked(Mark, markColour: Colour, String, Style, ground: Colour? = nil)
        case mark(Mark, side: Double, Colour, ground: Colour)
        /// Label above value, side by side.
        case facts([Fact])
        /// A panel that sets off its text.
        case note(String, Style, ground: Colour)
        /// A short line: the page's only ornament.
        case rule(length: Double, Colour)
        case gap(Double)
        /// At most so wide and so high, in its own proportions.
        case picture(Picture, width: Double, height: Double)
        /// Takes a share of what is left over.
        case space
    }

    struct Fact {
        var label: String
        var value: String
        var labelStyle: Style
        var valueStyle: Style
    }

    /// Sizes in page units.
    struct Style {
        var size: Double
        var smallest: Double
        var weight = TextSpec.Weight.regular
        var colour: Colour
        var lines = 1
        var isMonospaced = false
        var oneLineDownTo: Double?
        var breaksAnywhere = false

        init(
            _ size: Double,
            atLeast smallest: Double? = nil,
            _ colour: Colour,
            _ weight: TextSpec.Weight = .regular,
            lines: Int = 1,
            isMonospaced: Bool = false,
            oneLineDownTo: Double? = nil,
            breaksAnywhere: Bool = false
        ) {
            self.size = size
            self.smallest = smallest ?? size
            self.weight = weight
            self.colour = colour
            self.lines = lines
            self.isMonospaced = isMonospaced
            self.oneLineDownTo = oneLineDownTo
            self.breaksAnywhere = breaksAnywhere
        }
    }

    var items: [Item]
    var alignment = TextSpec.Alignment.leading

    /// Lays the items out in `frame`, at the largest common scale at which they fit.
    func compose(in frame: PixelRect, page: Page) -> [Drawing.Element] {
        var scale = 1.0
        var layout = place(in: frame, scale: scale, page: page)
        while layout.height > frame.height, scale > 0.35 {
            scale *= 0.93
            layout = place(in: frame, scale: scale, page: page)
        }
        return layout.elements
    }

    private func place(in frame: PixelRect, scale: Double, page: Page) -> (elements: [Drawing.Element], height: Int) {
        let blocks = items.map { block($0, width: frame.width, scale: scale, page: page) }
        let fixed = blocks.reduce(0) { $0 + $1.height }
        let spaces = items.count { if case .space = $0 { true } else { false } }
        let share = spaces == 0 ? 0 : max(0, frame.height - fixed) / spaces
        var elements: [Drawing.Element] = []
        var y = frame.y
        for (item, block) in zip(items, blocks) {
            if case .space = item {
                y += page.snapY(share)
                continue
            }
            elements += block.elements.map { $0.moved(x: frame.x, y: y) }
            y += block.height
        }
        return (elements, fixed)
    }

    private typealias Block = (elements: [Drawing.Element], height: Int)

    private func block(_ item: Item, width: Int, scale: Double, page: Page) -> Block {
        switch item {
        case .gap(let units): return ([], page.gap(units * scale))
        case .space: return ([], 0)
        case .text(let text, let style):
            guard !text.isEmpty else { return ([], 0) }
            let set = page.set(text, style, width: width, scale: scale, alignment: alignment)
            return ([page.element(set, x: 0, y: 0, style.colour)], set.size.height)
        case .mark(let mark, let side, let colour, let ground):
            let side = min(width, page.pixels(side * scale))
            let x = alignment == .centre ? (width - side) / 2 : 0
            return ([.mark(mark, PixelRect(x: x, y: 0, width: side, height: side), colour, ground: ground)], side)
        case .rule(let length, let colour):
            guard page.surface.cell == nil else { return ([], 0) }
            let size = PixelSize(width: page.pixels(length * scale), height: page.pixels(0.7 * scale))
            let x = alignment == .centre ? (width - size.width) / 2 : 0
            let frame = PixelRect(x: x, y: 0, width: size.width, height: size.height)
            return ([.panel(frame, radius: size.height / 2, colour)], size.height)
        case .picture(let picture, let most, let tall):
            // Cells are too coarse for a picture.
            guard page.surface.cell == nil else { return ([], 0) }
            let room = PixelSize(width: min(width, page.pixels(most * scale)), height: page.pixels(tall * scale))
            let size = picture.size(within: room)
            let x = alignment == .centre ? (width - size.width) / 2 : 0
            let frame = PixelRect(x: x, y: 0, width: size.width, height: size.height)
            return ([.picture(picture, frame)], size.height)
        case .marked(let mark, let markColour, let text, let style, let ground):
            return marked(mark, markColour, ground, text, style, width: width, scale: scale, page: page)
        case .facts(let facts): return self.facts(facts, width: width, scale: scale, page: page)
        case .note(let text, let style, let ground):
            return note(text, style, ground, width: width, scale: scale, page: page)
        }
    }

    private func note(
        _ text: String,
        _ style: Style,
        _ ground: Colour,
        width: Int,
        scale: Double,
        page: Page
    ) -> Block {
        let padding = page.surface.cell?.width ?? page.pixels(2.2 * scale)
        // Set once to learn how wide it is, and again into a panel that is no wider.
        let wide = page.set(text, style, width: width - 2 * padding, scale: scale, alignment: .leading)
        let hug = wide.widestLine + page.pixels(0.5)
        let inner = hug < width / 2 ? page.snapX(hug + (page.surface.cell?.width ?? 0)) : wide.spec.width
        let set = page.set(text, style, width: inner, scale: scale, alignment: .leading)
        let height = set.size.height + 2 * page.snapY(padding * 2 / 3)
        let x = alignment == .centre ? page.snapX((width - inner) / 2 - padding) : 0
        let panel = PixelRect(x: x, y: 0, width: inner + 2 * padding, height: height)
        return (
            [
                .panel(panel, radius: page.radius(1.6), ground),
                page.element(set, x: x + padding, y: (height - set.size.height) / 2, style.colour),
            ], height
        )
    }

    private func marked(
        _ mark: Mark,
        _ markColour: Colour,
        _ ground: Colour?,
        _ text: String,
        _ style: Style,
        width: Int,
        scale: Double,
        page: Page
    ) -> Block {
        // In a window of cells a small shape would be a blot.
        if page.surface.cell != nil {
            return block(.text(text, style), width: width, scale: scale, page: page)
        }
        let side = page.pixels(style.size * scale * 0.95)
        let indent = side * 3 / 2
        let set = page.set(text, style, width: width - indent, scale: scale, alignment: alignment)
        // In a centred column shape and words stand in the middle together.
        let start = alignment == .centre ? max(0, (width - indent - set.widestLine) / 2) : 0
        let height = max(side, set.size.height)
        return (
            [
                .mark(
                    mark,
                    PixelRect(x: start, y: (height - side) / 2, width: side, height: side),
                    markColour,
                    ground: ground ?? page.palette.ground
                ),
                page.element(set, x: indent, y: (height - set.size.height) / 2, style.colour),
            ], height
        )
    }

    private func facts(_ facts: [Fact], width: Int, scale: Double, page: Page) -> Block {
        guard !facts.isEmpty else { return ([], 0) }
        let gap = page.gap(3 * scale)
        let column = page.snapX((width - gap * (facts.count - 1)) / facts.count)
        var elements: [Drawing.Element] = []
        var height = 0
        for (index, fact) in facts.enumerated() {
            let x = index * (column + gap)
            let label = page.set(fact.label, fact.labelStyle, width: column, scale: scale, alignment: alignment)
            let value = page.set(fact.value, fact.valueStyle, width: column, scale: scale, alignment: alignment)
            elements.append(page.element(label, x: x, y: 0, fact.labelStyle.colour))
            elements.append(page.element(value, x: x, y: label.size.height, fact.valueStyle.colour))
            height = max(height, label.size.height + value.size.height)
        }
        return (elements, height)
    }
}

extension Drawing.Element {
    func moved(x dx: Int, y dy: Int) -> Self {
        func move(_ rect: PixelRect) -> PixelRect {
            PixelRect(x: rect.x + dx, y: rect.y + dy, width: rect.width, height: rect.height)
        }
        switch self {
        case .panel(let rect, let radius, let colour): return .panel(move(rect), radius: radius, colour)
        case .text(let text, let x, let y, let colour, let ink):
            return .text(text, x: x + dx, y: y + dy, colour, ink: move(ink))
        case .qr(var qr):
            qr.frame = move(qr.frame)
            return .qr(qr)
        case .mark(let mark, let rect, let colour, let ground): return .mark(mark, move(rect), colour, ground: ground)
        case .picture(let picture, let rect): return .picture(picture, move(rect))
        }
    }

    func mirrored(inWidth width: Int) -> Self {
        switch self {
        case .panel(let rect, let radius, let colour):
            return .panel(rect.mirrored(inWidth: width), radius: radius, colour)
        case .text(let text, let x, let y, let colour, let ink):
            // The text's space moves to the other side; inside it nothing is mirrored.
            let space = PixelRect(x: x, y: y, width: text.spec.width, height: text.size.height)
            let moved = space.mirrored(inWidth: width)
            return Self.text(text, x: x, y: y, colour, ink: ink).moved(x: moved.x - x, y: 0)
        case .qr(let qr): return moved(x: qr.frame.mirrored(inWidth: width).x - qr.frame.x, y: 0)
        case .mark(let mark, let rect, let colour, let ground):
            return .mark(mark, rect.mirrored(inWidth: width), colour, ground: ground)
        case .picture(let picture, let rect): return .picture(picture, rect.mirrored(inWidth: width))
        }
    }
}
