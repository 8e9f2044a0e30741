import Foundation
import StrictJSON

/// A stored document as it may be shown: values behind names of secrets say only whether they are set.
enum MaskedJSON {
    /// Left out besides: logins, pictures, and what stickers carry.
    private static let others = ["acquirerlogin", "icon", "tagid"]

    static func read(_ bytes: [UInt8]) -> JSON {
        guard let value = try? ExactJSON(parsing: bytes, limits: ExactJSON.Limits(bytes: 1 << 20, depth: 16)) else {
            return .string("not readable")
        }
        return mask(value)
    }

    private static func mask(_ value: ExactJSON) -> JSON {
        switch value {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .number(let digits): Int64(digits).map(JSON.integer) ?? .string(digits)
        case .string(let text): .string(text)
        case .array(let items): .array(items.map(mask))
        case .object(let fields):
            .object(
                Dictionary(
                    fields.map { ($0.name, isHidden($0.name) ? hidden($0.value) : mask($0.value)) },
                    uniquingKeysWith: { $1 }
                )
            )
        }
    }

    private static func isHidden(_ name: String) -> Bool {
        LogRedaction.isSecret(name: name) || others.contains(name.lowercased())
    }

    private static func hidden(_ value: ExactJSON) -> JSON {
        switch value {
        case .null, .string(""): .string("not set")
        case .bool(let flag): .bool(flag)
        default: .string("set")
        }
    }
}
