import Payments

/// One thing that the owner is asked when a terminal is set up, in this order.
enum SetUpStep: String, Sendable, Codable, CaseIterable {
    case language, country, ids, shop, gateway, acquirer, ways, tips, test, done

    /// What the settings need before charges are taken comes before it; nothing from here on has to be answered.
    static let firstOptional = SetUpStep.acquirer

    var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Where the set-up stands. Kept in the journal, so that it goes on after a reload, on another device and after a power cut.
struct SetUp: Sendable, Equatable, Codable {
    /// Whether the page leads to it by itself.
    enum State: String, Sendable, Codable {
        case open
        /// The terminal takes charges and the owner went on with that.
        case later
        case done
    }

    var state = State.open
    var step = SetUpStep.language
    /// The last step that was reached: from an earlier one the owner may go on to it.
    var furthest = SetUpStep.language
    /// What was answered before there are settings. Nothing secret: the gateway's key goes with the settings, sealed.
    var draft: [String: String] = [:]
    /// The charge that tries everything out.
    var testCharge: String?

    /// What can be answered, each with how long it may be.
    static let fields: [(name: String, limit: Int)] = [
        ("country", 2), ("currency", 10), ("locale", 20), ("timeZone", 100), ("operatorID", 200), ("merchantID", 200),
        ("merchantName", 200), ("gatewayURL", 500),
    ]

    /// What has to be answered before a step can be reached, and where.
    static func needed(before step: SetUpStep) -> [String] {
        let needed: [(SetUpStep, [String])] = [
            (.country, ["currency"]), (.ids, ["operatorID", "merchantID"]), (.shop, ["merchantName"]),
        ]
        return needed.filter { $0.0.number < step.number }.flatMap(\.1)
    }
}
