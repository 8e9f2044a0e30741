import Foundation
import Journal
import Locks
import Machine
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// What a monitoring system reads, and who may.
@Suite(.timeLimit(.minutes(2)))
struct MetricsTests {
    private func scrape(
        _ page: Page,
        _ token: String?,
        method: String = "GET",
        scheme: String = "Bearer",
        from peer: String = "10.0.0.9"
    ) async throws -> WebResponse {
        var headers: WebHeaders = ["Host": "till.local"]
        if let token { headers.add("Authorization", "\(scheme) \(token)") }
        let request = try #require(WebRequest(method: method, target: "/metrics", headers: headers, peerAddress: peer))
        switch page.console.handle(request, try StaticFiles(folder: "/usr/share/doc/base-files")) {
        case .now(let response): return response
        case .later(let work): return await work()
        }
    }

    private func token(_ page: Page, name: String = "Prometheus") async throws -> (text: String, id: String) {
        let made = try await page.ask("POST", "tokens", #"{"name":"\#(name)","scopes":["metrics"]}"#)
        #expect(made.status == 201)
        let said = try Page.said(made)
        return (try #require(said["token"] as? String), try #require(said["id"] as? String))
    }

    /// A sample's value by its whole name with labels.
    private func value(_ name: String, in text: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    @Test func onlyATokenOfThatScopeReadsThem() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let (text, id) = try await token(page)
            #expect(text.hasPrefix("till_metrics_") && text.utf8.count == 13 + 43)
            for wrong in [
                nil, "", "till_metrics_" + String(repeating: "A", count: 43), String(text.dropLast()), text + "A", id,
            ] {
                let refused = try await scrape(page, wrong)
                #expect(refused.status == 401 && refused.headers["WWW-Authenticate"] == "Bearer realm=\"metrics\"")
                #expect(!CustomerShop.html(refused).contains("till_charges"))
            }
            // A till's own token is good, and not for this.
            let made = try await page.ask("POST", "tokens", #"{"name":"Till","scopes":["charges","state"]}"#)
            let till = try #require(try Page.said(made)["token"] as? String)
            let refused = try await scrape(page, till)
            #expect(refused.status == 401 && !CustomerShop.html(refused).contains("till_charges"))
            #expect(try await scrape(page, text, scheme: "Basic").status == 401)
            #expect(try await scrape(page, text, method: "POST").status == 405)
            let read = try await scrape(page, text)
            #expect(read.status == 200)
            #expect(read.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
            // It opens nothing else, and a browser's session does not open it.
            let elsewhere = try #require(
                WebRequest(
                    target: "/api/v1/charges",
                    headers: ["Host": "till.local", "Authorization": "Bearer \(text)"]
                )
            )
            guard
                case .later(let work) = page.console.handle(
                    elsewhere,
                    try StaticFiles(folder: "/usr/share/doc/base-files")
                )
            else {
                Issue.record("answered without a look")
                return
            }
            #expect(await work().status == 403)
            #expect(try await page.send("DELETE", "tokens/\(id)", "{}") == 200)
            #expect(try await scrape(page, text).status == 401)
            _ = shop
        }
    }

    @Test func aTokenIsShownOnceAndNeverKept() async throws {
        try await withConsole { page in
            _ = try await CustomerShop(page)
            let (text, id) = try await token(page)
            let list = CustomerShop.html(try await page.ask("GET", "tokens"))
            #expect(list.contains(id) && list.contains("Prometheus") && !list.contains(text))
            let stored = try #require(try await page.journal.document("tokens"))
            #expect(!String(decoding: stored.bytes, as: UTF8.self).contains(text.dropFirst(13)))
            #expect(try await !page.rows().contains { "\($0)".contains(text.dropFirst(13)) })
            #expect(try await page.rows().contains { $0.what == "token.make" && $0.who == Entrance.ownerActor })
            // It holds after a restart, and says when it was used.
            page.clock.advance(by: .seconds(60))
            let again = TokenDesk(journal: page.journal, clock: page.clock.terminalClock)
            try await again.load()
            guard case .granted = await again.check(text, for: .metrics, from: "10.0.0.1") else {
                Issue.record("a token does not hold over a restart")
                return
            }
            #expect(await again.list.first?.usedAt == page.clock.wallTime.millisecondsSince1970)
            // To the hour: whoever asks every few seconds does not fill the journal.
            let version = try await page.journal.document("tokens")?.version ?? 0
            for (minutes, more) in [(59, 0), (2, 1)] {
                page.clock.advance(by: .seconds(60 * minutes))
                _ = await again.check(text, for: .metrics, from: "10.0.0.1")
                #expect(try await page.journal.document("tokens")?.version == version + more)
            }
        }
    }

    /// Written by a later version, whose scopes this one does not know.
    @Test func tokensThatCannotBeReadKeepProgramsOutAndNobodyElse() async throws {
        try await withConsole { page in
            let later = Array(#"[{"id":"a","name":"b","scope":"till","digest":[],"createdAt":1}]"#.utf8)
            _ = try await page.journal.setDocument(
                "tokens",
                later,
                expecting: .any,
                by: .terminal,
                at: page.clock.wallTime
            )
            let desk = TokenDesk(journal: page.journal, clock: page.clock.terminalClock)
            try await desk.load()
            #expect(await !desk.isReadable)
            #expect(await desk.check("till_till_x", for: .metrics, from: "10.0.0.1") == .refused)
            await #expect { _ = try await desk.make("x", [.metrics], by: .terminal) } throws: {
                ($0 as? Problem)?.reason.code == "tokens_unreadable"
            }
            #expect(try await page.journal.document("tokens")?.bytes == later)
        }
    }

    @Test func tokensAreTheOwnersAndFewAndNamed() async throws {
        for (method, path) in [("GET", "tokens"), ("POST", "tokens"), ("DELETE", "tokens/x")] {
            let route = try Route(method, "/api/v1/\(path)", query: [:])
            #expect(route.roles == [.owner] && !route.isOpen && route.changesState == (method != "GET"))
        }
        try await withConsole { page in
            _ = try await CustomerShop(page)
            for body in [#"{"name":"","scopes":["metrics"]}"#, #"{"name":"x","scopes":["till"]}"#, #"{"name":"x"}"#] {
                #expect(try await page.send("POST", "tokens", body) == 422)
            }
            #expect(try await page.send("DELETE", "tokens/none", "{}") == 404)
            for index in 0..<TokenDesk.most { _ = try await token(page, name: "\(index)") }
            #expect(try await page.send("POST", "tokens", #"{"name":"x","scopes":["metrics"]}"#) == 409)
            #expect(try await page.another().send("GET", "tokens", "") == 401)
        }
    }

    @Test func whoGuessesTokensWaitsAndWhoHasOneDoesNot() async throws {
        try await withConsole { page in
            _ = try await CustomerShop(page)
            let (text, _) = try await token(page)
            for _ in 0..<60 { #expect(try await scrape(page, "guess").status == 401) }
            let refused = try await scrape(page, "guess")
            #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
            #expect(try await scrape(page, text).status == 200)
        }
    }

    @Test func aPaymentIsCountedAndEachOfItsStagesTimed() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let (token, _) = try await token(page)
            let id = try await shop.open()
            page.clock.advance(by: .milliseconds(400))
            let attempt = try #require(await shop.rail.attempt(of: id))
            await attempt.record(.sending(attempt: attempt.id))
            await attempt.record(.silent(attempt: attempt.id, reason: "?"))
            await attempt.record(
                .offered(
                    attempt: attempt.id,
                    offer: Offer(paymentID: "pay_1", link: CustomerShop.link(id), expiresAt: nil)
                )
            )
            page.clock.advance(by: .milliseconds(200))
            await page.desk.screenShows(id, isReadable: true)
            page.clock.advance(by: .seconds(20))
            try await shop.report(.processing, of: id)
            page.clock.advance(by: .seconds(2))
            try await shop.pay(id)
            let text = CustomerShop.html(try await scrape(page, token))
            for (name, expected) in [
                ("till_charges_opened_total", 1.0), ("till_charges_ended_total{outcome=\"succeeded\"}", 1),
                ("till_charges_ended_total{outcome=\"failed\"}", 0),
                ("till_attempts_started_total{rail=\"scan\"}", 1),
                ("till_attempts_ended_total{rail=\"scan\",ending=\"succeeded\"}", 1),
                ("till_silences_total{rail=\"scan\"}", 1), ("till_payments_late_total", 0),
                ("till_stage_seconds_count{stage=\"offered\",rail=\"scan\"}", 1),
                ("till_stage_seconds_sum{stage=\"offered\",rail=\"scan\"}", 0.4),
                ("till_stage_seconds_sum{stage=\"shown\",rail=\"scan\"}", 0.6),
                ("till_stage_seconds_sum{stage=\"accepted\",rail=\"scan\"}", 20.2),
                ("till_stage_seconds_sum{stage=\"settled\",rail=\"scan\"}", 2),
                ("till_stage_seconds_sum{stage=\"whole\",rail=\"scan\"}", 22.6),
                ("till_stage_seconds_bucket{stage=\"whole\",rail=\"scan\",le=\"10\"}", 0),
                ("till_stage_seconds_bucket{stage=\"whole\",rail=\"scan\",le=\"30\"}", 1),
                ("till_stage_seconds_bucket{stage=\"whole\",rail=\"scan\",le=\"+Inf\"}", 1),
                ("till_light{part=\"gateway\",state=\"unknown\"}", 1), ("till_light{part=\"tap\",state=\"off\"}", 1),
                ("till_trouble", 0),
            ] {
                let found = value(name, in: text)
                #expect(found.map { abs($0 - expected) < 1e-9 } == true, "\(name) is \(found ?? -1), not \(expected)")
            }
            // Nothing of the shop or of a customer is in it.
            for secret in ["canary", "Zoë", "12.50", id.rawValue, "pay_1"] { #expect(!text.contains(secret)) }
        }
    }

    @Test func storageAndClockAreThereAndWhatIsNotKnownIsNot() async throws {
        let offset = Mutex<MachineView.Offset?>(nil)
        let storage = MachineFacts.Storage(totalBytes: 16_000_000_000, freeBytes: 1_250_000_000, isReadOnly: false)
        let machine = MachineView(
            facts: {
                var facts = MachineFacts()
                facts.storage = offset.withLock { $0 } == nil ? nil : storage
                return facts
            },
            clock: { MachineView.Clock(isSet: offset.withLock { $0 } != nil, isSynchronised: false) },
            gatewayOffset: { offset.withLock { $0 } }
        )
        try await withConsole(machine: machine) { page in
            _ = try await CustomerShop(page)
            let (token, _) = try await token(page)
            var text = CustomerShop.html(try await scrape(page, token))
            #expect(value("till_clock_set", in: text) == 0)
            for unknown in ["till_storage_free_bytes", "till_clock_gateway_offset_seconds"] {
                #expect(!text.contains(unknown), "0 would be a claim")
            }
            offset.withLock { $0 = MachineView.Offset(milliseconds: -2500, at: page.clock.wallTime) }
            text = CustomerShop.html(try await scrape(page, token))
            for (name, expected) in [
                ("till_storage_free_bytes", 1.25e9), ("till_storage_size_bytes", 16e9), ("till_journal_writable", 1),
                ("till_clock_set", 1), ("till_clock_synchronised", 0), ("till_clock_gateway_offset_seconds", -2.5),
                ("till_webhooks{state=\"good\"}", 0), ("till_webhook_waiting_entries", 0),
            ] {
                #expect(value(name, in: text) == expected, "\(name)")
            }
            #expect(value("till_journal_size_bytes", in: text).map { $0 > 4096 } == true)
            try page.journal.close()
            text = CustomerShop.html(try await scrape(page, token))
            #expect(value("till_journal_writable", in: text) == 0)
            // How far webhooks are cannot be read then.
            #expect(!text.contains("till_webhook"))
        }
    }

    /// Each of them has its row in the guide, and the guide has no others.
    @Test func theGuideNamesEveryMetric() async throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.deletingLastPathComponent().appending(path: "docs/metrics.md"),
            encoding: .utf8
        )
        let documented = Set(guide.matches(of: #/`((?:till|process)_[a-z_]+)/#).map { String($0.1) })
        let machine = MachineView(
            facts: {
                var facts = MachineFacts()
                facts.storage = MachineFacts.Storage(totalBytes: 2, freeBytes: 1, isReadOnly: false)
                return facts
            },
            gatewayOffset: { MachineView.Offset(milliseconds: 0, at: WallTime(millisecondsSince1970: 0)) }
        )
        try await withConsole(machine: machine) { page in
            _ = try await CustomerShop(page)
            let (token, _) = try await token(page)
            // An outbox is served only where there is one.
            var outbox = MetricsText()
            var progress = OutboxProgress(place: "")
            progress.arrived(upTo: 1, at: page.clock.wallTime)
            outbox.addOutbox(OutboxDesk.Standing(), progress, at: page.clock.wallTime)
            let text = CustomerShop.html(try await scrape(page, token)) + outbox.text
            let types = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
            let said = Set(types.map { String($0.split(separator: " ")[2]) })
            #expect(said == documented)
        }
    }

    @Test func strangersCannotMakeMoreOfThemAndTimesAreForgotten() {
        var meter = ChargeMeter()
        var generator = SystemRandomNumberGenerator()
        for second in 0..<2000 {
            meter.open(
                ChargeID(at: WallTime(millisecondsSince1970: Int64(second)), using: &generator),
                at: .seconds(second)
            )
        }
        #expect(meter.opened == 2000 && meter.remembered <= 256)
        let measures = Measures(
            meter: meter,
            gateway: .ready,
            tap: TapStatus(),
            connect: ConnectStatus(),
            openCharges: 0,
            notices: 0,
            isInTrouble: true
        )
        let text = MetricsText(measures, process: ProcessMeasures(), startedAt: WallTime(millisecondsSince1970: 1500))
            .text
        #expect(text.split(separator: "\n").count { !$0.hasPrefix("#") } < 450)
        #expect(value("till_trouble", in: text) == 1 && value("process_start_time_seconds", in: text) == 1.5)
        #expect(value("process_resident_memory_bytes", in: text).map { $0 > 1_000_000 } == true)
    }

    @Test func textsInLabelsCannotBreakOut() {
        var text = MetricsText()
        text.add("x", .gauge, "a\nb\\", [([("l", "\"} 1\n y{z=\"\\")], 0.25)])
        #expect(text.text == "# HELP x a\\nb\\\\\n# TYPE x gauge\nx{l=\"\\\"} 1\\n y{z=\\\"\\\\\"} 0.25\n")
    }
}
