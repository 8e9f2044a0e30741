/// The protocol's methods, with what the relay is told about each.
///
/// Source: WalletConnect specifications, clients/sign/rpc-methods and clients/core/pairing/rpc-methods.
enum Method: String, Sendable, CaseIterable, Codable {
    case pairingDelete = "wc_pairingDelete"
    case pairingPing = "wc_pairingPing"
    case pairingExtend = "wc_pairingExtend"
    case sessionPropose = "wc_sessionPropose"
    case sessionSettle = "wc_sessionSettle"
    case sessionUpdate = "wc_sessionUpdate"
    case sessionExtend = "wc_sessionExtend"
    case sessionRequest = "wc_sessionRequest"
    case sessionEvent = "wc_sessionEvent"
    case sessionDelete = "wc_sessionDelete"
    case sessionPing = "wc_sessionPing"
    case sessionAuthenticate = "wc_sessionAuthenticate"

    /// What an answer says, which chooses its tag.
    enum Answer: Sendable { case success, rejection, automaticRejection }

    var requestTag: Int {
        switch self {
        case .pairingDelete: 1000
        case .pairingPing: 1002
        case .pairingExtend: 1004
        case .sessionPropose: 1100
        case .sessionSettle: 1102
        case .sessionUpdate: 1104
        case .sessionExtend: 1106
        case .sessionRequest: 1108
        case .sessionEvent: 1110
        case .sessionDelete: 1112
        case .sessionPing: 1114
        case .sessionAuthenticate: 1116
        }
    }

    func responseTag(_ answer: Answer) -> Int {
        switch (self, answer) {
        case (.sessionPropose, .rejection): 1120
        case (.sessionPropose, .automaticRejection): 1121
        case (.sessionAuthenticate, .rejection): 1118
        case (.sessionAuthenticate, .automaticRejection): 1119
        default: requestTag + 1
        }
    }

    /// Seconds. A session request may say more: see `SignEngine`.
    var requestTTL: Int {
        switch self {
        case .pairingDelete, .sessionUpdate, .sessionExtend, .sessionDelete: 86400
        case .pairingPing, .pairingExtend, .sessionPing: 30
        case .sessionPropose, .sessionSettle, .sessionRequest, .sessionEvent: 300
        case .sessionAuthenticate: 3600
        }
    }

    /// Seconds.
    func responseTTL(_ answer: Answer) -> Int {
        self == .sessionAuthenticate && answer != .success ? 300 : requestTTL
    }

    /// Whether the receiver's phone may be woken.
    var prompts: Bool {
        switch self {
        case .sessionPropose, .sessionRequest, .sessionEvent, .sessionAuthenticate: true
        default: false
        }
    }

    /// The answer to a method nobody knows.
    static let unknownTag = 0
    static let unknownTTL = 86400
}

/// How long things live, in seconds. Source: WalletConnect specifications, clients/core/pairing and clients/sign.
enum Lifetime {
    static let proposal: Int64 = 300
    static let inactivePairing: Int64 = 300
    static let activePairing: Int64 = 2_592_000
    static let session: Int64 = 604_800
    static let shortestRequest: Int64 = 300
    static let longestRequest: Int64 = 604_800
    static let ping: Int64 = 30
    static let authentication: Int64 = 3600
    /// How long after an approval its session must have come. Wallets send both at once.
    static let settlement: Int64 = 60
    /// How long the key of a proposal that is over is kept, to end the session of a wallet that approved too late.
    static let lateApproval: Int64 = 300
    /// How long after a request's end its answer is still recognised.
    static let lateAnswer: Int64 = 86_400
}
