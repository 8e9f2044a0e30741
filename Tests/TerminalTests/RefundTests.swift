import Locks
import Payments
import TerminalTestSupport
import Testing

@testable import Terminal

/// Refunds by hand: on paper first, at the gateway then, and never forgotten in between.
@Suite(.timeLimit(.minutes(1)))
struct RefundTests {
    private static let bea = Actor.staff(name: "Bea")

    /// A charge that was paid, its result gone from the screen.
    private func paid(_ desk: DeskUnderTest) async throws -> ChargeID {
        let charge = try await desk.desk.open(desk.request())
        await desk.untilRail { $0.contains(.pursue(charge.id)) }
        try await desk.offer(charge.id)
        let evidence = Evidence(paymentID: "pay_1", transactionID: nil, paid: nil)
        try await desk.say(.reported(attempt: 1, report: .succeeded(evidence)), of: charge.id)
        await desk.pass(.seconds(20))
        await desk.until { $0.phase == .idle }
        return charge.id
    }

    @Test func aWholeRefundIsWrittenDownBeforeTheGatewayIsAskedToMarkIt() async throws {
        let rail = ScriptedRail()
        try await withDesk(rail: rail) { desk in
            rail.marks.withLock { $0.answers = [.marked(.marked)] }
            let id = try await paid(desk)
            let after = try await desk.desk.refund(
                id,
                attempt: nil,
                minorUnits: nil,
                reason: "cold",
                by: Self.bea,
                key: "one"
            ).charge
            #expect(after.isGivenBack && after.refundedMinorUnits == after.total.minorUnits && !after.hasAskedRefund)
            let refund = Refund(minorUnits: after.total.minorUnits, reason: "cold", by: Self.bea, key: "one")
            let last = Array(desk.archive.events(of: id).suffix(2))
            #expect(last == [.refundAsked(attempt: 1, refund: refund), .refunded(attempt: 1, mark: .marked)])
            await #expect(throws: RefundRefusal.nothingPaid) {
                try await desk.desk.refund(id, attempt: 1, minorUnits: 1, reason: "again", by: Self.bea)
            }
            #expect(rail.marks.withLock { $0.asked } == 1)
        }
    }

    @Test func theGatewayHearsOfPartsOnlyWithTheLastOne() async throws {
        let rail = ScriptedRail()
        try await withDesk(rail: rail) { desk in
            rail.marks.withLock { $0.answers = [.marked(.markedBefore)] }
            let id = try await paid(desk)
            let part = try await desk.desk.refund(id, attempt: 1, minorUnits: 100, reason: "chip", by: Self.bea).charge
            #expect(part.refundedMinorUnits == 100 && !part.isGivenBack && rail.marks.withLock { $0.asked } == 0)
            let left = part.total.minorUnits - 100
            let money = Money(minorUnits: left, currency: part.terms.amount.currency)
            await #expect(throws: RefundRefusal.tooMuch(left: money)) {
                try await desk.desk.refund(id, attempt: 1, minorUnits: left + 1, reason: "x", by: Self.bea)
            }
            for (amount, reason, refusal) in [
                (0, "x", RefundRefusal.notPositive), (-5, "x", .notPositive), (1, "", .invalidReason),
                (1, "a\nb", .invalidReason), (1, String(repeating: "x", count: 201), .invalidReason),
            ] as [(Int64, String, RefundRefusal)] {
                await #expect(throws: refusal) {
                    try await desk.desk.refund(id, attempt: 1, minorUnits: amount, reason: reason, by: Self.bea)
                }
            }
            let all = try await desk.desk.refund(id, attempt: 1, minorUnits: nil, reason: "rest", by: Self.bea).charge
            #expect(all.isGivenBack && rail.marks.withLock { $0.asked } == 1)
            #expect(all.attempt(1)?.refunds.map(\.mark) == [.keptHere, .markedBefore])
        }
    }

    /// Two at the counter and one in the office give the same money back.
    @Test func ofRefundsAtOnceNoMoreIsBookedThanWasPaid() async throws {
        let rail = ScriptedRail()
        try await withDesk(rail: rail) { desk in
            let id = try await paid(desk)
            let booked = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let refund = try? await desk.desk.refund(
                            id,
                            attempt: 1,
                            minorUnits: 700,
                            reason: "\(number)",
                            by: Self.bea
                        )
                        return refund != nil
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            let charge = try await desk.desk.charge(id).charge
            #expect(booked == 1 && charge.refundedMinorUnits == 700 && !charge.isGivenBack)
            #expect(charge.attempt(1)?.refunds.count == 1 && charge.attempt(1)?.askedRefund == nil)
        }
    }

    /// The answer got lost, or two requests overlap: whoever asks again with the same key gets the same refund.
    @Test func theSameRequestIsOneRefundHoweverOftenItComes() async throws {
        try await withDesk(rail: ScriptedRail()) { desk in
            let id = try await paid(desk)
            let answers = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let refund = try? await desk.desk.refund(
                            id,
                            attempt: 1,
                            minorUnits: 100,
                            reason: "cold",
                            by: Self.bea,
                            key: "one"
                        )
                        return refund?.charge.refund(under: "one")?.refund.minorUnits == 100
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            let charge = try await desk.desk.charge(id).charge
            #expect(answers == 20 && charge.refundedMinorUnits == 100 && charge.attempt(1)?.refunds.count == 1)
        }
    }

    /// Two people give the same amount back for the same reason, at once: each yes stands in the record.
    @Test(arguments: [true, false]) func asManyRefundsAreBookedAsWereAnsweredWithYes(haveKeys: Bool) async throws {
        try await withDesk(rail: ScriptedRail()) { desk in
            let id = try await paid(desk)
            let yes = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        let refund = try? await desk.desk.refund(
                            id,
                            attempt: 1,
                            minorUnits: 10,
                            reason: "cold",
                            by: Self.bea,
                            key: haveKeys ? "key \(number)" : nil
                        )
                        return refund != nil
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            let charge = try await desk.desk.charge(id).charge
            #expect(yes > 0 && charge.refundedMinorUnits == Int64(yes) * 10)
            #expect(charge.attempt(1)?.refunds.count == yes)
            if !haveKeys { #expect(yes == 1, "without a key equal requests are one") }
        }
    }

    @Test func aKeyIsForOneRefundAndAnEqualOneWithoutAKeyIsRefusedInWords() async throws {
        try await withDesk(rail: ScriptedRail()) { desk in
            let id = try await paid(desk)
            func refund(_ minorUnits: Int64, _ reason: String, _ key: String?, by actor: Actor) async throws {
                _ = try await desk.desk.refund(
                    id,
                    attempt: 1,
                    minorUnits: minorUnits,
                    reason: reason,
                    by: actor,
                    key: key
                )
            }
            try await refund(100, "cold", "one", by: Self.bea)
            for (amount, reason, actor) in [
                (101, "cold", Self.bea), (100, "colder", Self.bea), (100, "cold", .staff(name: "Ada")),
            ] as [(Int64, String, Actor)] {
                await #expect(throws: RefundRefusal.keyUsed) { try await refund(amount, reason, "one", by: actor) }
            }
            await #expect(throws: RefundRefusal.repeated) { try await refund(100, "cold", nil, by: Self.bea) }
            try await refund(100, "cold", "two", by: Self.bea)
            try await refund(100, "cold", nil, by: .staff(name: "Ada"))
            #expect(try await desk.desk.charge(id).charge.refundedMinorUnits == 300)
        }
    }

    @Test func aRequestThatIsRepeatedAfterTheWholeWentBackIsAnsweredAsBefore() async throws {
        let rail = ScriptedRail()
        try await withDesk(rail: rail) { desk in
            rail.marks.withLock { $0.answers = [.marked(.marked)] }
            let id = try await paid(desk)
            for _ in 0..<2 {
                let charge = try await desk.desk.refund(
                    id,
                    attempt: 1,
                    minorUnits: nil,
                    reason: "cold",
                    by: Self.bea,
                    key: "one"
                ).charge
                #expect(charge.isGivenBack)
            }
            #expect(rail.marks.withLock { $0.asked } == 1)
        }
    }

    @Test func silenceLeavesTheRefundAskedForAndTheTerminalAsksAgain() async throws {
        let rail = ScriptedRail()
        try await withDesk(rail: rail) { desk in
            let id = try await paid(desk)
            let open = try await desk.desk.refund(id, attempt: 1, minorUnits: nil, reason: "cold", by: Self.bea).charge
            #expect(open.hasAskedRefund && open.refundedMinorUnits == 0 && open.reason?.code == "refund_unconfirmed")
            await #expect(throws: RefundRefusal.underWay) {
                try await desk.desk.refund(id, attempt: 1, minorUnits: nil, reason: "cold", by: Self.bea)
            }
            rail.marks.withLock { $0.answers = [.marked(.markedBefore)] }
            await desk.untilSleeping(for: .seconds(60))
            await desk.pass(.seconds(60))
            while try await desk.desk.charge(id).charge.hasAskedRefund { await Task.yield() }
            #expect(try await desk.desk.charge(id).charge.isGivenBack)
        }
    }

    @Test func aRefundThatNobodyConfirmedIsAskedForAgainAfterARestart() async throws {
        let archive = MemoryArchive()
        let id = try await withDesk(archive: archive) { desk in
            let id = try await paid(desk)
            _ = try await desk.desk.refund(id, attempt: 1, minorUnits: nil, reason: "cold", by: Self.bea)
            return id
        }
        let rail = ScriptedRail()
        rail.marks.withLock { $0.answers = [.marked(.marked)] }
        try await withDesk(archive: archive, rail: rail, startingAt: .seconds(100)) { desk in
            while try await desk.desk.charge(id).charge.hasAskedRefund { await Task.yield() }
            #expect(try await desk.desk.charge(id).charge.isGivenBack)
        }
    }

    @Test func theGatewaysNoBooksNothing() async throws {
        let rail = ScriptedRail()
        try await withDesk(rail: rail) { desk in
            rail.marks.withLock { $0.answers = [.denied(code: "payment_not_succeeded")] }
            let id = try await paid(desk)
            await #expect(throws: RefundRefusal.denied(code: "payment_not_succeeded")) {
                try await desk.desk.refund(id, attempt: 1, minorUnits: nil, reason: "cold", by: Self.bea)
            }
            let charge = try await desk.desk.charge(id).charge
            #expect(!charge.hasAskedRefund && !charge.isGivenBack && charge.refundedMinorUnits == 0)
        }
    }

    @Test func nothingIsAskedWhereItCouldNotBeWrittenDown() async throws {
        let rail = ScriptedRail()
        try await withDesk(rail: rail) { desk in
            let id = try await paid(desk)
            desk.archive.fail(at: 0...Int.max)
            await #expect(throws: RefundRefusal.journal(.diskFull)) {
                try await desk.desk.refund(id, attempt: 1, minorUnits: nil, reason: "cold", by: Self.bea)
            }
            #expect(rail.marks.withLock { $0.asked } == 0)
        }
    }

    @Test func tipsOfStaffAreTheOwnersToAllow() async throws {
        try await withDesk { desk in
            func request(_ amount: Int64, tip: Int64, by actor: Actor) -> ChargeRequest {
                ChargeRequest(
                    amount: Money(minorUnits: amount, currency: .euro),
                    tip: Money(minorUnits: tip, currency: .euro),
                    by: actor
                )
            }
            await #expect(throws: ChargeRefusal.tipsAreOff) {
                try await desk.desk.open(request(1100, tip: 100, by: Self.bea))
            }
            var tips = CounterTips()
            (tips.mode, tips.maximumPercent) = (.allowed, 10)
            await desk.desk.use(tips: tips)
            for (amount, tip) in [(1101, 101), (100, 100), (50, 60), (1000, -1)] as [(Int64, Int64)] {
                await #expect(throws: ChargeRefusal.invalidTip) {
                    try await desk.desk.open(request(amount, tip: tip, by: Self.bea))
                }
            }
            let charge = try await desk.desk.open(request(1100, tip: 100, by: Self.bea)).charge
            #expect(charge.terms.tip?.minorUnits == 100 && charge.total.minorUnits == 1100)
        }
    }
}
