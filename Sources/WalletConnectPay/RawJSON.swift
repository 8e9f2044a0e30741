import FoundationEssentials

/// Finds the text of a value inside a JSON document, byte for byte.
///
/// A decoder gives numbers as machine numbers, and those end at 64 bits or round. What a customer signs must be what the
/// gateway wrote, so its text is cut out of the answer and never built again.
enum RawJSON {
    /// The text at `path`; nil where there is nothing, or where a key on the way stands twice and two readers could differ.
    ///
    /// `bytes` must be a document that a JSON decoder has taken: this looks for values and does not check them.
    static func text(in bytes: [UInt8], at path: [any CodingKey]) -> String? {
        var scanner = Scanner(bytes: bytes)
        for key in path {
            let isFound =
                if let index = key.intValue {
                    scanner.enterElement(index)
                } else {
                    scanner.enterMember(key.stringValue)
                }
            guard isFound else { return nil }
        }
        return scanner.value().flatMap { String(validating: $0, as: UTF8.self) }
    }

    private struct Scanner {
        let bytes: [UInt8]
        var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        private mutating func skipSpace() {
            while let byte = next, byte == 0x20 || (0x09...0x0D).contains(byte) { position += 1 }
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard next == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        /// Goes to the start of an array's element.
        mutating func enterElement(_ index: Int) -> Bool {
            guard take("[") else { return false }
            for _ in 0..<index { guard value() != nil, take(",") else { return false } }
            return true
        }

        /// Goes to the start of an object's member, the only one of that name.
        mutating func enterMember(_ name: String) -> Bool {
            guard take("{") else { return false }
            var found: Int?
            repeat {
                guard let key = value(), take(":") else { return false }
                if Self.isName(key, name) {
                    guard found == nil else { return false }
                    found = position
                }
                guard value() != nil else { return false }
            } while take(",")
            guard let found else { return false }
            position = found
            return true
        }

        private static func isName(_ key: ArraySlice<UInt8>, _ name: String) -> Bool {
            if !key.contains(UInt8(ascii: "\\")) { return key.dropFirst().dropLast().elementsEqual(name.utf8) }
            return (try? JSONDecoder().decode(String.self, from: Data(key))) == name
        }

        /// The bytes of the value that starts here; goes behind it.
        mutating func value() -> ArraySlice<UInt8>? {
            skipSpace()
            let start = position
            var depth = 0
            while let byte = next {
                switch byte {
                case UInt8(ascii: "\""):
                    guard skipString() else { return nil }
                    if depth == 0 { return bytes[start..<position] }
                case UInt8(ascii: "["), UInt8(ascii: "{"):
                    depth += 1
                    position += 1
                case UInt8(ascii: "]"), UInt8(ascii: "}"):
                    if depth == 0 { return position > start ? bytes[start..<position] : nil }
                    depth -= 1
                    position += 1
                    if depth == 0 { return bytes[start..<position] }
                case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09...0x0D:
                    if depth == 0 { return position > start ? bytes[start..<position] : nil }
                    position += 1
                default: position += 1
                }
            }
            return depth == 0 && position > start ? bytes[start..<position] : nil
        }

        private mutating func skipString() -> Bool {
            position += 1
            while let byte = next {
                position += byte == UInt8(ascii: "\\") ? 2 : 1
                if byte == UInt8(ascii: "\"") { return true }
            }
            return false
        }
    }
}
