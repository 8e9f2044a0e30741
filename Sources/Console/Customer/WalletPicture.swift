import Foundation
import Payments

/// A wallet's picture as a `data:` address: what a browser shows as a still picture and nothing else.
///
/// No SVG: it is a document, which can be made to keep a phone busy. The kind is what the bytes say, so that a browser has
/// nothing to guess. Every picture travels with every page, which is why all of them together are bounded too.
enum WalletPicture {
    /// Of one picture, decoded. A square of 120 pixels fits.
    static let mostBytes = 8 * 1024
    /// Of all pictures of a list together.
    static let mostBytesTogether = 64 * 1024
    /// Pixels per side; the page shows 40.
    static let sides = 1...512

    /// The picture's bytes; nil where it is no `data:` address of a kind that is taken.
    static func bytes(of address: String) -> [UInt8]? { data(of: address)?.bytes }

    private static func data(of address: String) -> (bytes: [UInt8], kind: String)? {
        for kind in ["png", "webp"] where address.hasPrefix("data:image/\(kind);base64,") {
            // Strict: an address that another reader reads differently is none.
            guard let data = Data(base64Encoded: String(address.dropFirst(19 + kind.utf8.count))) else { return nil }
            return (Array(data), kind)
        }
        return nil
    }

    /// What is wrong with it, to follow on “the picture of …”; nil where it can be shown.
    static func fault(in address: String) -> String? {
        guard let (bytes, kind) = data(of: address) else { return "is no PNG or WebP as a data: address" }
        guard bytes.count <= mostBytes else { return "has more than \(mostBytes / 1024) KB" }
        guard let (width, height) = kind == "png" ? sizeOfPNG(bytes) : sizeOfWebP(bytes) else {
            return "is not the kind of picture that its address says"
        }
        guard sides.contains(width), sides.contains(height) else {
            return "has more than \(sides.upperBound) pixels on one side"
        }
        return nil
    }

    /// The first wallet whose picture is one too many, and why.
    static func excess(of wallets: [CustomerWallet]) -> (index: Int, reason: Reason)? {
        var sum = 0
        for (index, wallet) in wallets.enumerated() {
            guard let icon = wallet.icon, fault(in: icon) == nil else { continue }
            sum += bytes(of: icon)?.count ?? 0
            guard sum > mostBytesTogether else { continue }
            let reason = Reason(
                code: "pictures_too_large",
                message: "With the picture of “\(wallet.name)”, the pictures of all wallets together have more than "
                    + "\(mostBytesTogether / 1024) KB, which every customer’s phone would load.",
                action: "Use smaller pictures, or leave some empty."
            )
            return (index, reason)
        }
        return nil
    }

    /// Source: PNG third edition, 5.2 and 11.2.1: signature, then IHDR with width and height.
    private static func sizeOfPNG(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        guard bytes.count > 33, bytes.starts(with: start) else { return nil }
        func number(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
        return (number(16), number(20))
    }

    /// Source: RFC 9649, 2.3 to 2.7: `RIFF`, `WEBP`, then a lossy, lossless or extended header.
    private static func sizeOfWebP(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.count > 30, bytes.starts(with: "RIFF".utf8), bytes[8..<15].elementsEqual("WEBPVP8".utf8) else {
            return nil
        }
        func number(_ at: Int, bytes count: Int) -> Int {
            bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        switch bytes[15] {
        case UInt8(ascii: " "): return (number(26, bytes: 2) & 0x3FFF, number(28, bytes: 2) & 0x3FFF)
        case UInt8(ascii: "L"):
            let both = number(21, bytes: 4)
            return ((both & 0x3FFF) + 1, (both >> 14 & 0x3FFF) + 1)
        case UInt8(ascii: "X"): return (number(24, bytes: 3) + 1, number(27, bytes: 3) + 1)
        default: return nil
        }
    }
}
