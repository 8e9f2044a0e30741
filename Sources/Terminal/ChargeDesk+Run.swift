import Logging
public import Payments

/// One attempt's place among the jobs, or its whole charge's where `attempt` is nil.
struct JobKey: Hashable, Sendable {
    let charge: ChargeID
    let attempt: Attempt.ID?
}

enum Job: Sendable {
    /// Begin attempts that the journal could not take at first.
    case start(ChargeID, [Rail])
    case pursue(JobKey)
    case withdraw(JobKey)
    case ask(JobKey)
    case watchDeadline(ChargeID)
    case showResult(ChargeID)
    case endNotice(PaymentNotice)
}

extension ChargeDesk {
    /// Asks about every payment that an earlier run left open, then takes charges until cancelled.
    ///
    /// Cancelling stops the asking and never a payment: the next run goes on where this one stopped.
    /// - Throws: ``JournalError`` where the journal cannot say what is open. A terminal that cannot remember must stop.
    public func run() async throws(JournalError) {
        checking = 0
        publish()
        let left = try await archive.openCharges()
        try await recallNews()
        try await recallEnded()
        checking = left.count
        if !left.isEmpty { logger.notice("asking about earlier payments", metadata: ["open": "\(left.count)"]) }
        publish()
        await withDiscardingTaskGroup { group in
            await self.settle(left)
            group.addTask { await self.reconcile() }
            group.addTask { await self.watchStorage() }
            group.addTask { await self.followRefunds() }
            for await job in self.jobs.stream {
                group.addTask { await self.perform(job) }
            }
            group.cancelAll()
        }
    }

    /// One question about each earlier payment, then the terminal is ready; what still holds it goes on.
    private func settle(_ left: [Charge]) async {
        for charge in left {
            charges[charge.id] = charge
            plan(charge)
            let remaining = clock.wallTime().duration(to: charge.terms.deadline)
            // A wall clock that is wrong must not give more time than the charge ever had.
            deadlines[charge.id] = clock.elapsed() + min(max(remaining, .zero), .seconds(charge.terms.timeLimitSeconds))
            shortenQuietly(charge.id, by: charge.attempts.compactMap(\.offer))
        }
        // The charge that was on the screen comes back to it, also if it has ended meanwhile: somebody waits for its result.
        shown = left.last(where: \.holdsTerminal)?.id
        unresumed = Set(left.map(\.id))
        isLoaded = true
        await withDiscardingTaskGroup { questions in
            for charge in left {
                questions.addTask {
                    await self.resume(charge.id)
                    await self.countDown()
                }
            }
        }
        checking = nil
        for earlier in left {
            guard let charge = charges[earlier.id] else { continue }
            if charge.holdsTerminal {
                jobs.continuation.yield(.watchDeadline(charge.id))
                if charge.attempts.isEmpty { jobs.continuation.yield(.start(charge.id, railsInOrder)) }
                for attempt in charge.attempts where attempt.isOpen {
                    jobs.continuation.yield(.pursue(JobKey(charge: charge.id, attempt: attempt.id)))
                }
            } else if shown != charge.id, !charge.attempts.contains(where: \.isOpen) {
                forget(charge.id)
            }
        }
        publish()
    }

    private func countDown() {
        checking = checking.map { max(0, $0 - 1) }
        publish()
    }

    private func resume(_ id: ChargeID) async {
        let resumed = await apply(.resumed, to: id)
        unresumed.remove(id)
        guard var charge = resumed else { return }
        if charge.attempts.isEmpty {
            // An earlier version stopped between opening and the first attempt: nothing has left, so it can simply begin.
            _ = await start(railsInOrder, of: id)
            charge = charges[id] ?? charge
        }
        if let deadline = deadlines[id], deadline <= clock.elapsed() {
            charge = await apply(.deadlineReached, to: id) ?? charge
        }
        for attempt in charge.attempts where attempt.isOpen {
            await ask(JobKey(charge: id, attempt: attempt.id))
        }
    }

    private func perform(_ job: Job) async {
        switch job {
        case .start(let id, let rails): await keepStarting(rails, of: id)
        case .pursue(let key): await once(key) { await $0.pursue($1) }
        case .withdraw(let key): await withdraw(key)
        case .ask(let key): await ask(key)
        case .watchDeadline(let id): await watchDeadline(id)
        case .showResult(let id): await showResult(id)
        case .endNotice(let notice): await endNotice(notice)
        }
    }

    /// Always the same order, so that an attempt keeps its number over a restart.
    var railsInOrder: [Rail] { Rail.allCases.filter { drivers[$0] != nil } }

    /// Begins one attempt on each rail; nothing leaves for one that is not recorded. False where one still has to begin.
    func start(_ rails: [Rail], of id: ChargeID) async -> Bool {
        for (index, rail) in rails.enumerated() {
            guard let charge = charges[id], charge.canStart else { return true }
            guard charge.attempt(index + 1) == nil else { continue }
            let after = await apply(.attemptStarted(attempt: index + 1, rail: rail), to: id)
            if let after, after.attempt(index + 1) == nil, after.canStart { return false }
        }
        return true
    }

    /// Tries again until the journal takes it: a charge without an attempt would stand on the screen till its time is over.
    private func keepStarting(_ rails: [Rail], of id: ChargeID) async {
        repeat {
            do { try await clock.sleep(.seconds(2)) } catch { return }  // The terminal stops; the next run begins it.
        } while await !start(rails, of: id)
    }

    /// Runs a rail's work for an attempt until it returns or the attempt is over; never twice at once.
    private func once(_ key: JobKey, _ work: @escaping @Sendable (any RailDriver, AttemptLink) async -> Void) async {
        guard let (driver, link) = way(to: key), running.insert(key).inserted else { return }
        let over = ending(of: key)
        await withTaskGroup { group in
            group.addTask { await work(driver, link) }
            group.addTask { for await _ in over {} }
            await group.next()
            group.cancelAll()
        }
        running.remove(key)
    }

    private func withdraw(_ key: JobKey) async {
        let marker = JobKey(charge: key.charge, attempt: key.attempt.map { -$0 })
        guard let (driver, link) = way(to: key), running.insert(marker).inserted else { return }
        await driver.withdraw(link)
        running.remove(marker)
    }

    /// One question about an attempt; also about one that has ended, where somebody could have paid it all the same.
    func ask(_ key: JobKey) async {
        // Where the journal cannot say what is asked about, the schedule tries again.
        guard let charge = try? await current(key.charge), let (driver, link) = way(to: key, of: charge) else { return }
        await driver.ask(link)
    }

    /// The rail of an open attempt of a charge at the desk.
    private func way(to key: JobKey) -> (any RailDriver, AttemptLink)? {
        guard let charge = charges[key.charge], key.attempt.flatMap(charge.attempt)?.isOpen == true else { return nil }
        return way(to: key, of: charge)
    }

    /// The rail of an attempt. Without one, because the settings have changed, the question stays open.
    func way(to key: JobKey, of charge: Charge) -> (any RailDriver, AttemptLink)? {
        guard let id = key.attempt, let attempt = charge.attempt(id) else { return nil }
        guard let driver = drivers[attempt.rail] ?? followers[attempt.rail] else {
            logger.warning(
                "no way to ask about a payment: the rail is switched off",
                metadata: ["charge": "\(charge.id)"]
            )
            return nil
        }
        let link = AttemptLink(
            terms: charge.terms,
            id: id,
            read: { (try? await self.current(key.charge))?.attempt(id) },
            write: { event in await self.take(event, of: key.charge)?.attempt(id) },
            charge: { try? await self.current(key.charge) },
            claim: { tip in await self.claim(id, of: key.charge, tipMinorUnits: tip) },
            claimNow: { tip, records in
                await self.claimNow(id, of: key.charge, tipMinorUnits: tip, keeping: records)
            },
            light: { await self.setGateway($0) },
            hinder: { await self.setHindrance($0, of: key) }
        )
        return (driver, link)
    }

    /// The cause of a silence about a charge, where it is known.
    func hindrance(of charge: Charge) -> AskingHindrance? {
        for attempt in charge.attempts where attempt.isOpen && attempt.isSilent || attempt.askedRefund != nil {
            guard let driver = drivers[attempt.rail] ?? followers[attempt.rail] else { continue }
            guard driver.canAsk(about: charge.terms) else { return .elsewhere }
            if let known = hindrances[JobKey(charge: charge.id, attempt: attempt.id)] { return known }
        }
        return nil
    }

    /// Takes the cause of a silence about an open attempt; nil where the silence is over, or its cause is not known.
    private func setHindrance(_ hindrance: AskingHindrance?, of key: JobKey) {
        guard charges[key.charge] != nil, hindrances[key] != hindrance else { return }
        hindrances[key] = hindrance
        publish()
    }

    /// Records what a rail has to say. An answer counts as one once it is in the journal.
    private func take(_ event: Charge.Event, of id: ChargeID) async -> Charge? {
        do throws(JournalError) {
            let charge = try await record(event, of: id)
            switch event {
            case .offered, .reported, .notFound, .refused: note(true, of: id)
            case .notSent, .silent: note(false, of: id)
            default: break
            }
            return charge
        } catch {
            return try? await current(id)  // The rail acts on nothing that is not recorded, and asks again.
        }
    }

    /// Keeps an answer for whoever asks about this charge now; of all others there is nothing to keep.
    private func note(_ wasAnswered: Bool, of id: ChargeID) {
        if answered[id] != nil { answered[id] = wasAnswered }
    }

    /// Source: WalletConnect Pay API 2026-02-19.preview, the codes of HTTP 401 and 403.
    static func isAboutCredentials(_ code: String) -> Bool {
        [
            "missing_api_key", "invalid_api_key", "missing_merchant_id", "missing_merchant_api_key", "unauthorized",
            "forbidden", "merchant_not_found", "not_sandbox_api_key",
        ].contains(code)
    }

    private func watchDeadline(_ id: ChargeID) async {
        guard let deadline = deadlines[id] else { return }
        let over = ending(of: JobKey(charge: id, attempt: nil))
        await withTaskGroup { group in
            group.addTask {
                do {
                    try await self.clock.sleep(max(.zero, deadline - self.clock.elapsed()))
                    // Again while the journal cannot take it: a deadline that is lost would hold the terminal for ever.
                    while await self.apply(.deadlineReached, to: id)?.isPastDeadline == false {
                        try await self.clock.sleep(.seconds(2))
                    }
                } catch {
                    // Cancelled: the charge ended first, or the terminal stops.
                }
            }
            group.addTask { for await _ in over {} }
            await group.next()
            group.cancelAll()
        }
    }

    private func showResult(_ id: ChargeID) async {
        guard let charge = charges[id] else { return }
        results += 1
        let result = results
        do {
            try await clock.sleep(charge.state.isFinal ? resultTimes.ended : resultTimes.unknown)
        } catch {
            return  // The terminal stops.
        }
        if result == results { clearResult(of: id) }
    }
}
