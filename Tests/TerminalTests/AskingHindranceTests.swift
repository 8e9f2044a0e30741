import Foundation
import Payments
import TerminalTestSupport
import Testing
import TestSupport

@testable import Terminal

/// What staff are told where the terminal knows why nobody answers.
@Suite(.timeLimit(.minutes(1)))
struct AskingHindranceTests {
    private static let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    private static let all: [AskingHindrance] = [
        .paused(until: WallTime(millisecondsSince1970: 1_790_000_000_000)), .elsewhere, .refused, .overdue,
    ]

    @Test(arguments: all)
    func nobodyIsSentToPayAnotherWayBesideAPaymentThatMayHaveBeenMade(hindrance: AskingHindrance) {
        let reason = hindrance.reason(mayBePaid: true, zone: Self.berlin)
        #expect(!reason.action.contains("another way"), "\(reason)")
    }

    /// 14:13:20 by the world's clock.
    @Test func thePausesEndIsSaidInTheShopsTimeAndNeverTooEarly() {
        let until = WallTime(millisecondsSince1970: 1_790_000_000_000)
        #expect(until.timeOfDay(in: Self.berlin) == "16:14")
        #expect(WallTime(millisecondsSince1970: 1_790_000_040_000).timeOfDay(in: Self.berlin) == "16:14")
        #expect(WallTime(millisecondsSince1970: 1_789_941_540_001).timeOfDay(in: .gmt) == "22:00")
    }

    private static let pause = WallTime(millisecondsSince1970: 1_790_000_030_000)

    @Test func aChargeSaysThatItsGatewayAsksToWaitAndNotThatItKeepsAsking() async throws {
        let rail = ScriptedRail { link in
            await link.record(.silent(attempt: link.id, reason: "429"), because: .paused(until: Self.pause))
        }
        try await withDesk(rail: rail) { desk in
            let id = try await desk.desk.open(desk.request()).id
            await desk.untilRail { $0 == [.pursue(id)] }
            try await desk.offer(id)
            let link = try #require(desk.rail.link(id))
            await link.record(.silent(attempt: 1, reason: "429"), because: .paused(until: Self.pause))
            let paused = try #require(try await desk.desk.charge(id).reason)
            #expect(paused.code == "gateway_paused" && paused.values["case"] == "made", "\(paused)")
            await link.record(.silent(attempt: 1, reason: "time-out"))
            #expect(try await desk.desk.charge(id).reason?.code == "gateway_silent", "another silence, another reason")
            await link.record(.silent(attempt: 1, reason: "429"), because: .paused(until: Self.pause))
            await link.record(.reported(attempt: 1, report: .requiresAction))
            #expect(try await desk.desk.charge(id).reason == nil)
        }
    }

    /// Where the gateway ends the payment before the terminal's own time is over, by its own clock.
    @Test(arguments: [(Int64(0), Int64(60), 60), (420, 480, 60), (-420, -360, 60), (0, 900, 300), (0, 300, 300)])
    func theCountdownIsNeverLongerThanTheGatewaysOwnTime(ahead: Int64, end: Int64, left: Int) async throws {
        try await withDesk(gatewayAhead: { .seconds(ahead) }) { desk in
            let id = try await desk.desk.open(desk.request()).id
            await desk.untilRail { $0 == [.pursue(id)] }
            let now = desk.clock.wallTime()
            let offer = Offer(
                paymentID: "pay_1",
                link: "https://pay.test/1",
                expiresAt: now.advanced(by: .seconds(end))
            )
            try await desk.say(.offered(attempt: 1, offer: offer), of: id)
            #expect(try await desk.desk.charge(id).secondsLeft == left)
            await desk.pass(.seconds(left))
            await desk.untilRail { $0.contains(.ask(id)) }
            #expect(try await desk.desk.charge(id).charge.isPastDeadline)
        }
    }

    @Test func anEndThatIsOverByAClockThatNobodyHasComparedIsNoEnd() async throws {
        try await withDesk { desk in
            let id = try await desk.desk.open(desk.request()).id
            await desk.untilRail { $0 == [.pursue(id)] }
            let past = desk.clock.wallTime().advanced(by: .seconds(-3600))
            try await desk.say(
                .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: past)),
                of: id
            )
            #expect(try await desk.desk.charge(id).secondsLeft == 300)
        }
    }

    @Test(arguments: [
        (Optional(Duration.seconds(4)), Int64(0)), (.milliseconds(-4900), 0), (.seconds(420), 420),
        (.seconds(-3600), -3600),
        (.seconds(1_790_000_000), 1_790_000_000), (.seconds(Int64.max / 2), 0), (nil, 0),
    ])
    func aChargeIsOpenedByTheGatewaysClock(ahead: Duration?, seconds: Int64) async throws {
        try await withDesk(gatewayAhead: { ahead }) { desk in
            let terms = try await desk.desk.open(desk.request()).charge.terms
            #expect(terms.gatewayDeadline == terms.deadline.advanced(by: .seconds(seconds)))
        }
    }
}
