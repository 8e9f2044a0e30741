/// How many cells of a fixed-width font a text takes: 0 for marks, 2 for wide letters and emoji, else 1.
enum CellWidth {
    static func of(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + of($1) } }

    static func of(_ character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            if scalar.value < 0x300 {
                width = max(width, 1)
            } else if scalar.value == 0xFE0F || scalar.properties.isEmojiPresentation || isWide(scalar.value) {
                return 2
            } else {
                switch scalar.properties.generalCategory {
                case .nonspacingMark, .enclosingMark, .format: break
                default: width = max(width, 1)
                }
            }
        }
        return width
    }

    /// Source: Unicode 15, UAX #11: East_Asian_Width `W` and `F`, by blocks.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x16FE0...0x18AFF, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
