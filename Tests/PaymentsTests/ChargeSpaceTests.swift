import Payments
import Testing

/// Walks everything that can happen to a charge with two attempts, in every order, and holds each step to the promises.
struct ChargeSpaceTests {
    /// One step: what was, what happened, what the charge made of it.
    struct Step {
        let before: Charge
        let event: Charge.Event
        let after: Charge
        let actions: [Charge.Action]
    }

    /// Every state that any sequence of events can reach, with every event tried in each: once with all that authorities
    /// say, and once with what customers agree to on a phone. Both in one would take minutes and show nothing more.
    static let steps = walk(Charge.Event.everyExample) + walk(Charge.Event.everyAgreement)

    private static func walk(_ events: [Charge.Event]) -> [Step] {
        var steps: [Step] = []
        var seen: Set<Charge> = []
        var frontier = [Charge.example()]
        while let charge = frontier.popLast() {
            guard seen.insert(charge).inserted else { continue }
            for event in events {
                var next = charge
                let actions = next.handle(event)
                steps.append(Step(before: charge, event: event, after: next, actions: actions))
                if !seen.contains(next) { frontier.append(next) }
            }
        }
        return steps
    }

    @Test func everyEventHasAMeaningInEveryState() {
        let reached = Set(Self.steps.map(\.before.state))
        #expect(reached == Set(Charge.State.allCases))
        #expect(Self.steps.count > 100_000, "the walk must cover the space, not a corner of it: \(Self.steps.count)")
    }

    @Test func paidStaysPaid() {
        for step in Self.steps where step.before.state == .succeeded {
            #expect(step.after.state == .succeeded, "\(step.event)")
            #expect(step.after.evidence == step.before.evidence)
        }
    }

    @Test func paidNeedsTheAuthoritysWord() {
        for step in Self.steps where step.before.state != .succeeded && step.after.state == .succeeded {
            #expect(step.event.isSuccess, "\(step.event)")
        }
    }

    /// Also a success that comes after the attempt was taken for refused, unknown, expired or cancelled.
    @Test func everySuccessThatTheAuthorityReportsCounts() {
        var lateOnes = 0
        for step in Self.steps {
            guard case .reported(let id, .succeeded(let evidence)) = step.event,
                let before = step.before.attempt(id)
            else { continue }
            #expect(step.after.state == .succeeded, "\(before)")
            #expect(step.after.attempt(id)?.ending == .succeeded(evidence), "\(before)")
            if !before.isOpen, before.ending != .succeeded(evidence) { lateOnes += 1 }
        }
        #expect(lateOnes > 0)
    }

    @Test func unknownEndsOnlyByTheAuthoritysWord() {
        for step in Self.steps where step.before.state == .unknown && step.after.state != .unknown {
            #expect(step.event.isAuthoritysWord, "\(step.before.attempts) \(step.event)")
        }
    }

    @Test func nothingEndsAPaymentThatMayHoldMoneyButTheAuthority() {
        for step in Self.steps where !step.before.state.isFinal && step.after.state.isFinal {
            let mayHoldMoney = step.before.attempts.contains { $0.isOpen && $0.mayHoldMoney }
            if mayHoldMoney, !step.event.isAuthoritysWord {
                // The one exception is no exception: the only request reported that no byte of it left.
                guard case .notSent(let id, _) = step.event else {
                    Issue.record("\(step.event) ended \(step.before.attempts)")
                    continue
                }
                #expect(step.before.attempt(id)?.phase == .sending(afterSilence: false))
            }
        }
    }

    @Test func aFinalWordChangesOnlyForMoneyThatExists() {
        for step in Self.steps where step.before.state.isFinal && step.after.state != step.before.state {
            let isMoney = step.event.isSuccess
            var isPaymentFoundAfterAll = false
            if case .offered = step.event { isPaymentFoundAfterAll = true }
            // A further attempt's worse word may name the ending better, never turn it into an open question.
            let isOtherEnding = step.after.state.isFinal && step.event.isAuthoritysWord
            #expect(isMoney || isPaymentFoundAfterAll || isOtherEnding, "\(step.before.state) \(step.event)")
        }
    }

    @Test func theTerminalIsFreedExactlyOnce() {
        for step in Self.steps {
            let frees = step.actions.filter { $0 == .freeTerminal }.count
            #expect(frees == (step.before.holdsTerminal && !step.after.holdsTerminal ? 1 : 0), "\(step.event)")
            if !step.before.holdsTerminal { #expect(!step.after.holdsTerminal, "\(step.event)") }
        }
    }

    /// Also one that turns up after the charge had ended: `notFound` and `refused` are not the end of asking.
    @Test func everyOpenPaymentThatTheTerminalDoesNotWaitForIsFollowed() {
        func isOpen(_ charge: Charge) -> Bool { !charge.holdsTerminal && charge.attempts.contains(where: \.isOpen) }
        var reopened = 0
        for step in Self.steps {
            let follows = step.actions.filter { $0 == .followInBackground }.count
            #expect(follows == (isOpen(step.after) && !isOpen(step.before) ? 1 : 0), "\(step.event)")
            if follows == 1, step.before.state.isFinal { reopened += 1 }
        }
        #expect(reopened > 0)
    }

    @Test func anAnswerThatDoesNotFitNeverEndsACharge() {
        for step in Self.steps {
            guard case .reported(let id, .contradictory) = step.event else { continue }
            #expect(step.after.state == step.before.state || step.after.state == .unknown)
            #expect(step.after.attempt(id)?.ending == step.before.attempt(id)?.ending)
            #expect(step.after.holdsTerminal == step.before.holdsTerminal)
        }
    }

    @Test func aPaymentThatIsNotWantedAnyMoreIsTakenBack() {
        for step in Self.steps {
            for attempt in step.after.attempts {
                guard case .offered(_, let progress) = attempt.phase, !progress.isProcessing else { continue }
                // One that was beaten is being taken back already.
                let isBeaten = step.before.attempts.contains {
                    $0.id != attempt.id && ($0.movesMoney || $0.isOpen && $0.claim != nil)
                }
                let wasCancelledNow = step.after.isCancelRequested && !step.before.isCancelRequested && !isBeaten
                let stillWaits = step.event == .reported(attempt: attempt.id, report: .requiresAction)
                let isUnwanted = step.after.isCancelRequested || step.after.isPastDeadline
                if wasCancelledNow || stillWaits && isUnwanted {
                    #expect(step.actions.contains(.withdraw(attempt.id)), "\(step.event)")
                }
            }
        }
    }

    @Test func moneyOnOneAttemptTakesTheOthersBack() {
        for step in Self.steps {
            guard case .reported(let winner, .processing) = step.event,
                step.before.attempt(winner)?.movesMoney == false, step.after.attempt(winner)?.movesMoney == true
            else { continue }
            for other in step.after.attempts where other.id != winner {
                guard case .offered(_, let progress) = other.phase, !progress.isProcessing else { continue }
                let wasUnwanted = step.before.isCancelRequested || step.before.attempt(winner)?.claim != nil
                #expect(wasUnwanted || step.actions.contains(.withdraw(other.id)))
            }
        }
    }

    @Test func aCustomersAgreementIsExecutedOnlyWhenNothingElseCanBePaid() {
        var claims = 0
        for step in Self.steps where step.after.hasMade(2) && !step.before.hasMade(2) {
            claims += 1
            #expect(step.event == .claimed(attempt: 2))
            for other in step.after.attempts where other.id != 2 {
                if case .offered = other.phase { Issue.record("\(other) could still be paid") }
                #expect(!other.movesMoney)
            }
        }
        #expect(claims > 0)
    }

    @Test func anAgreementTakesTheOtherWaysToPayBack() {
        var withdrawals = 0
        for step in Self.steps where step.after.isClaimed && !step.before.isClaimed {
            for other in step.after.attempts where other.id != 2 {
                #expect(other.phase != .idle, "what never left is over at once")
                guard case .offered(_, let progress) = other.phase else { continue }
                #expect(!progress.isProcessing, "an agreement that is too late is not heard")
                #expect(step.actions.contains(.withdraw(other.id)) || step.before.isCancelRequested)
                withdrawals += 1
            }
        }
        #expect(withdrawals > 0)
    }

    @Test func aLinkThatArrivesAfterAnAgreementIsTakenBack() {
        var links = 0
        for step in Self.steps where step.before.isClaimed && step.after.isClaimed {
            guard case .offered(1, _) = step.event, step.before != step.after else { continue }
            links += 1
            #expect(step.actions.contains(.withdraw(1)))
        }
        #expect(links > 0)
    }

    @Test func aCancelEndsAnAgreementThatWasNotExecutedAndNoOther() {
        for step in Self.steps {
            guard case .cancelRequested = step.event else { continue }
            #expect(step.after.hasMade(2) == step.before.hasMade(2))
            if step.after.isClaimed { #expect(step.after.hasMade(2)) }
        }
    }

    @Test func aKeptPromiseIsNotLate() {
        var kept = 0
        for step in Self.steps where step.before.isPromised && step.event.isSuccess && step.after.paidAttempt == 2 {
            guard !step.before.isCancelRequested, step.before.paidAttempt == nil else { continue }
            kept += 1
            #expect(!step.after.isLate && step.after.unseen == nil)
            #expect(step.before.reason?.code == "accepted_offline" && !step.before.holdsTerminal)
        }
        #expect(kept > 0)
    }

    @Test func moneyThatWentBackIsNoSecondPayment() {
        var given = 0
        for step in Self.steps where step.event == .givenBack(attempt: 2) && step.after != step.before {
            given += 1
            #expect(!step.after.surplusAttempts.contains { $0.id == 2 })
            #expect(step.after.state == .succeeded)
        }
        #expect(given > 0)
    }

    @Test func aSecondPaymentIsAlarmed() {
        var alarms = 0
        for step in Self.steps where step.after.surplusAttempts.count > step.before.surplusAttempts.count {
            alarms += 1
            #expect(step.actions.contains { if case .alarmPaidTwice = $0 { true } else { false } })
        }
        #expect(alarms > 0)
    }

    @Test func aPaymentAfterTheChargeWasGivenUpIsFlaggedLate() {
        for step in Self.steps where step.before.state != .succeeded && step.after.state == .succeeded {
            let wasLetGo = step.before.isReleased && !step.before.isPromised
            let givenUp = step.before.state.isFinal || step.before.isCancelRequested || wasLetGo
            #expect(step.after.isLate == givenUp)
        }
    }

    @Test func whatNobodyWaitedForIsNewsUntilItIsSeen() {
        var news: Set<Charge.News> = []
        for step in Self.steps {
            let isSecond = step.after.surplusAttempts.count > step.before.surplusAttempts.count
            let isLate = step.after.isLate && !step.before.isLate && !step.before.holdsTerminal
            if isSecond {
                #expect(step.after.unseen == .paidTwice)
            } else if isLate {
                #expect(step.after.unseen == .late)
            } else if case .seen = step.event {
                #expect(step.after.unseen == nil)
                var unchanged = step.after
                _ = unchanged.handle(step.event)
                #expect(unchanged == step.after && step.after.state == step.before.state && step.actions.isEmpty)
            } else {
                #expect(step.after.unseen == step.before.unseen, "\(step.event)")
            }
            if let unseen = step.after.unseen { news.insert(unseen) }
        }
        #expect(news == [.late, .paidTwice])
    }

    @Test func theDeadlineAsksAndEndsNothingThatExists() {
        for step in Self.steps where step.event == .deadlineReached && !step.before.isPastDeadline {
            for attempt in step.before.attempts where attempt.isOpen && attempt.phase != .idle {
                guard !step.before.state.isFinal else { continue }
                #expect(step.after.attempt(attempt.id)?.phase == attempt.phase)
                #expect(step.actions.contains(.ask(attempt.id)))
            }
        }
    }

    /// Staff get the terminal back where nobody answers, and not while an answer is still coming in.
    @Test func afterTheDeadlineSilenceFreesTheTerminalOnceEveryOpenPaymentIsSilent() {
        var (freed, held) = (0, 0)
        for step in Self.steps where step.before.isPastDeadline && step.before.holdsTerminal && step.event.isSilence {
            let open = step.after.attempts.filter(\.isOpen)
            guard !open.isEmpty else { continue }
            let isAnswered = open.contains { !$0.isSilent }
            #expect(step.after.holdsTerminal == isAnswered, "\(step.before.attempts) \(step.event)")
            if isAnswered { held += 1 } else { freed += 1 }
        }
        #expect(freed > 0 && held > 0)
    }

    @Test func whatStaffMayDoIsDone() {
        for step in Self.steps {
            if case .released = step.event, step.before.canRelease { #expect(!step.after.holdsTerminal) }
            if case .cancelRequested = step.event, step.before.canCancel {
                #expect(step.after.isCancelRequested)
            }
        }
    }

    @Test func everyStateThatIsNotPlainSaysWhatToDo() {
        for step in Self.steps {
            switch step.after.state {
            case .failed, .expired, .cancelled, .unknown:
                let reason = step.after.reason
                #expect(reason != nil)
                #expect(reason?.message.hasSuffix(".") == true && reason?.action.isEmpty == false)
            case .created, .requiresAction, .processing, .succeeded: break
            }
            if step.after.state == .unknown {
                #expect(step.after.reason?.action.contains("Do not charge again") == true)
            }
        }
    }
}

extension Charge {
    func hasMade(_ id: Attempt.ID) -> Bool { if case .made? = attempt(id)?.claim { true } else { false } }
}

extension Attempt {
    var movesMoney: Bool {
        switch phase {
        case .offered(_, let progress): progress.isProcessing
        case .ended(.succeeded, _): true
        default: false
        }
    }
}

extension Charge.Event {
    var isSuccess: Bool { if case .reported(_, .succeeded) = self { true } else { false } }

    /// A question or a request that brought no answer about money.
    var isSilence: Bool {
        switch self {
        case .silent, .overdue, .notSent, .refused: true
        default: false
        }
    }

    var isAuthoritysWord: Bool {
        switch self {
        // A promise is the customer's bank's word, given beforehand; a claim is dropped on the authority's.
        case .offered, .refused, .notFound, .reported, .claimDropped, .promised: true
        case .attemptStarted, .sending, .notSent, .silent, .overdue, .cancelRequested, .deadlineReached, .released,
            .resumed,
            .seen, .claimWanted, .claimed, .givenBack, .refundAsked, .refunded, .refundDenied:
            false
        }
    }

    /// Each event in each of its forms, for two attempts.
    static let everyExample: [Charge.Event] =
        [1, 2].flatMap { id -> [Charge.Event] in
            let evidence = Evidence(paymentID: "pay_\(id)", transactionID: "0x1", paid: nil)
            let reports: [Report] = [
                .requiresAction, .processing, .succeeded(evidence), .failed(code: nil), .expired, .cancelled,
                .unrecognised(word: "settling"),
            ]
            // Of one attempt only: like the strange word it changes nothing for another, and the walk stays short.
            let contradiction: [Report] = id == 1 ? [.contradictory(what: "another amount")] : []
            return [
                .attemptStarted(attempt: id, rail: id == 1 ? .scan : .tap), .sending(attempt: id),
                .notSent(attempt: id, reason: "refused"), .silent(attempt: id, reason: "time-out"),
                .offered(
                    attempt: id,
                    offer: Offer(paymentID: "pay_\(id)", link: "https://pay.test/\(id)", expiresAt: nil)
                ),
                .refused(attempt: id, refusal: Refusal(code: "params_validation", message: "no")),
                .notFound(attempt: id),
            ] + (reports + contradiction).map { .reported(attempt: id, report: $0) }
        } + [
            .cancelRequested(by: .customer), .deadlineReached, .released(by: .customer), .resumed, .seen(by: .customer),
        ]

    /// A code to scan and a phone on the air, for one charge.
    static let everyAgreement: [Charge.Event] =
        [1, 2].flatMap { id -> [Charge.Event] in
            let evidence = Evidence(paymentID: "pay_\(id)", transactionID: "0x1", paid: nil)
            let reports: [Report] = [
                .requiresAction, .processing, .succeeded(evidence), .failed(code: nil), .cancelled,
            ]
            return [
                .attemptStarted(attempt: id, rail: id == 1 ? .scan : .tap), .sending(attempt: id),
                .silent(attempt: id, reason: "time-out"),
                .offered(attempt: id, offer: Offer(paymentID: "pay_\(id)", link: nil, expiresAt: nil)),
            ] + reports.map { .reported(attempt: id, report: $0) }
        } + [
            .cancelRequested(by: .customer), .deadlineReached, .released(by: .customer), .resumed,
            .claimWanted(attempt: 2, tipMinorUnits: 50), .claimed(attempt: 2), .claimDropped(attempt: 2),
            .promised(attempt: 2), .givenBack(attempt: 2), .overdue(attempt: 2),
        ]
}

extension Charge {
    /// In euro, just opened.
    static func example(minorUnits: Int64 = 1250) -> Charge {
        var generator = SystemRandomNumberGenerator()
        let time = WallTime(millisecondsSince1970: 1_790_000_000_000)
        return Charge(
            terms: ChargeTerms(
                id: ChargeID(at: time, using: &generator),
                code: ChargeCode(using: &generator),
                amount: Money(minorUnits: minorUnits, currency: .euro),
                reference: nil,
                merchantID: "m",
                merchantName: "Kiosk",
                operatorID: "o",
                gatewayURL: "https://gateway.test",
                openedBy: .staff(name: "Ada"),
                openedAt: time,
                timeLimitSeconds: 300
            )
        )
    }
}
