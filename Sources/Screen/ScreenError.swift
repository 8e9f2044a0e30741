/// Why the screen does not show what it should. No case says anything about the payment itself: it goes on, and its
/// outcome still comes from the authority only.
public enum ScreenError: Error, Sendable, Equatable {
    /// The device or file behind a sink cannot be opened or is of a kind that cannot be drawn on. Nothing was shown.
    /// Check the path, the permissions and the `video` group.
    case cannotOpen(path: String, reason: String)
    /// Drawing did not reach the device. What it shows is uncertain; show the scene again.
    case cannotDraw(sink: String, reason: String)
    /// The link is empty, or too long for a QR code with modules of at least 2 pixels on this screen.
    /// The scene is on the screen without a code. Offer another way to pay or a larger screen.
    case qrTooLong(bytes: Int)
    /// The pixels on the device did not decode to the link, twice. The scene is on the screen without a code and says
    /// so; withdraw the charge or offer another way to pay, and have the screen checked.
    case qrNotReadable(sink: String)
    /// `close()` was called before.
    case closed
}
