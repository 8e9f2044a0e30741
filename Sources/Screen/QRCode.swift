import CQRencode
import Glibc

/// A QR code, as a square of dark and light modules.
struct QRCode: Sendable, Equatable {
    enum Correction: Sendable, Equatable {
        /// Recovers about 7 % damage.
        case low
        /// Recovers about 15 % damage.
        case medium
    }
    enum Failure: Error, Sendable, Equatable { case empty, tooLong, outOfMemory }

    /// The white border the standard asks for, in modules. Source: ISO/IEC 18004, quiet zone.
    static let quietZone = 4

    let text: String
    /// Modules per side, without the quiet zone. 21 to 177.
    let width: Int
    /// Modules per side, with the quiet zone.
    var widthWithQuietZone: Int { width + 2 * Self.quietZone }
    private let dark: [Bool]

    /// Encodes the UTF-8 bytes of `text` as they are.
    /// Source: qrencode.h 4.1.1, `QRcode_encodeData` (errno: EINVAL, ENOMEM, ERANGE).
    init(_ text: String, correction: Correction) throws(Failure) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw .empty }
        let level = correction == .medium ? QR_ECLEVEL_M : QR_ECLEVEL_L
        guard let code = unsafe QRcode_encodeData(Int32(bytes.count), bytes, 0, level) else {
            throw errno == ENOMEM ? .outOfMemory : .tooLong
        }
        defer { unsafe QRcode_free(code) }  // `code` lives in this scope only; what leaves is a copy.
        let width = Int(unsafe code.pointee.width)
        let modules = unsafe UnsafeBufferPointer(start: code.pointee.data, count: width * width)
        dark = unsafe modules.map { $0 & 1 == 1 }  // Bit 0 is "dark"; the others are layout hints.
        self.width = width
        self.text = text
    }

    func isDark(row: Int, column: Int) -> Bool { dark[row * width + column] }
}

/// A QR code together with its place: whole device pixels per module, quiet zone included in `frame`.
struct PlacedQR: Sendable, Equatable {
    var code: QRCode
    var frame: PixelRect
    /// Device pixels per side of one module.
    var module: Int

    /// Where the modules are, without the quiet zone.
    var symbol: PixelRect { frame.inset(by: QRCode.quietZone * module) }
}

/// Chooses error correction and module size for the space there is.
struct QRFitting: Sendable {
    /// Below this a phone's camera has no chance.
    static let smallestModule = 2
    /// What a steady scan needs. Source: DENSO WAVE, "Point for determining the size of QR Code": 4 dots or more.
    static let wantedModule = 4

    /// Module sizes are multiples of this: 1 for pixels, a half cell for a terminal window.
    var grid = 1

    /// The code for `text` with the largest modules that fit a square of `side` pixels: level M, and level L only
    /// where M would be too long or its modules smaller than wanted. Nil when not even `smallestModule` fits.
    func fit(_ text: String, side: Int, codes: QRCodeCache) -> (code: QRCode, module: Int)? {
        let medium = candidate(codes.code(text, .medium), side: side)
        if let medium, medium.module >= Self.wantedModule { return medium }
        guard let low = candidate(codes.code(text, .low), side: side) else { return medium }
        guard let medium, medium.module >= low.module else { return low }
        return medium
    }

    private func candidate(_ code: QRCode?, side: Int) -> (code: QRCode, module: Int)? {
        guard let code else { return nil }
        let module = side / code.widthWithQuietZone / grid * grid
        return module >= max(grid, Self.smallestModule) ? (code, module) : nil
    }
}

/// The codes of the page shown last, so that a second less on its clock does not encode the link again.
final class QRCodeCache {
    private struct Key: Hashable {
        let text: String
        let correction: QRCode.Correction
    }
    private var codes: [Key: QRCode?] = [:]
    private var used: Set<Key> = []

    /// Nil when the text cannot be a code at this level.
    func code(_ text: String, _ correction: QRCode.Correction) -> QRCode? {
        let key = Key(text: text, correction: correction)
        used.insert(key)
        if let known = codes[key] { return known }
        let code = try? QRCode(text, correction: correction)
        codes[key] = .some(code)
        return code
    }

    /// Drops all codes not asked for since the last call.
    func forgetUnused() {
        codes = codes.filter { used.contains($0.key) }
        used = []
    }
}
