/// How a receipt printer wants its slips.
public struct PrinterOptions: Sendable, Hashable, Codable {
    /// Characters of the printer's own font in one line.
    public enum Columns: Int, Sendable, Hashable, Codable, CaseIterable {
        /// Paper of 58 mm.
        case narrow = 32
        /// Paper of 80 mm, on many printers.
        case usual = 42
        /// Paper of 80 mm.
        case wide = 48
    }

    public var columns: Columns
    public var codePage: CodePage
    /// Whether the paper is cut after each slip.
    public var cuts: Bool
    /// Whether each slip opens the drawer at the printer.
    public var opensDrawer: Bool
    /// Whether receipts end with a QR code of the charge's ID.
    public var showsCode: Bool

    public init(
        columns: Columns = .wide,
        codePage: CodePage = .pc858,
        cuts: Bool = true,
        opensDrawer: Bool = false,
        showsCode: Bool = false
    ) {
        (self.columns, self.codePage, self.cuts) = (columns, codePage, cuts)
        (self.opensDrawer, self.showsCode) = (opensDrawer, showsCode)
    }
}
