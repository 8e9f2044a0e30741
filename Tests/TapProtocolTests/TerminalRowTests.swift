import TapProtocol
import Testing

/// Rows of the terminal's table that are easily got wrong because they seldom happen.
struct TerminalRowTests {
    typealias Payment = TerminalPayment

    let end = 1000
    let one = LinkID(rawValue: 1)
    let two = LinkID(rawValue: 2)
    let hash = ObjectHash(of: [1])

    private func after(_ events: Payment.Event...) -> Payment {
        var payment = Payment(expiresAtMilliseconds: end)
        for event in events { _ = payment.handle(event) }
        return payment
    }

    private var accept: Payment.Event { .accept(one, .valid(hash, .online, isTerminalOnline: true)) }
    private var unknown: Payment { after(accept, .submitted, .executionOverdue) }

    @Test func anOpenPaymentEndsTwoSecondsAfterItsTime() {
        var payment = after(.linkReady(one))
        #expect(payment.handle(.clock(nowMilliseconds: end + 2000)) == [])
        #expect(
            payment.handle(.clock(nowMilliseconds: end + 2001))
                == [.journal(.done(.cancelled)), .stopScanning, .cancelAll(.expired)]
        )
        var claimed = after(accept)
        #expect(claimed.handle(.clock(nowMilliseconds: end + 1_000_000)) == [])
        #expect(claimed.state == .claimed)
    }

    @Test func aReceiptFindsAPaymentThatTheJournalForgot() {
        var payment = after(.linkReady(one))
        #expect(
            payment.handle(.receipt(.phone(one), .completed, nowMilliseconds: 10)) == [
                .journal(.done(.completed)), .stopScanning, .acknowledge(one), .result(one, .completed),
                .otherPaid(except: one),
            ]
        )
        #expect(payment.state == .done(.completed))
        // What did not move money ends nothing that is still open.
        var open = after(.linkReady(one))
        #expect(
            open.handle(.receipt(.phone(one), .failed, nowMilliseconds: 10))
                == [.acknowledge(one), .reopen(one, attempt: 1)]
        )
        #expect(open.handle(.receipt(.phone(one), .cancelled, nowMilliseconds: 10)) == [.acknowledge(one)])
        #expect(open.state == .open)
    }

    @Test func aResultWithoutAProperReceiptEndsNothing() {
        for start in [after(accept), after(accept, .submitted), unknown, after(.linkReady(one))] {
            var payment = start
            #expect(payment.handle(.receiptRefused(one)) == [.refuse(one, .receiptInvalid)])
            #expect(payment == start)
        }
    }

    @Test func anUnknownPaymentEndsAsTheGatewayOrTheWinnerProves() {
        for source in [Payment.ReceiptSource.gateway, .phone(one)] {
            var paid = unknown
            let told = paid.handle(.receipt(source, .completed, nowMilliseconds: 10))
            #expect(told.first == .journal(.done(.completed)) && told.contains(.result(one, .completed)))
            var declined = unknown
            #expect(declined.handle(.receipt(source, .failed, nowMilliseconds: 10)).contains(.reopenAll(attempt: 2)))
            #expect(declined.state == .open)
            var late = unknown
            _ = late.handle(.receipt(source, .failed, nowMilliseconds: end))
            #expect(late.state == .done(.failed))
        }
        var voided = unknown
        #expect(
            voided.handle(.voidConfirmed) == [.journal(.done(.cancelled)), .stopScanning, .cancelAll(.merchant)]
        )
    }

    @Test func whoComesAfterTheEndHearsHowItEnded() {
        let failed = after(accept, .submitted, .receipt(.gateway, .failed, nowMilliseconds: end))
        let offline = after(.accept(one, .valid(hash, .offline, isTerminalOnline: false)))
        let rows: [(Payment, winner: Payment.Action, other: Payment.Action)] = [
            (
                after(accept, .receipt(.gateway, .completed, nowMilliseconds: 10)), .result(one, .completed),
                .otherPaidTo(two)
            ),
            (failed, .result(one, .failed), .cancel(two, .expired)),
            (offline, .result(one, .acceptedOffline), .otherPaidTo(two)),
            (after(accept, .executionOverdue, .voidConfirmed), .cancel(one, .merchant), .cancel(two, .merchant)),
            (after(.cancelRequested), .cancel(one, .merchant), .cancel(two, .merchant)),
            (after(.closedByRail), .otherPaidTo(one), .otherPaidTo(two)),
        ]
        for (start, winner, other) in rows {
            for (link, answer) in [(one, winner), (two, other)] {
                var payment = start
                #expect(payment.handle(.linkReady(link)) == [answer], "\(start.state)")
                let late = ObjectHash(of: [9])
                #expect(payment.handle(.accept(link, .invalid(late, .paymentClosed))) == [answer], "\(start.state)")
                #expect(payment.handle(.cancelledByPayer(link)) == [answer], "\(start.state)")
                #expect(payment == start)
            }
        }
    }

    @Test func whatALinkDoesIsAnsweredAndChangesNoPayment() {
        for start in TerminalPaymentTests.all() {
            for link in [one, two] {
                let lost: [Payment.Action] =
                    start.winner?.link == link && !start.state.isFinal
                    ? [.close(link), .recover(link)] : [.close(link)]
                let rows: [(Payment.Event, [Payment.Action])] = [
                    (.ping(link), [.pong(link)]), (.unknownType(link), [.refuse(link, .unknownType)]),
                    (.unexpected(link), [.refuse(link, .unexpected)]), (.linkLost(link), lost),
                ]
                for (event, answer) in rows {
                    var payment = start
                    #expect(payment.handle(event) == answer, "\(start.state) \(event)")
                    #expect(payment == start, "\(start.state) \(event)")
                }
            }
        }
    }

    /// What a later version adds is answered with 0x02 or 0x03 by a phone of today, and the payment goes on.
    @Test func anErrorThatEndsNothingLeavesTheLink() {
        let codes = TapErrorCode.all + [TapErrorCode(rawValue: 0x99)]
        #expect(codes.count { $0.ends == .nothing } == 7)
        for start in TerminalPaymentTests.all() {
            for code in codes {
                var payment = start
                let actions = payment.handle(.errorFromPhone(one, code))
                #expect(payment == start, "\(start.state) \(code)")
                #expect(actions.isEmpty == (code.ends == .nothing), "\(start.state) \(code)")
                guard code.ends != .nothing else { continue }
                #expect(actions.first == .close(one), "\(start.state) \(code)")
            }
        }
    }

    @Test func aLinkHasItsStepsAndEachItsTime() {
        let rows: [(TerminalLink.Event, TerminalLink.State, [TerminalLink.Action], Duration?)] = [
            (.gate, .connecting, [.connect], .seconds(5)), (.connected, .resolving, [.resolve], .seconds(5)),
            (.resolved, .hello, [.sayHello], .seconds(2)), (.firstMessage, .offered, [.offer], .seconds(3)),
            (.received, .prompt, [], .seconds(15)), (.held, .loser, [], nil), (.reopened, .prompt, [], .seconds(15)),
            (.claimed, .winner, [], nil), (.finished, .closing, [.disconnect], .seconds(1)),
            (.disconnected, .gone, [.remove], nil),
        ]
        var link = TerminalLink()
        for (event, state, actions, limit) in rows {
            #expect(link.handle(event) == actions, "\(event)")
            #expect(link.state == state && link.timeLimit == limit, "\(event)")
        }
    }
}
