/// Text from outside made safe to draw: one line, bounded, without characters that hide or reorder others.
///
/// Merchant names come from whoever set the terminal up, reasons from a gateway: both count as hostile. What remains
/// may be of any script. Work is bounded by the limit, not by the length of the input.
enum DisplayText {
    /// More marks than this on one letter serve only to paint over its neighbours.
    private static let combiningMarksPerLetter = 3

    /// `text` with control, bidirectional, tag, private and unassigned characters dropped, every kind of space and
    /// line break made one space, and everything past `limit` characters cut and marked with an ellipsis.
    static func clean(_ text: String, limit: Int = 120) -> String {
        var result = String.UnicodeScalarView()
        var kept = 0
        var marks = 0
        var seen = 0
        var pendingSpace = false
        for scalar in text.unicodeScalars {
            seen += 1
            if seen > limit * 32 { break }  // A flood of dropped characters must not cost time.
            switch role(of: scalar) {
            case .dropped:
                continue
            case .space:
                pendingSpace = kept > 0
                continue
            case .joiner:
                if kept == 0 || pendingSpace { continue }
                marks += 1
                if marks > combiningMarksPerLetter { continue }
            case .mark:
                if kept == 0 || pendingSpace { continue }
                marks += 1
                if marks > combiningMarksPerLetter { continue }
            case .letter:
                marks = 0
                if kept >= limit {
                    result.append("…")
                    return String(result)
                }
                if pendingSpace {
                    result.append(" ")
                    kept += 1
                    pendingSpace = false
                }
                kept += 1
            }
            result.append(scalar)
        }
        return String(result)
    }

    private enum Role { case letter, mark, joiner, space, dropped }

    /// Source: Unicode 15 general categories; bidirectional controls are those of UAX #9.
    private static func role(of scalar: Unicode.Scalar) -> Role {
        switch scalar.value {
        case 0x09...0x0D, 0x85: return .space
        case 0x200C, 0x200D: return .joiner  // Needed to shape Persian, Indic scripts and emoji.
        case 0xFE00...0xFE0F: return .joiner  // Variation selectors.
        case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800: return .space  // Look empty without being spaces.
        case 0xFFFC, 0xFFFD: return .dropped
        default: break
        }
        switch scalar.properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: return .space
        case .nonspacingMark, .enclosingMark, .spacingMark: return .mark
        case .control, .format, .surrogate, .privateUse, .unassigned: return .dropped
        default: return .letter
        }
    }
}
