import TapProtocol
import Testing

struct TerminalPaymentTests {
    typealias Payment = TerminalPayment

    static let end = 1000
    static let one = LinkID(rawValue: 1)
    static let two = LinkID(rawValue: 2)
    static let hashOne = ObjectHash(of: [1])
    static let hashTwo = ObjectHash(of: [2])

    static func valid(
        _ hash: ObjectHash = hashOne,
        _ mode: PaymentClaim.Mode = .online,
        online: Bool = true
    ) -> Payment.AcceptVerdict { .valid(hash, mode, isTerminalOnline: online) }

    /// A payment in each state, reached as it is reached outside.
    static func all() -> [Payment] {
        func after(_ events: Payment.Event...) -> Payment {
            var payment = Payment(expiresAtMilliseconds: end)
            for event in events { _ = payment.handle(event) }
            return payment
        }
        let accept = Payment.Event.accept(one, valid())
        return [
            after(), after(accept), after(accept, .submitted), after(.accept(one, valid(online: false))),
            after(accept, .submitted, .executionOverdue),
            after(accept, .submitted, .receipt(.gateway, .completed, nowMilliseconds: 10)),
            after(accept, .submitted, .receipt(.gateway, .failed, nowMilliseconds: end)),
            after(accept, .submitted, .receipt(.gateway, .failed, nowMilliseconds: 10)), after(.cancelRequested),
            after(.accept(one, valid(hashOne, .offline, online: false))), after(.closedByRail),
        ]
    }

    static let events: [Payment.Event] = {
        var events: [Payment.Event] = [
            .cancelRequested, .clock(nowMilliseconds: 10), .clock(nowMilliseconds: end + 2000),
            .clock(nowMilliseconds: end + 2001), .submitted, .executionOverdue, .voidConfirmed, .closedByRail,
            .restarted(nowMilliseconds: 10, mayResume: true), .restarted(nowMilliseconds: 10, mayResume: false),
            .restarted(nowMilliseconds: end, mayResume: true),
        ]
        for status in PaymentStatus.allCases {
            for now in [10, end] {
                events.append(.receipt(.gateway, status, nowMilliseconds: now))
                events.append(.receipt(.phone(one), status, nowMilliseconds: now))
            }
        }
        for link in [one, two] {
            events += [
                .linkReady(link), .phoneSpoke(link), .cancelledByPayer(link), .receiptRefused(link),
                .errorFromPhone(link, .unknownType), .errorFromPhone(link, .requestInvalid),
                .linkLost(link), .ping(link), .unknownType(link), .unexpected(link), .accept(link, valid()),
                .accept(link, valid(hashTwo)), .accept(link, valid(hashTwo, .offline, online: false)),
                .accept(link, valid(hashTwo, online: false)), .accept(link, .invalid(hashOne, .paymentClosed)),
                .accept(link, .invalid(hashTwo, .passInvalid)),
            ]
        }
        return events
    }()

    private static func records(_ actions: [Payment.Action]) -> [Payment.Record] {
        actions.compactMap { if case .journal(let record) = $0 { record } else { nil } }
    }

    @Test func everyStateTakesEveryEvent() {
        for start in Self.all() {
            for event in Self.events {
                var payment = start
                let actions = payment.handle(event)
                let records = Self.records(actions)
                // What changed is on disk before anything is said about it, except that the bundle was sent.
                let changed = payment.state != start.state && !(start.state == .claimed && event == .submitted)
                #expect(records.count == (changed ? 1 : 0), "\(start.state) \(event)")
                if changed, let first = actions.first, case .journal = first {} else { #expect(!changed) }
                check(start, event, payment, actions)
            }
        }
    }

    private func check(_ start: Payment, _ event: Payment.Event, _ payment: Payment, _ actions: [Payment.Action]) {
        // Only an authority ends what may have been executed.
        let isInFlight = [.claimed, .executing, .unknown].contains(start.state)
        if isInFlight, payment.state.isFinal || payment.state == .open {
            switch event {
            case .receipt, .voidConfirmed: break
            default: Issue.record("\(start.state) was ended by \(event)")
            }
        }
        // What is over stays over, but for money that turns out to have moved and vouchers that are settled.
        if start.state.isFinal, start.state != .done(.acceptedOffline) {
            #expect(payment.state == start.state || payment.state == .done(.completed), "\(start.state) \(event)")
        }
        for action in actions {
            switch action {
            case .claim(let link): #expect(payment.winner?.link == link, "\(start.state) \(event)")
            case .submit, .queueForSync: #expect(payment.winner != nil)
            case .cancelAll, .cancel, .otherPaid, .otherPaidTo:
                #expect(payment.state.isFinal, "\(start.state) \(event)")
            default: break
            }
        }
    }

    @Test func theFirstAcceptWins() {
        var payment = Payment(expiresAtMilliseconds: Self.end)
        #expect(payment.handle(.linkReady(Self.one)) == [.offer(Self.one)])
        #expect(payment.handle(.phoneSpoke(Self.one)) == [.note(Self.one)])
        #expect(
            payment.handle(.accept(Self.two, .invalid(Self.hashTwo, .passInvalid))) == [.refuse(Self.two, .passInvalid)]
        )
        let won = Payment.Winner(
            link: Self.one,
            acceptHash: Self.hashOne,
            attempt: 1,
            mode: .online,
            isTerminalOnline: true
        )
        #expect(
            payment.handle(.accept(Self.one, Self.valid())) == [
                .journal(.claimed(won)), .claim(Self.one), .holdOthers(than: Self.one), .stopScanning, .submit,
            ]
        )
        #expect(payment.state == .claimed)
        #expect(payment.handle(.accept(Self.two, Self.valid(Self.hashTwo))) == [.hold(Self.two)])
        #expect(payment.handle(.accept(Self.one, .invalid(Self.hashOne, .paymentClosed))) == [.claim(Self.one)])
        _ = payment.handle(.submitted)
        #expect(payment.state == .executing)
        #expect(
            payment.handle(.receipt(.gateway, .completed, nowMilliseconds: 10)) == [
                .journal(.done(.completed)), .stopScanning, .result(Self.one, .completed), .otherPaid(except: Self.one),
            ]
        )
        #expect(payment.handle(.linkReady(Self.one)) == [.result(Self.one, .completed)])
        #expect(payment.handle(.accept(Self.two, Self.valid(Self.hashTwo))) == [.otherPaidTo(Self.two)])
    }

    @Test func cancelAndAcceptMayCross() {
        var cancelFirst = Payment(expiresAtMilliseconds: Self.end)
        #expect(
            cancelFirst.handle(.cancelRequested)
                == [.journal(.done(.cancelled)), .stopScanning, .cancelAll(.merchant)]
        )
        #expect(cancelFirst.handle(.accept(Self.one, Self.valid())) == [.cancel(Self.one, .merchant)])
        var acceptFirst = Payment(expiresAtMilliseconds: Self.end)
        _ = acceptFirst.handle(.accept(Self.one, Self.valid()))
        #expect(acceptFirst.handle(.cancelRequested) == [.refuseCancel])
        #expect(
            acceptFirst.handle(.cancelledByPayer(Self.one)) == [.refuse(Self.one, .tooLateToCancel), .claim(Self.one)]
        )
        #expect(acceptFirst.handle(.cancelledByPayer(Self.two)) == [.acknowledge(Self.two), .close(Self.two)])
    }

    @Test func aDeclinedPaymentIsOfferedToOthersAgain() {
        var payment = Payment(expiresAtMilliseconds: Self.end)
        _ = payment.handle(.accept(Self.one, Self.valid()))
        #expect(
            payment.handle(.receipt(.phone(Self.one), .failed, nowMilliseconds: 10)) == [
                .journal(.reopened(attempt: 2)), .acknowledge(Self.one), .result(Self.one, .failed),
                .reopenAll(attempt: 2),
                .startScanning,
            ]
        )
        #expect(payment.state == .open)
        let actions = payment.handle(.accept(Self.two, Self.valid(Self.hashTwo)))
        #expect(payment.winner?.attempt == 2)
        #expect(actions.contains(.claim(Self.two)))
        #expect(
            payment.handle(.receipt(.gateway, .failed, nowMilliseconds: Self.end)) == [
                .journal(.done(.failed)), .result(Self.two, .failed), .cancelOthers(than: Self.two, .expired),
            ]
        )
    }

    @Test func whoHasDeclinedIsNotAskedAgain() {
        var payment = Payment(expiresAtMilliseconds: Self.end)
        #expect(payment.handle(.cancelledByPayer(Self.one)) == [.acknowledge(Self.one), .close(Self.one)])
        #expect(payment.handle(.linkReady(Self.one)) == [.close(Self.one)])
        #expect(payment.state == .open)
    }

    /// The four cells of who is online.
    @Test func whoIsOnlineDecidesWhoExecutes() {
        func actions(_ mode: PaymentClaim.Mode, online: Bool) -> (Payment, [Payment.Action]) {
            var payment = Payment(expiresAtMilliseconds: Self.end)
            let actions = payment.handle(.accept(Self.one, Self.valid(Self.hashOne, mode, online: online)))
            return (payment, actions)
        }
        #expect(actions(.online, online: true).1.last == .submit)
        #expect(actions(.online, online: false).1.last == .awaitResult(Self.one))
        let (payment, offline) = actions(.offline, online: false)
        #expect(payment.state == .done(.acceptedOffline))
        #expect(
            offline.suffix(3) == [.queueForSync, .result(Self.one, .acceptedOffline), .otherPaid(except: Self.one)]
        )
        var settled = payment
        _ = settled.handle(.receipt(.gateway, .completed, nowMilliseconds: 9999))
        #expect(settled.state == .done(.completed))
        var lost = payment
        _ = lost.handle(.receipt(.gateway, .failed, nowMilliseconds: 10))
        #expect(lost.state == .done(.failed))
    }

    @Test func silenceIsUnknownAndStaysSo() {
        var payment = Payment(expiresAtMilliseconds: Self.end)
        _ = payment.handle(.accept(Self.one, Self.valid()))
        #expect(payment.handle(.executionOverdue) == [.journal(.unknown), .tellStaffUnknown, .askGateway])
        for event in Self.events {
            switch event {
            case .receipt, .voidConfirmed: continue
            default: break
            }
            var later = payment
            _ = later.handle(event)
            #expect(later.state == .unknown, "\(event)")
        }
    }

    @Test func aPaymentFoundAfterItsEndIsShown() {
        var payment = Payment(expiresAtMilliseconds: Self.end)
        _ = payment.handle(.cancelRequested)
        let actions = payment.handle(.receipt(.gateway, .completed, nowMilliseconds: 10))
        #expect(actions == [.journal(.done(.completed)), .tellStaffPaidAfterEnd])
        #expect(payment.handle(.receipt(.gateway, .failed, nowMilliseconds: 10)) == [])
        #expect(payment.state == .done(.completed))
    }

    /// The journal's records up to each one, then power again.
    @Test func aPowerCutAfterEachRecordForgetsNothing() {
        for start in Self.all() {
            for event in Self.events {
                var payment = start
                var records: [Payment.Record] = []
                if let winner = start.winner { records.append(.claimed(winner)) }
                let actions = payment.handle(event)
                guard let record = Self.records(actions).first else { continue }
                var again = Payment(expiresAtMilliseconds: Self.end, replaying: records + [record])
                #expect(again.state == payment.state)
                if payment.winner != nil { #expect(again.winner == payment.winner) }
                _ = again.handle(.restarted(nowMilliseconds: 10, mayResume: false))
                // What may have been executed is never cancelled by a restart.
                if [.claimed, .executing].contains(payment.state) { #expect(again.state == .unknown) }
                if payment.state.isFinal { #expect(again.state == payment.state) }
                if payment.state == .open { #expect(again.state == .done(.cancelled)) }
            }
        }
    }

    @Test func anOpenPaymentGoesOnAfterARestartIfItMay() {
        var payment = Payment(expiresAtMilliseconds: Self.end)
        #expect(payment.handle(.restarted(nowMilliseconds: 10, mayResume: true)) == [.startScanning])
        #expect(payment.state == .open)
    }

    /// The phone may have lost its claim with its power, and bring the receipt where the terminal has no network.
    @Test func afterARestartThePayerIsLookedForUntilThePaymentIsOver() {
        for start in Self.all() where start.winner != nil {
            var payment = start
            let isLookedFor = payment.handle(.restarted(nowMilliseconds: 10, mayResume: true)).contains(
                .recover(Self.one)
            )
            #expect(isLookedFor == [.claimed, .executing, .unknown].contains(start.state), "\(start.state)")
        }
    }

    @Test func theWinnerMayComeBackOverAnotherLink() {
        var payment = Payment(expiresAtMilliseconds: Self.end)
        _ = payment.handle(.accept(Self.one, Self.valid(online: false)))
        #expect(payment.handle(.linkLost(Self.one)) == [.close(Self.one), .recover(Self.one)])
        #expect(payment.handle(.accept(Self.two, Self.valid())) == [.claim(Self.two)])
        #expect(payment.winner?.link == Self.two)
        #expect(payment.handle(.linkLost(Self.one)) == [.close(Self.one)])
    }
}

struct TerminalLinkTests {
    @Test func everyStateTakesEveryEvent() {
        let steps: [[TerminalLink.Event]] = [
            [], [.gate], [.gate, .connected], [.gate, .connected, .resolved],
            [.gate, .connected, .resolved, .firstMessage],
            [.gate, .connected, .resolved, .firstMessage, .received],
            [.gate, .connected, .resolved, .firstMessage, .received, .claimed],
            [.gate, .connected, .resolved, .firstMessage, .received, .held], [.gate, .failed], [.finished],
        ]
        var seen: Set<TerminalLink.State> = []
        for events in steps {
            var link = TerminalLink()
            for event in events { _ = link.handle(event) }
            seen.insert(link.state)
            for event in TerminalLink.Event.allCases {
                var next = link
                let actions = next.handle(event)
                if next.state == .closing, link.state != .closing { #expect(actions == [.disconnect]) }
                // Every phone that leaves is taken out of the radio's memory.
                if next.state == .gone, link.state != .gone { #expect(actions.contains(.remove)) }
                if link.state == .closing, next.state == .seen { #expect(actions.contains(.remove)) }
            }
        }
        #expect(seen == Set(TerminalLink.State.allCases))
    }

    @Test func aLinkIsTriedThreeTimesMoreAndThenLeft() {
        var link = TerminalLink()
        var waits: [Duration] = []
        for _ in 0..<3 {
            _ = link.handle(.gate)
            #expect(link.handle(.failed) == [.disconnect])
            for case .retry(let wait) in link.handle(.disconnected) { waits.append(wait) }
            #expect(link.state == .seen)
        }
        #expect(waits == TerminalLink.backOff)
        _ = link.handle(.gate)
        #expect(link.handle(.disconnected) == [.remove])
        #expect(link.state == .gone)
    }

    @Test func aFinishedLinkIsNotTriedAgain() {
        var link = TerminalLink()
        for event: TerminalLink.Event in [.gate, .connected, .resolved, .firstMessage, .received, .finished] {
            _ = link.handle(event)
        }
        #expect(link.handle(.disconnected) == [.remove])
        #expect(link.state == .gone)
    }
}
