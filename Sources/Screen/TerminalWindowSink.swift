import Glibc

/// A terminal window, for development: shapes and QR codes as half blocks in 24-bit colour, text as characters.
///
/// Writes only the cells that changed. A QR code takes one half block a module, so that a phone can read it from the
/// window; where it does not fit, the link is printed. Follows the window's size from scene to scene.
/// Source: ECMA-48 (CUP, SGR); xterm control sequences, private modes 25 and 1049.
public final class TerminalWindowSink: PixelSink {
    public let name = "terminal window"
    private let descriptor: Int32
    private let fixedSize: Size?
    private let caption: [String]
    private var grid: Size
    /// Two colours a cell, upper and lower half, row by row.
    private var halves: [UInt32] = []
    private var texts: [CellText] = []
    /// What the window shows; empty when that is not certain.
    private var emitted: [Cell] = []
    private var isClosed = false

    /// A window's size in characters.
    public struct Size: Sendable, Hashable {
        public var columns: Int
        public var rows: Int

        public init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }
    }

    /// One character's place on the window.
    private struct Cell: Equatable {
        var upper: UInt32
        var lower: UInt32
        var character: Character?
        var ink: UInt32 = 0
        var isBold = false
        /// The right half of a wide character: nothing is written here.
        var isCovered = false
    }

    /// Pixels a cell stands for. A half cell is a square, which is one module of a QR code.
    private static let cell = PixelSize(width: 8, height: 16)
    private static let half = 8

    /// Takes over the window: switches to its second page and hides the cursor until `close()`.
    ///
    /// - Parameters:
    ///   - fileDescriptor: Stays the caller's; must be open until this sink is closed. 1 is standard output.
    ///   - size: Nil asks the window, before each scene.
    ///   - caption: Lines for whoever runs this, under the screen. Left out where the screen would get too small.
    /// - Throws: `cannotOpen` when there is no window to ask.
    public init(fileDescriptor: Int32 = 1, size: Size? = nil, caption: [String] = []) throws(ScreenError) {
        descriptor = fileDescriptor
        fixedSize = size
        self.caption = caption
        guard let window = size ?? Self.windowSize(of: fileDescriptor), (1...1_000).contains(window.columns),
            (1...1_000).contains(window.rows)
        else { throw .cannotOpen(path: "terminal window", reason: "this is not a terminal with a known size") }
        grid = Self.grid(in: window, under: caption)
        try send("\u{1B}[?1049h\u{1B}[?25l\u{1B}[0m\u{1B}[2J")
        clear()
    }

    deinit { close() }

    public var surface: Surface {
        let window = fixedSize ?? Self.windowSize(of: descriptor)
        let now = window.map { Self.grid(in: $0, under: caption) } ?? grid
        if now != grid, now.columns > 0, now.rows > 0 {
            grid = now
            clear()
        }
        return Surface(
            size: PixelSize(width: grid.columns * Self.cell.width, height: grid.rows * Self.cell.height),
            cell: Self.cell
        )
    }

    public func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
        let half = Self.half
        let all = PixelRect(x: 0, y: 0, width: grid.columns * half, height: grid.rows * 2 * half)
        guard all.contains(part), part.x % half == 0, part.y % half == 0, part.width % half == 0,
            part.height % half == 0
        else { throw .cannotDraw(sink: name, reason: "the part to draw is not made of whole cells") }
        for row in 0..<part.height / half {
            for column in 0..<part.width / half {
                let target = (part.y / half + row) * grid.columns + part.x / half + column
                halves[target] = mean(pixels, from: row * half * part.width + column * half, stride: part.width)
            }
        }
    }

    public func place(_ texts: [CellText]) throws(ScreenError) { self.texts = texts }

    public func finish() throws(ScreenError) {
        guard !isClosed else { throw .closed }
        let cells = composed()
        var output = ""
        var cursor: Int?
        var style: Cell?
        for (index, cell) in cells.enumerated() {
            if cell.isCovered { continue }
            let isWide = index + 1 < cells.count && cells[index + 1].isCovered
            if emitted.count == cells.count, emitted[index] == cell, !isWide || emitted[index + 1].isCovered {
                continue
            }
            if cursor != index { output += "\u{1B}[\(index / grid.columns + 1);\(index % grid.columns + 1)H" }
            output += sequence(for: cell, after: style)
            style = cell
            cursor = index + (isWide ? 2 : 1)
            // At the end of a row terminals differ in where the cursor is: say it again.
            if (cursor ?? 0) % grid.columns == 0 { cursor = nil }
        }
        if emitted.isEmpty { output = captionText + output }
        emitted = []  // Until all is sent, nobody knows what the window shows.
        try send(output)
        emitted = cells
    }

    public func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        let packing = PixelPacking(.xrgb8888(PixelSize(width: 1, height: 1)))
        let size = PixelSize(width: part.width / max(1, factor), height: part.height / max(1, factor))
        var pixels: [UInt8] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                let column = (part.x + x * factor + factor / 2) / Self.half
                let row = (part.y + y * factor + factor / 2) / Self.half
                let index = row / 2 * grid.columns + column
                guard emitted.indices.contains(index) else {
                    throw .cannotDraw(sink: name, reason: "the part to read is not in the window")
                }
                let cell = emitted[index]
                let colour = cell.character == nil ? (row % 2 == 0 ? cell.upper : cell.lower) : cell.ink
                pixels.append(UInt8(min(255, packing.grey(colour) / 256)))
            }
        }
        return GreyImage(size: size, pixels: pixels)
    }

    public func close() {
        guard !isClosed else { return }
        isClosed = true
        try? send("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")  // A window that is gone needs no tidying.
    }

    // MARK: - Caption

    /// A page needs some 24 rows: 45 half blocks for a QR code.
    private static let leastRows = 24

    private static func grid(in window: Size, under caption: [String]) -> Size {
        guard window.rows - caption.count >= leastRows else { return window }
        return Size(columns: window.columns, rows: window.rows - caption.count)
    }

    /// The lines under the screen, each cut at the window's edge.
    private var captionText: String {
        guard let window = fixedSize ?? Self.windowSize(of: descriptor), window.rows > grid.rows else { return "" }
        return caption.enumerated().map { index, line in
            "\u{1B}[\(grid.rows + index + 1);1H\u{1B}[0m\u{1B}[2K\(line.prefix(window.columns))"
        }.joined()
    }

    // MARK: - Cells

    private func clear() {
        halves = Array(repeating: 0, count: grid.columns * grid.rows * 2)
        texts = []
        emitted = []
    }

    private func mean(_ pixels: Span<UInt32>, from start: Int, stride: Int) -> UInt32 {
        var (red, green, blue): (UInt32, UInt32, UInt32) = (0, 0, 0)
        for y in 0..<Self.half {
            for x in 0..<Self.half {
                let pixel = pixels[start + y * stride + x]
                red += pixel >> 16 & 0xFF
                green += pixel >> 8 & 0xFF
                blue += pixel & 0xFF
            }
        }
        let count = UInt32(Self.half * Self.half)
        return (red / count) << 16 | (green / count) << 8 | blue / count
    }

    /// Pictures with the characters over them.
    private func composed() -> [Cell] {
        var cells: [Cell] = []
        cells.reserveCapacity(grid.columns * grid.rows)
        for row in 0..<grid.rows {
            for column in 0..<grid.columns {
                let upper = row * 2 * grid.columns + column
                cells.append(Cell(upper: halves[upper], lower: halves[upper + grid.columns]))
            }
        }
        for text in texts where (0..<grid.rows).contains(text.row) { put(text, into: &cells) }
        return cells
    }

    private func put(_ text: CellText, into cells: inout [Cell]) {
        let space = min(text.columns, grid.columns - text.column)
        var characters = Array(text.text)
        var width = characters.reduce(0) { $0 + Self.columns(of: $1) }
        if width > space {
            while width > space - 1, let last = characters.popLast() { width -= Self.columns(of: last) }
            characters.append("…")
            width += 1
        }
        var column = text.column
        switch text.alignment {
        case .left: break
        case .centre: column += max(0, (space - width) / 2)
        case .right: column += max(0, space - width)
        }
        for character in characters {
            let width = Self.columns(of: character)
            guard column >= 0, column + width <= grid.columns, width > 0 else { continue }
            let index = text.row * grid.columns + column
            cells[index].character = character
            cells[index].ink = text.rgb
            cells[index].isBold = text.isBold
            if width == 2 { cells[index + 1].isCovered = true }
            column += width
        }
    }

    private func sequence(for cell: Cell, after style: Cell?) -> String {
        func colour(_ rgb: UInt32) -> String { "\(rgb >> 16 & 0xFF);\(rgb >> 8 & 0xFF);\(rgb & 0xFF)" }
        let ink = cell.character == nil ? cell.upper : cell.ink
        let ground = cell.lower
        var parts: [String] = []
        if let style {
            if style.isBold != cell.isBold { parts.append(cell.isBold ? "1" : "22") }
            if (style.character == nil ? style.upper : style.ink) != ink { parts.append("38;2;" + colour(ink)) }
            if style.lower != ground { parts.append("48;2;" + colour(ground)) }
        } else {
            parts = ["0", "38;2;" + colour(ink), "48;2;" + colour(ground)]
            if cell.isBold { parts.append("1") }
        }
        let set = parts.isEmpty ? "" : "\u{1B}[\(parts.joined(separator: ";"))m"
        if let character = cell.character { return set + String(character) }
        return set + "▀"
    }

    /// 2 for the wide characters of East Asia and for emoji. Source: Unicode 15, EastAsianWidth.txt (W and F).
    private static func columns(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default:
            return first.properties.generalCategory == .format ? 0 : 1
        }
    }

    // MARK: - The window

    private static func windowSize(of descriptor: Int32) -> Size? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return nil
        }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    private func send(_ text: String) throws(ScreenError) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let result = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if result < 0, errno == EINTR { continue }
            if result < 0, errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard unsafe poll(&wait, 1, 5_000) > 0 else {
                    throw .cannotDraw(sink: name, reason: "the window does not take any more text")
                }
                continue
            }
            guard result > 0 else { throw .cannotDraw(sink: name, reason: systemReason()) }
            sent += result
        }
    }
}
