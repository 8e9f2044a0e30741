import Foundation
import Locks
import Logging
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Journal
@testable import Terminal

/// The operator's table, as far as the outbox reaches it: a row that is there stays as it is.
private final class Table: EventSink {
    private struct State {
        var rows: [Int: [String: Any]] = [:]
        /// Under which name each row arrived.
        var names: [Int: String] = [:]
        var batches: [Int] = []
        var fault: EventFault?
        /// From which try on nobody is there any more, once.
        var breaksAt: Int?
        var places: [EventPlace] = []
    }

    private let state = Mutex(State())
    private let tries = AsyncStream.makeStream(of: Bool.self)
    let password: String

    init(password: String = OutboxTests.secret) { self.password = password }

    func put(_ rows: String, of terminal: String, at place: EventPlace, password: String) async throws(EventFault) {
        await Task.yield()
        let fault: EventFault? = state.withLock { state in
            let parsed = try? JSONSerialization.jsonObject(with: Data(rows.utf8)) as? [[String: Any]]
            let list = parsed ?? []
            state.places.append(place)
            state.batches.append(list.count)
            if password != self.password { return EventFault(.password) }
            if let fault = state.fault { return fault }
            for row in list {
                let number = row["sequence"] as? Int ?? -1
                if state.rows[number] == nil { (state.rows[number], state.names[number]) = (row, terminal) }
            }
            // Committed, and the answer is lost on the way.
            if state.breaksAt == state.batches.count { return EventFault(.unreachable) }
            return nil
        }
        tries.continuation.yield(fault == nil)
        if let fault { throw fault }
    }

    func fail(_ fault: EventFault?) { state.withLock { $0.fault = fault } }

    func breakAt(_ number: Int) { state.withLock { $0.breaksAt = number } }

    var numbers: [Int] { state.withLock { $0.rows.keys.sorted() } }
    var names: [Int: String] { state.withLock { $0.names } }
    var batches: [Int] { state.withLock { $0.batches } }
    var places: [EventPlace] { state.withLock { $0.places } }
    var types: [String] {
        state.withLock { state in state.rows.keys.sorted().map { state.rows[$0]?["type"] as? String ?? "" } }
    }

    /// Waits for a try that went as said.
    func until(_ wasGood: Bool) async { for await good in tries.stream where good == wasGood { return } }
}

@Suite(.timeLimit(.minutes(2)))
struct OutboxTests {
    static let secret = "canary-database-password"

    private func form(_ more: String = #""enabled":true"#, secret: String? = secret) -> String {
        let own = secret.map { #","outboxPassword":"\#($0)""# } ?? ""
        return
            #"{"host":"db.test","port":5432,"database":"fleet","user":"till","authorities":[],"password":"\#(CustomerShop.password)",\#(more)\#(own)}"#
    }

    private func state(_ page: Page) async throws -> [String: Any] {
        try Page.said(try await page.ask("GET", "outbox"))
    }

    /// Waits until the desk has written down what `fits`.
    private func until(_ page: Page, _ storage: NotingStorage, _ fits: (OutboxProgress) -> Bool) async {
        while await !fits(page.console.outbox.progress) { await storage.until(OutboxDesk.progressDocument) }
    }

    /// What another start would find.
    private func noted(_ page: Page) async throws -> OutboxProgress? {
        try await page.journal.document(OutboxDesk.progressDocument).map {
            try JSONDecoder().decode(OutboxProgress.self, from: Data($0.bytes))
        }
    }

    @Test func nothingIsSentUntilItIsSwitchedOnAndThenEverythingFromTheFirstEntryOnWithoutARestart() async throws {
        let table = Table()
        try await withNotingConsole(events: table) { page, storage in
            let shop = try await Program.shop(page)
            try await shop.pay(try await shop.offered(500))
            #expect(try await state(page)["state"] as? String == "off")
            #expect(table.batches.isEmpty)
            #expect(try await page.send("PUT", "outbox", form()) == 200)
            try await shop.pay(try await shop.offered())
            let last = try await page.journal.lastSequence()
            await until(page, storage) { $0.sequence == last }
            #expect(table.numbers == Array(1...Int(last)))
            #expect(table.types.first == "charge.created" && table.types.contains("charge.succeeded"))
            let now = try await state(page)
            #expect(now["state"] as? String == "good" && now["waiting"] as? Int == 0)
            // Off again: nothing more.
            let before = table.batches.count
            #expect(try await page.send("PUT", "outbox", form(#""enabled":false"#, secret: nil)) == 200)
            try await shop.pay(try await shop.offered())
            #expect(table.batches.count == before)
            let rows = try await page.rows().filter { $0.what == "outbox" }
            #expect(rows.map(\.detail) == ["on db.test:5432/fleet", "off db.test:5432/fleet"])
        }
    }

    @Test func daysWithoutTheDatabaseHoldNoChargeUpAndAreCaughtUpInBoundedBatches() async throws {
        let table = Table()
        table.fail(EventFault(.unreachable))
        try await withNotingConsole(events: table) { page, storage in
            let shop = try await Program.shop(page)
            #expect(try await page.send("PUT", "outbox", form()) == 200)
            for _ in 0..<18 { try await shop.pay(try await shop.offered()) }
            await until(page, storage) { $0.failures == 1 }
            let now = try await state(page)
            let last = Int(try await page.journal.lastSequence())
            #expect(now["state"] as? String == "failing" && now["waiting"] as? Int == last && last > OutboxDesk.step)
            #expect((now["reason"] as? [String: Any])?["code"] as? String == "outbox_unreachable")
            let checks = try #require(try Page.said(try await page.ask("GET", "health"))["checks"] as? [[String: Any]])
            #expect(checks.contains { $0["part"] as? String == "outbox" && $0["weight"] as? String == "note" })
            page.clock.advance(by: .seconds(4 * 86_400))
            var metrics = MetricsText()
            let desk = page.console.outbox
            metrics.addOutbox(try await desk.standing(), await desk.progress, at: page.clock.wallTime)
            #expect(metrics.text.contains("till_outbox_waiting \(last)\n"))
            #expect(metrics.text.contains("till_outbox_failing 1\n"))
            #expect(metrics.text.contains("till_outbox_oldest_seconds 345600\n"))
            // It is back, but the first batch’s acknowledgement is lost: it comes twice and is there once.
            table.fail(nil)
            table.breakAt(table.batches.count + 1)
            desk.bell.ring()
            await until(page, storage) { $0.failures == 2 }
            page.clock.advance(by: .seconds(20))
            desk.bell.ring()
            await until(page, storage) { $0.sequence == last }
            #expect(table.numbers == Array(1...last))
            #expect(table.batches.allSatisfy { $0 <= OutboxDesk.step })
        }
    }

    @Test func aTerminalThatDiesBetweenTheAcknowledgementAndItsNoteSendsTheSameRowsAgain() async throws {
        let table = Table()
        try await withNotingConsole(events: table) { page, storage in
            let shop = try await Program.shop(page)
            try await shop.pay(try await shop.offered())
            #expect(try await page.send("PUT", "outbox", form()) == 200)
            let last = try await page.journal.lastSequence()
            while try await noted(page)?.sequence != last { await storage.until(OutboxDesk.progressDocument) }
            // As the storage was before the last note.
            let older = try JSONEncoder().encode(OutboxProgress(place: "db.test:5432/fleet"))
            _ = try await page.journal.setDocument(
                OutboxDesk.progressDocument,
                Array(older),
                expecting: .any,
                by: .terminal,
                at: page.clock.wallTime
            )
            let desk = OutboxDesk(
                journal: storage,
                books: page.journal,
                desk: page.desk,
                sink: table,
                clock: page.clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            try await desk.load()
            #expect(await desk.progress.sequence == 0)
            let (before, count) = (table.numbers, table.batches.count)
            let work = Task { await desk.run() }
            while await desk.progress.sequence != last { await storage.until(OutboxDesk.progressDocument) }
            #expect(table.numbers == before && table.batches.count > count)
            work.cancel()
            await work.value
        }
    }

    /// A terminal that was restored, and erased and taken over later, has had three names. Everything that happened before its
    /// database was set goes there at once.
    @Test func entriesOfThreeNamesInOneBatchAllArriveEachUnderItsOwn() async throws {
        let (folder, table) = (try TemporaryFolder(), Table())
        var expected: [Int: String] = [:]
        try await withNotingConsole(in: folder) { page, _ in
            let shop = try await Program.shop(page)
            for number in 0..<3 {
                let first = try await page.journal.lastSequence()
                if number > 0 {
                    try await page.journal.renameSender(after: first, by: .terminal, at: page.clock.wallTime)
                }
                try await shop.pay(try await shop.offered(500))
                let (name, last) = (try await page.journal.senderNames().current, try await page.journal.lastSequence())
                for sequence in (first + 1)...last { expected[Int(sequence)] = name }
            }
        }
        #expect(expected.count < OutboxDesk.step && Set(expected.values).count == 3)
        try await withNotingConsole(events: table, in: folder) { page, storage in
            let signIn = try await page.send("POST", "login", #"{"password":"\#(CustomerShop.password)"}"#)
            let isSet = try await page.send("PUT", "outbox", form())
            #expect(signIn == 200 && isSet == 200)
            await until(page, storage) { $0.sequence >= expected.count }
            #expect(table.names == expected)
        }
    }

    @Test func thePasswordIsInNoAnswerAndIsSaidToNoOtherServer() async throws {
        let table = Table()
        try await withConsole(events: table) { page in
            _ = try await Program.shop(page)
            #expect(try await page.send("PUT", "outbox", form()) == 200)
            #expect(try Page.said(try await page.ask("POST", "outbox/test"))["arrived"] as? Bool == true)
            for path in ["outbox", "health", "settings", "audit", "support-bundle"] {
                #expect(!CustomerShop.html(try await page.ask("GET", path)).contains("canary-database"))
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: page.folder) {
                guard let data = FileManager.default.contents(atPath: "\(page.folder)/\(name)") else { continue }
                #expect(data.range(of: Data(Self.secret.utf8)) == nil, "\(name)")
            }
            // Somewhere else it has to be typed again; here it stays.
            let elsewhere = form(secret: nil).replacing("db.test", with: "evil.test")
            #expect(try await page.send("PUT", "outbox", elsewhere) == 422)
            #expect(try await page.send("PUT", "outbox", form(secret: nil)) == 200)
            #expect(try await page.send("PUT", "outbox", form(secret: "wrong")) == 200)
            let answer = try Page.said(try await page.ask("POST", "outbox/test"))
            #expect((answer["reason"] as? [String: Any])?["code"] as? String == "outbox_password")
            #expect(table.places.allSatisfy { $0.host == "db.test" })
            // The settings file takes it along, and its password only sealed.
            let file = CustomerShop.html(try await page.ask("POST", "backup/export", "{}"))
            #expect(file.contains("\"outbox\"") && file.contains("fleet") && !file.contains("canary-database"))
        }
    }

    @Test(
        arguments: [
            (#""host":"db.test""#, #""host":"/run/postgresql""#, "outbox_host"),
            (#""host":"db.test""#, #""host":"a.test,b.test""#, "outbox_host"),
            (#""port":5432"#, #""port":0"#, "outbox_port"), (#""port":5432"#, #""port":65536"#, "outbox_port"),
            (#""user":"till""#, #""user":"""#, "outbox_incomplete"),
            (#""authorities":[]"#, #""authorities":["-----BEGIN PRIVATE KEY-----"]"#, "outbox_pem"),
            (#""password":""#, #""password":"not-"#, "wrong_password"),
        ]
    )
    func whatCannotBeADatabaseIsRefusedAndNothingIsKept(part: String, instead: String, code: String) async throws {
        try await withConsole(events: Table()) { page in
            _ = try await Program.shop(page)
            let answer = try await page.ask("PUT", "outbox", form().replacing(part, with: instead))
            let said = CustomerShop.html(answer)
            #expect(answer.status >= 400 && (code == "wrong_password" || said.contains(code)), "\(said)")
            #expect(try await state(page)["host"] as? String == "")
            #expect(try await page.journal.secret(Outbox.secretName) == nil)
        }
    }

    @Test func thePausesGrowToMinutesAndItNeverGivesUp() {
        var (early, late) = (OutboxProgress(place: ""), OutboxProgress(place: ""))
        let time = WallTime(millisecondsSince1970: 0)
        var pauses: [Duration] = []
        for _ in 0..<1000 {
            pauses.append(early.fail(EventFault(.unreachable), at: time, chance: 0))
            #expect(late.fail(EventFault(.unreachable), at: time, chance: 1) > pauses[pauses.count - 1])
        }
        #expect(pauses == pauses.sorted() && pauses[0] == .seconds(4) && pauses[999] == .seconds(240))
    }
}
