import Glibc
import Screen

extension Configuration {
    /// The screen's sinks, opened. A PNG file may stand beside any of them.
    func openSinks(png: String?, caption: [String]) throws(ScreenError) -> [any PixelSink] {
        let rotation = Rotation(rawValue: rotation) ?? .none
        var sinks: [any PixelSink] = []
        switch sink {
        case .framebuffer where unsafe access(screenPath, F_OK) != 0:
            // Kernels without framebuffer devices have the other kind.
            let card = try Self.card(or: ScreenError.cannotOpen(path: screenPath, reason: "there is no such device"))
            sinks.append(try DRMSink(path: card, rotation: rotation, consolePath: Self.console))
        case .framebuffer:
            sinks.append(try FramebufferSink(path: screenPath, rotation: rotation, consolePath: Self.console))
        case .drm:
            let missing = ScreenError.cannotOpen(path: "/dev/dri", reason: "there is no device for a screen")
            let card = screenPath.hasPrefix("/dev/dri/") ? screenPath : try Self.card(or: missing)
            sinks.append(try DRMSink(path: card, rotation: rotation, consolePath: Self.console))
        case .png: sinks.append(try PNGSink(path: screenPath, size: screenSize))
        case .terminal: sinks.append(try TerminalWindowSink(fileDescriptor: 1, caption: caption))
        case .none: break
        }
        if let png { sinks.append(try PNGSink(path: png, size: screenSize)) }
        return sinks
    }

    /// The first device for screens. A second graphics card comes after it.
    private static func card(or missing: ScreenError) throws(ScreenError) -> String {
        let paths: [String] = (0..<8).map { "/dev/dri/card\($0)" }
        let card = paths.first { unsafe access($0, R_OK | W_OK) == 0 }
        guard let card else { throw missing }
        return card
    }

    /// The kernel's console, which would draw its cursor and messages over the picture: the one that this program was started
    /// on, else the one on the screen. Nil where neither may be touched; then it stays as it is.
    private static var console: String? { ConsoleGraphics.firstUsable(["/dev/tty", "/dev/tty0"]) }

    private var screenSize: PixelSize { PixelSize(width: screenWidth, height: screenHeight) }
}
