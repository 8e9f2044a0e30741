import Crypto
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

@Suite(.timeLimit(.minutes(2)))
struct WebhookTests {
    private static let url = "https://shop.test/till?key=canary-path"
    private static let all = WebhookEvent.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")

    private func make(_ page: Page, _ events: String = all, url: String = url) async throws -> (
        id: String, secret: String
    ) {
        let made = try await page.ask("POST", "webhooks", #"{"url":"\#(url)","events":[\#(events)]}"#)
        #expect(made.status == 201, "\(CustomerShop.html(made))")
        let said = try Page.said(made)
        return (try #require(said["id"] as? String), try #require(said["secret"] as? String))
    }

    private func list(_ page: Page) async throws -> [[String: Any]] {
        try Page.said(try await page.ask("GET", "webhooks"))["webhooks"] as? [[String: Any]] ?? []
    }

    private func isSigned(_ post: WebhookReceiver.Post, _ secret: String, at time: WallTime) throws -> Bool {
        let key = try #require(Data(base64Encoded: String(secret.dropFirst("whsec_".count))))
        let timestamp = try #require(post.headers["webhook-timestamp"])
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(post.id).\(timestamp).\(post.body)".utf8),
            using: SymmetricKey(data: key)
        )
        return post.headers["webhook-signature"] == "v1," + Data(code).base64EncodedString()
            && timestamp == String(time.secondsSince1970)
    }

    /// Whoever takes the terminal over must not be able to do it unheard, whatever charges a webhook chose.
    @Test func everyWebhookThatIsNotHeldBackHearsOfANewOwnerPassword() async throws {
        let receiver = WebhookReceiver()
        try await withConsole(webhooks: receiver) { page in
            try await StaffShop.open(page)
            let (_, secret) = try await make(page, #""failed""#)
            let (paused, _) = try await make(page, #""failed""#, url: "https://other.test/")
            #expect(try await page.send("PUT", "webhooks/\(paused)", #"{"paused":true}"#) == 200)
            await page.console.webhooks.tell("terminal.reset_waiting", .object(["minutes": .integer(15)]))
            let post = try #require(await receiver.next())
            #expect(post.type == "terminal.reset_waiting" && (post.said["data"] as? [String: Int]) == ["minutes": 15])
            #expect(post.url == Self.url && post.id.hasPrefix("terminal-"))
            #expect(try isSigned(post, secret, at: page.clock.wallTime))
            #expect(receiver.posts == 1)
        }
    }

    @Test func everythingThatHappensToAChargeArrivesInOrderSignedAndWithTheEventsOwnWords() async throws {
        let receiver = WebhookReceiver()
        try await withConsole(webhooks: receiver) { page in
            let shop = try await Program.shop(page)
            let before = try await shop.offered(500)  // Nobody was told of it.
            try await shop.pay(before)
            let (_, secret) = try await make(page)
            #expect(secret.hasPrefix("whsec_") && Data(base64Encoded: String(secret.dropFirst(6)))?.count == 32)
            // What the stream of events says of the same.
            var stream = await page.desk.follow(after: nil).next.makeAsyncIterator()
            let id = try await shop.offered()
            try await shop.pay(id)
            let posts = await receiver.until { $0.type == "charge.succeeded" }
            let own = posts.filter { $0.charge == id.rawValue }
            #expect(own.count == posts.count)
            #expect(own.first?.type == "charge.created")
            #expect(
                own.map(\.type).filter { $0 != "charge.changed" } == [
                    "charge.created", "charge.requiresAction", "charge.succeeded",
                ]
            )
            #expect(posts.map(\.number) == Array(try #require(posts.first).number...(try #require(posts.last).number)))
            for post in posts { #expect(try isSigned(post, secret, at: page.clock.wallTime)) }
            #expect(posts.allSatisfy { $0.url == Self.url && $0.headers["Content-Type"] == "application/json" })
            var words: ChargeChange?
            while let change = await stream.next() {
                words = change
                if change.state == .succeeded { break }
            }
            let expected = JSON.change(try #require(words)).text
            #expect(try #require(own.last).body.contains(expected))
            for canary in ["transaction", "0xcanary", "Kiosk", "operator-canary"] {
                #expect(!posts.contains { $0.body.contains(canary) })
            }
        }
    }

    @Test func onlyWhatWasChosenArrives() async throws {
        let receiver = WebhookReceiver()
        try await withConsole(webhooks: receiver) { page in
            let shop = try await Program.shop(page)
            _ = try await make(page, #""succeeded","unknown""#)
            let id = try await shop.offered()
            try await shop.pay(id)
            let first = try #require(await receiver.next())
            #expect(first.type == "charge.succeeded" && first.charge == id.rawValue)
            #expect(receiver.posts == 1)
        }
    }

    @Test func whatDoesNotArriveIsSentAgainLaterUnderItsNameAndNothingOvertakesIt() async throws {
        let receiver = WebhookReceiver()
        try await withNotingConsole(webhooks: receiver) { page, storage in
            let shop = try await Program.shop(page)
            let (id, _) = try await make(page, #""created","succeeded""#)
            receiver.answer(.status(500, retryAfter: nil), .silence, .status(302, retryAfter: nil))
            let charge = try await shop.offered()
            let first = try #require(await receiver.next())
            try await shop.pay(charge)
            #expect(receiver.posts == 1, "it waits")
            await untilFailing(page, storage, tries: 1)
            // Whoever watches from outside sees it grow old.
            let began = try #require(await page.console.webhooks.measures())
            #expect(began.counts == ["failing": 1] && began.waiting > 1)
            page.clock.advance(by: .seconds(3))
            #expect(await page.console.webhooks.measures()?.oldest == began.oldest + .seconds(3))
            // No other webhook hides it: the one furthest behind counts.
            let (other, _) = try await make(page, #""unknown""#)
            #expect(await page.console.webhooks.measures()?.waiting == began.waiting)
            #expect(await page.console.webhooks.measures()?.counts == ["failing": 1, "new": 1])
            #expect(try await page.send("DELETE", "webhooks/\(other)", "{}") == 200)
            // A hook that failed keeps its pause, whatever else happens.
            var tries = [first]
            for pause in [7, 40, 150] {
                await untilFailing(page, storage, tries: tries.count)
                page.clock.advance(by: .seconds(pause))
                await page.console.webhooks.ring(id)
                tries.append(try #require(await receiver.next()))
            }
            #expect(Set(tries.map(\.id)).count == 1 && tries.allSatisfy { $0.type == "charge.created" })
            #expect(Set(tries.compactMap { $0.headers["webhook-timestamp"] }).count == 4, "each is signed anew")
            #expect(await receiver.next()?.type == "charge.succeeded")
        }
    }

    /// Waits until the desk has written down that so many tries failed.
    private func untilFailing(_ page: Page, _ storage: NotingStorage, tries: Int) async {
        while await page.console.webhooks.progress.values.first?.failures != tries {
            await storage.until(WebhookDesk.progressDocument)
        }
    }

    @Test func aReceiverThatIsGoneIsSwitchedOffForAllToSeeAndGoesOnWhereItWas() async throws {
        let receiver = WebhookReceiver()
        try await withNotingConsole(webhooks: receiver) { page, storage in
            let shop = try await Program.shop(page)
            let (id, _) = try await make(page, #""created","succeeded""#)
            receiver.answer(.status(410, retryAfter: nil))
            let charge = try await shop.offered()
            #expect(await receiver.next()?.type == "charge.created")
            await untilFailing(page, storage, tries: 1)
            try await shop.pay(charge)
            await storage.until("webhook.off")
            let hook = try #require(try await list(page).first)
            #expect(hook["state"] as? String == "off" && hook["behind"] as? Int ?? 0 > 0)
            #expect((hook["reason"] as? [String: Any])?["code"] as? String == "webhook_gone")
            let health = try Page.said(try await page.ask("GET", "health"))
            let checks = try #require(health["checks"] as? [[String: Any]])
            #expect(checks.contains { $0["part"] as? String == "webhooks" && $0["weight"] as? String == "note" })
            #expect(receiver.posts == 1)
            #expect(await page.console.webhooks.measures() == WebhookMeasures(counts: ["off": 1]), "it does not wait")
            #expect(try await page.send("PUT", "webhooks/\(id)", #"{"paused":false}"#) == 200)
            let later = await receiver.until { $0.type == "charge.succeeded" }
            #expect(later.map(\.type) == ["charge.created", "charge.succeeded"])
        }
    }

    @Test func whatHappensDuringAPauseArrivesAfterItAndADeletedOneIsToldNothing() async throws {
        let receiver = WebhookReceiver()
        try await withConsole(webhooks: receiver) { page in
            let shop = try await Program.shop(page)
            let (id, _) = try await make(page, #""created""#)
            #expect(try await page.send("PUT", "webhooks/\(id)", #"{"paused":true}"#) == 200)
            // More than one step of reading.
            var opened: [String] = []
            for _ in 0..<30 {
                let charge = try await shop.offered()
                try await shop.pay(charge)
                opened.append(charge.rawValue)
            }
            #expect(receiver.posts == 0)
            #expect(try await page.send("PUT", "webhooks/\(id)", #"{"paused":false}"#) == 200)
            let posts = await receiver.until { $0.charge == opened.last }
            #expect(posts.map(\.charge) == opened)
            #expect(try await page.send("DELETE", "webhooks/\(id)", "{}") == 200)
            #expect(try await list(page).isEmpty)
            #expect(try await page.journal.secret("webhook-\(id)") == nil)
            _ = try await shop.offered()
            #expect(receiver.posts == 30)
        }
    }

    /// The next start, from the same journal, without what the last one had in memory.
    @Test func anotherStartGoesOnBehindTheLastMessageThatArrived() async throws {
        let receiver = WebhookReceiver()
        try await withNotingConsole(webhooks: receiver) { page, storage in
            let shop = try await Program.shop(page)
            _ = try await make(page, #""created","succeeded""#)
            let charge = try await shop.offered()
            let first = try #require(await receiver.next())
            receiver.answer(.silence)
            try await shop.pay(charge)
            _ = await receiver.next()
            await untilFailing(page, storage, tries: 1)
            let again = WebhookReceiver()
            let desk = WebhookDesk(
                journal: page.journal,
                books: page.journal,
                desk: page.desk,
                carrier: again,
                version: "",
                clock: page.clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            try await desk.load()
            let work = Task { await desk.run() }
            let next = try #require(await again.next())
            #expect(next.type == "charge.succeeded" && next.number > first.number)
            work.cancel()
            await work.value
        }
    }

    /// Receivers would take new messages under names that they know for messages that they have had.
    @Test func afterARestoreMessagesHaveNamesThatNoReceiverKnows() async throws {
        let (folder, receiver, later) = (try TemporaryFolder(), WebhookReceiver(), WebhookReceiver())
        var before: WebhookReceiver.Post?
        try await withNotingConsole(webhooks: receiver, in: folder) { page, _ in
            let shop = try await Program.shop(page)
            _ = try await make(page, #""created""#)
            try await shop.pay(try await shop.offered(500))
            before = await receiver.next()
            let last = try await page.journal.lastSequence()
            try await page.journal.renameSender(after: last, by: .terminal, at: page.clock.wallTime)
        }
        try await withNotingConsole(webhooks: later, in: folder) { page, _ in
            let names = try await page.journal.senderNames()
            await page.desk.use(CustomerShop.merchant, drivers: [SpokenRail(.scan)])
            await page.untilReady()
            let amount = Money(minorUnits: 500, currency: .euro)
            _ = try await page.desk.open(ChargeRequest(amount: amount, by: .terminal))
            let after = try #require(await later.until { $0.id != before?.id }.last)
            #expect(before?.id.hasPrefix("\(names.first)-") == true)
            #expect(after.id == "\(names.current)-\(after.number)" && names.current != names.first)
        }
    }

    @Test func aSecretIsShownOnceSealedAndInNoOtherAnswer() async throws {
        try await withConsole(webhooks: WebhookReceiver()) { page in
            _ = try await StaffShop.open(page, settings: true)
            let (id, secret) = try await make(page)
            for path in ["webhooks", "health", "settings", "audit"] {
                #expect(!CustomerShop.html(try await page.ask("GET", path)).contains(secret))
            }
            let bundle = try await page.ask("GET", "support-bundle")
            let text = CustomerShop.html(bundle)
            #expect(!text.contains(secret) && !text.contains("canary-path"))
            let key = try #require(Data(base64Encoded: String(secret.dropFirst(6))))
            #expect(try await page.journal.secret("webhook-\(id)").map { Data($0) } == key)
            for name in try FileManager.default.contentsOfDirectory(atPath: page.folder) {
                guard let data = FileManager.default.contents(atPath: "\(page.folder)/\(name)") else { continue }
                #expect(data.range(of: key) == nil && data.range(of: Data(secret.utf8)) == nil, "\(name)")
            }
            // A manager sees where it goes, and not what stands behind the host.
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            let seen = CustomerShop.html(try await manager.ask("GET", "webhooks"))
            #expect(seen.contains("https://shop.test") && !seen.contains("canary-path"))
            #expect(try await page.rows().contains { $0.what == "webhook.make" && !$0.detail.contains("canary-path") })
        }
    }

    @Test func whatCannotBeAWebhookIsRefusedAndNothingIsKept() async throws {
        try await withConsole(webhooks: WebhookReceiver()) { page in
            try await StaffShop.open(page)
            for (body, code) in [
                (#"{"url":"http://shop.test","events":["created"]}"#, "webhook_plain"),
                (#"{"url":"","events":["created"]}"#, "webhook_address"),
                (#"{"url":"https://shop.test","events":[]}"#, "required"),
                (#"{"url":"https://shop.test","events":["paid"]}"#, "event_unknown"),
                (#"{"url":"https://shop.test","events":["created","created"]}"#, "event_unknown"),
                (
                    #"{"url":"https://shop.test/\#(String(repeating: "a", count: 300))","events":["created"]}"#,
                    "too_long"
                ),
                (#"{"url":"https://shop.test","events":["created"],"secret":"mine"}"#, "unknown_field"),
            ] {
                let answer = try await page.ask("POST", "webhooks", body)
                #expect(try answer.status == 422 && Program.code(answer) == code, "\(body.prefix(80))")
            }
            for _ in 0..<WebhookDesk.most { _ = try await make(page) }
            let answer = try await page.ask("POST", "webhooks", #"{"url":"https://shop.test","events":["created"]}"#)
            #expect(try answer.status == 409 && Program.code(answer) == "too_many_webhooks")
            for (method, path, body) in [
                ("PUT", "webhooks/x", #"{"paused":true}"#), ("DELETE", "webhooks/x", "{}"),
                ("POST", "webhooks/x/test", "{}"),
            ] {
                let answer = try await page.ask(method, path, body)
                #expect(try answer.status == 404 && Program.code(answer) == "webhook_not_found")
            }
        }
    }

    // MARK: - When it is tried again

    private static let now = WallTime(millisecondsSince1970: 1_790_000_000_000)

    /// Fails once more, and says when it is tried again.
    private func fail(
        _ progress: inout WebhookProgress,
        at time: WallTime = now,
        retryAfter: Int64? = nil,
        chance: Double = 0
    ) throws -> Duration? {
        let failure = try #require(WebhookFailure(.status(503, retryAfter: nil)))
        return progress.fail(failure, at: time, retryAfter: retryAfter, chance: chance)
    }

    @Test func thePausesGrowToHoursAndNeverAllAtTheSameMoment() throws {
        var (early, late, asked) = (
            WebhookProgress(after: 0), WebhookProgress(after: 0), WebhookProgress(after: 0)
        )
        var pauses: [Duration] = []
        for _ in 0..<12 {
            let (first, last) = (try fail(&early), try fail(&late, chance: 1))
            pauses.append(try #require(first))
            #expect(try #require(last) > pauses[pauses.count - 1])
        }
        #expect(pauses == pauses.sorted() && pauses[0] == .seconds(4) && pauses[11] == .seconds(11_520))
        var pause = try fail(&asked, retryAfter: 90)
        #expect(pause == .seconds(90))
        pause = try fail(&asked, retryAfter: .max)
        #expect(pause == .seconds(14_400))
    }

    /// Each start tries once, at once. Where that fails the wait is neither longer nor shorter than without the start.
    @Test func aRestartDoesNotLengthenTheWait() throws {
        var progress = WebhookProgress(after: 0)
        for _ in 0..<4 { _ = try fail(&progress) }
        #expect(progress.failures == 4)
        let later = Self.now.advanced(by: .seconds(100))
        let failure = try #require(WebhookFailure(.status(503, retryAfter: nil)))
        for _ in 0..<20 {
            let kept = try JSONEncoder().encode(progress)
            progress = try JSONDecoder().decode(WebhookProgress.self, from: kept)
            let wait = progress.fail(failure, at: later, retryAfter: nil, chance: 1, isAtStart: true)
            #expect(wait == .seconds(480 - 100) && progress.failures == 4)
        }
        // A clock that was set back by years, and one that was set forward.
        let old = progress.fail(
            failure,
            at: WallTime(millisecondsSince1970: 0),
            retryAfter: nil,
            chance: 1,
            isAtStart: true
        )
        #expect(old == WebhookProgress.longestDelay)
        let new = progress.fail(
            failure,
            at: Self.now.advanced(by: .seconds(1_000_000)),
            retryAfter: nil,
            chance: 1,
            isAtStart: true
        )
        #expect(new == .seconds(5))
        // What an earlier version kept has no time to wait for.
        var earlier = try JSONDecoder().decode(WebhookProgress.self, from: Data(#"{"sequence":3,"failures":2}"#.utf8))
        #expect(earlier.fail(failure, at: later, retryAfter: nil, chance: 0, isAtStart: true) == .seconds(96))
    }

    @Test func onlyDaysOfSilenceSwitchItOffAndNeitherAClockNorRestarts() throws {
        var (progress, restarted) = (WebhookProgress(after: 0), WebhookProgress(after: 0))
        // A clock that jumps from 1970.
        var pauses = [try fail(&progress, at: WallTime(millisecondsSince1970: 0))]
        for _ in 0..<28 { pauses.append(try fail(&progress)) }
        #expect(pauses.allSatisfy { $0 != nil })
        let last = try fail(&progress)
        #expect(last == nil && progress.off == .givenUp)
        pauses = []
        for _ in 0..<200 { pauses.append(try fail(&restarted)) }
        #expect(pauses.allSatisfy { $0 != nil })
        restarted.arrived(1, at: Self.now)
        #expect(restarted.failures == 0 && restarted.failed == nil && restarted.sequence == 1)
    }

    @Test(
        arguments: [
            (WebhookAnswer.status(200, retryAfter: nil), nil), (.status(299, retryAfter: nil), nil),
            (.status(410, retryAfter: nil), "webhook_gone"), (.status(301, retryAfter: nil), "webhook_redirected"),
            (.status(404, retryAfter: nil), "webhook_refused"), (.status(100, retryAfter: nil), "webhook_refused"),
            (.silence, "webhook_silent"), (.tooLarge, "webhook_too_large"), (.notSent("x"), "webhook_unreachable"),
            (.notAllowed(.place), "webhook_place"),
        ] as [(WebhookAnswer, String?)]
    )
    func eachAnswerIsSaidByItsName(answer: WebhookAnswer, code: String?) {
        #expect(WebhookFailure(answer)?.reason.code == code)
    }
}
