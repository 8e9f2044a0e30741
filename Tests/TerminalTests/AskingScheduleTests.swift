import Payments
import Testing

@testable import Terminal

/// The table of who is asked about when, row by row.
struct AskingScheduleTests {
    private let one = ChargeID.example
    private let other = ChargeID.example

    /// Asks whenever something is due, and tells when that was.
    private func times(
        _ interest: AskingSchedule.Interest,
        until end: Duration,
        from start: Duration = .zero,
        isAnswered: (Duration) -> Bool = { _ in true }
    ) -> [Int64] {
        var schedule = AskingSchedule()
        schedule.plan(one, interest, at: start)
        var times: [Int64] = []
        while let next = schedule.next, next <= end {
            #expect(schedule.due(at: next) == [one] && schedule.due(at: next - .milliseconds(1)).isEmpty)
            times.append(next.components.seconds)
            schedule.asked(one, wasAnswered: isAnswered(next), at: next)
        }
        return times
    }

    @Test func whatTheTerminalWentOnWithoutIsAskedAboutInDoublingGapsOfTenMinutesAtMost() {
        let expected: [Int64] = [15, 45, 105, 225, 465, 945, 1545, 2145, 2745]
        #expect(times(.open, until: .seconds(3000)) == expected)
        #expect(times(.open, until: .seconds(3000), isAnswered: { _ in false }) == expected, "and never dropped")
    }

    @Test func whatIsOnTheScreenIsAskedAboutEveryTenMinutes() {
        #expect(times(.held, until: .seconds(2000)) == [600, 1200, 1800])
    }

    @Test func whatEndedWithoutMoneyIsLookedAtFiveTimesInADay() {
        #expect(times(.ended(at: .zero), until: .seconds(1_000_000)) == [60, 600, 3600, 21_600, 86_400])
        // After a restart only what is left of the day.
        #expect(
            times(.ended(at: .seconds(-3600)), until: .seconds(1_000_000), from: .seconds(5)) == [18_000, 82_800]
        )
        #expect(times(.ended(at: .seconds(-86_400)), until: .seconds(1_000_000), from: .seconds(1)).isEmpty)
    }

    @Test func aLastLookWithoutAnAnswerIsNoLook() {
        let times = times(.ended(at: .zero), until: .seconds(1_000_000), isAnswered: { $0 >= .seconds(5000) })
        #expect(times.prefix(4) == [60, 600, 1200, 1800] && times.contains(21_600) && times.last == 86_400)
        let silent = self.times(.ended(at: .zero), until: .seconds(1_000_000), isAnswered: { _ in false })
        #expect(silent.contains(86_400) && silent.contains(90_000), "an outage of a day is no answer")
        #expect(silent.last.map { $0 > 600_000 && $0 <= 604_800 } == true, "bounded also where nobody ever answers")
    }

    @Test func whatWasNotAnsweredIsDueWhenTheGatewayIsBack() {
        var schedule = AskingSchedule()
        schedule.plan(one, .open, at: .zero)
        schedule.plan(other, .open, at: .zero)
        for time in [15, 45, 105, 225, 465] {
            schedule.asked(one, wasAnswered: false, at: .seconds(time))
            schedule.asked(other, wasAnswered: true, at: .seconds(time))
        }
        #expect(schedule.due(at: .seconds(500)).isEmpty)
        schedule.silenceIsOver(at: .seconds(500))
        #expect(schedule.due(at: .seconds(500)) == [one])
    }

    /// Two payments, of which one is never answered and the other always is: each answer says that the gateway is back.
    @Test func aGatewayThatAnswersOnlySomeQuestionsIsNotAskedWithoutPause() {
        var schedule = AskingSchedule()
        schedule.plan(one, .open, at: .zero)
        schedule.plan(other, .open, at: .zero)
        var asked: [ChargeID: [Duration]] = [:]
        while let now = schedule.next, now < .seconds(3600) {
            let due = schedule.due(at: now)
            for id in due {
                asked[id, default: []].append(now)
                schedule.asked(id, wasAnswered: id == other, at: now)
            }
            if due.contains(other) { schedule.silenceIsOver(at: now) }
        }
        for times in asked.values {
            for (earlier, later) in zip(times, times.dropFirst()) { #expect(later - earlier >= .seconds(15)) }
            #expect(times.count < 16)
        }
    }

    @Test func whatHasNotChangedKeepsItsTimeAndWhatIsOverIsForgotten() {
        var schedule = AskingSchedule()
        schedule.plan(one, .held, at: .zero)
        schedule.plan(one, .held, at: .seconds(500))
        #expect(schedule.next == .seconds(600))
        schedule.plan(one, .open, at: .seconds(500))
        #expect(schedule.next == .seconds(515), "staff went on without it")
        schedule.plan(one, .ended(at: .seconds(510)), at: .seconds(510))
        schedule.plan(one, .ended(at: .seconds(560)), at: .seconds(560))
        #expect(schedule.next == .seconds(570))
        schedule.plan(one, nil, at: .seconds(560))
        #expect(schedule.next == nil && schedule == AskingSchedule())
        schedule.asked(one, wasAnswered: true, at: .seconds(600))
        #expect(schedule == AskingSchedule())
    }
}
