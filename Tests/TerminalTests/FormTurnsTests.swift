import Payments
import Screen
import TerminalTestSupport
import Testing

@testable import Terminal

/// Whose code has the screen while a form is asked for and there is room for one code only.
struct FormTurnsTests {
    @Test func theFormBeginsAndThePaymentsCodeComesBackEachTime() {
        let turns = FormTurns(form: "https://pay.test/form", since: .seconds(100))
        for (second, turn) in [
            (100, Scene.ChargeView.Turn.form), (111, .form), (112, .payment), (123, .payment), (124, .form),
            (3712, .payment),
        ] {
            #expect(turns.turn(at: .seconds(second)) == turn, "\(second)")
        }
        #expect(turns.next(after: .seconds(100)) == .seconds(112))
        #expect(turns.next(after: .milliseconds(111_999)) == .seconds(112))
        #expect(turns.next(after: .seconds(112)) == .seconds(124))
    }

    @Test func aWalletsFormIsBesideThePaymentAndTheSceneSaysWhoseTurnItIs() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            var connect = ConnectStatus()
            connect.charges[charge.id] = ConnectView()
            connect.charges[charge.id]?.step = .form
            connect.charges[charge.id]?.formURL = "https://pay.test/form"
            let snapshot = TerminalSnapshot(
                phase: .charging(
                    ChargeSnapshot(
                        charge: Charge(
                            terms: charge.charge.terms,
                            replaying: [
                                .attemptStarted(attempt: 1, rail: .scan),
                                .offered(
                                    attempt: 1,
                                    offer: Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: nil)
                                ),
                            ]
                        ),
                        updatedAt: charge.updatedAt,
                        secondsLeft: nil,
                        deadline: nil,
                        format: .english,
                        connect: connect.charges[charge.id]
                    )
                ),
                gateway: .ready,
                merchantName: "Kiosk",
                at: charge.updatedAt
            )
            let director = ScreenDirectorTests.director(desk.desk, desk.clock.terminalClock)
            func view(_ turns: FormTurns?) -> Scene.ChargeView? {
                guard case .charge(let view) = director.scene(of: snapshot, at: .seconds(15), turns) else { return nil }
                return view
            }
            let turns = FormTurns(form: "https://pay.test/form", since: .zero)
            #expect(view(turns)?.turn == .payment && view(nil)?.turn == .form)
            #expect(view(turns)?.form == .init(link: "https://pay.test/form", way: .connect))
            #expect(view(turns)?.link == "https://pay.test/1" && view(turns)?.opensForm == false)
        }
    }
}
