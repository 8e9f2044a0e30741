/// Takes out of a text what looks like a secret: values behind names of secrets, keys, tokens, and what follows the `?` or
/// `#` of an address.
enum LogRedaction {
    private static let hidden = "[hidden]"
    private static let names = [
        "password", "passphrase", "secret", "token", "apikey", "api-key", "api_key", "symkey", "privatekey",
        "authorization",
        "cookie", "gatewaykey", "seed", "mnemonic",
    ]
    /// How tokens and keys begin, of this terminal and of others.
    private static let beginnings = ["till_", "wcp_", "sk_", "pk_", "whsec_", "eyj", "-----begin"]

    /// Whether what is called so is to be hidden.
    static func isSecret(name: some StringProtocol) -> Bool {
        // Of bytes: each line of the log comes by here, some while a customer waits.
        let name = name.utf8.map { 65...90 ~= $0 ? $0 | 0x20 : $0 }
        return name.elementsEqual("pin".utf8) || name.elementsEqual("key".utf8)
            || nameBytes.contains { contains(name, $0) }
    }

    private static let nameBytes = names.map { Array($0.utf8) }

    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard text.count >= part.count else { return false }
        return (0...text.count - part.count).contains { start in
            text[start] == part[0] && text[start...].starts(with: part)
        }
    }

    static func clean(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        /// The value that comes next stands behind a secret's name.
        var isAwaited = false
        while let first = rest.first {
            guard isWord(first) else {
                if first == "?" || first == "#", let tail = secretTail(of: rest, after: result) {
                    // Of an address: what follows may carry a code or a key.
                    result += "\(first)\(hidden)"
                    rest = rest.dropFirst(tail)
                    isAwaited = false
                    continue
                }
                result.append(first.isNewline ? " " : first)
                rest = rest.dropFirst()
                if !" \"'=:".contains(first) { isAwaited = false }
                continue
            }
            let word = rest.prefix(while: isWord)
            rest = rest.dropFirst(word.count)
            let isValue = isAwaited
            isAwaited = false
            if isValue, ["bearer", "basic"].contains(word.lowercased()) {
                result += word
                isAwaited = true
            } else if isValue || looksSecret(word) {
                result += hidden
            } else if word.hasPrefix("0x"), word.count > 42 {
                result += word.prefix(10) + "…"
            } else {
                result += word
                isAwaited = names(word, before: rest)
            }
        }
        return result
    }

    /// How long the rest of an address is, from its `?` or `#` on; nil where this is no address, or nothing follows.
    private static func secretTail(of rest: Substring, after written: String) -> Int? {
        let word = written.reversed().prefix { !$0.isWhitespace && $0 != "\"" && $0 != "(" }
        let address = String(word.reversed())
        guard address.contains("://") || address.hasPrefix("wc:") else { return nil }
        let tail = rest.prefix { !$0.isWhitespace && $0 != "\"" && $0 != ")" && $0 != "," }
        return tail.count > 1 ? tail.count : nil
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber) || "_-+%~".contains(character)
    }

    /// Whether a secret's value follows: `token=`, `"password":"`, `Authorization: Bearer`.
    private static func names(_ word: Substring, before rest: Substring) -> Bool {
        let next = rest.drop { $0 == "\"" || $0 == "'" }.first
        return (next == "=" || next == ":") && isSecret(name: word)
    }

    private static func looksSecret(_ word: Substring) -> Bool {
        guard word.utf8.count >= 12 else { return false }
        let lower = word.lowercased()
        if beginnings.contains(where: lower.hasPrefix) { return true }
        guard word.count >= 32, !word.contains("-"), !lower.hasPrefix("pay_"), !lower.hasPrefix("0x") else {
            return false
        }
        if word.allSatisfy(\.isHexDigit) { return true }
        let kinds = [
            word.contains(where: \.isUppercase), word.contains(where: \.isLowercase), word.contains(where: \.isNumber),
        ]
        return !kinds.contains(false)
    }
}
