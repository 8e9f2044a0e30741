import Foundation
import Journal
import Locks
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// Stands in for whoever installs: does with a bundle what its first word says.
final class FakeUpdates: UpdateService {
    struct State {
        var version = "0.9.0-20261101000000"
        var newest: String?
        var start = "first start"
        var good = true
        var sticks: [UpdateFile] = []
        var installed: [String] = []
        var restarts = 0
    }

    let state = Mutex(State())
    /// What is said of installations that others ask for.
    let others = AsyncStream.makeStream(of: UpdateNews.self)
    /// Holds an installation until it is finished.
    let gate: AsyncStream<Void>?

    init(gate: AsyncStream<Void>? = nil) { self.gate = gate }

    var version: String { state.withLock { $0.version } }
    var newest: String? { state.withLock { $0.newest } }
    var start: String { state.withLock { $0.start } }
    func sticks() -> [UpdateFile] { state.withLock { $0.sticks } }
    func running() async -> UpdatePlace? {
        await Task.yield()
        return state.withLock { UpdatePlace(name: "A", isGood: $0.good) }
    }
    func restart() throws(UpdateFault) { state.withLock { $0.restarts += 1 } }

    func follow(_ tell: @escaping @Sendable (UpdateNews) async -> Void) async {
        for await news in others.stream { await tell(news) }
    }

    func look(at path: String) async throws(UpdateFault) -> UpdateBundle {
        await Task.yield()
        let words =
            FileManager.default.contents(atPath: path).map { String(decoding: $0.prefix(60), as: UTF8.self) } ?? ""
        switch words.split(separator: " ").first {
        case "stranger": throw .signature
        case "half": throw .notWhole
        case "arm": throw .otherMachine
        case "older": return UpdateBundle(compatible: "till-x86-64", version: "0.8.0-20261001000000")
        default: return UpdateBundle(compatible: "till-x86-64", version: "0.10.0-20261120000000")
        }
    }

    func install(_ path: String, progress: @escaping @Sendable (Int) async -> Void) async throws(UpdateFault) {
        await Task.yield()
        state.withLock { $0.installed.append(path) }
        await progress(40)
        if let gate { for await _ in gate {} }
        let words =
            FileManager.default.contents(atPath: path).map { String(decoding: $0.prefix(60), as: UTF8.self) } ?? ""
        guard !words.hasPrefix("breaks") else { throw .refused(detail: "write error") }
        await progress(100)
    }
}

/// A new version of the whole system by way of the page, from the file to what the start after it says.
@Suite(.timeLimit(.minutes(2)))
struct UpdateTests {
    private static let password = "correct horse battery"
    private static let order = #"{"password":"\#(password)"}"#

    private func withOwner(
        _ updates: FakeUpdates? = FakeUpdates(),
        in folder: TemporaryFolder? = nil,
        _ body: (Page) async throws -> Void
    ) async throws {
        try await withConsole(updates: updates, in: folder) { page in
            if let code = await page.desk.invitation?.code {
                _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            } else {
                _ = try await page.send("POST", "login", Self.order)
            }
            try await body(page)
        }
    }

    private func send(_ text: String, to page: Page) async throws {
        let file = Data(text.utf8)
        #expect(try await page.send("POST", "update", #"{"bytes":\#(file.count)}"#) == 200)
        for place in stride(from: 0, to: file.count, by: 3) {
            let piece = file[place..<min(file.count, place + 3)].base64EncodedString()
            let body = #"{"at":\#(place),"piece":"\#(piece)"}"#
            #expect(try await page.send("PUT", "update", body) == 200)
            #expect(try await page.send("PUT", "update", body) == 200, "its answer was lost")
        }
    }

    private func code(_ answer: WebResponse) throws -> String { try Page.said(answer)["code"] as? String ?? "" }

    private func state(_ page: Page) async throws -> [String: Any] {
        try Page.said(try await page.ask("GET", "update", ""))
    }

    /// Waits until the screen says that the machine starts anew, or nothing of an update any more.
    private func untilInstalled(_ page: Page) async -> SystemUpdate? {
        for await snapshot in await page.desk.snapshots() {
            if case .installing = snapshot.update { continue }
            return snapshot.update
        }
        return nil
    }

    @Test func aFileFromTheBrowserIsLookedAtInstalledAndStartedWith() async throws {
        let updates = FakeUpdates()
        try await withOwner(updates) { page in
            try await send("a bundle", to: page)
            let found = try Page.said(try await page.ask("POST", "update/check"))
            #expect((found["offered"] as? [String: Any])?["version"] as? String == "0.10.0-20261120000000")
            #expect(updates.state.withLock { $0.installed } == [], "looking installs nothing")
            #expect(try await page.send("POST", "update/install", "{}") == 422, "without the password")
            #expect(try await page.send("POST", "update/install", Self.order) == 200)
            #expect(await untilInstalled(page) == .restarting(version: "0.10.0-20261120000000"))
            #expect(try await state(page)["phase"] as? String == "restarting")
            let whats = try await page.rows().suffix(2).map { "\($0.what) \($0.result)" }
            #expect(whats == ["update begun", "update ok"])
        }
        #expect(updates.state.withLock { $0.installed.count } == 1)
    }

    @Test(arguments: [
        ("stranger", "update_signature"), ("half", "update_not_whole"), ("arm", "update_other_machine"),
        ("older", "update_not_newer"),
    ])
    func whatMayNotComeInIsRefusedInPlainWords(word: String, expected: String) async throws {
        let updates = FakeUpdates()
        try await withOwner(updates) { page in
            try await send("\(word) bundle", to: page)
            let answer = try await page.ask("POST", "update/check")
            #expect(answer.status == 422)
            #expect(try code(answer) == expected)
            let row = try #require(try await page.rows().last)
            #expect("\(row.what) \(row.result) \(row.detail)" == "update.check refused \(expected)")
            #expect(try code(try await page.ask("POST", "update/install", Self.order)) == "update_not_checked")
        }
        #expect(updates.state.withLock { $0.installed } == [])
    }

    @Test func aVersionThatWasLeftOnceIsNotGoneBackBehindTheNewestGoodOne() async throws {
        let updates = FakeUpdates()
        updates.state.withLock { $0.newest = "0.10.0-20261121000000" }
        try await withOwner(updates) { page in
            try await send("a bundle", to: page)
            #expect(try code(try await page.ask("POST", "update/check")) == "update_not_newer")
        }
    }

    @Test func theNewestGoodVersionCanComeBackWhereAnOlderOneRunsAgain() async throws {
        let updates = FakeUpdates()
        updates.state.withLock { $0.newest = "0.10.0-20261120000000" }
        try await withOwner(updates) { page in
            try await send("a bundle", to: page)
            #expect(try await page.send("POST", "update/check", "{}") == 200)
        }
    }

    @Test func aGoodVersionThatIsLeftLaterIsSaid() async throws {
        let (updates, folder) = (FakeUpdates(), try TemporaryFolder())
        try await withOwner(updates, in: folder) { page in
            try await send("a bundle", to: page)
            #expect(try await page.send("POST", "update/check", "{}") == 200)
            #expect(try await page.send("POST", "update/install", Self.order) == 200)
            while updates.state.withLock({ $0.restarts }) == 0 { await Task.yield() }
        }
        updates.state.withLock { ($0.version, $0.good, $0.start) = ("0.10.0-20261120000000", true, "second start") }
        try await withOwner(updates, in: folder) { page in
            for await snapshot in await page.desk.snapshots() where snapshot.update != nil { break }
        }
        updates.state.withLock { ($0.version, $0.start) = ("0.9.0-20261101000000", "third start") }
        try await withOwner(updates, in: folder) { page in
            #expect(await page.desk.snapshot.update == .notUpdated(version: "0.9.0-20261101000000"))
            let last = try await state(page)["last"] as? [String: Any]
            #expect(last?["result"] as? String == "rolledBack")
            let rows = try await page.rows().filter { $0.what == "update.result" }.map(\.result)
            #expect(rows.contains("failed"))
        }
    }

    @Test func piecesThatAreMissingOrTooManyAreNoUpdate() async throws {
        try await withOwner { page in
            #expect(try code(try await page.ask("POST", "update/check")) == "update_not_begun")
            #expect(try await page.send("POST", "update", #"{"bytes":6}"#) == 200)
            #expect(try code(try await page.ask("PUT", "update", #"{"at":3,"piece":"AAAA"}"#)) == "update_out_of_place")
            #expect(try await page.send("PUT", "update", #"{"at":0,"piece":"AAAA"}"#) == 200)
            #expect(try code(try await page.ask("POST", "update/check")) == "update_not_begun")
            #expect(try code(try await page.ask("POST", "update", #"{"bytes":99999999999}"#)) == "update_too_large")
            #expect(try code(try await page.ask("POST", "update", #"{"bytes":0}"#)) == "update_not_whole")
            let left = try FileManager.default.contentsOfDirectory(atPath: page.folder)
            #expect(!left.contains("update.upload"), "\(left)")
        }
    }

    @Test func whileItIsInstalledNothingIsChargedAndAfterAFailureItIsAgain() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let updates = FakeUpdates(gate: gate)
        try await withOwner(updates) { page in
            try await send("breaks", to: page)
            #expect(try await page.send("POST", "update/check", "{}") == 200)
            #expect(try await page.send("POST", "update/install", Self.order) == 200)
            for await snapshot in await page.desk.snapshots() {
                if case .installing(_, 40) = snapshot.update { break }
            }
            _ = await page.phase()
            let amount = Money(minorUnits: 100, currency: .euro)
            await #expect(throws: ChargeRefusal.updating) {
                try await page.desk.open(ChargeRequest(amount: amount, by: .keypad))
            }
            #expect(await page.desk.snapshot.update?.holdsTerminal == true)
            #expect(try code(try await page.ask("POST", "update/install", Self.order)) == "update_busy")
            #expect(try code(try await page.ask("POST", "update", #"{"bytes":5}"#)) == "update_busy")
            open.finish()
            #expect(await untilInstalled(page) == .refused(.failed))
            let state = try await state(page)
            #expect((state["problem"] as? [String: Any])?["code"] as? String == "update_refused")
            #expect((state["last"] as? [String: Any])?["result"] as? String == "interrupted")
            #expect(try await page.rows().last?.result == "failed")
        }
        #expect(updates.state.withLock { $0.restarts } == 0)
    }

    @Test func aBundleOnAStickIsOfferedByItsName() async throws {
        let (updates, folder) = (FakeUpdates(), try TemporaryFolder())
        let path = folder.path + "/till.raucb"
        try Data("a bundle".utf8).write(to: URL(fileURLWithPath: path))
        updates.state.withLock { $0.sticks = [UpdateFile(name: "till.raucb", path: path, bytes: 8)] }
        try await withOwner(updates) { page in
            let sticks = try await state(page)["sticks"] as? [[String: Any]] ?? []
            #expect(sticks.compactMap { $0["name"] as? String } == ["till.raucb"])
            #expect(
                try code(try await page.ask("POST", "update/check", #"{"stick":"../etc/x"}"#)) == "update_stick_gone"
            )
            let found = try Page.said(try await page.ask("POST", "update/check", #"{"stick":"till.raucb"}"#))
            #expect((found["offered"] as? [String: Any])?["stick"] as? String == "till.raucb")
        }
    }

    /// What the start after an update says, by what runs then.
    @Test(arguments: [
        ("0.10.0-20261120000000", true, "good", "ok"), ("0.10.0-20261120000000", false, "tried", ""),
        ("0.9.0-20261101000000", true, "rolledBack", "failed"),
    ])
    func theStartAfterItSaysWhatBecameOfIt(runs: String, isGood: Bool, result: String, row: String) async throws {
        let (updates, folder) = (FakeUpdates(), try TemporaryFolder())
        try await withOwner(updates, in: folder) { page in
            try await send("a bundle", to: page)
            #expect(try await page.send("POST", "update/check", "{}") == 200)
            #expect(try await page.send("POST", "update/install", Self.order) == 200)
            #expect(await untilInstalled(page) == .restarting(version: "0.10.0-20261120000000"))
            while updates.state.withLock({ $0.restarts }) == 0 { await Task.yield() }
        }
        updates.state.withLock { ($0.version, $0.good, $0.start) = (runs, isGood, "second start") }
        try await withOwner(updates, in: folder) { page in
            let shown: SystemUpdate =
                switch row {
                case "ok": .updated(version: runs)
                case "": .trying(version: runs)
                default: .notUpdated(version: runs)
                }
            for await snapshot in await page.desk.snapshots() where snapshot.update == shown { break }
            if row.isEmpty {
                _ = await page.phase()
                let amount = Money(minorUnits: 100, currency: .euro)
                await #expect(throws: ChargeRefusal.updating) {
                    try await page.desk.open(ChargeRequest(amount: amount, by: .keypad))
                }
            }
            let last = try await state(page)["last"] as? [String: Any]
            #expect(last?["result"] as? String == result)
            let rows = try await page.rows().filter { $0.what == "update.result" }.map(\.result)
            #expect(rows == (row.isEmpty ? [] : [row]))
        }
    }

    @Test func outsideTheApplianceThePageSaysThatItCannot() async throws {
        try await withOwner(nil) { page in
            let said = try await state(page)
            #expect(said["available"] as? Bool == false)
            #expect(try code(try await page.ask("POST", "update", #"{"bytes":5}"#)) == "update_absent")
        }
    }

    @Test func versionsAreOrderedByTheirNumbers() {
        let order = ["0.9.0", "0.9.0-20261101000000", "0.9.1-20261101000000", "0.10.0-20260101000000", "1.0", "1.0.1"]
        for (one, other) in zip(order, order.dropFirst()) {
            #expect(SystemVersion(one) < SystemVersion(other))
            #expect(SystemVersion(other) >= SystemVersion(one))
        }
        #expect(SystemVersion("1.0") >= SystemVersion("1.0"))
    }
}
