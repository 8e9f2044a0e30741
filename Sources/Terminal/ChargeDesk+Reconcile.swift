import Logging
import Payments

/// Asking about payments that nobody at the terminal waits for, in one place and by one schedule.
extension ChargeDesk {
    /// Asks by the schedule until cancelled. One question at a time: the gateway serves customers too.
    func reconcile() async {
        while !Task.isCancelled {
            for id in schedule.due(at: clock.elapsed()) {
                await askAgain(id)
                guard !Task.isCancelled else { return }
            }
            await sleepUntilDue()
        }
    }

    /// One question about each attempt of a charge that could bring news.
    func askAgain(_ id: ChargeID) async {
        answered[id] = false
        // Where the journal cannot say, nothing is asked, and that counts as no answer.
        for attempt in (try? await current(id))?.attempts ?? [] where attempt.isWorthAsking {
            await ask(JobKey(charge: id, attempt: attempt.id))
        }
        let wasAnswered = answered.removeValue(forKey: id) ?? false
        schedule.asked(id, wasAnswered: wasAnswered, at: clock.elapsed())
    }

    /// One question about every attempt of a charge that is not paid, however it ended: somebody says that it was.
    func askNow(_ id: ChargeID) async {
        for _ in 1...2 {
            for attempt in (try? await current(id))?.attempts ?? [] {
                await ask(JobKey(charge: id, attempt: attempt.id))
            }
            // A payment that was looked up has a name now, and only then a status.
            guard charges[id]?.attempts.contains(where: \.isOpen) == true else { return }
        }
    }

    /// Takes up what ended without money shortly before the terminal stopped.
    func recallEnded() async throws(JournalError) {
        let now = clock.wallTime()
        let since = now.advanced(by: .zero - AskingSchedule.lastLook)
        for (charge, time) in try await archive.unpaid(since: since) {
            guard charge.attempts.contains(where: \.isWorthAsking) else { continue }
            // A wall clock that was set back must not make it end in the future.
            let age = max(.zero, time.duration(to: now))
            schedule.plan(charge.id, .ended(at: clock.elapsed() - age), at: clock.elapsed())
        }
    }

    /// Puts a charge as it is now into the schedule.
    func plan(_ charge: Charge) {
        let interest: AskingSchedule.Interest?
        if charge.attempts.contains(where: \.isOpen) {
            interest = charge.holdsTerminal ? .held : .open
        } else if charge.attempts.contains(where: \.isWorthAsking) {
            interest = .ended(at: clock.elapsed())
        } else {
            interest = nil
        }
        change { $0.plan(charge.id, interest, at: clock.elapsed()) }
    }

    /// The gateway was silent and answers again.
    func silenceIsOver() {
        change { $0.silenceIsOver(at: clock.elapsed()) }
    }

    /// Changes the schedule, and wakes the one who asks where something is due earlier than before.
    private func change(_ body: (inout AskingSchedule) -> Void) {
        let before = schedule.next
        body(&schedule)
        guard let next = schedule.next, before.map({ next < $0 }) ?? true else { return }
        alarm?.finish()
    }

    private func sleepUntilDue() async {
        let (woken, alarm) = AsyncStream<Never>.makeStream()
        self.alarm = alarm
        let due = schedule.next
        await withTaskGroup { group in
            if let due {
                // Cancelled: the alarm was first.
                group.addTask { [clock] in try? await clock.sleep(max(.zero, due - clock.elapsed())) }
            }
            group.addTask { for await _ in woken {} }
            await group.next()
            group.cancelAll()
        }
        self.alarm = nil
    }
}
