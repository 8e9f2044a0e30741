// The standard library normalizes texts for its own comparison and shows how only through this door.
@_spi(_Unicode) import Swift

/// What a text may hold on the wire. Source: BPP/1, section 8, rule E3.
public enum WireText {
    /// Passes for normalization form C without control characters.
    /// - Throws: `notNormalized` or `controlCharacter`.
    public static func check(_ text: String) throws(CBORError) {
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return }
        for scalar in text.unicodeScalars where scalar.properties.generalCategory == .control {
            throw .controlCharacter
        }
        guard text.unicodeScalars.elementsEqual(text._nfc) else { throw .notNormalized }
    }

    /// `text` as it may be sent: normalized, control characters left out, cut between characters to `limitBytes`.
    public static func sendable(_ text: String, limitBytes: Int) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text._nfc where scalar.properties.generalCategory != .control { scalars.append(scalar) }
        // Leaving a control character out can bring together what composes.
        var normal = String.UnicodeScalarView()
        for scalar in String(scalars)._nfc { normal.append(scalar) }
        var result = ""
        for character in String(normal) {
            guard result.utf8.count + character.utf8.count <= limitBytes else { break }
            result.append(character)
        }
        return result
    }
}
