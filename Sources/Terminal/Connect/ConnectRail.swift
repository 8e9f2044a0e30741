public import Payments

/// Pay with any wallet: it pairs with the terminal over the relay and signs what the gateway asks for.
///
/// Its payment is made, followed and taken back as Scan's is; the wallet is the station's business.
/// Decided in docs/decisions/0008-the-connect-rail.md.
public struct ConnectRail: RailDriver {
    public let rail = Rail.connect
    private let station: ConnectStation
    private let payment: ScanRail

    /// - Parameter payment: The way to the gateway, for the rail `connect`.
    public init(station: ConnectStation, payment: ScanRail) {
        precondition(payment.rail == .connect, "another rail's references would mix up two payments")
        (self.station, self.payment) = (station, payment)
    }

    public func pursue(_ attempt: AttemptLink) async {
        while !Task.isCancelled, let now = await attempt.current(), now.isOpen {
            guard now.phase == .idle else {
                if await station.goesOn(attempt) { _ = await station.begin(attempt) }
                await payment.pursue(attempt)
                break
            }
            if let refusal = await station.refusal() {
                // Nothing has left: the charge goes on by its other ways.
                await attempt.record(.refused(attempt: attempt.id, refusal: refusal))
                break
            }
            let sale = await station.begin(attempt)
            for await _ in await sale.inviting() {}  // Until a proposal lies in the mailbox.
            guard !Task.isCancelled, await !isBeaten(attempt) else {
                do { try await station.clock.sleep(.seconds(2)) } catch { break }  // The attempt is over.
                continue
            }
            await payment.pursue(attempt)
        }
        await station.settle(attempt)
    }

    /// While the customer pays another way no payment is made that would only be taken back.
    private func isBeaten(_ attempt: AttemptLink) async -> Bool {
        guard let charge = await attempt.charge() else { return false }
        return charge.attempts.contains { other in
            guard other.id != attempt.id, case .offered(_, let progress) = other.phase else { return false }
            return progress.isProcessing || other.claim != nil
        }
    }

    public func withdraw(_ attempt: AttemptLink) async {
        if let sale = await station.sale(of: attempt) { await sale.stop(alsoWhilePaying: false) }
        await payment.withdraw(attempt)
    }

    public func ask(_ attempt: AttemptLink) async {
        await payment.ask(attempt)
        await station.settle(attempt)
    }

    public func canAsk(about terms: ChargeTerms) -> Bool { payment.canAsk(about: terms) }

    public func markRefunded(_ attempt: AttemptLink) async -> RefundAnswer { await payment.markRefunded(attempt) }
}
