import Logging
import Payments
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

/// The desk with a scripted authority, an archive in memory and time that stands still.
@Suite(.timeLimit(.minutes(1)))
struct ChargeDeskTests {
    @Test func theJournalKnowsBeforeTheRailDoes() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            #expect(desk.archive.events(of: charge.id) == [.attemptStarted(attempt: 1, rail: .scan)])
            await desk.until { $0.phase.charge?.id == charge.id }
            await desk.untilRail { $0 == [.pursue(charge.id)] }
        }
    }

    @Test func aSecondChargeIsRefusedAndNamesTheFirst() async throws {
        try await withDesk { desk in
            let first = try await desk.desk.open(desk.request())
            await #expect(throws: ChargeRefusal.busy(first.id)) { try await desk.desk.open(desk.request()) }
        }
    }

    @Test func twoAtOnceNeverBothGetTheTerminal() async throws {
        try await withDesk { desk in
            let opened = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 { group.addTask { (try? await desk.desk.open(desk.request())) != nil } }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(opened == 1)
            #expect(desk.archive.allCharges.count == 1)
        }
    }

    /// A browser whose answers get lost sends the same request again, and the first one may still be under way.
    @Test func theSameKeyAtOnceMakesOneChargeAndEverybodyGetsIt() async throws {
        try await withDesk { desk in
            let request = desk.request(key: IdempotencyKey(key: "sale-1", requestDigest: [1]))
            let ids = try await withThrowingTaskGroup(of: (ChargeID, Bool).self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let (charge, isNew) = try await desk.desk.openOnce(request)
                        return (charge.id, isNew)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(ids.map(\.0)).count == 1 && ids.count { $0.1 } == 1)
            #expect(desk.archive.allCharges.count == 1)
        }
    }

    @Test func theSameKeyMakesOneCharge() async throws {
        try await withDesk { desk in
            let key = IdempotencyKey(key: "sale-1", requestDigest: [1])
            let first = try await desk.desk.open(desk.request(key: key))
            let again = try await desk.desk.open(desk.request(key: key))
            #expect(first.id == again.id)
            await #expect(throws: ChargeRefusal.idempotencyConflict) {
                try await desk.desk.open(desk.request(key: IdempotencyKey(key: "sale-1", requestDigest: [2])))
            }
            #expect(desk.archive.allCharges.count == 1)
        }
    }

    @Test func nothingIsChargedBeforeTheShopIsSetUp() async throws {
        try await withDesk(settings: nil) { desk in
            await #expect(throws: ChargeRefusal.notSetUp) { try await desk.desk.open(desk.request()) }
            #expect(desk.archive.allCharges.isEmpty)
        }
    }

    @Test(arguments: [
        "", "   ", String(repeating: "1", count: 36), "a\nb", "a\u{202E}b", "a\u{200B}b", "\u{0}",
    ])
    func aReferenceThatCannotBeShownIsRefused(reference: String) async throws {
        try await withDesk { desk in
            await #expect(throws: ChargeRefusal.invalidReference) {
                try await desk.desk.open(desk.request(reference: reference))
            }
            #expect(desk.archive.allCharges.isEmpty)
        }
    }

    /// The gateway never sees it, so that its alphabet is no limit to the shop's.
    @Test(arguments: [
        "Tisch Müller", "Table n° 4 (terrasse)", "Mesa José & Ñ", "طاولة ٤", "A_1#7", String(repeating: "ü", count: 35),
    ])
    func aReferenceIsInTheShopsOwnLanguage(reference: String) async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request(reference: reference)).charge
            #expect(charge.terms.reference == reference)
            #expect(
                charge.terms.reference(on: .scan).utf8.allSatisfy {
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0)
                }
            )
        }
    }

    @Test func limitsHoldAndCountTheLastHour() async throws {
        var settings = MerchantSettings.example
        settings.limits = ChargeLimits(maximumMinorUnits: 5000, maximumPerHourMinorUnits: 6000)
        try await withDesk(settings: settings) { desk in
            await #expect(throws: ChargeRefusal.self) { try await desk.desk.open(desk.request(minorUnits: 5001)) }
            let first = try await desk.desk.open(desk.request(minorUnits: 5000))
            await desk.untilRail { $0 == [.pursue(first.id)] }
            try await desk.say(.reported(attempt: 1, report: .cancelled), after: .sending(attempt: 1), of: first.id)
            await #expect(throws: ChargeRefusal.self) { try await desk.desk.open(desk.request(minorUnits: 1001)) }
        }
    }

    @Test func whoAsksIsHeldToTheirOwnLimitButARepetitionFindsItsCharge() async throws {
        try await withDesk { desk in
            let key = IdempotencyKey(key: "sale-1", requestDigest: [1])
            var request = desk.request(minorUnits: 1250, key: key)
            request.ownMaximumMinorUnits = 1249
            let limit = Money(minorUnits: 1249, currency: request.amount.currency)
            await #expect(throws: ChargeRefusal.aboveOwnLimit(limit)) { try await desk.desk.open(request) }
            request.ownMaximumMinorUnits = 1250
            let first = try await desk.desk.open(request)
            // The limit was lowered while the answer was lost: it must not say that nothing was charged.
            request.ownMaximumMinorUnits = 1000
            #expect(try await desk.desk.open(request).id == first.id)
        }
    }

    /// What the customer pays is what is limited, whatever part of it is for staff.
    @Test func aTipCountsTowardsTheShopsLimitAndTowardsTheOneOfWhoAsks() async throws {
        var settings = MerchantSettings.example
        settings.limits = ChargeLimits(maximumMinorUnits: 2000, maximumPerHourMinorUnits: nil)
        try await withDesk(settings: settings) { desk in
            var tips = CounterTips()
            tips.mode = .allowed
            await desk.desk.use(tips: tips)
            func request(_ minorUnits: Int64) -> ChargeRequest {
                var request = desk.request(minorUnits: minorUnits)
                request.tip = Money(minorUnits: 250, currency: .euro)
                return request
            }
            await #expect(throws: ChargeRefusal.self) { try await desk.desk.open(request(2001)) }
            var own = request(1250)
            own.ownMaximumMinorUnits = 1249
            let limit = Money(minorUnits: 1249, currency: .euro)
            await #expect(throws: ChargeRefusal.aboveOwnLimit(limit)) { try await desk.desk.open(own) }
            #expect(desk.archive.allCharges.isEmpty)
            own.ownMaximumMinorUnits = 1250
            let charge = try await desk.desk.open(own).charge
            #expect(charge.terms.tip?.minorUnits == 250)
        }
    }

    @Test func paidStaysOnTheScreenAndThenItIsIdle() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.pay(charge.id)
            await desk.until { $0.phase.charge?.charge.state == .succeeded }
            await desk.untilSleeping(for: .seconds(20))
            desk.clock.advance(by: .seconds(20))
            await desk.until { $0.phase == .idle }
            let record = try await desk.desk.charge(charge.id)
            #expect(record.charge.state == .succeeded, "the journal keeps what the screen forgets")
        }
    }

    @Test func cancelAsksTheAuthorityAndWaitsForItsWord() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            let cancelled = try await desk.desk.cancel(charge.id, by: .staff(name: "Ada"))
            #expect(
                cancelled.charge.state == .requiresAction && cancelled.link == nil,
                "the code leaves the screen at once"
            )
            await desk.untilRail { $0.contains(.withdraw(charge.id)) }
            try await desk.say(.reported(attempt: 1, report: .cancelled), of: charge.id)
            await desk.until { $0.phase.charge?.charge.state == .cancelled }
        }
    }

    @Test func atTheDeadlineItAsksOnceMoreAndSilenceIsUnknown() async throws {
        let rail = ScriptedRail { link in await link.record(.silent(attempt: link.id, reason: "time-out")) }
        try await withDesk(rail: rail) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            await desk.untilSleeping(for: .seconds(300))
            desk.clock.advance(by: .seconds(300))
            await desk.until { $0.phase.charge?.charge.state == .unknown }
            #expect(rail.calls.filter { $0 == .ask(charge.id) }.count == 1)
            // The shop goes on; the open question does not hold it.
            let next = try await desk.desk.open(desk.request())
            #expect(next.id != charge.id)
        }
    }

    @Test func anUnknownPaymentIsAskedAboutInTheBackgroundAndBooked() async throws {
        let rail = ScriptedRail { link in await link.record(.silent(attempt: link.id, reason: "time-out")) }
        try await withDesk(rail: rail) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            await desk.untilSleeping(for: .seconds(300))
            desk.clock.advance(by: .seconds(300))
            await desk.until { $0.phase.charge?.charge.state == .unknown }
            await desk.untilSleeping(for: .seconds(15))
            desk.clock.advance(by: .seconds(15))
            await desk.untilRail { $0.filter { $0 == .ask(charge.id) }.count == 2 }
            try await desk.pay(charge.id, offering: false)
            let record = try await desk.desk.charge(charge.id)
            #expect(record.charge.state == .succeeded && record.charge.isLate)
        }
    }

    @Test func aRestartAsksAboutEverythingOpenBeforeItTakesNewCharges() async throws {
        let archive = MemoryArchive()
        let opened = try await withDesk(archive: archive) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            return charge.id
        }
        let (gate, open) = AsyncStream<Never>.makeStream()
        let rail = ScriptedRail { link in
            for await _ in gate {}  // The authority takes its time.
            await link.record(
                .reported(
                    attempt: link.id,
                    report: .succeeded(Evidence(paymentID: "pay_1", transactionID: nil, paid: nil))
                )
            )
        }
        try await withDesk(archive: archive, rail: rail, awaitReady: false) { desk in
            await desk.untilRail { $0 == [.ask(opened)] }
            await desk.until { $0.phase == .starting(checking: 1) }
            await #expect(throws: ChargeRefusal.notReady(checking: 1)) { try await desk.desk.open(desk.request()) }
            open.finish()
            await desk.until { if case .starting = $0.phase { false } else { true } }
            #expect(try await desk.desk.charge(opened).charge.state == .succeeded)
            _ = try await desk.desk.open(desk.request())
        }
    }

    /// The page and the till's API serve before the desk has looked at the journal: what stands there was not asked about yet.
    @Test func beforeTheDeskHasLoadedNothingIsSaidOfAnEarlierCharge() async throws {
        let archive = MemoryArchive()
        let opened = try await archive.openTwice()
        let desk = ChargeDesk(
            archive: archive,
            clock: ManualClock().terminalClock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        await #expect(throws: ChargeRefusal.starting) { try await desk.charge(opened) }
        await #expect(throws: ChargeRefusal.starting) { try await desk.cancel(opened, by: .staff(name: "Ada")) }
        await #expect(throws: ChargeRefusal.starting) { try await desk.history(before: nil, limit: 10, state: nil) }
        #expect(archive.writes == 7, "nothing was recorded")
        try await withDesk(archive: archive, awaitReady: false) { desk in
            await desk.until { $0.phase.charge != nil }
            let charge = try await desk.desk.charge(opened)
            #expect(charge.isUnresolved, "it is asked about first")
        }
    }

    /// A gateway that names one payment for two orders: the first sale stands, the second is none.
    @Test func onePaymentIsNotBookedForTwoCharges() async throws {
        try await withDesk { desk in
            let first = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(first.id)] }
            try await desk.pay(first.id)
            let second = try await desk.desk.open(desk.request())
            await desk.untilRail { $0.contains(.pursue(second.id)) }
            try await desk.offer(second.id)
            let offered = try await desk.desk.charge(second.id)
            #expect(offered.charge.state == .created && offered.link == nil, "nobody can pay the other charge by it")
            #expect(offered.reason?.code == "contradictory_answer")
            #expect(offered.reason?.message.contains("charge \(first.charge.terms.code.rawValue)") == true)
            let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
            try await desk.say(.reported(attempt: 1, report: .succeeded(evidence)), of: second.id)
            #expect(try await desk.desk.charge(second.id).charge.paidAttempt == nil)
            #expect(try await desk.desk.charge(first.id).charge.state == .succeeded)
            // An answer that fits is taken.
            let link = try #require(desk.rail.link(second.id))
            await link.record(
                .offered(attempt: 1, offer: Offer(paymentID: "pay_2", link: "https://pay.test/2", expiresAt: nil))
            )
            #expect(try await desk.desk.charge(second.id).link == "https://pay.test/2")
        }
    }

    /// Breaks the n-th write for every n of a whole payment: the word may come late, never wrong.
    @Test(arguments: 1...6) func aFullDiskDelaysTheWordAndNeverChangesIt(write: Int) async throws {
        try await withDesk { desk in
            desk.archive.fail(at: write...write)
            let charge: ChargeSnapshot
            do throws(ChargeRefusal) { charge = try await desk.desk.open(desk.request()) } catch {
                #expect(error == .journal(.diskFull) && write == 1)
                #expect(desk.archive.allCharges.isEmpty)
                #expect(!desk.hasAskedRail, "nothing leaves unrecorded")
                return
            }
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            let link = try #require(desk.rail.link(charge.id))
            let evidence = Evidence(paymentID: "pay_1", transactionID: nil, paid: nil)
            let offer = Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: nil)
            let story: [Charge.Event] = [
                .sending(attempt: 1), .offered(attempt: 1, offer: offer), .reported(attempt: 1, report: .processing),
                .reported(attempt: 1, report: .succeeded(evidence)),
            ]
            for event in story {
                // A rail repeats what the authority says until it is recorded.
                let before = await link.current()
                if await link.record(event) == before {
                    await desk.until { $0.trouble?.code == "storage_full" }
                    #expect(await link.record(event) != before)
                }
            }
            let live = try await desk.desk.charge(charge.id)
            #expect(live.charge.state == .succeeded)
            let recorded = try #require(desk.archive.allCharges.first)
            #expect(recorded == live.charge, "what is shown is what is recorded")
            await desk.until { $0.trouble == nil }
        }
    }

    /// Two authorities speak in the same moment: the customer paid twice, and staff have to hear of it.
    @Test func ofTwoPaymentsInTheSameMomentNoneIsLost() async throws {
        let other = ScriptedRail(.tap)
        try await withDesk(others: [other]) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            while other.link(charge.id) == nil { await Task.yield() }
            let links = [try #require(desk.rail.link(charge.id)), try #require(other.link(charge.id))]
            await withDiscardingTaskGroup { group in
                for link in links {
                    group.addTask {
                        let (id, payment) = (link.id, "pay_\(link.id)")
                        let evidence = Evidence(paymentID: payment, transactionID: nil, paid: nil)
                        await link.record(.sending(attempt: id))
                        let offer = Offer(paymentID: payment, link: nil, expiresAt: nil)
                        await link.record(.offered(attempt: id, offer: offer))
                        await link.record(.reported(attempt: id, report: .succeeded(evidence)))
                    }
                }
            }
            let live = try await desk.desk.charge(charge.id).charge
            #expect(live.attempts.allSatisfy { if case .succeeded = $0.ending { true } else { false } })
            #expect(live.surplusAttempts.count == 1)
            #expect(desk.archive.allCharges == [live], "what is shown is what is recorded")
            #expect(await desk.desk.snapshot.notices.map(\.kind) == [.paidTwice])
        }
    }

    /// The storage is full already when staff ask, so that nothing changes that could be noticed.
    @Test func whatTheJournalDidNotTakeIsNotAnsweredAsDone() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            try await desk.say(.silent(attempt: 1, reason: "time-out"), of: charge.id)
            desk.archive.fail(at: 1...Int.max)
            let words = ChargeRefusal.unrecorded(JournalError.diskFull.reasonAtCharge)
            for _ in 0..<2 {
                await #expect(throws: words) {
                    try await desk.desk.cancel(charge.id, by: .staff(name: "Ada"))
                }
                await #expect(throws: words) {
                    try await desk.desk.release(charge.id, by: .staff(name: "Ada"))
                }
            }
            let after = try await desk.desk.charge(charge.id).charge
            #expect(!after.isCancelRequested && !after.isReleased && after.holdsTerminal)
            desk.archive.fail(at: nil)
            let released = try await desk.desk.release(charge.id, by: .staff(name: "Ada"))
            #expect(released.charge.isReleased)
        }
    }

    /// Nothing is charged for which the way to pay it could not be recorded too.
    @Test func aChargeIsRecordedTogetherWithItsFirstAttempts() async throws {
        let other = ScriptedRail(.tap)
        try await withDesk(others: [other]) { desk in
            let charge = try await desk.desk.open(desk.request())
            #expect(desk.archive.writes == 1)
            let begun: [Charge.Event] = [
                .attemptStarted(attempt: 1, rail: .scan), .attemptStarted(attempt: 2, rail: .tap),
            ]
            #expect(desk.archive.events(of: charge.id) == begun)
            await desk.untilRail { $0 == [.pursue(charge.id)] }
        }
    }

    /// Opened by an earlier version, which recorded the first attempt apart, with a storage that is full at the start.
    private static func unbegun(_ archive: MemoryArchive, failingAt writes: ClosedRange<Int>) async throws -> ChargeID {
        let terms = ChargeTerms.example(at: ManualClock().terminalClock.wallTime())
        try await archive.open(terms, under: nil)
        archive.fail(at: writes)
        return terms.id
    }

    @Test func aChargeThatARestartFoundUnbegunBeginsOnceTheJournalTakesIt() async throws {
        let archive = MemoryArchive()
        let opened = try await Self.unbegun(archive, failingAt: 2...3)
        try await withDesk(archive: archive, awaitReady: false) { desk in
            await desk.until { $0.phase.charge?.id == opened && $0.trouble?.code == "storage_full" }
            await desk.pass(.seconds(2))
            #expect(!desk.hasAskedRail, "nothing leaves unrecorded")
            await desk.pass(.seconds(2))
            await desk.untilRail { $0 == [.pursue(opened)] }
            #expect(archive.events(of: opened) == [.attemptStarted(attempt: 1, rail: .scan)])
            await desk.until { $0.trouble == nil }
        }
    }

    @Test func aChargeThatNeverBeganCanBeTakenBack() async throws {
        let archive = MemoryArchive()
        let opened = try await Self.unbegun(archive, failingAt: 2...2)
        try await withDesk(archive: archive, awaitReady: false) { desk in
            await desk.until { $0.phase.charge?.id == opened && $0.trouble?.code == "storage_full" }
            await desk.untilSleeping(for: .seconds(2))
            let cancelled = try await desk.desk.cancel(opened, by: .staff(name: "Ada"))
            #expect(cancelled.charge.state == .cancelled)
            desk.clock.advance(by: .seconds(2))
            let next = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(next.id)] }
        }
    }

    @Test func aResultThatChangesIsShownForItsWholeTime() async throws {
        let rail = ScriptedRail { link in await link.record(.silent(attempt: link.id, reason: "time-out")) }
        try await withDesk(rail: rail) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            try await desk.say(.silent(attempt: 1, reason: "time-out"), of: charge.id)
            _ = try await desk.desk.release(charge.id, by: .staff(name: "Ada"))
            await desk.untilSleeping(for: .seconds(60))
            desk.clock.advance(by: .seconds(59))
            try await desk.pay(charge.id, offering: false)
            await desk.untilSleeping(for: .seconds(20))
            desk.clock.advance(by: .seconds(19))
            for _ in 0..<100 { await Task.yield() }  // Whoever slept for the unknown result is awake now.
            #expect(await desk.desk.snapshot.phase.charge?.charge.state == .succeeded)
            desk.clock.advance(by: .seconds(1))
            await desk.until { $0.phase == .idle }
        }
    }

    /// The next customer stands there, and reads whatever is on the screen as theirs.
    @Test(arguments: [true, false]) func aResultLeavesTheScreenWhenStaffGoOn(isPaid: Bool) async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            await #expect(throws: ChargeRefusal.tooLate(.requiresAction)) { try await desk.desk.putAway(charge.id) }
            if isPaid {
                try await desk.pay(charge.id, offering: false)
            } else {
                try await desk.say(.reported(attempt: 1, report: .processing), of: charge.id)
                await #expect(throws: ChargeRefusal.tooLate(.processing)) { try await desk.desk.putAway(charge.id) }
                _ = try await desk.desk.release(charge.id, by: .staff(name: "Ada"))
            }
            await desk.until { $0.phase.charge?.charge.holdsTerminal == false }
            _ = try await desk.desk.putAway(charge.id)
            #expect(await desk.desk.snapshot.phase == .idle)
            // Twice is once, and what is open is asked about as before.
            _ = try await desk.desk.putAway(charge.id)
            let known = try await desk.desk.charge(charge.id).charge
            #expect(known.state.isFinal == isPaid && known.attempts.contains { $0.isOpen } == !isPaid)
        }
    }

    @Test func anotherChargesResultStays() async throws {
        try await withDesk { desk in
            let first = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(first.id)] }
            try await desk.pay(first.id)
            let second = try await desk.desk.open(desk.request())
            _ = try await desk.desk.putAway(first.id)
            #expect(await desk.desk.snapshot.phase.charge?.id == second.id)
        }
    }

    /// An answer takes a few seconds. Whoever is offered to go on at once does, and gives up one that is on its way.
    @Test func goingOnWithoutAnAnswerIsOfferedWhenNoneComes() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            #expect(try await desk.desk.charge(charge.id).releaseInSeconds == nil)
            try await desk.say(.reported(attempt: 1, report: .processing), of: charge.id)
            func offered() async throws -> Int? { try await desk.desk.charge(charge.id).releaseInSeconds }
            #expect(try await offered() == 20)
            desk.clock.advance(by: .milliseconds(19_500))
            #expect(try await offered() == 1)
            #expect(try await desk.desk.charge(charge.id).processingSeconds == 19)
            desk.clock.advance(by: .milliseconds(500))
            #expect(try await offered() == 0)
        }
    }

    @Test func whereTheGatewayDoesNotAnswerGoingOnIsOfferedAtOnce() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            try await desk.say(.reported(attempt: 1, report: .processing), of: charge.id)
            try await desk.say(.silent(attempt: 1, reason: "time-out"), of: charge.id)
            #expect(try await desk.desk.charge(charge.id).releaseInSeconds == 0)
        }
    }

    // MARK: - Payments that nobody waited for

    @Test func aPaymentThatCameLateStaysUntilStaffHaveSeenIt() async throws {
        try await withDesk { desk in
            let late = try await desk.paidLate()
            let notice = PaymentNotice(
                id: late.id,
                kind: .late,
                code: late.terms.code,
                amountText: "€12.50",
                at: desk.clock.terminalClock.wallTime()
            )
            await desk.until { $0.phase == .idle && $0.notices == [notice] }
            // The next customer comes and goes; it still stands there.
            let next = try await desk.desk.open(desk.request(minorUnits: 990))
            await desk.until { $0.phase.charge?.id == next.id && $0.notices == [notice] }
            let seen = try await desk.desk.markSeen(late.id, by: .staff(name: "Ada"))
            #expect(seen.charge.isLate)
            await desk.until { $0.notices.isEmpty }
            await #expect(throws: ChargeRefusal.notFound) {
                try await desk.desk.markSeen(.example, by: .staff(name: "Ada"))
            }
        }
    }

    @Test func aNoticeThatNobodyTakesAwayEndsAfterHalfAnHour() async throws {
        try await withDesk { desk in
            _ = try await desk.paidLate()
            await desk.until { $0.notices.count == 1 }
            await desk.pass(.seconds(30 * 60))
            await desk.until { $0.notices.isEmpty }
        }
    }

    @Test func aPaymentThatStaffSeeOnTheScreenNeedsNoNotice() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            _ = try await desk.desk.cancel(charge.id, by: .staff(name: "Ada"))
            try await desk.pay(charge.id, offering: false)
            let snapshot = await desk.desk.snapshot
            #expect(snapshot.phase.charge?.charge.isLate == true && snapshot.notices.isEmpty)
        }
    }

    @Test func aSecondPaymentIsSaidNotOnlyLogged() async throws {
        let archive = MemoryArchive()
        let charge = try await archive.openTwice()
        let rail = ScriptedRail { link in
            let evidence = Evidence(paymentID: "pay_\(link.id)", transactionID: nil, paid: nil)
            await link.record(.reported(attempt: link.id, report: .succeeded(evidence)))
        }
        try await withDesk(archive: archive, rail: rail, awaitReady: false) { desk in
            await desk.until { $0.notices.first?.kind == .paidTwice && $0.notices.first?.id == charge }
        }
    }

    @Test func everyViewerGetsTheSameTruth() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            var first = await desk.desk.snapshots().makeAsyncIterator()
            var second = await desk.desk.snapshots().makeAsyncIterator()
            let one = await first.next()
            let other = await second.next()
            #expect(one?.phase.charge?.id == charge.id && one?.phase == other?.phase)
        }
    }
}

// MARK: - The desk under test

struct DeskUnderTest: Sendable {
    let desk: ChargeDesk
    let archive: MemoryArchive
    let rail: ScriptedRail
    let clock: ManualClock

    func request(
        minorUnits: Int64 = 1250,
        reference: String? = nil,
        key: IdempotencyKey? = nil
    ) -> ChargeRequest {
        ChargeRequest(
            amount: Money(minorUnits: minorUnits, currency: .euro),
            reference: reference,
            key: key,
            by: .staff(name: "Ada")
        )
    }

    /// Waits for news until the terminal looks like this.
    func until(_ isReached: (TerminalSnapshot) -> Bool) async {
        for await snapshot in await desk.snapshots() where isReached(snapshot) { return }
    }

    func untilRail(_ isReached: ([ScriptedRail.Call]) -> Bool) async {
        while !isReached(rail.calls), !Task.isCancelled { await Task.yield() }
    }

    /// Waits until something waits for this much time to pass.
    func untilSleeping(for duration: Duration) async {
        while !clock.hasSleeper(for: duration), !Task.isCancelled { await Task.yield() }
    }

    var hasAskedRail: Bool { !rail.calls.isEmpty }

    /// Lets time pass once something waits for it.
    func pass(_ duration: Duration) async {
        await untilSleeping(for: duration)
        clock.advance(by: duration)
    }

    /// Lets as much time pass as somebody waits for, once somebody waits for so little.
    func letPass(atMost limit: Duration) async {
        while !Task.isCancelled {
            if let duration = clock.shortestSleep, duration <= limit { return clock.advance(by: duration) }
            await Task.yield()
        }
    }

    /// A charge that staff went on without, paid after its result had left the screen.
    func paidLate() async throws -> Charge {
        let charge = try await desk.open(request()).charge
        await untilRail { $0 == [.pursue(charge.id)] }
        try await offer(charge.id)
        try await say(.silent(attempt: 1, reason: "time-out"), of: charge.id)
        _ = try await desk.release(charge.id, by: .staff(name: "Ada"))
        await pass(.seconds(60))
        await until { $0.phase == .idle }
        try await pay(charge.id, offering: false)
        return charge
    }

    func say(_ event: Charge.Event, after first: Charge.Event? = nil, of id: ChargeID) async throws {
        let link = try #require(rail.link(id))
        if let first {
            await link.record(first)
            await link.record(.offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: nil, expiresAt: nil)))
        }
        await link.record(event)
    }

    func offer(_ id: ChargeID, as payment: String = "pay_1") async throws {
        let link = try #require(rail.link(id))
        await link.record(.sending(attempt: 1))
        await link.record(
            .offered(attempt: 1, offer: Offer(paymentID: payment, link: "https://pay.test/1", expiresAt: nil))
        )
    }

    func pay(_ id: ChargeID, as payment: String = "pay_1", offering: Bool = true) async throws {
        if offering { try await offer(id, as: payment) }
        let evidence = Evidence(paymentID: payment, transactionID: "0x1", paid: nil)
        try await say(.reported(attempt: 1, report: .succeeded(evidence)), of: id)
    }
}

extension ChargeID {
    static var example: ChargeID {
        var generator = SystemRandomNumberGenerator()
        return ChargeID(at: WallTime(millisecondsSince1970: 1_790_000_000_000), using: &generator)
    }
}

extension ChargeTerms {
    static func example(at time: WallTime) -> ChargeTerms {
        var generator = SystemRandomNumberGenerator()
        return ChargeTerms(
            id: .example,
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: 1250, currency: .euro),
            reference: nil,
            merchantID: "mrch_1",
            merchantName: "Kiosk",
            operatorID: "op-1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: time,
            timeLimitSeconds: 300
        )
    }
}

extension MemoryArchive {
    /// A charge with two attempts that are both offered, as a run before left it.
    func openTwice() async throws -> ChargeID {
        let terms = ChargeTerms.example(at: WallTime(millisecondsSince1970: 1_790_000_000_000))
        try await open(terms, under: nil)
        var charge = Charge(terms: terms)
        for attempt in 1...2 {
            for event: Charge.Event in [
                .attemptStarted(attempt: attempt, rail: .scan), .sending(attempt: attempt),
                .offered(attempt: attempt, offer: Offer(paymentID: "pay_\(attempt)", link: nil, expiresAt: nil)),
            ] {
                _ = charge.handle(event)
                try await append(event, to: charge, at: terms.openedAt)
            }
        }
        return terms.id
    }
}

extension MerchantSettings {
    static let example = MerchantSettings(
        operatorID: "op-1",
        merchantID: "mrch_1",
        merchantName: "Kiosk",
        gatewayURL: "https://gateway.test",
        currency: .euro
    )
}

extension TerminalSnapshot.Phase {
    var charge: ChargeSnapshot? { if case .charging(let charge) = self { charge } else { nil } }
}

/// Runs a desk for as long as `body` does.
func withDesk<Value: Sendable>(
    archive: MemoryArchive = MemoryArchive(),
    rail: ScriptedRail = ScriptedRail(),
    others: [ScriptedRail] = [],
    settings: MerchantSettings? = .example,
    awaitReady: Bool = true,
    startingAt start: Duration = .zero,
    gatewayAhead: @escaping @Sendable () -> Duration? = { nil },
    _ body: (DeskUnderTest) async throws -> Value
) async throws -> Value {
    let clock = ManualClock()
    clock.advance(by: start)
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let desk = ChargeDesk(
        archive: archive,
        clock: clock.terminalClock,
        logger: logger,
        gatewayAhead: gatewayAhead
    )
    await desk.use(settings, drivers: [rail] + others)
    let under = DeskUnderTest(desk: desk, archive: archive, rail: rail, clock: clock)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await desk.run() }
        if awaitReady { await under.until { $0.phase == .idle || $0.phase == .setup } }
        let value = try await body(under)
        await desk.use(nil, drivers: [])  // The scripted rail keeps its links, which keep the desk.
        group.cancelAll()
        return value
    }
}
