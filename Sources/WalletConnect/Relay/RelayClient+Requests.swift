internal import StrictJSON

extension RelayClient {
    public func subscribe(topic: Topic) async throws(RelayFailure) {
        if topics[topic] == nil {
            guard topics.count < settings.subscriptionLimit else {
                throw .refused(code: -32000, reason: "more than \(settings.subscriptionLimit) subscriptions")
            }
            topics[topic] = .some(nil)
            former.remove(topic)
        }
        let answer = try await ask(.subscribe(topic: topic.text)).get()
        note([(topic, answer)])
        // What waited may have fallen between: it is asked for after the subscription, and copies are told apart.
        wantFetch([topic])
    }

    public func unsubscribe(topic: Topic) async throws(RelayFailure) {
        guard let id = topics.removeValue(forKey: topic) else { return }
        if former.count >= settings.subscriptionLimit { former = [] }
        former.insert(topic)
        _ = try await ask(.unsubscribe(RelaySubscription(topic: topic.text, id: id))).get()
    }

    public func publish(_ publication: RelayPublication) async throws(RelayFailure) {
        remember(own: RelayMark(topic: publication.topic.text, message: publication.message))
        let post = RelayPost(
            topic: publication.topic.text,
            message: publication.message,
            ttlSeconds: Int64(publication.ttlSeconds),
            tag: Int64(publication.tag),
            prompt: publication.prompt
        )
        _ = try await ask(.publish(post)).get()
        counts.published += 1
    }

    /// Publishes with the same text until the relay confirms it, over as many connections as it takes.
    /// - Throws: What the last attempt met, when the publication's time is over, when it is refused, or when the task is
    ///   cancelled.
    public func publishUntilConfirmed(_ publication: RelayPublication) async throws(RelayFailure) {
        let end = clock.elapsed() + .seconds(publication.ttlSeconds)
        var pause = Duration.milliseconds(500)
        while true {
            let failure: RelayFailure
            do throws(RelayFailure) { return try await publish(publication) } catch { failure = error }
            guard failure.isWorthRepeating, clock.elapsed() + pause < end, !Task.isCancelled else { throw failure }
            do { try await clock.sleep(pause) } catch { throw failure }
            pause = min(pause * 2, .seconds(5))
            counts.republished += 1
        }
    }

    private func remember(own mark: RelayMark) {
        guard ownMarks.insert(mark).inserted else { return }
        own.append(mark)
        guard own.count > 4096 else { return }
        for old in own.prefix(1024) { ownMarks.remove(old) }
        own.removeFirst(1024)
    }

    /// Sends one request and waits for its answer, at most as long as the settings say.
    func ask(_ call: RelayCall) async -> Result<ExactJSON, RelayFailure> {
        guard connection != nil else { return .failure(.notConnected) }
        let id = requestID()
        let text = RelayFrame.call(RelayID(id), call).text
        guard text.utf8.count <= settings.frameLimitBytes else {
            return .failure(.refused(code: -32600, reason: "more than \(settings.frameLimitBytes) bytes"))
        }
        let deadline = clock.elapsed() + settings.deadline
        return await withCheckedContinuation { answer in
            connection?.pending[id] = Pending(text: text, deadline: deadline, answer: answer)
            connection?.queue.append(id)
            sendQueued()
        }
    }

    /// A number that grows: milliseconds and six random digits. Production relays want 19 digits.
    private func requestID() -> UInt64 {
        let milliseconds = UInt64(max(0, clock.wallMilliseconds()))
        lastRequestID = max(lastRequestID + 1, milliseconds * 1_000_000 + clock.random() % 1_000_000)
        return lastRequestID
    }

    private func sendQueued() {
        while var now = connection, let first = now.queue.first,
            now.pending.count - now.queue.count < settings.outstandingLimit
        {
            now.queue.removeFirst()
            connection = now
            if let text = now.pending[first]?.text { write(text) }
        }
    }

    func write(_ text: String) {
        connection?.unwritten += 1
        connection?.outgoing.yield(text)
    }

    func answered(_ id: RelayID, _ result: Result<ExactJSON, RelayAnswerError>) {
        guard let number = id.number, let pending = connection?.pending.removeValue(forKey: number) else { return }
        switch result {
        case .success(let value): pending.answer.resume(returning: .success(value))
        case .failure(let error):
            let reason = error.tag ?? error.message
            if error.code == 3000 { connection?.verdict = .credentials(reason) }
            // What passes is for the caller as if nothing had been said: the same text again, later.
            let failure = error.isPassing ? RelayFailure.timedOut : .refused(code: error.code, reason: reason)
            pending.answer.resume(returning: .failure(failure))
        }
        sendQueued()
    }

    /// Ends the requests whose time is over.
    func endOverdueRequests() {
        let now = clock.elapsed()
        guard let overdue = connection?.pending.filter({ $0.value.deadline <= now }), !overdue.isEmpty else { return }
        for (id, pending) in overdue {
            connection?.pending[id] = nil
            pending.answer.resume(returning: .failure(.timedOut))
        }
        connection?.queue.removeAll { overdue[$0] != nil }
        counts.timeouts += overdue.count
        sendQueued()
    }

    /// The connection is over: nobody will be answered any more.
    func endConnection() {
        guard let over = connection else { return }
        connection = nil
        over.outgoing.finish()
        over.chores.finish()
        for pending in over.pending.values { pending.answer.resume(returning: .failure(.notConnected)) }
        for topic in topics.keys { topics[topic] = .some(nil) }
    }

    func note(_ subscribed: [(Topic, ExactJSON)]) {
        for case (let topic, .string(let id)) in subscribed where topics[topic] != nil { topics[topic] = id }
    }

    func wantFetch(_ topics: some Sequence<Topic>) {
        guard connection?.cannotFetch == false else { return }
        connection?.toFetch.formUnion(topics)
        connection?.chores.yield()
    }
}
