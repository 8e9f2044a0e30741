import Executors
import Journal
import Logging
import Payments

/// What happens to a charge goes through here: into the journal first, then into everything that follows from it.
extension ChargeDesk {
    /// Records an event and does what the charge then asks for. Returns the charge after it, unchanged where the journal
    /// could not take it; the rails come back with the authority's word until it can.
    @discardableResult
    func apply(_ event: Charge.Event, to id: ChargeID) async -> Charge? {
        do throws(JournalError) { return try await record(event, of: id) } catch { return charges[id] }
    }

    /// As ``apply(_:to:)``, for those who must know.
    /// - Returns: Nil where there is no such charge.
    /// - Throws: ``JournalError``: it has not happened.
    func record(_ event: Charge.Event, of id: ChargeID) async throws(JournalError) -> Charge? {
        try await record([event], of: id) { _, _ in nil }?.charge
    }

    /// Records events one after the other, in one step with what a rail keeps of them: all of it or nothing.
    /// - Parameters:
    ///   - kept: What belongs to them, from the charge before and after; nil where it does not come to that. Where something
    ///     is kept a customer waits, and hears of it first: everybody else is told next, and before anything else is recorded.
    /// - Returns: Nil where there is no such charge; else the charge, and whether what the rail keeps was kept.
    func record(
        _ events: [Charge.Event],
        of id: ChargeID,
        with kept: (_ before: Charge, _ after: Charge) -> ClaimRecords?
    ) async throws(JournalError) -> (charge: Charge, isKept: Bool)? {
        await writing.enter()
        var isToldLater = false
        defer { if !isToldLater { writing.leave() } }
        guard let charge = try await current(id) else { return nil }
        var steps = Steps(charge)
        do throws(JournalError) {
            for event in try await held(events, against: charge) { steps.take(event) }
        } catch {
            miss(events, of: id, error)
            throw error
        }
        let records = kept(charge, steps.charge)
        if let records { steps.take(records.following) }
        guard !steps.events.isEmpty else {
            // Said again what stands in the journal already: nothing about it is missing, where an answer would be taken.
            if fault == nil {
                for event in events { missing.heard(event, charge) }
            }
            tellRecording()
            return (charge, false)
        }
        let next = steps.charge
        let now = clock.wallTime()
        do throws(JournalError) {
            try await archive.append(steps.events, to: next, at: now, with: records?.notes ?? TapNotes())
        } catch {
            miss(steps.events, of: id, error)
            throw error
        }
        fault = nil
        for event in steps.events { missing.heard(event, next) }
        // One that had ended and was forgotten comes back only where something of it is open again.
        if charges[id] != nil || next.attempts.contains(where: \.isOpen) {
            charges[id] = next
            updated[id] = now
            if next.state == .processing, charge.state != .processing { processingSince[id] = clock.elapsed() }
        }
        guard let records else {
            tell(steps, from: charge, at: now)
            return (next, false)
        }
        isToldLater = true
        // Not structured: it waits until the rail has spoken to the customer, which needs no word of anybody's.
        Task(executorPreference: preferredTaskExecutor) {
            await self.tell(steps, from: charge, at: now, after: records.isTold)
        }
        return (next, true)
    }

    private func tell(_ steps: Steps, from charge: Charge, at now: WallTime, after isTold: AsyncStream<Never>) async {
        for await _ in isTold {}
        tell(steps, from: charge, at: now)
        writing.leave()
    }

    /// Tells everybody what has been recorded, and begins what it asks for.
    func tell(_ steps: Steps, from charge: Charge, at now: WallTime) {
        let (id, next) = (charge.id, steps.charge)
        for step in steps.taken {
            if case .offered(_, let offer) = step.event { shorten(id, by: offer) }
            meter.note(step.event, step.before, step.after, at: clock.elapsed())
            log(step.event, step.before, step.after)
        }
        for attempt in next.attempts where !attempt.isOpen { end(JobKey(charge: id, attempt: attempt.id)) }
        for action in steps.actions { perform(action, of: next) }
        notice(charge, next, at: now)
        if shown == id, !next.holdsTerminal, next.state != charge.state || charge.holdsTerminal {
            jobs.continuation.yield(.showResult(id))
        }
        plan(next)
        tellRecording()
        if shown != id, !next.holdsTerminal, !next.attempts.contains(where: \.isOpen) { forget(id) }
        publish()
        changes.add(next, at: now)
    }

    /// The charge as it stands, also where it has ended and only the journal has it.
    func current(_ id: ChargeID) async throws(JournalError) -> Charge? {
        if let charge = charges[id] { return charge }
        return try await archive.record(of: id)?.charge
    }

    private func perform(_ action: Charge.Action, of charge: Charge) {
        switch action {
        case .pursue(let attempt): jobs.continuation.yield(.pursue(JobKey(charge: charge.id, attempt: attempt)))
        case .withdraw(let attempt): jobs.continuation.yield(.withdraw(JobKey(charge: charge.id, attempt: attempt)))
        case .ask(let attempt): jobs.continuation.yield(.ask(JobKey(charge: charge.id, attempt: attempt)))
        case .freeTerminal:
            end(JobKey(charge: charge.id, attempt: nil))
            for attempt in charge.attempts { end(JobKey(charge: charge.id, attempt: attempt.id)) }
        case .followInBackground: break  // By the schedule, as everything that is open.
        case .alarmPaidTwice(let attempt):
            logger.critical(
                "paid more than once: give the later payment back",
                metadata: ["charge": "\(charge.id)", "attempt": "\(attempt)"]
            )
        }
    }

    /// A stream that ends when the job's attempt or charge does.
    func ending(of key: JobKey) -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        endings[key, default: []].append(continuation)
        return stream
    }

    private func end(_ key: JobKey) {
        for continuation in endings.removeValue(forKey: key) ?? [] { continuation.finish() }
    }

    /// Drops a charge that has ended and is not on the screen any more. The journal keeps it.
    func forget(_ id: ChargeID) {
        charges[id] = nil
        updated[id] = nil
        deadlines[id] = nil
        readableOnScreen[id] = nil
        for key in hindrances.keys where key.charge == id { hindrances[key] = nil }
        processingSince[id] = nil
        meter.forget(id)
        turned.remove(id)
        end(JobKey(charge: id, attempt: nil))
    }

    private func log(_ event: Charge.Event, _ before: Charge, _ after: Charge) {
        var metadata: Logger.Metadata = ["charge": "\(after.id)", "state": "\(after.state.rawValue)"]
        switch event {
        case .silent(_, let reason), .notSent(_, let reason): metadata["reason"] = "\(Reason.clean(reason))"
        case .refused(_, let refusal): metadata["reason"] = "\(Reason.clean(refusal.code))"
        case .reported(_, .contradictory(let what)):
            metadata["reason"] = "\(Reason.clean(what))"
            logger.error("an answer does not fit the charge and is not booked", metadata: metadata)
        default: break
        }
        if before.state != after.state {
            logger.info("charge is now \(after.state.rawValue)", metadata: metadata)
        } else if after.isUnresolved, !before.isUnresolved {
            logger.warning("the gateway does not answer", metadata: metadata)
        } else {
            logger.debug("charge event", metadata: metadata)
        }
    }
}

/// Events that are recorded together, with the charge before and after each.
struct Steps: Sendable {
    private(set) var charge: Charge
    private(set) var taken: [(event: Charge.Event, before: Charge, after: Charge)] = []
    private(set) var actions: [Charge.Action] = []

    init(_ charge: Charge) { self.charge = charge }

    var events: [Charge.Event] { taken.map(\.event) }

    /// What changes nothing and asks for nothing is not worth a line in a journal that is kept for ever.
    mutating func take(_ event: Charge.Event) {
        var next = charge
        let asked = next.handle(event)
        guard next != charge || !asked.isEmpty else { return }
        taken.append((event, charge, next))
        actions += asked
        charge = next
    }
}
