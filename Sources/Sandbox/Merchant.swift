import Ethereum
import Payments
import StrictJSON

/// One of the partner's merchants, as the gateway keeps it.
struct SandboxMerchant: Sendable {
    let id: String
    var name: String
    var email: String?
    var iconURL: String?
    let createdAt: WallTime
    /// Where its money goes: one destination for each token.
    var settlements: [Settlement] = []

    struct Settlement: Sendable {
        let id: String
        /// CAIP-19, without the `caip19/` of amounts.
        let asset: String
        /// CAIP-10, on the asset's chain.
        var destination: String

        var json: ExactJSON {
            .members(["id": .string(id), "asset": .string(asset), "destination": .string(destination)])
        }
    }

    /// Bank accounts are arranged with people and not through this API: there are none.
    var settlementsJSON: ExactJSON {
        .members(["fiat": .array([]), "crypto": .array(settlements.map(\.json))])
    }

    /// Source: WalletConnect Pay API, merchants. Nobody is inactive or suspended at a sandbox.
    var members: [ExactJSON.Member] {
        [
            .init("id", .string(id)), .init("name", .string(name)), .init("email", .text(email)),
            .init("status", .string("active")), .init("iconUrl", .text(iconURL)),
            .init("createdAt", .string(timestamp(createdAt))),
        ]
    }

    var json: ExactJSON { .object(members) }
}

/// What is wrong with which field of a request, in the form of the merchant routes.
/// Source: WalletConnect Pay API, `MerchantApiErrorResponse`, `issues`.
struct FieldIssues {
    private(set) var issues: [ExactJSON] = []

    mutating func add(_ field: String, _ message: String) {
        issues.append(.members(["field": .string(field), "message": .string(message)]))
    }

    func check() throws(APIError) {
        guard !issues.isEmpty else { return }
        var error = APIError.invalid("Validation failed")
        error.issues = issues
        throw error
    }
}

/// The shapes of names that merchants are described by. Source: WalletConnect Pay API, patterns of the merchant routes.
enum MerchantField {
    /// One `@`, nothing but plain characters before it, a host with a dot after it.
    static func isEmail(_ text: String) -> Bool {
        let pattern = /[A-Za-z0-9_'+\-.]*[A-Za-z0-9_+\-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}/
        return text.wholeMatch(of: pattern) != nil && !text.hasPrefix(".") && !text.contains("..")
    }

    static func isName(_ text: String) -> Bool { (1...256).contains(text.unicodeScalars.count) }

    static func isIcon(_ text: String) -> Bool {
        text.hasPrefix("https://") && text.utf8.count > 8 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    static func isAsset(_ text: String) -> Bool {
        text.utf8.count <= 256
            && text.wholeMatch(of: /[-a-zA-Z0-9]{3,8}:[-a-zA-Z0-9]{1,32}\/[-a-zA-Z0-9]{3,8}:[-a-zA-Z0-9]{1,128}/) != nil
    }

    static func isAccount(_ text: String) -> Bool {
        text.utf8.count <= 256 && text.wholeMatch(of: /[-a-zA-Z0-9]{3,8}:[-a-zA-Z0-9]{1,32}:[-a-zA-Z0-9]{1,128}/) != nil
    }

    /// `eip155:8453` of an asset or an account.
    static func chain(_ text: String) -> String {
        text.split(separator: "/").first.map { $0.split(separator: ":").prefix(2).joined(separator: ":") } ?? ""
    }
}
