import Payments
import Terminal
import Testing

@testable import Console

/// What the page's events say.
struct TerminalJSONTests {
    @Test func aPaymentThatNobodyWaitedForIsSaid() throws {
        let id = try #require(ChargeID("01941f29-7c00-7000-8000-000000000001"))
        var generator = SystemRandomNumberGenerator()
        let code = ChargeCode(using: &generator)
        let at = WallTime(millisecondsSince1970: 1_790_000_000_000)
        let snapshot = TerminalSnapshot(
            phase: .idle,
            gateway: .ready,
            merchantName: "Kiosk",
            notices: [PaymentNotice(id: id, kind: .paidTwice, code: code, amountText: "€12.50", at: at)],
            at: at
        )
        let notice = """
            "notices":[{"amountText":"€12.50","at":"2026-09-21T14:13:20.000Z","code":"\(code.rawValue)",\
            "id":"01941f29-7c00-7000-8000-000000000001","kind":"paidTwice"}]
            """
        #expect(JSON.terminal(snapshot).text.contains(notice), "\(JSON.terminal(snapshot).text)")
    }

    @Test(arguments: [(Rail.scan, "gateway"), (.connect, "gateway"), (.tap, "acquirer")])
    func aPaidChargeNamesWhoHasConfirmedIt(rail: Rail, authority: String) throws {
        var generator = SystemRandomNumberGenerator()
        let terms = ChargeTerms(
            id: try #require(ChargeID("01941f29-7c00-7000-8000-000000000001")),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: 1250, currency: .euro),
            reference: nil,
            merchantID: "m1",
            merchantName: "Kiosk",
            operatorID: "op1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: WallTime(millisecondsSince1970: 1_790_000_000_000),
            timeLimitSeconds: 120
        )
        let evidence = Evidence(paymentID: "pay_1", transactionID: "t", paid: nil)
        let offer = Offer(paymentID: "pay_1", link: nil, expiresAt: nil)
        var events: [Charge.Event] = [
            .attemptStarted(attempt: 1, rail: rail), .offered(attempt: 1, offer: offer),
        ]
        func said() -> String {
            let snapshot = ChargeSnapshot(
                charge: Charge(terms: terms, replaying: events),
                updatedAt: terms.openedAt,
                secondsLeft: nil,
                deadline: nil,
                format: .english
            )
            return JSON.charge(snapshot, for: .staff).text
        }
        #expect(said().contains(#""confirmedBy":null"#))
        events.append(.reported(attempt: 1, report: .succeeded(evidence)))
        #expect(said().contains(#""confirmedBy":"\#(authority)""#))
    }

    /// The state is what is recorded; that an answer is missing stands beside it, and nothing that could be paid does.
    @Test func aChargeWhoseAnswerIsNotRecordedIsSaidToBeUnresolved() throws {
        var generator = SystemRandomNumberGenerator()
        let terms = ChargeTerms(
            id: try #require(ChargeID("01941f29-7c00-7000-8000-000000000001")),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: 1250, currency: .euro),
            reference: nil,
            merchantID: "m1",
            merchantName: "Kiosk",
            operatorID: "op1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: WallTime(millisecondsSince1970: 1_790_000_000_000),
            timeLimitSeconds: 120
        )
        let offer = Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: nil)
        func said(_ recording: Recording) -> String {
            let events: [Charge.Event] = [.attemptStarted(attempt: 1, rail: .scan), .offered(attempt: 1, offer: offer)]
            return JSON.charge(
                ChargeSnapshot(
                    charge: Charge(terms: terms, replaying: events),
                    updatedAt: terms.openedAt,
                    secondsLeft: nil,
                    deadline: nil,
                    format: .english,
                    recording: recording
                ),
                for: .staff
            ).text
        }
        #expect(said(.works).contains(#""link":"https://pay.test/1""#))
        let unrecorded = said(.answerMissing(JournalError.unavailable(detail: "EIO").reasonAtCharge))
        for part in [
            #""state":"requiresAction""#, #""unresolved":true"#, #""link":null"#, #""canCancel":false"#,
            #""canRelease":false"#, #""code":"storage_failed""#, #""case":"charge""#,
        ] { #expect(unrecorded.contains(part), "\(part) in \(unrecorded)") }
    }

    /// The screen says "Refused" then, in a colour of its own; the page is to say the same.
    @Test func aRefusedChargeIsToldFromOneThatFailed() throws {
        var generator = SystemRandomNumberGenerator()
        let terms = ChargeTerms(
            id: try #require(ChargeID("01941f29-7c00-7000-8000-000000000001")),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: 1250, currency: .euro),
            reference: nil,
            merchantID: "m1",
            merchantName: "Kiosk",
            operatorID: "op1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: WallTime(millisecondsSince1970: 1_790_000_000_000),
            timeLimitSeconds: 120
        )
        func said(_ events: [Charge.Event]) -> String {
            let snapshot = ChargeSnapshot(
                charge: Charge(terms: terms, replaying: [.attemptStarted(attempt: 1, rail: .scan)] + events),
                updatedAt: terms.openedAt,
                secondsLeft: nil,
                deadline: nil,
                format: .english
            )
            return JSON.charge(snapshot, for: .staff).text
        }
        let refusal = Refusal(code: "params_validation", message: "No.")
        let refused = said([.refused(attempt: 1, refusal: refusal)])
        #expect(refused.contains(#""state":"failed""#) && refused.contains(#""refused":true"#), "\(refused)")
        let offer = Offer(paymentID: "pay_1", link: nil, expiresAt: nil)
        let failed = said([.offered(attempt: 1, offer: offer), .reported(attempt: 1, report: .failed(code: nil))])
        #expect(failed.contains(#""state":"failed""#) && failed.contains(#""refused":false"#), "\(failed)")
    }

    /// With a wallet's form open the screen has no code for other wallets; staff can bring it back.
    @Test(arguments: [ChargeSnapshot.CodeChoice.payment, .pairing, .both], [true, false])
    func staffCanTurnBackFromAForm(choice: ChargeSnapshot.CodeChoice, hasLink: Bool) throws {
        var generator = SystemRandomNumberGenerator()
        let terms = ChargeTerms(
            id: try #require(ChargeID("01941f29-7c00-7000-8000-000000000001")),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: 1250, currency: .euro),
            reference: nil,
            merchantID: "m1",
            merchantName: "Kiosk",
            operatorID: "op1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: WallTime(millisecondsSince1970: 1_790_000_000_000),
            timeLimitSeconds: 120
        )
        func offer(_ name: String) -> Offer {
            Offer(paymentID: name, link: "https://pay.example/?pid=\(name)", expiresAt: nil)
        }
        var events: [Charge.Event] = [
            .attemptStarted(attempt: 1, rail: .connect), .offered(attempt: 1, offer: offer("pay_1")),
        ]
        if hasLink {
            events += [.attemptStarted(attempt: 2, rail: .scan), .offered(attempt: 2, offer: offer("pay_2"))]
        }
        var view = ConnectView()
        (view.step, view.formURL) = (.form, "https://pay.example/collect/")
        let snapshot = ChargeSnapshot(
            charge: Charge(terms: terms, replaying: events),
            updatedAt: terms.openedAt,
            secondsLeft: nil,
            deadline: nil,
            format: .english,
            connect: view,
            codeChoice: choice
        )
        let said = JSON.connect(snapshot).text
        #expect(said.contains(#""canTurnCode":true"#) && said.contains(#""code":"payment""#), "\(said)")
    }

    /// Whoever may charge may also say that they have seen it.
    @Test func sayingThatItWasSeenIsAChange() throws {
        let route = try Route("POST", "/api/v1/charges/01941f29-7c00-7000-8000-000000000001/seen", query: [:])
        #expect(route.changesState && !route.isOpen && route.roles == [.owner, .manager, .cashier])
        #expect(throws: Problem.self) {
            try Route("GET", "/api/v1/charges/01941f29-7c00-7000-8000-000000000001/seen", query: [:])
        }
    }
}
