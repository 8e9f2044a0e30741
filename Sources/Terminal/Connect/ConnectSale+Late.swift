import Logging
import Payments
import WalletConnect

/// Answers of wallets, also those that nobody waits for any more.
extension ConnectSale {
    /// What an answer is to this sale.
    enum Hearing: Sendable {
        /// The sale waits for it, or has it.
        case awaited
        /// It is used where it still can be.
        case late
        /// It belongs to this charge, which has gone on.
        case over
        case unknown
    }

    /// Hears every answer that comes, whether anybody waits for it or not.
    func hear(_ response: SessionResponse) async -> Hearing {
        // Where the store cannot say whose answer it is, the station keeps it for when it can.
        if !isLoaded { try? await load() }
        if answered.contains(response.id.text) { return .awaited }
        if case .asking(let order, _, _)? = story?.stage, order.session == response.topic, givenUp != response.topic,
            !isStopped
        {
            return .awaited
        }
        if note(late: response) { return .late }
        return story?.topics.contains(response.topic) == true ? .over : .unknown
    }

    /// Takes note of an answer that may still be used. What it is worth is decided between two steps.
    @discardableResult
    func note(late response: SessionResponse) -> Bool {
        guard !isStopped, !isPaying, isOpen(response), !late.contains(response) else { return false }
        late.append(response)
        wake?.finish()
        return true
    }

    private func isOpen(_ response: SessionResponse) -> Bool {
        if let open { return open.isAnswered(by: response) }
        if case .asking(let order, _, let request?)? = story?.stage, givenUp == order.session {
            return response.topic == order.session && response.id.text == request
        }
        return false
    }

    /// Uses an answer that came after its request's end, where this charge still waits for somebody to pay.
    func take(_ response: SessionResponse) async throws(StorageFailure) {
        guard let open, open.isAnswered(by: response), !answered.contains(response.id.text), let stage = story?.stage
        else { return }  // Another wallet has agreed meanwhile.
        let result = try? ConnectChecks.result(
            response.result,
            of: open.order.calls[open.results.count],
            by: open.order.account
        )
        let results = open.results + [result].compactMap { $0 }
        guard result != nil, results.count == open.order.calls.count else {
            // Nothing more can be asked of who has left.
            self.open = nil
            do throws(StorageFailure) { try await keep(stage) } catch {
                self.open = open
                throw error
            }
            return await station.end(open.order.session, of: attempt.terms.id, .userDisconnected)
        }
        try await keep(.signed(open.order, results: results))
        answered.insert(response.id.text)
        self.open = nil
        logger.notice("a late signature is used", metadata: ["charge": "\(attempt.terms.id)"])
        // Also the wallet that came by this code meanwhile.
        if case .invited(let pairing, _) = stage {
            await station.end(pairing, of: attempt.terms.id, .userDisconnected)
        }
    }
}
