/// A screen that may not be there yet: opened anew before each page until it opens, and from then on that screen.
public final class LateSink: PixelSink {
    public let name: String
    /// Why there is none; nil where there is.
    public private(set) var absence: ScreenError?
    private let size: PixelSize
    private let open: @Sendable () throws(ScreenError) -> sending any PixelSink
    private var screen: (any PixelSink)?
    private var isClosed = false

    /// Tries once.
    /// - Parameter size: What a page is laid out for meanwhile.
    public init(
        name: String,
        size: PixelSize,
        open: @escaping @Sendable () throws(ScreenError) -> sending any PixelSink
    ) {
        (self.name, self.size, self.open) = (name, size, open)
        tryToOpen()
    }

    public var surface: Surface {
        tryToOpen()
        return screen?.surface ?? Surface(size: size)
    }

    public func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
        try there().write(pixels, to: part)
    }

    public func place(_ texts: [CellText]) throws(ScreenError) { try there().place(texts) }

    public func finish() throws(ScreenError) { try there().finish() }

    public func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        try there().readBack(part, reducedBy: factor)
    }

    public func light(_ isOn: Bool) throws(ScreenError) { try there().light(isOn) }

    public func close() {
        isClosed = true
        screen?.close()
        screen = nil
    }

    private func tryToOpen() {
        guard screen == nil, !isClosed else { return }
        do throws(ScreenError) {
            screen = try open()
            absence = nil
        } catch { absence = error }
    }

    private func there() throws(ScreenError) -> any PixelSink {
        guard !isClosed else { throw .closed }
        guard let screen else { throw absence ?? .cannotDraw(sink: name, reason: "it is not there") }
        return screen
    }
}
