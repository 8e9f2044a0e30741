import Testing

/// The terminal killed, for real, at each stage of a payment, and started again: the charge always ends true.
@Suite(.timeLimit(.minutes(3)))
struct RestartTests {
    /// Stages at which the terminal dies.
    enum Stage: String, CaseIterable, Sendable {
        /// The charge is recorded; the gateway has not answered the creation.
        case created
        /// The link is on the screen.
        case offered
        /// The customer has signed; the gateway says "processing".
        case processing
    }

    @Test(arguments: Stage.allCases)
    func killedAtAnyStageItFindsThePaymentAgain(stage: Stage) async throws {
        try await withShop(gateway: ["--settle-after", "2"]) { shop in
            if stage == .created {
                try await shop.fault(["endpoint": "create", "effect": "drop", "times": "1"])
            }
            let id = try await shop.withTerminal { terminal -> String in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let charge: Shop.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                switch stage {
                case .created: _ = try await terminal.running.first { $0.id == charge.id && $0.unresolved == true }
                case .offered: _ = try await terminal.reaches("requiresAction", charge.id)
                case .processing:
                    let link = try #require(try await terminal.reaches("requiresAction", charge.id).link)
                    async let paid = shop.pay(link)
                    _ = try await terminal.reaches("processing", charge.id)
                    try terminal.running.kill()
                    #expect(try await paid)
                }
                try terminal.running.kill()
                return charge.id
            }
            try await shop.withTerminal { terminal in
                let asking = try await terminal.running.first { $0.event == "starting" && $0.checking == 1 }
                #expect(asking.checking == 1, "it asks about the open payment first")
                if stage != .processing {
                    let link = try #require(try await terminal.reaches("requiresAction", id).link)
                    #expect(try await shop.pay(link))
                }
                _ = try await terminal.reaches("succeeded", id)
                let session = try await terminal.signIn()
                #expect(try await terminal.state(of: id, session).state == "succeeded")
            }
        }
    }
}
