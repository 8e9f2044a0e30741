import Subprocess
import SystemPackage
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
        try await withTestBed(gateway: ["--settle-after", "2"]) { bed in
            if stage == .created {
                try await bed.fault(["endpoint": "create", "effect": "drop", "times": "1"])
            }
            let id = try await bed.withTerminal { terminal -> String in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                switch stage {
                case .created: _ = try await terminal.running.first { $0.id == charge.id && $0.unresolved == true }
                case .offered: _ = try await terminal.reaches("requiresAction", charge.id)
                case .processing:
                    let link = try #require(try await terminal.reaches("requiresAction", charge.id).link)
                    async let paid = bed.pay(link)
                    _ = try await terminal.reaches("processing", charge.id)
                    try terminal.running.kill()
                    #expect(try await paid)
                }
                try terminal.running.kill()
                return charge.id
            }
            try await bed.withTerminal { terminal in
                let asking = try await terminal.running.first { $0.event == "starting" && $0.checking == 1 }
                #expect(asking.checking == 1, "it asks about the open payment first")
                if stage != .processing {
                    let link = try #require(try await terminal.reaches("requiresAction", id).link)
                    #expect(try await bed.pay(link))
                }
                _ = try await terminal.reaches("succeeded", id)
                let session = try await terminal.signIn()
                #expect(try await terminal.state(of: id, session).state == "succeeded")
            }
        }
    }

    /// Any instant is a right one to die; these are spread over a charge from its request to the code on the screen. Whoever
    /// asked for it asks again under the same key, as the page does.
    @Test func killedAtAnyInstantItMakesOnePaymentThatEndsTrue() async throws {
        let instants = [0, 2, 5, 10, 20, 35, 50, 70, 100, 140, 200, 300].map { Duration.milliseconds($0) }
        try await withTestBed(gateway: ["--settle-after", "0"]) { bed in
            let session = try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                return session
            }
            for (number, instant) in instants.enumerated() {
                // The payment is made at once and the answer comes late: some of the instants fall between.
                try await bed.fault(["endpoint": "create", "effect": "delay=150", "times": "1"])
                try await bed.withTerminal { terminal in
                    _ = try await terminal.running.first { $0.event == "idle" }
                    // Nobody may be left to answer.
                    async let answer = try? terminal.charge(session, key: "key-\(number)")
                    try await Task.sleep(for: instant)
                    try terminal.running.kill()
                    _ = await answer
                }
                try await bed.withTerminal { terminal in
                    _ = try await terminal.running.first { $0.event == "idle" || $0.event == "charge" }
                    let answer = try await terminal.charge(session, key: "key-\(number)")
                    #expect(
                        answer.status == 200 || answer.status == 201,
                        "\(String(decoding: answer.body, as: UTF8.self))"
                    )
                    let charge: ProgramTestBed.Terminal.Charge = try answer.json()
                    let link = try #require(try await terminal.reaches("requiresAction", charge.id).link)
                    #expect(try await bed.pay(link))
                    let paid = try await terminal.reaches("succeeded", charge.id)
                    #expect(paid.late != true)
                }
                #expect(try await bed.paymentCount() == number + 1, "killed after \(instant)")
            }
            let result = try await run(
                .path(Programs.directory.appending("till")),
                arguments: ["verify-journal", "--state", "\(bed.folder)/terminal"],
                output: .string(limit: 4096),
                error: .string(limit: 4096)
            )
            #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        }
    }
}
