extension Receipt {
    /// More marks than this on one letter serve only to paint over the lines above.
    private static let marksPerLetter = 3

    /// A text from outside as one line of `limit` characters at most: every kind of space is one space, and characters that
    /// control, hide or reorder others are gone. Its cost is bounded by the limit, whatever the length of the text.
    public static func clean(_ text: String, limit: Int) -> String {
        var result = String.UnicodeScalarView()
        var (kept, marks, seen) = (0, 0, 0)
        var spaceWaits = false
        for scalar in text.unicodeScalars {
            seen += 1
            if seen > limit * 16 { break }
            switch role(of: scalar) {
            case .dropped: continue
            case .space: spaceWaits = kept > 0
            case .mark:
                marks += 1
                if kept > 0, !spaceWaits, marks <= marksPerLetter { result.append(scalar) }
            case .letter:
                marks = 0
                if kept + (spaceWaits ? 1 : 0) >= limit {
                    result.append("…")
                    return String(result)
                }
                if spaceWaits { result.append(" ") }
                kept += spaceWaits ? 2 : 1
                spaceWaits = false
                result.append(scalar)
            }
        }
        return String(result)
    }

    private enum Role { case letter, mark, space, dropped }

    /// Source: Unicode 15, general categories.
    private static func role(of scalar: Unicode.Scalar) -> Role {
        switch scalar.value {
        case 0x20...0x7E: return scalar == " " ? .space : .letter
        case 0x09...0x0D, 0x85: return .space
        case 0x200C, 0x200D, 0xFE00...0xFE0F: return .mark  // Persian, Indic scripts and emoji are shaped by them.
        case 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0: return .space  // Look empty without being spaces.
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .privateUse, .surrogate, .unassigned: return .dropped
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: return .space
        case .nonspacingMark, .enclosingMark: return .mark
        default: return .letter
        }
    }
}
