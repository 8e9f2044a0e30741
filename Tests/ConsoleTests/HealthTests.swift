import Foundation
import GRDB
import Journal
import Machine
import Payments
import Screen
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// What the terminal says of its own health.
@Suite(.timeLimit(.minutes(2)))
struct HealthTests {
    private static let now = WallTime(millisecondsSince1970: 1_790_000_000_000)

    /// A terminal at which nothing is wrong.
    private static func well() -> HealthFacts {
        var facts = HealthFacts(at: now, startedAt: now, certificateEnds: now.advanced(by: .seconds(300 * 86_400)))
        facts.gateway = .ready
        facts.localName = .published(host: "till-7k3f.local")
        facts.connect = .ready
        facts.tap = HealthFacts.Tap(
            light: .ready,
            isEnabled: true,
            isAcquirerReachable: true,
            acquirerHeardAt: now,
            hindrance: nil,
            radio: .ready,
            phoneHeardAt: nil,
            waiting: 0,
            takesOffline: false
        )
        facts.machine.storage = .init(totalBytes: 16 << 30, freeBytes: 8 << 30, isReadOnly: false)
        facts.machine.memory = .init(totalBytes: 1 << 30, availableBytes: 1 << 29)
        facts.machine.temperatures = [.init(place: "cpu", milliCelsius: 51_000)]
        facts.machine.wear = [.init(device: "mmcblk0", usedPercent: 10, isNearItsEnd: false)]
        return facts
    }

    private static func weight(_ part: String, _ change: (inout HealthFacts) -> Void) -> HealthCheck.Weight? {
        var facts = well()
        change(&facts)
        return facts.checks.first { $0.part == part }?.weight
    }

    @Test func nothingIsSaidAgainstATerminalThatIsWell() {
        let checks = Self.well().checks
        #expect(checks.allSatisfy { $0.weight == .good && $0.action.isEmpty && !$0.message.isEmpty }, "\(checks)")
        #expect(Set(checks.map(\.part)).count == checks.count && checks.count == 12)
    }

    /// "Something keeps payments from going on" is believed once. Whoever reads it while charges go through believes it never again.
    @Test func theWholeIsRedOnlyWhereAChargeWouldFail() {
        func whole(_ change: (inout HealthFacts) -> Void) -> HealthCheck.Weight {
            var facts = Self.well()
            change(&facts)
            return facts.wholeWeight
        }
        #expect(Self.well().wholeWeight == .good)
        for light in [GatewayLight.unreachable, .refused, .clock] { #expect(whole { $0.gateway = light } == .bad) }
        #expect(whole { $0.journalFault = JournalError.diskFull.reason } == .bad)
        #expect(whole { $0.machine.storage?.isReadOnly = true } == .bad)
        #expect(whole { $0.offset = .init(milliseconds: -300_000, at: Self.now) } == .bad)
        #expect(whole { $0.clock = .init(isSet: false, isSynchronised: false) } == .note)
        #expect(whole { $0.tap?.radio = .gone(reason: "there is no Bluetooth adapter") } == .note)
        #expect(whole { $0.machine.wear[0].isNearItsEnd = true } == .note)
        #expect(whole { $0.machine.slowdown.isUnderVoltage = true } == .note)
        #expect(whole { $0.certificateEnds = $0.at.advanced(by: .seconds(-1)) } == .note)
    }

    @Test func whatKeepsPaymentsFromGoingOnIsBad() {
        let radio = "radio"
        #expect(Self.weight("gateway") { $0.gateway = .unreachable } == .bad)
        #expect(Self.weight("gateway") { $0.gateway = .refused } == .bad)
        #expect(Self.weight("gateway") { $0.gateway = .clock } == .bad)
        #expect(Self.weight("gateway") { $0.gateway = .paused(until: Self.now) } == .bad)
        #expect(Self.weight(radio) { $0.tap?.radio = .gone(reason: "there is no Bluetooth adapter") } == .bad)
        #expect(Self.weight(radio) { $0.tap?.radio = .off(reason: "off") } == .bad)
        let reason = Reason(code: "x", message: "It does not work.", action: "Mend it.")
        #expect(Self.weight("relay") { $0.connect = .hindered(reason) } == .bad)
        #expect(Self.weight("journal") { $0.journalFault = reason } == .bad)
        #expect(Self.weight("storage") { $0.machine.storage?.isReadOnly = true } == .bad)
        #expect(Self.weight("storage") { $0.machine.storage?.freeBytes = 63 << 20 } == .bad)
        #expect(Self.weight("clock") { $0.offset = .init(milliseconds: -300_000, at: Self.now) } == .bad)
        #expect(Self.weight("wear") { $0.machine.wear[0].isNearItsEnd = true } == .bad)
        #expect(Self.weight("temperature") { $0.machine.slowdown.isUnderVoltage = true } == .bad)
        #expect(Self.weight("certificate") { $0.certificateEnds = $0.at.advanced(by: .seconds(-1)) } == .bad)
    }

    @Test func whatSomebodyShouldLookAtIsANote() {
        #expect(Self.weight("acquirer") { $0.tap?.isAcquirerReachable = false } == .note)
        #expect(Self.weight("acquirer") { $0.tap?.waiting = 2 } == .note)
        #expect(Self.weight("storage") { $0.machine.storage?.freeBytes = 511 << 20 } == .note)
        #expect(Self.weight("clock") { $0.clock = .init(isSet: true, isSynchronised: false) } == .note)
        #expect(Self.weight("clock") { $0.clock = .init(isSet: false, isSynchronised: false) } == .note)
        #expect(Self.weight("clock") { $0.offset = .init(milliseconds: 30_000, at: Self.now) } == .note)
        #expect(Self.weight("clock") { $0.offset = .init(milliseconds: 29_999, at: Self.now) } == .good)
        #expect(Self.weight("temperature") { $0.machine.slowdown.isNow = true } == .note)
        #expect(Self.weight("temperature") { $0.machine.temperatures[0].milliCelsius = 80_000 } == .note)
        #expect(Self.weight("memory") { $0.machine.memory?.availableBytes = 1 << 26 } == .note)
        #expect(Self.weight("certificate") { $0.certificateEnds = $0.at.advanced(by: .seconds(86_400)) } == .note)
    }

    @Test func whatIsSwitchedOffOrNotSaidIsNotBad() {
        #expect(Self.weight("radio") { $0.tap?.isEnabled = false } == nil)
        #expect(Self.weight("acquirer") { $0.tap?.isEnabled = false } == .off)
        #expect(Self.weight("relay") { $0.connect = .off } == .off)
        #expect(Self.weight("storage") { $0.machine = MachineFacts() } == .off)
        #expect(Self.weight("wear") { $0.machine = MachineFacts() } == nil)
        #expect(Self.weight("memory") { $0.machine = MachineFacts() } == nil)
        #expect(Self.weight("temperature") { $0.machine = MachineFacts() } == nil)
    }

    @Test func sizesAreInWords() {
        #expect(HealthFacts.size(999) == "999 bytes" && HealthFacts.size(1500) == "1.5 KB")
        #expect(HealthFacts.size(64_000_000) == "64 MB" && HealthFacts.size(9_990_000_000) == "9.9 GB")
    }

    @Test func theOwnerSeesIt() async throws {
        try await withConsole { page in
            #expect(try await page.send("GET", "health", "") == 403)
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"a long enough passphrase"}"#)
            let said = try Page.said(try await page.ask("GET", "health"))
            let checks = try #require(said["checks"] as? [[String: Any]])
            #expect(checks.contains { $0["part"] as? String == "journal" && $0["weight"] as? String == "good" })
            let versions = try #require(said["versions"] as? [String: String])
            #expect(versions["SQLite"]?.hasPrefix("3.") == true && versions["tap protocol"] == "BPP/1")
            #expect((said["certificate"] as? [String: Any])?["fingerprint"] as? String != nil)
            #expect((said["storage"] as? [String: Any])?["journalBytes"] as? Int ?? 0 > 4096)
            #expect(Route.health.roles == [.owner, .manager] && Route.logs(LogQuery()).roles == [.owner])
        }
    }

    @Test func whoeverWatchesHearsThatNothingCanBeRecordedAndThatItCanAgain() async throws {
        try await withConsole { page in
            func healthz() async throws -> (status: Int, text: String) {
                let answer = try await page.fetch("/healthz")
                guard case .bytes(let bytes) = answer.body else { return (answer.status, "") }
                return (answer.status, String(decoding: bytes, as: UTF8.self))
            }
            var answer = try await healthz()
            #expect(answer == (200, #"{"status":"ok"}"#))
            await page.desk.screenStands(.cannotDraw(sink: "framebuffer", reason: "gone"))
            answer = try await healthz()
            #expect(answer == (200, #"{"screen":"dark","status":"ok"}"#))
            await page.desk.screenStands(nil)
            answer = try await healthz()
            #expect(answer == (200, #"{"status":"ok"}"#))
            // Another program holds the file.
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: page.folder + "/journal.sqlite", configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            _ = try await page.send("POST", "charges", "{}")  // Its refusal cannot be written down.
            answer = try await healthz()
            #expect(answer.status == 503 && answer.text.hasPrefix(#"{"code":"journal_"#), "\(answer)")
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            #expect(try await healthz().status == 503, "it is not tried at each question")
            page.clock.advance(by: .seconds(10))
            answer = try await healthz()
            #expect(answer.status == 200)
        }
    }
}
