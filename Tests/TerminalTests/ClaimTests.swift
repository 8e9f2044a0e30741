import Payments
import Terminal
import TerminalTestSupport
import Testing

/// A code on the screen and a phone on the air for one charge: only one of them ever takes the money.
@Suite(.timeLimit(.minutes(1)))
struct ClaimTests {
    @Test func aPhoneMayPayOnceTheCodeIsKnownToBeWithdrawn() async throws {
        try await withBoth { desk, tap, id in
            async let answer = tap.claim(tipMinorUnits: 100)
            await desk.untilRail { $0.contains(.withdraw(id)) }
            // The gateway has not answered: the phone's payment must not have begun.
            let waiting = try await desk.desk.charge(id).charge
            #expect(waiting.attempt(2)?.claim == .wanted(tipMinorUnits: 100))
            let link = try await desk.desk.charge(id).link
            #expect(link == nil, "the code is not shown any more")
            await desk.rail.link(id)?.record(.reported(attempt: 1, report: .cancelled))
            #expect(await answer == .granted)
            let claimed = try await desk.desk.charge(id)
            #expect(claimed.charge.state == .processing && !claimed.charge.canCancel)
            #expect(claimed.amountText == "€13.50" && claimed.tipText == "€1.00")
            #expect(await tap.claim(tipMinorUnits: 100) == .granted, "asking again gives the same answer")
            #expect(
                desk.archive.events(of: id).suffix(2) == [
                    .reported(attempt: 1, report: .cancelled), .claimed(attempt: 2),
                ]
            )
        }
    }

    @Test func aCodeThatWasPaidFirstLeavesThePhoneUncharged() async throws {
        try await withBoth { desk, tap, id in
            async let answer = tap.claim(tipMinorUnits: 0)
            await desk.untilRail { $0.contains(.withdraw(id)) }
            await desk.rail.link(id)?.record(.reported(attempt: 1, report: .processing))
            #expect(await answer == .refused(.beaten))
            let after = try await desk.desk.charge(id).charge
            #expect(after.attempt(2)?.claim == nil)
            #expect(await tap.claim(tipMinorUnits: 0) == .refused(.beaten))
        }
    }

    @Test func aCancelBeforeTheWithdrawalIsConfirmedWins() async throws {
        try await withBoth { desk, tap, id in
            async let answer = tap.claim(tipMinorUnits: 0)
            await desk.untilRail { $0.contains(.withdraw(id)) }
            _ = try await desk.desk.cancel(id, by: .staff(name: "Ada"))
            #expect(await answer == .refused(.over))
        }
    }

    @Test func anAgreementThatCannotBeRecordedIsNotExecuted() async throws {
        try await withBoth { desk, tap, id in
            desk.archive.fail(at: 1...1_000)
            #expect(await tap.claim(tipMinorUnits: 0) == .refused(.unrecorded))
            desk.archive.fail(at: nil)
            let after = try await desk.desk.charge(id).charge
            #expect(after.attempt(2)?.claim == nil)
        }
    }

    @Test func aDeclinedPhoneMayTryAgain() async throws {
        try await withBoth { desk, tap, id in
            async let answer = tap.claim(tipMinorUnits: 0)
            await desk.untilRail { $0.contains(.withdraw(id)) }
            await desk.rail.link(id)?.record(.reported(attempt: 1, report: .cancelled))
            #expect(await answer == .granted)
            await tap.record(.claimDropped(attempt: 2))
            let dropped = try await desk.desk.charge(id).charge
            #expect(dropped.state == .requiresAction && dropped.canCancel)
            #expect(await tap.claim(tipMinorUnits: 0) == .granted)
        }
    }

    @Test func aPromiseFreesTheTerminalAndIsBookedAsKept() async throws {
        try await withBoth { desk, tap, id in
            async let answer = tap.claim(tipMinorUnits: 0)
            await desk.untilRail { $0.contains(.withdraw(id)) }
            await desk.rail.link(id)?.record(.reported(attempt: 1, report: .cancelled))
            #expect(await answer == .granted)
            await tap.record(.promised(attempt: 2))
            let promised = try await desk.desk.charge(id).charge
            #expect(promised.reason?.code == "accepted_offline" && !promised.holdsTerminal)
            let evidence = Evidence(paymentID: "tap_1", transactionID: "t", paid: nil)
            await tap.record(.reported(attempt: 2, report: .succeeded(evidence)))
            let kept = try await desk.desk.charge(id).charge
            #expect(kept.state == .succeeded && !kept.isLate && kept.reason == nil)
            #expect(await desk.desk.snapshot.notices.isEmpty, "nobody has to be told of what was expected")
            await tap.record(.givenBack(attempt: 2))
            let after = try await desk.desk.charge(id).charge
            #expect(after.reason?.code == "given_back")
        }
    }

    /// A charge with the code on the screen and the phone's payment on the air.
    private func withBoth(
        _ body: @escaping @Sendable (DeskUnderTest, AttemptLink, ChargeID) async throws -> Void
    ) async throws {
        let tapRail = ScriptedRail(.tap)
        try await withDesk(others: [tapRail]) { desk in
            let id = try await desk.desk.open(desk.request()).id
            await desk.untilRail { $0 == [.pursue(id)] }
            while tapRail.link(id) == nil { await Task.yield() }
            try await desk.offer(id)
            let tap = try #require(tapRail.link(id))
            await tap.record(.offered(attempt: 2, offer: Offer(paymentID: "tap_1", link: nil, expiresAt: nil)))
            try await body(desk, tap, id)
            await desk.desk.use(nil, drivers: [])
        }
    }
}
