/// A QR code as an SVG path, for pages that are read on another screen.
public struct QRPicture: Sendable, Equatable {
    /// Units per side, the quiet zone of four modules included.
    public let side: Int
    /// The dark modules, one unit each: the `d` of an SVG path.
    public let path: String

    /// Nil for an empty text and for one that is too long for a code.
    public init?(_ text: String) {
        guard let code = try? QRCode(text, correction: .medium) else { return nil }
        var path = ""
        for row in 0..<code.width {
            var column = 0
            while column < code.width {
                guard code.isDark(row: row, column: column) else {
                    column += 1
                    continue
                }
                let start = column
                while column < code.width, code.isDark(row: row, column: column) { column += 1 }
                let length = column - start
                path += "M\(start + QRCode.quietZone) \(row + QRCode.quietZone)h\(length)v1h-\(length)z"
            }
        }
        (side, self.path) = (code.widthWithQuietZone, path)
    }
}
