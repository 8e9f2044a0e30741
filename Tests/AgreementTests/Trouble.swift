import Sandbox
import Testing

/// One endpoint that misbehaves in one way, once or for as long as anybody asks.
struct Trouble: Sendable {
    /// In the form of `till-sandbox gateway --fault`.
    let texts: [String]
    /// Whether it goes on for as long as anybody asks.
    let lasts: Bool
    /// Whether the endpoint can show the fault at all. Where it cannot, one play shows that nothing comes of it.
    let isFelt: Bool

    func faults() throws -> [Fault] { try texts.map { try Fault(parsing: $0) } }
}

/// An endpoint of the gateway's, and how it comes to be asked.
struct Column: Sendable, CustomTestStringConvertible {
    let endpoint: Endpoint
    /// The scenario in which it is asked most.
    let scenario: ChargeScenario
    /// What has to go wrong first, so that it is asked at all.
    var before: [String] = []
    var testDescription: String {
        before.isEmpty ? "\(endpoint.rawValue), \(scenario)" : "\(endpoint.rawValue) after trouble"
    }

    /// Whether neither till nor customer ever asks it, and the office only once a run: then to fail once is as good as to
    /// fail for ever.
    var isOfficesAlone: Bool { scenario == .administered }

    static let all =
        Endpoint.allCases.map(Column.init) + [
            // The terminal asks for the list only where an order was refused after silence.
            Column(
                endpoint: .list,
                scenario: .paid,
                before: ["create:drop,times=1", "create:refuse=idempotency_conflict,from=2,times=1"]
            )
        ]

    private init(endpoint: Endpoint, scenario: ChargeScenario, before: [String]) {
        (self.endpoint, self.scenario, self.before) = (endpoint, scenario, before)
    }

    private init(_ endpoint: Endpoint) {
        self.endpoint = endpoint
        scenario =
            switch endpoint {
            case .create, .status, .options, .fetch, .confirm: .paid
            case .cancel: .both
            case .gatewayStatus: .slow
            case .info, .gatewayCancel: .declined
            case .payment, .refund, .list: .refunded
            case .form, .formSubmit: .identified
            case .legacyList, .merchantCreate, .merchantList, .merchant, .merchantUpdate, .merchantDelete,
                .settlements, .settlementCreate, .settlementUpdate, .settlementDelete:
                .administered
            }
    }

    var troubles: [Trouble] {
        let felt = Self.everywhere + own
        var troubles = felt.flatMap { effect in
            [",times=1", ""].map { times in
                Trouble(texts: before + ["\(endpoint.rawValue):\(effect)\(times)"], lasts: times.isEmpty, isFelt: true)
            }
        }
        if endpoint == .refund {
            // A refusal after silence says nothing of what the first request did.
            let texts = ["refund:drop,times=1", "refund:refuse=invalid_api_key,from=2,times=3"]
            troubles.append(Trouble(texts: texts, lasts: false, isFelt: true))
        }
        for effect in Self.ofOneEndpoint where !felt.contains(effect) {
            troubles.append(Trouble(texts: before + ["\(endpoint.rawValue):\(effect)"], lasts: true, isFelt: false))
        }
        return troubles
    }

    private static let everywhere = [
        "delay=3000", "delay=60000", "drop,when=before", "drop,when=after", "error=500,when=before",
        "error=500,when=after", "error=503", "garbage", "refuse=rate_limited", "refuse=invalid_api_key", "duplicate",
    ]

    /// Of these the gateway takes notice where a payment is made or confirmed, and where its status is said.
    private static let ofOneEndpoint = [
        "clock-skew=7200", "clock-skew=-7200", "forget-key", "unknown-status=reviewing", "outcome=failed",
        "outcome=declined_user", "outcome=expired", "outcome=stuck",
    ]

    private var own: [String] {
        switch endpoint {
        case .create:
            Self.ofOneEndpoint + [
                "refuse=params_validation", "refuse=idempotency_conflict,when=after",
                "refuse=payment_expired,when=after",
            ]
        case .status, .payment, .info, .gatewayStatus: ["unknown-status=reviewing", "refuse=payment_not_found"]
        case .cancel, .gatewayCancel: ["refuse=invalid_state", "refuse=payment_not_found", "unknown-status=reviewing"]
        case .confirm:
            [
                "refuse=quote_expired", "unknown-status=reviewing", "outcome=failed", "outcome=declined_user",
                "outcome=expired", "outcome=stuck",
            ]
        case .refund: ["refuse=already_refunded,when=after", "refuse=payment_not_succeeded", "refuse=not_found"]
        case .list, .legacyList, .options, .fetch, .form, .formSubmit, .merchantCreate, .merchantList, .merchant,
            .merchantUpdate, .merchantDelete, .settlements, .settlementCreate, .settlementUpdate, .settlementDelete:
            []
        }
    }
}
