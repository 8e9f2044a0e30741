import Screen

/// A text as a QR code that a page draws.
public struct QRText: Sendable, Equatable {
    /// From top to bottom, a character for each module: `1` dark, `0` light. Without the white border of four modules that
    /// whoever draws it has to leave.
    public let rows: [String]

    /// Nil for an empty text and for one that is too long for a code.
    public init?(_ text: String) {
        guard let modules = QRModules(text) else { return nil }
        rows = modules.rows
    }
}
