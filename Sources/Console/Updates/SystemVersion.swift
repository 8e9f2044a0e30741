/// A version of the whole system, in the order that `sort -V` gives, which the image's own check before an installation uses.
struct SystemVersion: Comparable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: SystemVersion, right: SystemVersion) -> Bool { left.text == right.text }

    static func < (left: SystemVersion, right: SystemVersion) -> Bool {
        let (lefts, rights) = (left.parts, right.parts)
        for (one, other) in zip(lefts, rights) where one != other {
            if let first = UInt64(one), let second = UInt64(other) {
                if first != second { return first < second }
                continue
            }
            // A number after a word is more than the word's end; otherwise by the letters.
            return one < other
        }
        return lefts.count == rights.count ? left.text < right.text : lefts.count < rights.count
    }

    /// Runs of digits, and what stands between them.
    private var parts: [String] {
        var parts: [String] = []
        var wasDigit: Bool?
        for character in text.prefix(100) {
            let isDigit = character.isASCII && character.isNumber
            if isDigit == wasDigit { parts[parts.count - 1].append(character) } else { parts.append(String(character)) }
            wasDigit = isDigit
        }
        return parts
    }
}
