import Payments
import WebServer

/// A question that is held until a charge has another state, or its time is over.
struct ChargeWait: Sendable, Equatable {
    static let seconds = 1...60

    let seconds: Int
    /// The state that the caller knows; nil: the one it has when the question comes.
    let since: Charge.State?

    /// - Throws: ``Problem`` 422 at the name that means nothing.
    init(_ query: [String: String]) throws(Problem) {
        if let name = query.keys.sorted().first(where: { $0 != "wait" && $0 != "since" }) {
            throw Route.wrongWait(name)
        }
        guard let seconds = Route.seconds(query["wait"]), seconds > 0 else { throw Route.wrongWait("wait") }
        self.seconds = seconds
        since = query["since"].flatMap(Charge.State.init(rawValue:))
        if query["since"] != nil, since == nil { throw Route.wrongWait("since") }
    }
}

/// What programs may use.
extension Route {
    /// What a token has to include to use it; nil: no token may.
    var scope: TokenScope? {
        switch self {
        case .openCharge, .history, .currentCharge, .charge, .waitForCharge, .chargeOfKey, .cancel, .release, .events,
            .putAway, .receipt:
            .charges
        case .terminal, .diagnosis: .state
        case .showMessage, .currentMessage, .message, .answerMessage, .takeMessage: .screen
        default: nil
        }
    }

    static func key(_ query: [String: String]) throws(Problem) -> String {
        guard let key = query["key"], query.count == 1, isKey(key, most: longestProgramKey) else {
            throw .field(
                "key",
                Reason(
                    code: "invalid_query",
                    message: "A charge cannot be looked up like this.",
                    action: "Use key= with the Idempotency-Key that the charge was asked for with."
                )
            )
        }
        return key
    }

    /// Of a program's own keys: the journal keeps its name beside them.
    static let longestProgramKey = 200

    /// Characters of ASCII that can be seen, 1 to `most`.
    static func isKey(_ text: String, most: Int) -> Bool {
        (1...most).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The key that a request names itself with; nil where it has none.
    /// - Parameter most: Characters.
    /// - Throws: ``Problem`` 400: there are several, or one that is no key.
    static func idempotencyKey(of request: WebRequest, most: Int) throws(Problem) -> String? {
        let keys = request.headers("Idempotency-Key")
        guard let key = keys.first else { return nil }
        guard keys.count == 1, isKey(key, most: most) else {
            throw Problem(
                400,
                "idempotency_key_invalid",
                keys.count == 1
                    ? "The Idempotency-Key has a space or another character that no key has, or more than \(most). Nothing was done."
                    : "The request has several Idempotency-Keys. Nothing was done.",
                "Send one of 1 to \(most) letters, digits and signs of ASCII."
            )
        }
        return key
    }

    /// How long to wait; 0 where the query is empty.
    static func wait(_ query: [String: String]) throws(Problem) -> Int {
        if query.isEmpty { return 0 }
        guard query.count == 1, let seconds = seconds(query["wait"]) else {
            throw wrongWait(query.keys.sorted().first { $0 != "wait" } ?? "wait")
        }
        return seconds
    }

    static func seconds(_ text: String?) -> Int? {
        guard let text, (1...2).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let seconds = Int(text), ChargeWait.seconds.contains(seconds)
        else { return nil }
        return seconds
    }

    static func wrongWait(_ name: String) -> Problem {
        .field(
            String(name.prefix(40)),
            Reason(
                code: "invalid_query",
                message: "This cannot be waited for.",
                action: "Use wait= with 1 to 60 seconds, and for a charge since= with the state that you know."
            )
        )
    }
}
