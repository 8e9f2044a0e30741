/// HTML in which every text that is put in is escaped; only other markup goes in as it is.
struct Markup: Sendable, Equatable, ExpressibleByStringInterpolation {
    private(set) var text: String

    init(stringLiteral value: String) { text = value }

    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    private init(text: String) { self.text = text }

    static func joined(_ parts: [Markup]) -> Markup { Markup(text: parts.map(\.text).joined()) }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(2 * literalCapacity) }

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ markup: Markup) { text += markup.text }

        mutating func appendInterpolation(_ number: Int) { text += String(number) }

        /// As text or within a quoted attribute. Source: HTML Living Standard, 13.1.2.3 and 13.1.4.
        mutating func appendInterpolation(_ value: String) {
            for scalar in value.unicodeScalars {
                switch scalar {
                case "&": text += "&amp;"
                case "<": text += "&lt;"
                case ">": text += "&gt;"
                case "\"": text += "&quot;"
                case "'": text += "&#39;"
                // Neither may stand in HTML, nor the marks that turn the direction of what follows.
                case "\u{0}"..."\u{8}", "\u{B}", "\u{C}", "\u{E}"..."\u{1F}", "\u{7F}"..."\u{9F}": text += "\u{FFFD}"
                case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": break
                default: text.unicodeScalars.append(scalar)
                }
            }
        }
    }
}
