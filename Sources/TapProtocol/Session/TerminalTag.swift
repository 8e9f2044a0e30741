internal import Crypto
internal import FoundationEssentials

/// What a phone reads off a terminal's NFC tag or QR: which terminal, and how to know it. Source: BPP/1, section 4.4.
public struct TerminalTag: Sendable, Hashable {
    /// 16 bytes; the phone advertises them as its service.
    public let tagID: [UInt8]
    /// The first 16 bytes of the SHA-256 of the terminal's static key.
    public let keyHash: [UInt8]
    /// For people, before the certificate is known. At most 64 bytes.
    public let name: String

    /// The longest URI that is read.
    public static let maximumBytes = 512

    /// Nil unless `tagID` has 16 bytes. A longer name is cut.
    public init?(tagID: [UInt8], terminalKey: [UInt8], name: String) {
        guard tagID.count == 16 else { return nil }
        (self.tagID, keyHash) = (tagID, Self.hash(of: terminalKey))
        self.name = WireText.sendable(name, limitBytes: 64)
    }

    /// The tag of one request alone, for the terminal's own screen: by it nobody meets another charge.
    /// - Parameter request: The request's hash.
    public init(for request: ObjectHash, terminalKey: [UInt8], name: String) {
        tagID = Array(SHA256.hash(data: Array("BPP1-TAG".utf8) + request.bytes).prefix(16))
        keyHash = Self.hash(of: terminalKey)
        self.name = WireText.sendable(name, limitBytes: 64)
    }

    /// Reads a tag, in either of its forms. Nil for anything but a tag of this version with each part once. Takes any text.
    public init?(uri: String) {
        guard uri.utf8.count <= Self.maximumBytes else { return nil }
        var text = uri[...]
        // An app's own link opens the app; what the phone needs stands behind it.
        if text.hasPrefix("https://") {
            guard let mark = text.firstIndex(of: "#") else { return nil }
            text = text[text.index(after: mark)...]
        }
        guard text.hasPrefix(Self.scheme) else { return nil }
        var parts: [String: String] = [:]
        for part in text.dropFirst(Self.scheme.count).split(separator: "&", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, parts.updateValue(String(pair[1]), forKey: String(pair[0])) == nil else {
                return nil
            }
        }
        guard let tagID = parts["t"].flatMap(Self.unpadded), tagID.count == 16,
            let keyHash = parts["k"].flatMap(Self.unpadded), keyHash.count == 16,
            let name = Self.unescaped(parts["n"] ?? ""), name.utf8.count <= 64,
            (try? WireText.check(name)) != nil
        else { return nil }
        (self.tagID, self.keyHash, self.name) = (tagID, keyHash, name)
    }

    private static let scheme = "bpp:1?"

    /// The address for a sticker or a code.
    /// - Parameter link: The app's own link, without a fragment; empty for none. Phones open no scheme of an app's own from a
    ///   sticker.
    public func uri(opening link: String) -> String { link.isEmpty ? uri : link + "#" + uri }

    public var uri: String {
        "\(Self.scheme)t=\(Self.padless(tagID))&k=\(Self.padless(keyHash))&n=\(Self.escaped(name))"
    }

    /// The service that a phone with this tag advertises, and a terminal with this tag looks for.
    public var advertisedService: ServiceUUID? { ServiceUUID(bytes: tagID) }

    /// True for the terminal that this tag belongs to.
    public func matches(terminalKey: [UInt8]) -> Bool { Self.hash(of: terminalKey) == keyHash }

    private static func hash(of key: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: key).prefix(16)) }

    private static func padless(_ bytes: [UInt8]) -> String {
        String(
            Data(bytes).base64EncodedString().compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 }
        )
    }

    /// The bytes behind base64url without padding; nil where the last character holds bits of nothing.
    private static func unpadded(_ text: String) -> [UInt8]? {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        guard let data = Data(base64Encoded: standard + padding), padless(Array(data)) == text else { return nil }
        return Array(data)
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                result.append(character)
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }

    private static func unescaped(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? { Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init) }
}
