import CZBar

/// Reads QR codes out of grey pixels, the way a phone would: with a decoder that knows nothing of the encoder.
///
/// Owns one zbar scanner; not for use from two threads at once.
/// Source: zbar.h 0.23, `zbar_image_scanner_t`, `zbar_image_t`.
@safe final class QRReader {
    private let scanner: OpaquePointer

    /// Nil when there is no memory for a scanner.
    init?() {
        guard let scanner = unsafe zbar_image_scanner_create() else { return nil }
        unsafe zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0)
        unsafe zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1)
        unsafe self.scanner = scanner
    }

    deinit { unsafe zbar_image_scanner_destroy(scanner) }

    /// The texts of all QR codes in the picture, in the order found.
    /// - Parameter samplesPerModule: as the picture's maker knows it, or 1. The more, the fewer lines need a look: the
    ///   corner patterns are seven modules wide, and some crossings of each are enough.
    func texts(in image: GreyImage, samplesPerModule: Int = 1) -> [String] {
        let step = Int32(max(1, min(3, samplesPerModule - 1)))
        unsafe zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_X_DENSITY, step)
        unsafe zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_Y_DENSITY, step)
        guard let picture = unsafe zbar_image_create() else { return [] }
        // The reference made here is the only one; zbar frees the results with it.
        defer { unsafe zbar_image_destroy(picture) }
        unsafe zbar_image_set_format(picture, Self.y800)
        unsafe zbar_image_set_size(picture, UInt32(image.size.width), UInt32(image.size.height))
        return unsafe image.pixels.withUnsafeBytes { bytes in
            // zbar only reads, and nothing uses the picture after this scope but its destruction.
            unsafe zbar_image_set_data(picture, bytes.baseAddress, UInt(bytes.count), nil)
            guard unsafe zbar_scan_image(scanner, picture) > 0 else { return [] }
            defer { unsafe zbar_image_scanner_recycle_image(scanner, picture) }
            var texts: [String] = []
            var symbol = unsafe zbar_image_first_symbol(picture)
            while let current = unsafe symbol {
                let length = Int(unsafe zbar_symbol_get_data_length(current))
                if let data = unsafe zbar_symbol_get_data(current) {
                    let characters = unsafe UnsafeRawBufferPointer(start: data, count: length)
                    unsafe texts.append(String(decoding: characters, as: UTF8.self))
                }
                unsafe symbol = zbar_symbol_next(current)
            }
            return texts
        }
    }

    /// The four characters `Y800`: 8 bits of grey a pixel.
    private static let y800 = UInt("Y800".utf8.reversed().reduce(0) { $0 << 8 | UInt($1) })
}

/// Grey pixels, row by row without gaps: 0 black, 255 white.
public struct GreyImage: Sendable, Equatable {
    public var size: PixelSize
    public var pixels: [UInt8]

    /// - Precondition: `pixels` holds `width` × `height` values.
    public init(size: PixelSize, pixels: [UInt8]) {
        precondition(pixels.count == size.width * size.height)
        self.size = size
        self.pixels = pixels
    }
}
