/// An opaque colour, 8 bits a channel, as `0xRRGGBB`.
struct Colour: Sendable, Hashable {
    let rgb: UInt32

    init(_ rgb: UInt32) { self.rgb = rgb & 0xFF_FFFF }

    static let white = Colour(0xFFFFFF)
    static let black = Colour(0x000000)

    var red: Double { Double(rgb >> 16 & 0xFF) / 255 }
    var green: Double { Double(rgb >> 8 & 0xFF) / 255 }
    var blue: Double { Double(rgb & 0xFF) / 255 }

    /// This colour with `share` (0 to 1) of another mixed in.
    func mixed(with other: Colour, _ share: Double) -> Colour {
        func channel(_ shift: UInt32) -> UInt32 {
            let own = Double(rgb >> shift & 0xFF)
            let its = Double(other.rgb >> shift & 0xFF)
            return UInt32((own + (its - own) * share).rounded()) << shift
        }
        return Colour(channel(16) | channel(8) | channel(0))
    }
}

/// The colours of one page. Text keeps a contrast of at least 4.5:1 on `ground`, large text too.
/// Source: WCAG 2.2, success criterion 1.4.3.
struct Palette: Sendable, Equatable {
    let ground: Colour
    /// Main words and marks.
    let text: Colour
    /// Labels and everything of second rank.
    let quiet: Colour

    private init(_ ground: UInt32, text: UInt32 = 0xFFFFFF, quiet: UInt32) {
        self.ground = Colour(ground)
        self.text = Colour(text)
        self.quiet = Colour(quiet)
    }

    /// The calm page: idle, setup, charge, starting.
    static let calm = Palette(0x0E1C26, quiet: 0xB3C3CD)
    static let processing = Palette(0x12458C, quiet: 0xD3E2F8)
    static let paid = Palette(0x0A6A3F, quiet: 0xD2F0DF)
    /// Between "in progress" and "paid", and neither.
    static let promised = Palette(0x0B5F6B, quiet: 0xCDEBEF)
    static let failed = Palette(0xA3211B, quiet: 0xFBDCD9)
    static let refused = Palette(0x7A1F52, quiet: 0xF4D5E5)
    static let expired = Palette(0x53408A, quiet: 0xE2DBF5)
    static let cancelled = Palette(0x44515A, quiet: 0xDCE3E7)
    static let unknown = Palette(0xFFBF2B, text: 0x211700, quiet: 0x4A3600)
    static let offline = Palette(0x23282D, quiet: 0xC3CAD0)
    /// Light, as no page of a payment is.
    static let message = Palette(0xF3EEE3, text: 0x1F1A12, quiet: 0x574D3D)

    /// Of a screen that rests.
    static let night = Palette(0x000000, text: 0x9A9A9A, quiet: 0x7A7A7A)

    static let all = [
        calm, night, processing, paid, promised, failed, refused, expired, cancelled, unknown, offline, message,
    ]

    /// Behind each light of the calm page.
    static let chip = Colour(0x1A2C38)
    /// Lights on the calm page; each stands beside its word.
    static let lightReady = Colour(0x4ADE9C)
    static let lightConnecting = Colour(0xFFC94D)
    static let lightUnavailable = Colour(0xFF8A80)
    /// The note on a charge page.
    static let noteGround = Colour(0xFFBF2B)
    static let noteText = Colour(0x211700)
    /// The band on a message's page that says what it is not.
    static let bandGround = Colour(0x3B3325)
    static let bandText = Colour(0xFBF7EE)
}
