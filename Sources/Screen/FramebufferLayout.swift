/// How a framebuffer stores its pixels: what the kernel reports about `/dev/fb0`, or what a test says about a file.
/// Source: linux/fb.h, `fb_var_screeninfo`, `fb_fix_screeninfo`, `fb_bitfield`.
public struct FramebufferLayout: Sendable, Hashable {
    /// Where one colour's bits are in a pixel, counted from the lowest.
    public struct Channel: Sendable, Hashable {
        public var offset: Int
        /// 1 to 16.
        public var length: Int

        public init(offset: Int, length: Int) { (self.offset, self.length) = (offset, length) }
    }

    /// Of the panel, before any rotation.
    public var size: PixelSize
    /// Bytes from one row to the next; at least a row's pixels, often more.
    public var strideBytes: Int
    /// 16, 24 or 32.
    public var bitsPerPixel: Int
    public var red: Channel
    public var green: Channel
    public var blue: Channel
    /// Bytes before the first visible pixel.
    public var startBytes: Int

    public init(
        size: PixelSize,
        strideBytes: Int,
        bitsPerPixel: Int,
        red: Channel,
        green: Channel,
        blue: Channel,
        startBytes: Int = 0
    ) {
        self.size = size
        self.strideBytes = strideBytes
        self.bitsPerPixel = bitsPerPixel
        self.red = red
        self.green = green
        self.blue = blue
        self.startBytes = startBytes
    }

    /// 32 bits a pixel, `0x00RRGGBB`: the most common kind.
    public static func xrgb8888(_ size: PixelSize, strideBytes: Int? = nil) -> FramebufferLayout {
        FramebufferLayout(
            size: size,
            strideBytes: strideBytes ?? size.width * 4,
            bitsPerPixel: 32,
            red: Channel(offset: 16, length: 8),
            green: Channel(offset: 8, length: 8),
            blue: Channel(offset: 0, length: 8)
        )
    }

    /// 24 bits a pixel without padding.
    public static func rgb888(_ size: PixelSize, strideBytes: Int? = nil) -> FramebufferLayout {
        var layout = xrgb8888(size, strideBytes: strideBytes ?? size.width * 3)
        layout.bitsPerPixel = 24
        return layout
    }

    /// 16 bits a pixel, as small panels on SPI have it.
    public static func rgb565(_ size: PixelSize, strideBytes: Int? = nil) -> FramebufferLayout {
        FramebufferLayout(
            size: size,
            strideBytes: strideBytes ?? size.width * 2,
            bitsPerPixel: 16,
            red: Channel(offset: 11, length: 5),
            green: Channel(offset: 5, length: 6),
            blue: Channel(offset: 0, length: 5)
        )
    }

    var bytesPerPixel: Int { bitsPerPixel / 8 }
    var rowBytes: Int { size.width * bytesPerPixel }
    /// Bytes a mapping must have to hold every visible pixel.
    var lengthBytes: Int { startBytes + strideBytes * (size.height - 1) + rowBytes }
    /// A row of a canvas can be copied as it is.
    var isCanvasFormat: Bool { self == Self.xrgb8888(size, strideBytes: strideBytes).starting(at: startBytes) }

    private func starting(at bytes: Int) -> FramebufferLayout {
        var layout = self
        layout.startBytes = bytes
        return layout
    }

    /// Says in words why this cannot be drawn on; nil when it can.
    var objection: String? {
        guard (1...32_768).contains(size.width), (1...32_768).contains(size.height) else {
            return "its size of \(size.width) × \(size.height) is not a screen's"
        }
        guard [16, 24, 32].contains(bitsPerPixel) else {
            return "it has \(bitsPerPixel) bits a pixel; 16, 24 and 32 are supported"
        }
        guard strideBytes >= rowBytes, strideBytes <= 1 << 24, startBytes >= 0, startBytes <= 1 << 32 else {
            return "its rows of \(strideBytes) bytes do not hold \(size.width) pixels"
        }
        for channel in [red, green, blue] {
            guard (1...16).contains(channel.length), channel.offset >= 0,
                channel.offset + channel.length <= bitsPerPixel
            else { return "its colours are not separate bits of a pixel" }
        }
        return nil
    }
}

/// Colours to stored values and back, by table.
struct PixelPacking: Sendable {
    private let red: [UInt32]
    private let green: [UInt32]
    private let blue: [UInt32]
    private let greyOfRed: [UInt32]
    private let greyOfGreen: [UInt32]
    private let greyOfBlue: [UInt32]
    private let layout: FramebufferLayout
    /// Bits of no colour are set: where they are alpha, the picture is opaque.
    private let opaque: UInt32

    init(_ layout: FramebufferLayout) {
        self.layout = layout
        let colours = [layout.red, layout.green, layout.blue].reduce(UInt32(0)) { bits, channel in
            bits | ((UInt32(1) << channel.length) - 1) << channel.offset
        }
        opaque = ~colours
        func stored(_ channel: FramebufferLayout.Channel) -> [UInt32] {
            let highest = (UInt32(1) << channel.length) - 1
            return (0..<256).map { ((UInt32($0) * highest + 127) / 255) << channel.offset }
        }
        (red, green, blue) = (stored(layout.red), stored(layout.green), stored(layout.blue))
        // Weights of a colour's brightness, of 256. Source: ITU-R BT.601.
        func grey(_ channel: FramebufferLayout.Channel, _ weight: UInt32) -> [UInt32] {
            let highest = (UInt32(1) << channel.length) - 1
            return (0...highest).map { $0 * 255 / highest * weight }
        }
        (greyOfRed, greyOfGreen, greyOfBlue) = (grey(layout.red, 77), grey(layout.green, 150), grey(layout.blue, 29))
    }

    func stored(_ rgb: UInt32) -> UInt32 {
        red[Int(rgb >> 16 & 0xFF)] | green[Int(rgb >> 8 & 0xFF)] | blue[Int(rgb & 0xFF)] | opaque
    }

    /// 0 to 255 × 256.
    func grey(_ stored: UInt32) -> UInt32 {
        // The tables' lengths are powers of two, which makes the mask.
        greyOfRed[Int(stored >> layout.red.offset) & (greyOfRed.count - 1)]
            + greyOfGreen[Int(stored >> layout.green.offset) & (greyOfGreen.count - 1)]
            + greyOfBlue[Int(stored >> layout.blue.offset) & (greyOfBlue.count - 1)]
    }
}
