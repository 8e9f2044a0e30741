import Foundation
import Journal
import Logging
import Payments
import Terminal

/// Sending: each webhook has a task of its own, and each message waits for the one before it.
extension WebhookDesk {
    /// Entries that are looked at in one step: what was missed for days is never in memory whole.
    private static let step = 64
    /// Of entries that nobody wanted, so many may be looked at again after a restart.
    private static let mostUnsaved: Int64 = 256
    private static let pauseAfterFault = Duration.seconds(60)

    /// Sends until cancelled. A charge never waits for it.
    func run() async {
        for hook in hooks { starts.continuation.yield(hook.id) }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.listen() }
            for await id in starts.stream { group.addTask { await self.serve(id) } }
            group.cancelAll()
        }
    }

    /// The desk's changes say only that there is something to be read: whoever misses some reads it all the same.
    private func listen() async {
        while !Task.isCancelled {
            for await _ in await desk.follow(after: nil).next { for hook in hooks { ring(hook.id) } }
            for hook in hooks { ring(hook.id) }
        }
    }

    private func serve(_ id: String) async {
        // Made before the desk ran, it is among those at the start too.
        guard bells[id] == nil else { return }
        let bell = Bell()
        bells[id] = bell
        defer { bells[id] = nil }
        while !Task.isCancelled, hook(id) != nil {
            let rung = bell.rings
            if let pause = await work(id) { await bell.wait(since: rung, atMost: pause.limit, by: clock) }
        }
    }

    /// Until there is news, and no longer than the limit where there is one.
    private struct Pause { var limit: Duration? }

    /// - Returns: Nil where there may be more to do at once.
    private func work(_ id: String) async -> Pause? {
        guard isActive(id), let sequence = progress[id]?.sequence else { return Pause() }
        let now = clock.elapsed()
        if let due = due[id], due > now { return Pause(limit: due - now) }
        let entries: [ToldEntry]
        do throws(JournalError) { entries = try await books.told(after: sequence, limit: Self.step) } catch {
            logger.warning("webhooks wait: the journal cannot be read", metadata: ["error": "\(error)"])
            return Pause(limit: Self.pauseAfterFault)
        }
        guard !entries.isEmpty else { return Pause() }
        var hasSent = false
        for entry in entries {
            guard isActive(id), let hook = hook(id) else { break }
            if hook.events.contains(WebhookEvent(entry)) {
                guard await send(entry, to: hook) else { return nil }
                hasSent = true
            } else {
                progress[id]?.sequence = entry.sequence
            }
        }
        let unsaved = (progress[id]?.sequence ?? 0) - (saved[id] ?? 0)
        if hasSent || unsaved >= Self.mostUnsaved { await keep() }
        return nil
    }

    private func isActive(_ id: String) -> Bool {
        guard isReadable, let hook = hook(id), let progress = progress[id] else { return false }
        return !hook.isPaused && progress.off == nil
    }

    /// - Returns: Whether it has arrived.
    private func send(_ entry: ToldEntry, to hook: Webhook) async -> Bool {
        let message = WebhookMessage(
            entry,
            journal: names?.name(of: entry.sequence) ?? "",
            audit: await books.auditEndToTell()
        )
        let result = await post(message, to: hook)
        // Told to stop in the middle of it: the next start asks again.
        if result.failure != nil, Task.isCancelled { return false }
        guard var own = progress[hook.id] else { return false }  // Deleted meanwhile.
        let isAtStart = untried.remove(hook.id) != nil
        let now = clock.wallTime()
        guard let failure = result.failure else {
            own.arrived(entry.sequence, at: now)
            progress[hook.id] = own
            due[hook.id] = nil
            return true
        }
        let delay = own.fail(
            failure,
            at: now,
            retryAfter: result.retryAfter,
            chance: .random(in: 0...1),
            isAtStart: isAtStart
        )
        progress[hook.id] = own
        due[hook.id] = delay.map { clock.elapsed() + $0 }
        logger.notice(
            "a webhook’s message did not arrive",
            metadata: ["to": "\(hook.place)", "why": "\(failure.kind.rawValue)", "tries": "\(own.failures)"]
        )
        await keep()
        if let off = own.off { await noteOff(hook, off) }
        return false
    }

    private func noteOff(_ hook: Webhook, _ off: WebhookProgress.Off) async {
        let entry = AuditEntry(
            at: clock.wallTime(),
            who: .terminal,
            from: "",
            what: "webhook.off",
            result: "failed",
            detail: "\(hook.id) \(hook.place) \(off.rawValue)"
        )
        do throws(JournalError) { try await journal.audit(entry) } catch {
            logger.error(
                "a webhook was switched off, and the audit log does not take it",
                metadata: ["error": "\(error)"]
            )
        }
    }

    private func post(
        _ message: WebhookMessage,
        to hook: Webhook
    ) async -> (failure: WebhookFailure?, retryAfter: Int64?) {
        let stored: [UInt8]?
        do throws(JournalError) { stored = try await journal.secret(hook.secretName) } catch {
            logger.error("a webhook’s secret cannot be read", metadata: ["error": "\(error)"])
            stored = nil
        }
        guard let secret = stored, let carrier else { return (WebhookFailure(.noSecret), nil) }
        let headers = message.headers(signedWith: secret, at: clock.wallTime()) + [("User-Agent", agent)]
        let answer = await carrier.post(hook.url, headers: headers, body: Array(message.body.utf8))
        var retryAfter: Int64?
        if case .status(_, let seconds) = answer { retryAfter = seconds }
        return (WebhookFailure(answer), retryAfter)
    }

    /// Sends a message that says nothing. Where it arrives, what waits is sent at once.
    /// - Returns: Why it did not arrive; nil where it did.
    func test(_ id: String) async throws(Problem) -> WebhookFailure? {
        let hook = try known(id)
        let message = WebhookMessage(testAt: clock.wallTime(), id: "test-\(Self.random(9))")
        let failure = await post(message, to: hook).failure
        if failure == nil, isActive(id) {
            progress[id]?.noteAnswer()
            due[id] = nil
            ring(id)
        }
        return failure
    }

    /// Pauses between tries of what happens to the terminal.
    private static let tellPauses: [Duration] = [.seconds(5), .seconds(30), .seconds(120), .seconds(300)]

    /// Tells every webhook that is not held back of what happens to the terminal, whatever charges it chose: whoever takes the
    /// terminal over must not be able to do it unheard. Tried five times within eight minutes, and not kept over a restart.
    func tell(_ type: String, _ data: JSON) async {
        let message = WebhookMessage(type, data, at: clock.wallTime(), id: "terminal-\(Self.random(9))")
        await withDiscardingTaskGroup { group in
            for hook in hooks where isActive(hook.id) { group.addTask { await self.tell(message, to: hook) } }
        }
    }

    private func tell(_ message: WebhookMessage, to hook: Webhook) async {
        var pauses = Self.tellPauses.makeIterator()
        while self.hook(hook.id) != nil, let failure = await post(message, to: hook).failure {
            guard let pause = pauses.next() else {
                logger.warning(
                    "a webhook was not told of what happens to the terminal",
                    metadata: ["to": "\(hook.place)", "why": "\(failure.kind.rawValue)"]
                )
                return
            }
            do { try await clock.sleep(pause) } catch { return }  // The terminal stops.
        }
    }

    /// There is news for it.
    func ring(_ id: String) { bells[id]?.ring() }

    // MARK: - How it stands

    /// One webhook as it stands now.
    struct Standing: Sendable {
        let hook: Webhook
        let progress: WebhookProgress
        /// How many of the journal's entries it is behind, wanted or not.
        let behind: Int64
        /// Until it is tried again; nil where it does not wait.
        let wait: Duration?
    }

    /// In the order in which they were made.
    func standing() async throws(JournalError) -> [Standing] {
        let newest = try await books.lastSequence()
        let now = clock.elapsed()
        return hooks.map { hook in
            let own = progress[hook.id] ?? WebhookProgress(after: hook.after)
            let wait = isActive(hook.id) ? due[hook.id].map { max($0 - now, .zero) } : nil
            return Standing(hook: hook, progress: own, behind: max(0, newest - own.sequence), wait: wait)
        }
    }

    /// What health says of them; nil where there are none.
    func health() -> HealthCheck? {
        let action = "Look at the webhooks."
        guard isReadable else {
            return HealthCheck(
                "webhooks",
                .note,
                "health_webhooks_unreadable",
                "The webhooks cannot be read. None is sent.",
                "Update the terminal."
            )
        }
        guard !hooks.isEmpty else { return nil }
        let all = hooks.compactMap { progress[$0.id] }
        let (off, failing) = (all.count { $0.off != nil }, all.count { $0.off == nil && $0.failed != nil })
        if off > 0 {
            let words = "Webhooks that were switched off: \(off)."
            return HealthCheck("webhooks", .note, "health_webhooks_off", words, action, ["count": "\(off)"])
        }
        if failing > 0 {
            let words = "Webhooks whose messages do not arrive: \(failing). They are sent again."
            return HealthCheck("webhooks", .note, "health_webhooks_failing", words, action, ["count": "\(failing)"])
        }
        return hooks.allSatisfy(\.isPaused)
            ? HealthCheck("webhooks", .off, "health_webhooks_paused", "All webhooks are paused.")
            : HealthCheck("webhooks", .good, "health_webhooks_good", "Webhooks arrive.")
    }
}
