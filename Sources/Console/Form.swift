import Payments
import StrictJSON

/// The fields of a request's body, taken one by one with their types; what is left over was not asked for.
struct Form: Sendable {
    /// By the bytes of their names: Swift takes “K” and the sign for kelvin for the same text.
    private var members: [[UInt8]: ExactJSON] = [:]
    private(set) var errors: [String: Payments.Reason] = [:]

    private static let mostFields = 32
    /// As long as a request's body may be, but where a route says otherwise.
    static let usualBytes = 64 * 1024

    /// - Parameter bytes: How long the body may be.
    /// - Throws: ``Problem`` where the body is no JSON object in UTF-8, or names a field twice.
    init(_ body: [UInt8], bytes: Int = usualBytes) throws(Problem) {
        let document: ExactJSON
        let limits = ExactJSON.Limits(bytes: bytes, depth: 8)
        do throws(ExactJSON.Failure) { document = try ExactJSON(parsing: body, limits: limits) } catch {
            switch error {
            case .duplicateName: throw Self.duplicate
            case .tooLarge, .tooDeep, .notUTF8, .syntax: throw Self.invalid
            }
        }
        try self.init(document)
    }

    private init(_ document: ExactJSON) throws(Problem) {
        guard case .object(let fields) = document, fields.count <= Self.mostFields else { throw Self.invalid }
        for field in fields { members[Array(field.name.utf8)] = field.value }
    }

    private static let invalid = Problem(
        400,
        "invalid_json",
        "The request is not a JSON object. Nothing was done.",
        "Send it as the documentation of this address says."
    )
    private static let duplicate = Problem(
        400,
        "duplicate_field",
        "The request names a field twice. Nothing was done.",
        "Send each field once."
    )

    /// A text of at most `limit` characters without control characters. Missing counts as empty.
    mutating func text(_ name: String, limit: Int) -> String { optionalText(name, limit: limit) ?? "" }

    /// A text of at most `limit` characters without control characters; nil where it is missing or null.
    mutating func optionalText(_ name: String, limit: Int) -> String? {
        optionalText(name, limit: limit, takes: { $0.properties.generalCategory != .control })
    }

    /// A text of several lines, of at most `limit` characters. Missing counts as empty.
    mutating func lines(_ name: String, limit: Int) -> String {
        optionalText(name, limit: limit) { $0 == "\n" || $0 == "\r" || $0.properties.generalCategory != .control } ?? ""
    }

    private mutating func optionalText(
        _ name: String,
        limit: Int,
        takes: (Unicode.Scalar) -> Bool
    ) -> String? {
        switch members.removeValue(forKey: Array(name.utf8)) {
        case nil, .null: return nil
        case .string(let text):
            guard text.count <= limit, text.utf8.count <= 4 * limit else {
                errors[name] = Payments.Reason(
                    code: "too_long",
                    message: "This has more than \(limit) characters.",
                    action: "Shorten it."
                )
                return nil
            }
            guard text.unicodeScalars.allSatisfy(takes) else {
                errors[name] = Payments.Reason(
                    code: "invalid_characters",
                    message: "This has characters that cannot be shown.",
                    action: "Type it again instead of pasting it."
                )
                return nil
            }
            return text
        default:
            errors[name] = Payments.Reason(
                code: "wrong_type",
                message: "This must be a text.",
                action: "Send it as a text."
            )
            return nil
        }
    }

    /// A whole number written with digits only; nil where it is missing or null.
    mutating func integer(_ name: String) -> Int64? {
        switch members.removeValue(forKey: Array(name.utf8)) {
        case nil, .null: return nil
        case .number(let digits):
            if let number = Int64(digits) { return number }
        default: break
        }
        errors[name] = Payments.Reason(
            code: "wrong_type",
            message: "This must be a whole number.",
            action: "Send it without quotes, point or exponent, and not larger than the terminal can count."
        )
        return nil
    }

    /// Whole numbers by name; nil where they are missing or null. What is wrong with one is said under `name.its name`.
    mutating func integers(_ name: String) -> [String: Int64]? {
        guard let document = members.removeValue(forKey: Array(name.utf8)), document != .null else { return nil }
        guard var form = try? Form(document) else {
            errors[name] = Payments.Reason(
                code: "wrong_type",
                message: "These must be whole numbers by name.",
                action: "Send them as the documentation of this address says."
            )
            return nil
        }
        var numbers: [String: Int64] = [:]
        for part in form.members.keys.map({ String(decoding: $0, as: UTF8.self) }) {
            numbers[part] = form.integer(part)
        }
        for (part, reason) in form.errors { errors["\(name).\(part.prefix(40))"] = reason }
        return numbers
    }

    /// A value as it stands there; nil where it is missing.
    mutating func document(_ name: String) -> ExactJSON? { members.removeValue(forKey: Array(name.utf8)) }

    /// True or false; nil where it is missing or null.
    mutating func bool(_ name: String) -> Bool? {
        switch members.removeValue(forKey: Array(name.utf8)) {
        case nil, .null: return nil
        case .bool(let value): return value
        default:
            errors[name] = Payments.Reason(
                code: "wrong_type",
                message: "This must be true or false.",
                action: "Send it without quotes."
            )
            return nil
        }
    }

    /// What `read` makes of each form of a list, of `limit` at most; nil where the list is missing or null. What is wrong
    /// with a field of one is said under `name.index.field`.
    mutating func list<Value>(_ name: String, limit: Int, _ read: (inout Form) -> Value) -> [Value]? {
        switch members.removeValue(forKey: Array(name.utf8)) {
        case nil, .null: return nil
        case .array(let items) where items.count <= limit:
            var values: [Value] = []
            for (index, item) in items.enumerated() {
                guard var form = try? Form(item) else {
                    errors["\(name).\(index)"] = Self.noList
                    return nil
                }
                values.append(read(&form))
                form.noteStrangers()
                for (field, reason) in form.errors { errors["\(name).\(index).\(field)"] = reason }
            }
            return values
        default:
            errors[name] = Self.noList
            return nil
        }
    }

    /// A list of texts as ``text(_:limit:)`` takes them, `limit` of at most `each` characters; nil where it is missing or null.
    mutating func texts(_ name: String, limit: Int, each: Int) -> [String]? {
        switch members.removeValue(forKey: Array(name.utf8)) {
        case nil, .null: return nil
        case .array(let items) where items.count <= limit:
            var texts: [String] = []
            for item in items {
                members[Array(name.utf8)] = item
                guard case .string = item, let text = optionalText(name, limit: each) else { break }
                texts.append(text)
            }
            members.removeValue(forKey: Array(name.utf8))
            if texts.count < items.count, errors[name] == nil { errors[name] = Self.noTexts }
            return errors[name] == nil ? texts : nil
        default:
            errors[name] = Self.noTexts
            return nil
        }
    }

    private static let noTexts = Payments.Reason(
        code: "wrong_type",
        message: "This must be a list of texts, and not a long one.",
        action: "Send fewer lines, each as a text."
    )

    private static let noList = Payments.Reason(
        code: "wrong_type",
        message: "This must be a list of forms, and not a long one.",
        action: "Send it as the documentation of this address says."
    )

    /// - Throws: ``Problem`` where a field had the wrong form, or one was sent that nobody asked for.
    mutating func finish() throws(Problem) {
        noteStrangers()
        guard let (_, reason) = errors.min(by: { $0.key < $1.key }) else { return }
        var problem = Problem(422, reason)
        problem.fields = errors
        throw problem
    }

    private mutating func noteStrangers() {
        for name in members.keys {
            errors[String(String(decoding: name, as: UTF8.self).prefix(40))] = Payments.Reason(
                code: "unknown_field",
                message: "There is no such field.",
                action: "Leave it out."
            )
        }
    }
}
