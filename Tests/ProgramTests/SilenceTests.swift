import NIOHTTP1
import Subprocess
import Testing

/// The gateway silent, strange or gone: the terminal says what it knows and nothing else.
@Suite(.timeLimit(.minutes(3)))
struct SilenceTests {
    @Test func silentAfterCreateItRepeatsTheSameKeyAndOnePaymentExists() async throws {
        try await withTestBed { bed in
            try await bed.fault(["endpoint": "create", "effect": "drop", "times": "2"])
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                _ = try await terminal.reaches("requiresAction", charge.id)
                let creations = try await bed.calls("create")
                #expect(creations.count == 3)
                #expect(Set(creations.map(\.idempotencyKey)).count == 1)
                #expect(creations.first?.idempotencyKey != nil)
                #expect(try await bed.paymentCount() == 1)
            }
        }
    }

    @Test func anUnknownStatusWordIsShownAsUnknownUntilAKnownOneComes() async throws {
        try await withTestBed { bed in
            try await bed.fault(["endpoint": "status", "effect": "unknown-status=reviewing", "times": "1"])
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                let unknown = try await terminal.reaches("unknown", charge.id)
                #expect(unknown.link == nil, "nothing that could be paid stays on the screen")
                let seen = terminal.running.lines.count
                _ = try await terminal.running.first(from: seen) { $0.id == charge.id && $0.state == "requiresAction" }
            }
        }
    }

    @Test func withTheGatewayGoneAChargeWaitsAndCanBeTakenBackSinceNothingLeft() async throws {
        try await withTestBed { bed in
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                try bed.gateway.kill()
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                _ = try await terminal.running.first { $0.id == charge.id && $0.unresolved == true }
                #expect(try await terminal.state(of: charge.id, session).state == "created")
                let answer = try await terminal.send(
                    .POST,
                    "/api/v1/charges/\(charge.id)/cancel",
                    session,
                    json: [String: String]()
                )
                #expect(answer.status == 200)
                _ = try await terminal.reaches("cancelled", charge.id)
            }
        }
    }

    @Test func withTheGatewayGoneAfterTheOfferNothingCallsThePaymentOver() async throws {
        try await withTestBed { bed in
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                _ = try await terminal.reaches("requiresAction", charge.id)
                try bed.gateway.kill()
                _ = try await terminal.running.first { $0.id == charge.id && $0.unresolved == true }
                let answer = try await terminal.send(
                    .POST,
                    "/api/v1/charges/\(charge.id)/cancel",
                    session,
                    json: [String: String]()
                )
                #expect(answer.status == 200)
                let state = try await terminal.state(of: charge.id, session)
                #expect(
                    state.state == "requiresAction" && state.unresolved,
                    "cancel is a request; nobody has granted it"
                )
                let released = try await terminal.send(
                    .POST,
                    "/api/v1/charges/\(charge.id)/release",
                    session,
                    json: [String: String]()
                )
                #expect(released.status == 200)
                #expect(try await terminal.state(of: charge.id, session).state == "unknown")
            }
        }
    }

    @Test func theSameKeyNeverChargesTwice() async throws {
        try await withTestBed { bed in
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let first: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                let again: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                #expect(first.id == again.id)
                let other = try await terminal.charge(session, amount: "13.00", key: "k1")
                #expect(other.status == 409)
                #expect(try other.json(ProgramTestBed.Terminal.Refusal.self).code == "idempotency_conflict")
                let busy = try await terminal.charge(session, key: "k2")
                #expect(busy.status == 409)
                #expect(try busy.json(ProgramTestBed.Terminal.Refusal.self).code == "busy")
            }
        }
    }
}
