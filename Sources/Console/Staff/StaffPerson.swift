import Foundation
import Payments
import Terminal

/// Somebody who works here, as it is kept.
struct StaffPerson: Sendable, Codable, Equatable {
    /// Stays the same whatever the name is.
    let id: String
    /// As lists, the journal and the audit log show it. No two people have the same.
    var name: String
    /// A manager or a cashier.
    var role: Role
    var isEnabled: Bool
    /// Nil: there is none, and only a code signs them in.
    var pin: StaffPIN?
    /// What began earlier has ended, in milliseconds since 1970.
    var sessionsFrom: Int64
    /// Milliseconds since 1970, and who, as the journal names them.
    let createdAt: Int64
    let createdBy: String
    var changedAt: Int64
    var changedBy: String

    static let longestName = 40

    /// Without spaces around it.
    /// - Throws: ``Problem`` at the field `name`.
    static func checked(name: String) throws(Problem) -> String {
        let name = name.trimmingCharacters(in: .whitespaces)
        guard !name.isEmpty else {
            throw .field("name", Reason(code: "required", message: "The name is missing.", action: "Enter it."))
        }
        guard name.count <= longestName, name.utf8.count <= 4 * longestName else {
            throw .field(
                "name",
                Reason(
                    code: "too_long",
                    message: "The name has more than \(longestName) characters.",
                    action: "Shorten it."
                )
            )
        }
        guard SettingsForm.isVisible(name) else {
            throw .field(
                "name",
                Reason(
                    code: "invalid_characters",
                    message: "The name has characters that cannot be shown.",
                    action: "Type it instead of pasting it."
                )
            )
        }
        return name
    }

    /// Two names with the same form look the same to whoever reads a list.
    static func form(of name: String) -> String {
        name.precomposedStringWithCompatibilityMapping.lowercased().split(whereSeparator: \.isWhitespace).joined(
            separator: " "
        )
    }
}

/// What the roles may charge, and when an unused counter locks itself.
struct StaffRules: Sendable, Codable, Equatable {
    /// The largest charge, in minor units of the merchant's currency; nil: only the terminal's own limit.
    var cashierMaximumMinor: Int64?
    var managerMaximumMinor: Int64?
    /// 1 to 240; nil: never.
    var lockMinutes: Int?

    static let lockRange = 1...240

    func maximum(of role: Role) -> Int64? {
        switch role {
        case .cashier: cashierMaximumMinor
        case .manager: managerMaximumMinor
        case .owner, .till, .metrics: nil
        }
    }
}

/// The document `staff`.
struct StaffBook: Sendable, Codable, Equatable {
    var people: [StaffPerson] = []
    var rules = StaffRules()
    /// Names the key that the PINs were made with.
    var pinKey: String?

    static let most = 50
}

/// A browser that may ask for a PIN, because an owner or a manager let it in.
struct KnownBrowser: Sendable, Codable, Equatable {
    let id: String
    /// SHA-256 of what its cookie holds: 256 random bits, so that no slower hash is needed.
    let digest: [UInt8]
    /// Whose it is; nil: a counter, which everybody shares.
    let person: String?
    let browser: String?
    let system: String?
    let madeAt: Int64
    let madeBy: String

    static let mostCounters = 20
    static let mostOfOnePerson = 5
}

/// What changes with each sign-in. The document `staff.activity`.
struct StaffActivity: Sendable, Codable, Equatable {
    /// Wrong PINs, by person and by browser.
    var throttle = Throttle(.pin)
    /// When each person signed in last, in milliseconds since 1970.
    var used: [String: Int64] = [:]

    private enum CodingKeys: String, CodingKey { case throttle, used }

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        throttle = try values.decode(Throttle.Kept.self, forKey: .throttle).throttle(.pin)
        used = try values.decode([String: Int64].self, forKey: .used)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(throttle.kept, forKey: .throttle)
        try values.encode(used, forKey: .used)
    }
}
