/// Reads one document from front to back. Every index is checked against the end before it is used.
struct ExactJSONParser {
    private let bytes: [UInt8]
    private let depthLimit: Int
    private var offset = 0
    private var depth = 0

    init(bytes: [UInt8], depthLimit: Int) { (self.bytes, self.depthLimit) = (bytes, depthLimit) }

    mutating func document() throws(ExactJSON.Failure) -> ExactJSON {
        let value = try value()
        skipWhiteSpace()
        guard offset == bytes.count else { throw .syntax(offset: offset, expected: "the end") }
        return value
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func take(_ character: Character) -> Bool {
        guard let next, next == character.asciiValue else { return false }
        offset += 1
        return true
    }

    private mutating func skipWhiteSpace() {
        while let next, next == 0x20 || next == 0x0A || next == 0x0D || next == 0x09 { offset += 1 }
    }

    private mutating func value() throws(ExactJSON.Failure) -> ExactJSON {
        skipWhiteSpace()
        switch next {
        case UInt8(ascii: "{"): return try nested { parser throws(ExactJSON.Failure) in try parser.object() }
        case UInt8(ascii: "["): return try nested { parser throws(ExactJSON.Failure) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func nested(
        _ read: (inout ExactJSONParser) throws(ExactJSON.Failure) -> ExactJSON
    ) throws(ExactJSON.Failure) -> ExactJSON {
        guard depth < depthLimit else { throw .tooDeep(limit: depthLimit) }
        depth += 1
        offset += 1  // The opening bracket.
        let value = try read(&self)
        depth -= 1
        return value
    }

    private mutating func word(_ word: String, _ value: ExactJSON) throws(ExactJSON.Failure) -> ExactJSON {
        guard bytes[offset...].starts(with: word.utf8) else { throw .syntax(offset: offset, expected: word) }
        offset += word.utf8.count
        return value
    }

    private mutating func array() throws(ExactJSON.Failure) -> ExactJSON {
        skipWhiteSpace()
        if take("]") { return .array([]) }
        var elements: [ExactJSON] = []
        while true {
            elements.append(try value())
            skipWhiteSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw .syntax(offset: offset, expected: ", or ]") }
        }
    }

    private mutating func object() throws(ExactJSON.Failure) -> ExactJSON {
        skipWhiteSpace()
        if take("}") { return .object([]) }
        var members: [ExactJSON.Member] = []
        var names: Set<[UInt8]> = []
        while true {
            skipWhiteSpace()
            let start = offset
            guard next == UInt8(ascii: "\"") else { throw .syntax(offset: offset, expected: "a name") }
            let name = try string()
            guard names.insert(Array(name.utf8)).inserted else { throw .duplicateName(offset: start) }
            skipWhiteSpace()
            guard take(":") else { throw .syntax(offset: offset, expected: ":") }
            members.append(ExactJSON.Member(name, try value()))
            skipWhiteSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw .syntax(offset: offset, expected: ", or }") }
        }
    }

    /// Source: RFC 8259, section 6.
    private mutating func number() throws(ExactJSON.Failure) -> ExactJSON {
        let start = offset
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        return .number(String(decoding: bytes[start..<offset], as: UTF8.self))
    }

    private mutating func digits() throws(ExactJSON.Failure) {
        let start = offset
        while let next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { offset += 1 }
        guard offset > start else { throw .syntax(offset: offset, expected: "a value") }
    }

    private mutating func string() throws(ExactJSON.Failure) -> String {
        offset += 1  // The opening quote.
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw .notUTF8 }
                return string
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw .syntax(offset: offset - 1, expected: "an escaped control character")
            default: text.append(byte)
            }
        }
        throw .syntax(offset: offset, expected: "\"")
    }

    private mutating func escape(into text: inout [UInt8]) throws(ExactJSON.Failure) {
        guard let letter = next else { throw .syntax(offset: offset, expected: "an escape") }
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try escapedScalar()).utf8)
        default: throw .syntax(offset: offset - 1, expected: "an escape")
        }
    }

    /// The scalar of `\uXXXX`, or of two of them that form a surrogate pair.
    private mutating func escapedScalar() throws(ExactJSON.Failure) -> Unicode.Scalar {
        let start = offset
        let first = try fourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), take("\\"), take("u") else {
            throw .syntax(offset: start, expected: "a surrogate pair")
        }
        let second = try fourDigits()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw .syntax(offset: start, expected: "a surrogate pair") }
        return scalar
    }

    private mutating func fourDigits() throws(ExactJSON.Failure) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = next.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw .syntax(offset: offset, expected: "four hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
            offset += 1
        }
        return value
    }
}
