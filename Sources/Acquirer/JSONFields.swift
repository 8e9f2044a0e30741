import StrictJSON
import TapProtocol

/// Why an answer is not what the interface says. For a log.
struct MalformedAnswer: Error, Sendable, Equatable {
    let detail: String
}

/// The members of an answer's object, read strictly: what is there is of its kind and within its bounds. Members that nobody
/// asks for are left alone, so that the acquirer may add some.
struct JSONFields {
    private let json: ExactJSON

    init(_ json: ExactJSON) throws(MalformedAnswer) {
        guard case .object = json else { throw MalformedAnswer(detail: "no object") }
        self.json = json
    }

    /// Nil where the member is absent or null.
    func optional(_ name: String) -> ExactJSON? {
        guard let value = json.value(named: name), value != .null else { return nil }
        return value
    }

    private func required(_ name: String) throws(MalformedAnswer) -> ExactJSON {
        guard let value = optional(name) else { throw MalformedAnswer(detail: "\(name) is missing") }
        return value
    }

    func text(_ name: String, _ lengths: ClosedRange<Int> = 1...128) throws(MalformedAnswer) -> String {
        guard case .string(let text) = try required(name), lengths ~= text.utf8.count else {
            throw MalformedAnswer(detail: "\(name) is no text of \(lengths) bytes")
        }
        return text
    }

    func optionalText(_ name: String, _ lengths: ClosedRange<Int> = 1...128) throws(MalformedAnswer) -> String? {
        optional(name) == nil ? nil : try text(name, lengths)
    }

    func number(_ name: String, _ range: ClosedRange<Int> = 0...(1 << 53 - 1)) throws(MalformedAnswer) -> Int {
        guard case .number(let digits) = try required(name), let number = Int(digits), range ~= number else {
            throw MalformedAnswer(detail: "\(name) is no whole number of \(range)")
        }
        return number
    }

    func optionalNumber(
        _ name: String,
        _ range: ClosedRange<Int> = 0...(1 << 53 - 1)
    ) throws(MalformedAnswer) -> Int? {
        optional(name) == nil ? nil : try number(name, range)
    }

    func flag(_ name: String) throws(MalformedAnswer) -> Bool {
        guard case .bool(let value) = try required(name) else { throw MalformedAnswer(detail: "\(name) is no boolean") }
        return value
    }

    func list(_ name: String, upTo limit: Int) throws(MalformedAnswer) -> [ExactJSON] {
        guard case .array(let items) = try required(name), items.count <= limit else {
            throw MalformedAnswer(detail: "\(name) is no list of at most \(limit)")
        }
        return items
    }

    func bytes(_ name: String, _ lengths: ClosedRange<Int>) throws(MalformedAnswer) -> [UInt8] {
        guard let bytes = Base64URL.decode(try text(name, 0...8192)), lengths ~= bytes.count else {
            throw MalformedAnswer(detail: "\(name) is no base64url of \(lengths) bytes")
        }
        return bytes
    }

    func currency(_ name: String) throws(MalformedAnswer) -> String {
        let code = try text(name, 3...8)
        guard code.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else {
            throw MalformedAnswer(detail: "\(name) is no currency")
        }
        return code
    }

    func paymentID(_ name: String = "paymentId") throws(MalformedAnswer) -> PaymentID {
        guard let id = PaymentID(try text(name, 36...36)) else {
            throw MalformedAnswer(detail: "\(name) is no payment's name")
        }
        return id
    }

    func hash(_ name: String) throws(MalformedAnswer) -> ObjectHash {
        guard let hash = ObjectHash(try bytes(name, 32...32)) else {
            throw MalformedAnswer(detail: "\(name) is no hash")
        }
        return hash
    }

    func object<Payload>(_ name: String) throws(MalformedAnswer) -> Signed<Payload> {
        try Self.object(try required(name), name)
    }

    func optionalObject<Payload>(_ name: String) throws(MalformedAnswer) -> Signed<Payload>? {
        optional(name) == nil ? nil : try object(name)
    }

    static func object<Payload>(_ json: ExactJSON, _ name: String) throws(MalformedAnswer) -> Signed<Payload> {
        guard case .string(let text) = json, text.utf8.count <= 8192, let bytes = Base64URL.decode(text) else {
            throw MalformedAnswer(detail: "\(name) is no signed object")
        }
        do throws(MalformedObject) {
            return try Signed(decoding: bytes)
        } catch {
            throw MalformedAnswer(detail: "\(name): \(error)")
        }
    }

    /// A word of a list that this interface knows all of.
    func word<Word: RawRepresentable<String>>(_ name: String) throws(MalformedAnswer) -> Word {
        let text = try text(name, 1...64)
        guard let word = Word(rawValue: text) else { throw MalformedAnswer(detail: "\(name) is \(text)") }
        return word
    }
}

extension ExactJSON {
    /// An object without the members whose value is nil.
    static func members(_ members: KeyValuePairs<String, ExactJSON?>) -> ExactJSON {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }

    static func integer(_ value: Int) -> ExactJSON { .number(String(value)) }

    static func base64URL(_ bytes: [UInt8]) -> ExactJSON { .string(Base64URL.encode(bytes)) }
}
