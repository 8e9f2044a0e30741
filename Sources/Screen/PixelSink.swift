/// Where pages go: a framebuffer, a file, a window.
///
/// A `Display` owns its sinks and calls them on one queue only, so a sink needs no locks; it may block.
/// The order for each page is `surface`, `write` for every changed part, `place` (cells only), `finish`.
public protocol PixelSink: AnyObject {
    /// What this is, for errors: a path or `terminal window`.
    var name: String { get }

    /// Asked before each page; a different answer than before means everything is drawn again.
    var surface: Surface { get }

    /// Replaces the pixels of `part`. `pixels` holds them row by row without gaps, as `0xFFRRGGBB`.
    func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError)

    /// Replaces all characters. Called for surfaces of cells only.
    func place(_ texts: [CellText]) throws(ScreenError)

    /// The page is complete.
    func finish() throws(ScreenError)

    /// Reads back what the device holds, from its own memory in its own format: one grey value for each square of
    /// `factor` × `factor` pixels, their mean. A rest at
    /// the right and lower edge that fills no square is left out.
    func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage

    /// Switches the device's light off, or on again; what it shows stays. One that cannot be switched goes on being lit.
    /// - Throws: It is off and does not come on.
    func light(_ isOn: Bool) throws(ScreenError)

    /// Gives the device back as it was. Nothing is written afterwards.
    func close()
}

extension PixelSink {
    public func place(_ texts: [CellText]) throws(ScreenError) {}
    public func finish() throws(ScreenError) {}
    public func light(_ isOn: Bool) throws(ScreenError) {}
}

/// What can be drawn on.
public struct Surface: Sendable, Hashable {
    public var size: PixelSize
    /// The size of one character cell if text is placed as characters; nil when text is drawn as pixels.
    public var cell: PixelSize?
    /// Another one where the device was replaced: what was drawn is not there any more.
    public var edition = 0

    public init(size: PixelSize, cell: PixelSize? = nil) { (self.size, self.cell) = (size, cell) }
}

/// One line of characters on a surface of cells.
public struct CellText: Sendable, Equatable {
    /// Counted from 0, from the upper left corner.
    public var column: Int
    public var row: Int
    /// The space it stands in, in cells; longer text is cut.
    public var columns: Int
    public var alignment: Alignment
    public var text: String
    /// `0xRRGGBB`.
    public var rgb: UInt32
    public var isBold: Bool

    /// Left and right as seen, whatever the language.
    public enum Alignment: Sendable, Equatable { case left, centre, right }
}
