import Sandbox
import Testing

/// One endpoint that misbehaves in one way, once or for as long as anybody asks.
struct Trouble: Sendable {
    /// In the form of `till-sandbox gateway --fault`.
    let texts: [String]

    func faults() throws -> [Fault] { try texts.map { try Fault(parsing: $0) } }

    struct Endpoint: Sendable, CustomTestStringConvertible {
        let name: String
        /// The story in which it is asked most.
        let story: Story
        /// What has to go wrong first, so that it is asked at all.
        var before: [String] = []

        var testDescription: String { name }

        var troubles: [Trouble] {
            (everywhere + (own[name] ?? [])).flatMap { effect in
                [",times=1", ""].map { times in Trouble(texts: before + ["\(name):\(effect)\(times)"]) }
            }
        }
    }

    /// What the terminal asks, and what the customer's wallet asks.
    static let endpoints = [
        Endpoint(name: "create", story: .paid), Endpoint(name: "status", story: .paid),
        Endpoint(name: "cancel", story: .both), Endpoint(name: "confirm", story: .paid),
        Endpoint(name: "fetch", story: .paid), Endpoint(name: "options", story: .paid),
        // The list is asked for only where an order was refused after silence.
        Endpoint(
            name: "list",
            story: .paid,
            before: ["create:drop,times=1", "create:refuse=idempotency_conflict,from=2,times=1"]
        ),
    ]

    private static let everywhere = [
        "delay=3000", "delay=60000", "drop,when=before", "drop,when=after", "error=500,when=before",
        "error=500,when=after", "error=503", "garbage", "refuse=rate_limited", "refuse=invalid_api_key", "duplicate",
        "clock-skew=7200", "clock-skew=-7200",
    ]

    private static let own: [String: [String]] = [
        "create": [
            "forget-key", "refuse=params_validation", "refuse=idempotency_conflict,when=after",
            "refuse=payment_expired,when=after", "outcome=failed", "outcome=declined_user", "outcome=expired",
            "outcome=stuck", "unknown-status=reviewing",
        ],
        "status": ["unknown-status=reviewing", "refuse=payment_not_found"],
        "cancel": ["refuse=invalid_state", "refuse=payment_not_found", "unknown-status=reviewing"],
        "confirm": ["refuse=quote_expired", "unknown-status=reviewing"],
    ]
}
