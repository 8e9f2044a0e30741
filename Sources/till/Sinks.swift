import Glibc
import Screen

extension Configuration {
    /// The screen's sinks, opened. A PNG file may stand beside any of them.
    func openSinks(png: String?, caption: [String]) throws(ScreenError) -> [any PixelSink] {
        let rotation = Rotation(rawValue: rotation) ?? .none
        var sinks: [any PixelSink] = []
        switch sink {
        case .framebuffer:
            sinks.append(try FramebufferSink(path: screenPath, rotation: rotation, consolePath: Self.console))
        case .png: sinks.append(try PNGSink(path: screenPath, size: screenSize))
        case .terminal: sinks.append(try TerminalWindowSink(fileDescriptor: 1, caption: caption))
        case .none: break
        }
        if let png { sinks.append(try PNGSink(path: png, size: screenSize)) }
        return sinks
    }

    /// The kernel's console, which would draw its cursor and messages over the picture. Nil where there is none, or where
    /// it may not be touched; then it stays as it is.
    private static var console: String? {
        let path = "/dev/tty0"
        return unsafe access(path, R_OK | W_OK) == 0 ? path : nil
    }

    private var screenSize: PixelSize { PixelSize(width: screenWidth, height: screenHeight) }
}
