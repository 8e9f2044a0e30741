/// A QR code for somebody else to draw: a page in a browser, or paper.
public struct QRModules: Sendable, Equatable {
    /// From top to bottom, a character for each module: `1` dark, `0` light. Without the white border of four modules that
    /// whoever draws it has to leave.
    public let rows: [String]

    /// Nil for an empty text and for one that is too long for a code.
    public init?(_ text: String) {
        guard let code = try? QRCode(text, correction: .medium) else { return nil }
        rows = (0..<code.width).map { row in
            String((0..<code.width).map { code.isDark(row: row, column: $0) ? "1" : "0" })
        }
    }
}
