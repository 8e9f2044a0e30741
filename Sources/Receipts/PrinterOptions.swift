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
    /// Whether receipts begin with the merchant's logo. Not every printer takes pictures.
    public var showsLogo: Bool

    public init(
        columns: Columns = .wide,
        codePage: CodePage = .pc858,
        cuts: Bool = true,
        opensDrawer: Bool = false,
        showsCode: Bool = false,
        showsLogo: Bool = true
    ) {
        (self.columns, self.codePage, self.cuts) = (columns, codePage, cuts)
        (self.opensDrawer, self.showsCode, self.showsLogo) = (opensDrawer, showsCode, showsLogo)
    }

    private enum CodingKeys: CodingKey { case columns, codePage, cuts, opensDrawer, showsCode, showsLogo }

    /// Reads what earlier versions wrote too: a printer that was set up without pictures gets none.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            columns: try values.decode(Columns.self, forKey: .columns),
            codePage: try values.decode(CodePage.self, forKey: .codePage),
            cuts: try values.decode(Bool.self, forKey: .cuts),
            opensDrawer: try values.decode(Bool.self, forKey: .opensDrawer),
            showsCode: try values.decode(Bool.self, forKey: .showsCode),
            showsLogo: try values.decodeIfPresent(Bool.self, forKey: .showsLogo) ?? false
        )
    }
}
