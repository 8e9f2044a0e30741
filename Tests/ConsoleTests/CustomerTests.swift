import Foundation
import Logging
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// What a customer's own phone sees of one charge, and what nobody sees.
@Suite(.timeLimit(.minutes(2)))
struct CustomerTests {
    private static let wallets = [
        CustomerWallet(
            name: "Both & <Co>",
            native: "both://",
            universal: "https://both.example",
            takesPaymentLinks: true
        ),
        CustomerWallet(name: "Web", universal: "https://web.example/app", takesPaymentLinks: true),
        CustomerWallet(name: "Pairs", native: "pairs://"),
    ]
    private static let topic = String(repeating: "ab", count: 32)
    private static let pairing =
        "wc:\(topic)@2?relay-protocol=irn&symKey=\(String(repeating: "cd", count: 32))&expiryTimestamp=1790000300"

    private struct Anchor { var href, target, rel: String }

    /// What the page's button for a wallet follows; nil where there is none.
    private func anchor(_ wallet: String, in html: String) -> Anchor? {
        for button in html.split(separator: "<a class=\"wallet\" ").dropFirst()
        where button.contains("<bdi>\(wallet)</bdi>") {
            func value(_ name: String) -> String {
                guard let start = button.range(of: "\(name)=\"")?.upperBound else { return "" }
                return String(button[start...].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
            }
            return Anchor(href: value("href"), target: value("target"), rel: value("rel"))
        }
        return nil
    }

    @Test func nobodyHasAPageUntilTheOwnerSwitchesItOn() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page, #"{"enabled":false,"onScreen":true}"#)
            let id = try await shop.offered()
            #expect(try await page.desk.charge(id).page == nil)
            let pass = CustomerPass(key: CustomerPass.freshKey()).text(for: id)
            for path in ["/pay/", "/pay/\(pass)", "/pay/\(id.rawValue)", "/pay/a/b"] {
                #expect(try await shop.look(path).status == 404, "\(path)")
            }
        }
    }

    @Test func anAddressIsHardToGuessAndAWrongOneSaysNothing() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let first = try await shop.path(try await shop.offered())
            #expect(try await shop.look(first).status == 200)
            let nothing = try await page.fetch("/pay/" + String(repeating: "A", count: 48), from: "10.0.0.1")
            #expect(nothing.status == 404)
            // Every character counts, of the name as of the proof.
            for index in first.indices.dropFirst(5) {
                var wrong = first
                wrong.replaceSubrange(index...index, with: wrong[index] == "A" ? "B" : "A")
                let answer = try await page.fetch(
                    wrong,
                    from: "10.0.1.\(first.distance(from: first.startIndex, to: index))"
                )
                #expect(answer.status == 404 && CustomerShop.html(answer) == CustomerShop.html(nothing), "\(wrong)")
                #expect(answer.headers == nothing.headers)
            }
            for path in [
                first + "A", String(first.dropLast()), first + "/", first + "?x=1", first + "=",
                "/pay/" + first.dropFirst(5).uppercased(),
            ] {
                let answer = try await page.fetch(path, from: "10.0.2.1")
                #expect(answer.status == 404 && CustomerShop.html(answer) == CustomerShop.html(nothing), "\(path)")
            }
            // Another terminal's proof for the same charge is none.
            let id = try #require(await page.desk.shown)
            let other = CustomerPass(key: CustomerPass.freshKey()).text(for: id)
            #expect(try await shop.look("/pay/\(other)").status == 404)
        }
    }

    @Test func eachChargeHasItsOwnAddressAndOneDoesNotLeadToAnother() throws {
        let pass = CustomerPass(key: CustomerPass.freshKey())
        var generator = SystemRandomNumberGenerator()
        let ids = (0..<200).map {
            ChargeID(at: WallTime(millisecondsSince1970: 1_790_000_000_000 + $0), using: &generator)
        }
        let texts = ids.map(pass.text)
        #expect(Set(texts).count == ids.count)
        #expect(Set(texts.map { $0.dropFirst(22) }).count == ids.count)
        for (id, text) in zip(ids, texts) {
            #expect(text.utf8.count == 48 && pass.charge(in: text[...]) == id)
        }
        // One charge's name with another's proof.
        #expect(pass.charge(in: (texts[0].prefix(24) + texts[1].suffix(24))[...]) == nil)
    }

    @Test func theAddressHoldsThroughARestartAndEndsWhenThePagesAreSwitchedOff() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            let own = page.console.address
            let again = CustomerDesk(
                journal: page.journal,
                desk: page.desk,
                supplied: [],
                ownAddress: own,
                isOurs: { _ in true },
                clock: page.clock.terminalClock,
                logger: Logger(label: "test")
            )
            try await again.load()
            #expect(try await shop.path(id) == path)
            #expect(try await page.send("PUT", "customers", #"{"enabled":false}"#) == 200)
            #expect(try await shop.look(path).status == 404)
            #expect(try await shop.save(#"{"enabled":true}"#).status == 200)
            #expect(try await shop.look(path).status == 404)
            #expect(try await shop.look(try await shop.path(id)).status == 200)
        }
    }

    @Test func aStrangerSeesOneChargeAndNothingOfTheShop() async throws {
        try await withConsole(wallets: Self.wallets) { page in
            let shop = try await CustomerShop(page)
            let paid = try await shop.offered(4711)
            try await shop.pay(paid)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            // Signed in or not, it is the same page.
            let response = try await page.fetch(path)
            let html = CustomerShop.html(response)
            #expect(html.contains("Café &lt;b&gt;Zoë&lt;/b&gt; &amp; Co") && html.contains("€12.50"))
            #expect(html.contains(try await page.desk.charge(id).charge.terms.code.rawValue))
            for secret in ["canary", "47.11", id.rawValue, id.compact, paid.rawValue, "csrf", "<b>Zoë"] {
                #expect(!html.contains(secret), "\(secret)")
            }
            #expect(response.headers["Set-Cookie"] == nil)
            #expect(response.headers["Cache-Control"] == "no-store")
            #expect(response.headers["X-Robots-Tag"] == "noindex, nofollow")
            #expect(response.headers["Content-Type"] == "text/html; charset=utf-8")
            let policy = try #require(response.headers["Content-Security-Policy"])
            #expect(policy.hasPrefix("default-src 'none';") && policy.contains("form-action 'none'"))
            #expect(!policy.contains("unsafe") && !policy.contains("http"))
            // Nothing in it needs what the policy forbids.
            for forbidden in [" style=", "<style", " onclick", "javascript:", "<form", "src=\"http"] {
                #expect(!html.contains(forbidden), "\(forbidden)")
            }
            #expect(html.utf8.count < 24_000, "\(html.utf8.count)")
        }
    }

    @Test func whatThePageSaysIsWhatTheScreenSays() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            func said(_ words: String...) async throws {
                let html = try await shop.look(path).html
                for word in words { #expect(html.contains(word), "\(word) in \(html)") }
            }
            try await said(
                "data-kind=\"waiting\"",
                "Time left",
                "5:00",
                "http-equiv=\"refresh\"",
                CustomerShop.link(id)
            )
            page.clock.advance(by: .seconds(70))
            try await said("3:50")
            try await shop.report(.processing, of: id)
            try await said("data-kind=\"processing\"", "<h1>Payment in progress</h1>", "Do not pay again.")
            #expect(!(try await shop.look(path).html).contains(CustomerShop.link(id)))
            try await shop.report(.unrecognised(word: "canary_word"), of: id)
            try await said("data-kind=\"unknown\"", "<h1>Not known yet</h1>", "Do not pay again.", "Please ask staff.")
            #expect(!(try await shop.look(path).html).contains("canary_word"))
            try await shop.pay(id)
            // Money can go back, so it is still asked for, at a slower pace.
            try await said("data-kind=\"paid\"", "<h1>Paid</h1>", "data-over", "data-again=\"15\"")
            try await said("http-equiv=\"refresh\" content=\"15\"")
        }
    }

    /// A customer who was told “cancelled” and whose wallet paid after all must not pay again.
    @Test(arguments: [Report.expired, .cancelled])
    func aPaymentThatComesLateReachesThePage(report: Report) async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            try await shop.report(report, of: id)
            let before = try await page.fetch(path)
            let html = CustomerShop.html(before)
            #expect(html.contains("data-over") && html.contains("data-again=\"15\"") && html.contains("/app/pay.js"))
            let tag = try #require(before.headers["ETag"])
            #expect(try await page.fetch(path, knowing: tag).status == 304)
            try await shop.pay(id)
            let after = try await page.fetch(path, knowing: tag)
            #expect(after.status == 200)
            let late = CustomerShop.html(after)
            #expect(late.contains("<h1>Paid</h1>") && late.contains("Arrived late") && !late.contains("No money moved"))
        }
    }

    @Test func moneyThatWentBackIsSaid() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            try await shop.pay(id)
            #expect(try await shop.look(path).html.contains("<h1>Paid</h1>"))
            let attempt = try #require(await shop.rail.attempt(of: id))
            await attempt.record(.givenBack(attempt: attempt.id))
            let html = try await shop.look(path).html
            #expect(html.contains("data-kind=\"givenBack\"") && html.contains("The money went back to you."))
        }
    }

    @Test func aRefundThatStaffWroteDownIsNotSaidToHaveSentMoney() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            try await shop.pay(id)
            let attempt = try #require(await shop.rail.attempt(of: id))
            let paid = try await page.desk.charge(id).charge.total.minorUnits
            let refund = Refund(minorUnits: paid, reason: "cold", by: .staff(name: "Ada"))
            await attempt.record(.refundAsked(attempt: attempt.id, refund: refund))
            await attempt.record(.refunded(attempt: attempt.id, mark: .marked))
            let html = try await shop.look(path).html
            #expect(html.contains("The shop has recorded a refund.") && !html.contains("went back"))
        }
    }

    /// Pictures of wallets would else cross the shop's network every two seconds.
    @Test func aPageThatHasNotChangedIsNotSentAgain() async throws {
        try await withConsole(wallets: Self.wallets) { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            let tag = try #require(try await page.fetch(path).headers["ETag"])
            page.clock.advance(by: .seconds(2))
            let again = try await page.fetch(path, knowing: tag)
            #expect(again.status == 304 && CustomerShop.html(again).isEmpty)
            #expect(try await page.fetch(path, knowing: "\"other\"").status == 200)
            try await shop.report(.processing, of: id)
            #expect(try await page.fetch(path, knowing: tag).status == 200)
            #expect(try await page.fetch("/pay/" + String(repeating: "A", count: 48), knowing: tag).status == 404)
        }
    }

    @Test(arguments: [
        (Report.failed(code: "canary_code"), "Not paid", "You can try again."),
        (.expired, "Time is up", "Ask staff to start again."),
        (.cancelled, "Cancelled", "Ask staff to start again."),
    ]) func whatWasNotPaidIsSaidInWordsForCustomers(report: Report, title: String, advice: String) async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            try await shop.report(report, of: id)
            let html = try await shop.look(path).html
            #expect(html.contains("<h1>\(title)</h1>") && html.contains(advice) && html.contains("No money moved."))
            #expect(!html.contains("canary") && !html.contains("<a "))
        }
    }

    @Test func thePageEndsTenMinutesAfterItsCharge() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            try await shop.pay(id)
            page.clock.advance(by: .seconds(599))
            #expect(try await shop.look(path).html.contains("<h1>Paid</h1>"))
            page.clock.advance(by: .seconds(1))
            let (status, html) = try await shop.look(path)
            #expect(status == 404 && !html.contains("12.50") && !html.contains("Zoë"))
        }
    }

    @Test func aPageOfWhichNobodyKnowsTheEndIsOverAfterADay() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            try await shop.report(.unrecognised(word: "?"), of: id)
            page.clock.advance(by: .seconds(86_399))
            #expect(try await shop.look(path).html.contains("Not known yet"))
            page.clock.advance(by: .seconds(1))
            #expect(try await shop.look(path).status == 404)
        }
    }

    // MARK: - Wallets

    @Test(arguments: [true, false]) func aButtonIsAFinishedLinkThatATapFollows(isOneCode: Bool) async throws {
        try await withConsole(wallets: Self.wallets) { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered(pairing: Self.pairing, isOneCode: isOneCode)
            let html = try await shop.look(try await shop.path(id)).html
            let both = try #require(anchor("Both &amp; &lt;Co&gt;", in: html))
            #expect(both.href.hasPrefix("both://wc?uri=wc%3A\(Self.topic)%402%3F") && both.target == "_self")
            #expect(both.rel == "noopener noreferrer")
            // Percent-encoded once, all of it; the payment's link within is a value of its own.
            let carried = both.href.dropFirst("both://wc?uri=".count).removingPercentEncoding
            let link = "https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3D\(CustomerShop.payment(id))"
            #expect(carried == Self.pairing + (isOneCode ? "&pay=\(link)" : ""))
            #expect(!both.href.dropFirst("both://wc?uri=".count).contains { ":/?&=@".contains($0) })
            let web = try #require(anchor("Web", in: html))
            #expect(web.href.hasPrefix("https://web.example/app/wc?uri=wc%3A") && web.target == "_blank")
            #expect(web.rel == "noopener noreferrer")
            #expect(try #require(anchor("Pairs", in: html)).href.hasPrefix("pairs://wc?uri=wc%3A"))
            // No script stands between a tap and its link.
            #expect(!html.contains("onclick") && html.split(separator: "<script").count == 2)
        }
    }

    @Test func aFormComesBeforeEveryWalletAndAWalletThatAsksIsNamed() async throws {
        try await withConsole(wallets: Self.wallets) { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered(pairing: Self.pairing)
            let path = try await shop.path(id)
            var status = ConnectStatus()
            status.charges[id] = ConnectView()
            status.charges[id]?.step = .form
            status.charges[id]?.formURL = "https://form.example/1?a=1&b=2"
            await page.desk.setConnect(status)
            var html = try await shop.look(path).html
            #expect(
                html.contains(
                    "href=\"https://form.example/1?a=1&amp;b=2\" target=\"_blank\" rel=\"noopener noreferrer\""
                )
            )
            #expect(!html.contains("wc%3A") && anchor("Web", in: html) == nil && html.contains("Fill in the form"))
            status.charges[id]?.step = .asked
            status.charges[id]?.formURL = nil
            status.charges[id]?.wallet = "<Wallet>"
            await page.desk.setConnect(status)
            html = try await shop.look(path).html
            #expect(html.contains("Approve the payment in &lt;Wallet&gt;."))
        }
    }

    @Test func withoutAPairingOnlyWalletsThatTakePaymentLinksAreOffered() async throws {
        try await withConsole(wallets: Self.wallets) { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let html = try await shop.look(try await shop.path(id)).html
            let link = "https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3D\(CustomerShop.payment(id))"
            #expect(anchor("Both &amp; &lt;Co&gt;", in: html)?.href == "both://wc?uri=\(link)")
            #expect(anchor("Web", in: html)?.href == "https://web.example/app/wc?uri=\(link)")
            #expect(anchor("Pairs", in: html) == nil)
            #expect(html.contains("href=\"\(CustomerShop.link(id))\" target=\"_blank\" rel=\"noopener noreferrer\""))
            #expect(html.contains("<svg class=\"qr\""))
        }
    }

    @Test(arguments: [
        "wc:00e46b69-d0cc-4b3e-b6a2-cee442f97188@2", "wc:\(topic)@2?relay-protocol=irn", "wc:\(topic)@2",
        "wc:\(topic)@2?relay-protocol=irn&symKey=cdcd", "https://example.com", "",
        pairing.replacing("1790000300", with: "1790000000"), pairing.replacing("@2", with: "@1"),
    ]) func aPairingNoWalletCouldUseIsNotOffered(uri: String) async throws {
        try await withConsole(wallets: Self.wallets) { page in
            let shop = try await CustomerShop(page)
            let html = try await shop.look(try await shop.path(try await shop.offered(pairing: uri))).html
            #expect(!html.contains("wc%3A") && anchor("Pairs", in: html) == nil)
            // What can be paid with still is there.
            #expect(anchor("Web", in: html) != nil)
        }
    }

    // MARK: - Who asks how

    @Test func thePageCanOnlyBeRead() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let path = try await shop.path(try await shop.offered())
            for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                for path in [path, "/pay/nothing"] {
                    let answer = try await page.fetch(path, method: method)
                    #expect(answer.status == 405 && answer.headers["Allow"] == "GET, HEAD")
                    #expect(!CustomerShop.html(answer).contains("Zoë"))
                }
            }
        }
    }

    @Test func whoAsksTooOftenWaitsAndOthersDoNot() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let path = try await shop.path(try await shop.offered())
            for _ in 0..<60 { #expect(try await shop.look(path, from: "10.9.9.9").status == 200) }
            let refused = try await page.fetch(path, from: "10.9.9.9")
            #expect(refused.status == 429 && refused.headers["Retry-After"] == "1")
            #expect(!CustomerShop.html(refused).contains("Zoë"))
            // Whoever looks from elsewhere does not wait for them.
            #expect(try await shop.look(path, from: "10.9.9.8").status == 200)
            page.clock.advance(by: .seconds(1))
            for _ in 0..<4 { #expect(try await shop.look(path, from: "10.9.9.9").status == 200) }
            #expect(try await shop.look(path, from: "10.9.9.9").status == 429)
        }
    }

    /// Behind a proxy, and in a shop's own network, strangers and customers have one address.
    @Test func aStrangersGuessesLockNoCustomerOut() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let path = try await shop.path(try await shop.offered())
            let guess = "/pay/" + String(repeating: "A", count: 48)
            for _ in 0..<60 { #expect(try await shop.look(guess, from: "10.9.9.9").status == 404) }
            #expect(try await shop.look(guess, from: "10.9.9.9").status == 429)
            #expect(try await page.fetch(guess, method: "POST", from: "10.9.9.9").status == 429)
            #expect(try await shop.look(path, from: "10.9.9.9").status == 200)
            // As many strangers as they like.
            for number in 0..<600 { _ = try await page.fetch(guess, from: "10.8.\(number / 250).\(number % 250)") }
            for _ in 0..<59 { #expect(try await shop.look(path, from: "10.9.9.9").status == 200) }
            #expect(try await shop.look(path, from: "10.9.9.9").status == 429)
            // Who shares the address and has another charge has a bucket of their own.
            try await shop.pay(try #require(await page.desk.shown))
            let other = try await shop.path(try await shop.offered())
            #expect(try await shop.look(other, from: "10.9.9.9").status == 200)
        }
    }

    @Test func aFloodFromManyAddressesIsForgottenButNotWhoIsKnownToAskTooOften() {
        var pace = AddressPace()
        for _ in 0..<60 { #expect(pace.take("loud", at: .zero) == nil) }
        for index in 0..<5000 { #expect(pace.take("quiet \(index)", at: .zero) == nil) }
        #expect(pace.take("loud", at: .zero) != nil)
        #expect(pace.remembered <= AddressPace.capacity)
    }
}
