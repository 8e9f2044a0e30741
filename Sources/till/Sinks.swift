import Glibc
import Logging
import Screen

extension Configuration {
    /// Whether the screen is the machine's own, which can be missing, or come later.
    var hasOwnScreen: Bool { sink == .framebuffer || sink == .drm }

    /// The screen's sinks, opened. A PNG file may stand beside any of them. The machine's own screen is waited for.
    func openSinks(png: String?, caption: [String], _ logger: Logger) throws(ScreenError) -> [any PixelSink] {
        var sinks: [any PixelSink] = []
        switch sink {
        case .framebuffer, .drm:
            let screen = LateSink(
                name: "the screen",
                size: screenSize,
                open: { () throws(ScreenError) in try openOwn() }
            )
            if let absence = screen.absence {
                logger.error(
                    "there is no screen to draw on yet; the page works, and the screen is looked for again and again",
                    metadata: ["error": "\(absence)"]
                )
            }
            sinks.append(screen)
        case .png: sinks.append(try PNGSink(path: screenPath, size: screenSize))
        case .terminal: sinks.append(try TerminalWindowSink(fileDescriptor: 1, caption: caption))
        case .none: break
        }
        if let png { sinks.append(try PNGSink(path: png, size: screenSize)) }
        return sinks
    }

    /// The machine's own screen, of one of two kinds.
    enum OwnScreen: Equatable {
        case framebuffer(String)
        case card(String)
    }

    /// What the screen is now. A framebuffer comes first, for it needs nobody to set a mode; kernels without one have the
    /// other kind.
    func ownScreen() -> OwnScreen {
        if sink == .framebuffer, unsafe access(screenPath, F_OK) == 0 { return .framebuffer(screenPath) }
        if sink == .drm, screenPath.hasPrefix("/dev/dri/") { return .card(screenPath) }
        // A second graphics card comes after the first.
        let cards: [String] = (0..<8).map { "/dev/dri/card\($0)" }
        if let card = cards.first(where: { unsafe access($0, R_OK | W_OK) == 0 }) { return .card(card) }
        return sink == .framebuffer ? .framebuffer(screenPath) : .card(cards[0])
    }

    private func openOwn() throws(ScreenError) -> sending any PixelSink {
        let rotation = Rotation(rawValue: rotation) ?? .none
        switch ownScreen() {
        case .framebuffer(let path):
            return try FramebufferSink(path: path, rotation: rotation, consolePath: Self.console)
        case .card(let path): return try DRMSink(path: path, rotation: rotation, consolePath: Self.console)
        }
    }

    /// The kernel's console, which would draw its cursor and messages over the picture: the one that this program was started
    /// on, else the one on the screen. Nil where neither may be touched; then it stays as it is.
    private static var console: String? { ConsoleGraphics.firstUsable(["/dev/tty", "/dev/tty0"]) }

    private var screenSize: PixelSize { PixelSize(width: screenWidth, height: screenHeight) }
}
