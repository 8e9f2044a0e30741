import Screen

extension Configuration {
    /// The screen's sinks, opened. A PNG file may stand beside any of them.
    func openSinks(png: String?, caption: [String]) throws(ScreenError) -> [any PixelSink] {
        let rotation = Rotation(rawValue: rotation) ?? .none
        var sinks: [any PixelSink] = []
        switch sink {
        case .framebuffer: sinks.append(try FramebufferSink(path: screenPath, rotation: rotation))
        case .png: sinks.append(try PNGSink(path: screenPath, size: screenSize))
        case .terminal: sinks.append(try TerminalWindowSink(fileDescriptor: 1, caption: caption))
        case .none: break
        }
        if let png { sinks.append(try PNGSink(path: png, size: screenSize)) }
        return sinks
    }

    private var screenSize: PixelSize { PixelSize(width: screenWidth, height: screenHeight) }
}
