import Foundation
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// A terminal whose storage cannot be used, with the real program: it says so, takes no payment, and goes on by itself.
@Suite(.timeLimit(.minutes(3)))
struct StorageTroubleTests {
    private struct Refusal: Decodable { var code: String }
    private struct Health: Decodable {
        var status: String
        var code: String?
    }

    /// Runs a terminal that may be in trouble: unlike the test bed's own it is not waited for until it serves.
    private static func withTerminal(
        _ bed: ProgramTestBed,
        _ more: [String] = [],
        _ body: @Sendable @escaping (Running) async throws -> Void
    ) async throws {
        let config = bed.folder.appending("till.yaml")
        let yaml = """
            state: \(bed.folder)/terminal
            web: { address: 127.0.0.1, port: 0, names: [localhost], pages: "\(Programs.root)/Public" }
            screen: { sink: png, path: "\(bed.folder)/screen.png", width: 800, height: 480 }
            gateway: { allowLoopbackHTTP: true }
            """
        try Data(yaml.utf8).write(to: URL(filePath: config.string))
        try await withProgram(
            "till",
            ["run", "--config", config.string, "--announce", "-"] + more,
            log: bed.folder.appending("terminal.log"),
            body
        )
    }

    private static func log(_ bed: ProgramTestBed) -> String {
        String(decoding: FileManager.default.contents(atPath: "\(bed.folder)/terminal.log") ?? Data(), as: UTF8.self)
    }

    @Test func aRecordThatCannotBeReadIsSaidOnThePageAndTakenUpWhenItIsBack() async throws {
        try await withTestBed { bed in
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
            }
            let (record, aside) = ("\(bed.folder)/terminal/journal.sqlite", "\(bed.folder)/aside")
            try FileManager.default.moveItem(atPath: record, toPath: aside)
            try Data("no record of payments".utf8).write(to: URL(filePath: record))
            try await Self.withTerminal(bed) { running in
                let trouble = try await running.first { $0.event == "trouble" }
                #expect(trouble.code == "journal_damaged")
                let url = try #require(trouble.url)
                let health = try await ProgramTestBed.send(.GET, url + "/healthz")
                #expect(try health.status == 503 && health.json(Health.self).code == "journal_damaged")
                let charge = try await ProgramTestBed.send(.POST, url + "/api/v1/charges", json: ["amount": "12.50"])
                #expect(try charge.status == 503 && charge.json(Refusal.self).code == "journal_damaged")
                let page = try await ProgramTestBed.send(.GET, url + "/", headers: [("Accept-Language", "de-CH")])
                let words = String(decoding: page.body, as: UTF8.self)
                #expect(
                    page.status == 503 && words.contains("Das Zahlungsbuch des Terminals ist beschädigt."),
                    "\(words)"
                )
                #expect(Self.log(bed).contains("no payment is taken"))

                try FileManager.default.removeItem(atPath: record)
                try FileManager.default.moveItem(atPath: aside, toPath: record)
                let healed = try #require(try await running.first { $0.event == "listening" }.url)
                _ = try await running.first { $0.event == "idle" }
                #expect(try await ProgramTestBed.send(.GET, healed + "/healthz").status == 200)
            }
            #expect(Self.log(bed).contains("the storage works again"))
        }
    }

    @Test func whereTheMachineHasNoStorageNothingIsWrittenAndNobodyCanClaim() async throws {
        try await withTestBed { bed in
            let (mark, picture) = ("\(bed.folder)/trouble", "\(bed.folder)/screen.png")
            try Data("the data partition cannot be used\n".utf8).write(to: URL(filePath: mark))
            try await Self.withTerminal(bed, ["--without-storage", mark]) { running in
                let trouble = try await running.first { $0.event == "trouble" }
                #expect(trouble.code == "storage_failed")
                #expect(FileManager.default.fileExists(atPath: picture))
                #expect(!FileManager.default.fileExists(atPath: "\(bed.folder)/terminal"))
                #expect(running.lines.allSatisfy { $0.event == "trouble" })
            }
            #expect(Self.log(bed).contains("the data partition cannot be used"))
        }
    }
}
