/// A line of a slip in a font of fixed width.
struct RollLine: Sendable, Equatable {
    enum Emphasis: Sendable, Equatable { case none, bold, large }

    var text: String
    var emphasis = Emphasis.none
    var isCentred = false
    /// A QR code instead of the text, which it holds.
    var isCode = false
}

extension Slip {
    /// As plain text: lines of `columns` cells at most, each ended by a line feed. Without codes.
    public func text(columns: PrinterOptions.Columns) -> String {
        let width = columns.rawValue
        return rollLines(width: width).filter { !$0.isCode }.map { line in
            let space = line.isCentred ? max(0, (width - CellWidth.of(line.text)) / 2) : 0
            return String(repeating: " ", count: space) + line.text + "\n"
        }.joined()
    }

    /// The lines as they are broken for a paper of `width` cells.
    func rollLines(width: Int) -> [RollLine] {
        blocks.flatMap { block -> [RollLine] in
            switch block {
            case .title(let text): Self.lines(text, width, .large, isCentred: true)
            case .stamp(let text): Self.lines(text, width, .large, isCentred: true)
            case .centred(let text): Self.lines(text, width, isCentred: true)
            case .words(let text): Self.lines(text, width)
            case .rule: [RollLine(text: String(repeating: "-", count: width))]
            case .pair(let name, let value, let isStrong): Self.pair(name, value, width, isStrong ? .large : .none)
            case .code(let text): [RollLine(text: text, isCentred: true, isCode: true)]
            }
        }
    }

    private static func lines(
        _ text: String,
        _ width: Int,
        _ emphasis: RollLine.Emphasis = .none,
        isCentred: Bool = false
    ) -> [RollLine] {
        wrap(text, width).map { RollLine(text: $0, emphasis: emphasis, isCentred: isCentred) }
    }

    /// Name left and value right; below each other where they do not fit side by side.
    private static func pair(
        _ name: String,
        _ value: String,
        _ width: Int,
        _ emphasis: RollLine.Emphasis
    ) -> [RollLine] {
        let gap = width - CellWidth.of(name) - CellWidth.of(value)
        if gap >= 1 {
            return [RollLine(text: name + String(repeating: " ", count: gap) + value, emphasis: emphasis)]
        }
        return lines(name, width, emphasis)
            + wrap(value, width - 2).map { RollLine(text: "  " + $0, emphasis: emphasis) }
    }

    /// Lines of `width` cells at most, broken at spaces, and within words that are longer than a line.
    static func wrap(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var (line, used) = ("", 0)
        for word in text.split(separator: " ") {
            let needed = CellWidth.of(word)
            if used > 0, used + 1 + needed <= width {
                line += " " + word
                used += 1 + needed
                continue
            }
            if used > 0 {
                lines.append(line)
                (line, used) = ("", 0)
            }
            for character in word {
                let cells = CellWidth.of(character)
                if used + cells > width {
                    lines.append(line)
                    (line, used) = ("", 0)
                }
                line.append(character)
                used += cells
            }
        }
        if used > 0 { lines.append(line) }
        return lines
    }
}
