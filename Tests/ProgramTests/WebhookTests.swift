import FoundationEssentials
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// Webhooks as a shop meets them: the real terminal, and a receiver in another language that checks each signature.
@Suite(.timeLimit(.minutes(3)))
struct WebhookTests {
    private struct Made: Decodable, Sendable { var id: String, secret: String }
    private struct Wanted: Encodable, Sendable { var url: String, events: [String] }
    private struct List: Decodable {
        struct Hook: Decodable { var state: String, behind: Int, deliveredAt: String? }
        var webhooks: [Hook]
    }
    private struct Tested: Decodable { var arrived: Bool }

    /// The receiver that the documentation shows.
    private func withReceiver<Value: Sendable>(
        _ bed: ProgramTestBed,
        port: String,
        secret: String,
        _ body: @Sendable @escaping (Running) async throws -> Value
    ) async throws -> Value {
        try await withProgram(
            "/usr/bin/python3",
            ["\(Programs.root)/Tests/API/webhook_receiver.py", "--port", port],
            log: bed.folder.appending("receiver.log"),
            environment: .inherit.updating(["WEBHOOK_SECRET": secret]),
            body
        )
    }

    /// A port that nobody listens on now.
    private func freePort(_ bed: ProgramTestBed) async throws -> String {
        try await withReceiver(bed, port: "0", secret: "whsec_") { receiver in
            let url = try #require(try await receiver.first { $0.ready == true }.url)
            return String(try #require(url.split(separator: ":").last))
        }
    }

    @Test func whatHappenedBeforeAPowerCutArrivesAfterItAndOnce() async throws {
        try await withTestBed(gateway: ["--settle-after", "0"]) { bed in
            let port = try await freePort(bed)
            // The receiver is down while the customer pays, and the terminal dies before it is back.
            let (secret, paid) = try await bed.withTerminal { terminal -> (String, String) in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let answer = try await terminal.send(
                    .POST,
                    "/api/v1/webhooks",
                    session,
                    json: Wanted(url: "http://127.0.0.1:\(port)/till", events: ["created", "succeeded"])
                )
                #expect(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
                let made = try answer.json(Made.self)
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                let link = try #require(try await terminal.reaches("requiresAction", charge.id).link)
                #expect(try await bed.pay(link))
                _ = try await terminal.reaches("succeeded", charge.id)
                try terminal.running.kill()
                return (made.secret, charge.id)
            }
            try await withReceiver(bed, port: port, secret: secret) { receiver in
                _ = try await receiver.first { $0.ready == true }
                try await bed.withTerminal { terminal in
                    let created = try await receiver.first { $0.event == "charge.created" }
                    let succeeded = try await receiver.first { $0.event == "charge.succeeded" }
                    #expect(created.charge == paid && succeeded.charge == paid)
                    let session = try await terminal.signIn()
                    // It goes on from there: a charge of today is told as it happens.
                    let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k2").json()
                    _ = try await receiver.first { $0.event == "charge.created" && $0.charge == charge.id }
                    let list = try await terminal.send(.GET, "/api/v1/webhooks", session).json(List.self)
                    #expect(list.webhooks.map(\.state) == ["good"] && list.webhooks[0].deliveredAt != nil)
                }
                let said = receiver.lines.filter { $0.charge == paid }.compactMap(\.event)
                #expect(said == ["charge.created", "charge.succeeded"], "in order, and once each")
            }
        }
    }

    @Test func aTestArrivesAndAWrongSecretDoesNot() async throws {
        try await withTestBed { bed in
            let port = try await freePort(bed)
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let wanted = Wanted(url: "http://127.0.0.1:\(port)/", events: ["succeeded"])
                let made = try await terminal.send(.POST, "/api/v1/webhooks", session, json: wanted).json(Made.self)
                let test = "/api/v1/webhooks/\(made.id)/test"
                try await withReceiver(bed, port: port, secret: made.secret) { receiver in
                    _ = try await receiver.first { $0.ready == true }
                    let answer = try await terminal.send(.POST, test, session, json: [String: String]())
                    #expect(try answer.json(Tested.self).arrived)
                    let said = try await receiver.first { $0.event == "test" }
                    #expect(said.id?.hasPrefix("test-") == true)
                }
                let other = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
                try await withReceiver(bed, port: port, secret: other) { receiver in
                    _ = try await receiver.first { $0.ready == true }
                    let answer = try await terminal.send(.POST, test, session, json: [String: String]())
                    #expect(try answer.json(Tested.self).arrived == false)
                }
            }
        }
    }
}
