extension SignClient {
    /// Sessions that live, oldest first.
    public func getSessions() -> [Session] {
        engine.book.sessions.values.filter { !$0.isOver }.map(\.value)
            .sorted { ($0.expiry, $0.topic.text) < ($1.expiry, $1.topic.text) }
    }

    /// Pairings that live.
    public func getPairings() -> [Pairing] {
        engine.book.pairings.values.filter { !$0.isOver }.map(\.value)
            .sorted { ($0.expiry, $0.topic.text) < ($1.expiry, $1.topic.text) }
    }

    /// Ends a session, or a pairing, here at once and there as soon as the peer hears of it.
    ///
    /// An answer to an open request of ours is still taken until the request's end, and reported as any other.
    public func disconnect(topic: Topic, reason: Reason = .userDisconnected) async throws(SignError) {
        try await sending { engine throws(SignError) in try engine.disconnect(topic, reason) }
    }

    /// Asks whether the peer is there. Returns when it answered.
    /// - Throws: `noAnswer` after 30 s.
    public func ping(topic: Topic) async throws(SignError) {
        let (id, job) = try await signed { engine throws(SignError) in try engine.ping(topic) }
        try await confirmed(job)
        guard await pongs.value(for: CallKey(topic: topic, id: id)) == true else {
            throw phase == .stopped ? .stopped : .noAnswer
        }
    }

    /// Announces something on a chain of a session.
    public func emit(topic: Topic, event: Session.Event, chainId: Blockchain) async throws(SignError) {
        _ = try await sending { engine throws(SignError) in try engine.emit(topic, event, chainId) }
    }
}
