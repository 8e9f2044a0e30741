public import Payments
import WalletConnect

/// Why the terminal did not forget its wallets.
public enum ConnectForgetError: Error, Sendable, Equatable {
    /// A payment can still come from a wallet: nothing was forgotten.
    case inUse
    /// The storage failed. Whatever it still holds is used again; wallets may have been disconnected already.
    case storage(String)

    public var reason: Payments.Reason {
        switch self {
        case .inUse:
            Payments.Reason(
                code: "connect_in_use",
                message: "A charge can still be paid by a wallet. Nothing was forgotten.",
                action: "Wait for its end, then try again."
            )
        case .storage(let what):
            Payments.Reason(
                code: "connect_storage",
                message: "The terminal could not forget its wallets: \(Payments.Reason.clean(what)).",
                action: "Check the terminal’s storage, then try again."
            )
        }
    }
}

extension ConnectDesk {
    /// Forgets all pairings, sessions and keys of wallets, also those that cannot be opened any more. Wallets that are
    /// connected hear first that it is over, where the relay can be reached within ten seconds. Settings and the payments of
    /// the past stay.
    /// - Throws: ``ConnectForgetError``
    public func forgetEverything() async throws(ConnectForgetError) {
        guard await !desk.hasOpenAttempt(on: .connect) else { throw .inUse }
        let store = ConnectStore(journal: journal)
        try await station.forget { () throws(StorageFailure) in try await store.forgetEverything() }
    }
}

extension ChargeDesk {
    /// Whether a payment of this rail may still end otherwise than it stands.
    func hasOpenAttempt(on rail: Rail) -> Bool {
        charges.values.contains { charge in charge.attempts.contains { $0.rail == rail && $0.isOpen } }
    }
}

extension ConnectStation {
    /// Ends every session and pairing, stops, lets `erase` empty the store, and begins anew.
    func forget(_ erase: @Sendable () async throws(StorageFailure) -> Void) async throws(ConnectForgetError) {
        guard sales.isEmpty else { throw .inUse }
        if let engine { await takeLeave(engine) }
        let before = setup
        await use(nil)
        // A charge that was opened meanwhile has placed nothing without a connection.
        do throws(StorageFailure) { try await erase() } catch {
            await use(before)
            throw .storage(error.reason)
        }
        forgetAnswers()
        await use(before)
    }

    private func takeLeave(_ engine: ConnectEngine) async {
        let topics = await engine.client.getSessions().map(\.topic) + engine.client.getPairings().map(\.topic)
        await withTaskGroup { group in
            group.addTask {
                for topic in topics { await self.disconnect(topic, .userDisconnected, engine) }
            }
            group.addTask { [clock] in try? await clock.sleep(.seconds(10)) }  // Cancelled: all were told.
            await group.next()
            group.cancelAll()
        }
    }
}
