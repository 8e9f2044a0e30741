import Foundation
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// What a till puts on the screen, and who answers it.
@Suite(.timeLimit(.minutes(2)))
struct MessageTests {
    @Test func aMessageIsOnTheScreenWhileNobodyPaysAndAChargeAlwaysWins() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page)
            await page.desk.setGateway(.ready)
            let shown = try await till.said(
                "POST",
                "screen",
                #"{"kind":"text","title":"Back in 5 minutes","seconds":60}"#
            )
            let id = try #require(shown["id"] as? String)
            #expect(shown["visible"] as? Bool == true && shown["state"] as? String == "up")
            #expect(await page.desk.snapshot.message?.title == "Back in 5 minutes")
            let charge = try await shop.offered()
            #expect(try await till.said("GET", "screen/\(id)")["visible"] as? Bool == false)
            try await shop.pay(charge)
            page.clock.advance(by: .seconds(60))
            #expect(try await till.said("GET", "screen/\(id)")["state"] as? String == "expired")
            #expect(await page.desk.snapshot.message == nil)
            #expect(try await till.ask("GET", "screen").status == 204)
        }
    }

    @Test func staffOrTheTillAnswerForTheCustomer() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            let question = try await till.said(
                "POST",
                "screen",
                #"{"kind":"choose","title":"Which size?","options":["Small","Large"]}"#
            )
            let id = try #require(question["id"] as? String)
            async let waiting = till.said("GET", "screen/\(id)?wait=60")
            #expect(try await page.send("PUT", "screen/\(id)", #"{"answer":2}"#) == 422)
            #expect(try await page.send("PUT", "screen/\(id)", "{}") == 422)
            #expect(try await page.send("PUT", "screen/\(id)", #"{"answer":1}"#) == 200)
            let answered = try await waiting
            #expect(answered["answer"] as? Int == 1 && answered["answerText"] as? String == "Large")
            #expect(try await page.send("PUT", "screen/\(id)", #"{"answer":1}"#) == 200)
            #expect(try await page.send("PUT", "screen/\(id)", #"{"answer":0}"#) == 409)

            let confirm = try await till.said("POST", "screen", #"{"kind":"confirm","title":"Receipt by mail?"}"#)
            #expect(confirm["options"] as? [String] == ["Yes", "No"])
            let next = try #require(confirm["id"] as? String)
            #expect(try await till.said("DELETE", "screen/\(next)")["state"] as? String == "withdrawn")
            #expect(try await till.ask("PUT", "screen/\(next)", #"{"answer":0}"#).status == 409)
            #expect(try await till.ask("GET", "screen/none").status == 404)
        }
    }

    @Test func aTillReplacesItsOwnMessageAndNobodyElses() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let (one, two) = (try await Program(page), try await Program(page, name: "Till 2"))
            let first = try await one.said("POST", "screen", #"{"kind":"text","title":"1"}"#)["id"] as? String
            let refused = try await two.ask("POST", "screen", #"{"kind":"text","title":"2"}"#)
            #expect(refused.status == 409)
            #expect(try Program.code(refused) == "screen_busy")
            #expect(try await one.ask("POST", "screen", #"{"kind":"text","title":"3"}"#).status == 201)
            #expect(try await one.said("GET", "screen/\(first ?? "")")["state"] as? String == "replaced")
            for index in 0..<40 { _ = try await one.ask("POST", "screen", #"{"kind":"text","title":"\#(index)"}"#) }
            #expect(try await one.ask("GET", "screen/\(first ?? "")").status == 404)
        }
    }

    @Test(arguments: [
        "https://cafe.example/menu", "https://cafe.example/menu?table=12&lang=de",
        "https://www.till.example:8443/a%20b",
        "https://paysanne.example/", "https://cafe.example/newspaper",
    ])
    func aPageMayStandInACode(address: String) { #expect(MessageForm.isHarmless(address, ["pay.wct.me"])) }

    @Test(arguments: [
        "http://cafe.example/", "cafe.example", "wc:abc@2?relay-protocol=irn&symKey=1", "bitcoin:1abc",
        "upi://pay?pa=x",
        "https://pay.wct.me/1", "https://PAY.wct.me/1", "https://a.pay.wct.me/1", "https://pay.wct.me./1",
        "https://cafe.example@pay.wct.me/1", "https://pay.example/", "https://shop-checkout.example/",
        "https://cafe.example/?pay=1", "https://cafe.example/?u=wc%3Aabc", "https://cafe.example/?u=wc%253Aabc",
        "https://cafe.example/?uri=ethereum:0x1", "https://cafe.example/lnurlp/x", "https://localhost/", "https:///x",
        "https://cafe.example/\u{202E}", "https://cafe.example/ x", "javascript:alert(1)", "",
        "https://cafe.example/%zz",
        "https://cafe.example/?amount=5", "https://gateway.example/1", "https://a.Gateway.example/1",
    ])
    func whatLooksLikeAPaymentNeverStandsInACode(address: String) {
        #expect(!MessageForm.isHarmless(address, ["pay.wct.me", "gateway.example"]))
    }

    @Test(arguments: [
        #"{"kind":"ad","title":"x"}"#, #"{"kind":"text"}"#, #"{"kind":"text","title":" "}"#,
        #"{"kind":"text","title":"x","content":"https://cafe.example/"}"#, #"{"kind":"qr","title":"x"}"#,
        #"{"kind":"qr","title":"x","content":"https://pay.walletconnect.com/?pid=pay_1"}"#,
        #"{"kind":"text","title":"x","options":["a","b"]}"#, #"{"kind":"confirm","title":"x","options":["a"]}"#,
        #"{"kind":"choose","title":"x","options":["a"]}"#, #"{"kind":"choose","title":"x","options":["a","a"]}"#,
        #"{"kind":"choose","title":"x"}"#, #"{"kind":"text","title":"x","seconds":4}"#,
        #"{"kind":"text","title":"x","seconds":601}"#, #"{"kind":"text","title":"x\ny"}"#,
        #"{"kind":"text","title":"x","colour":"green"}"#, #"{"kind":"choose","title":"x","options":["a","b",3]}"#,
    ])
    func whatCannotBeShownIsRefusedAtItsField(body: String) {
        #expect { _ = try MessageForm(Array(body.utf8), paymentHosts: ["pay.walletconnect.com"]) } throws: { error in
            (error as? Problem).map { $0.status == 422 && !$0.fields.isEmpty } ?? false
        }
    }
}
