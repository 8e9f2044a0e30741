public import Payments

/// The page that a customer's own phone opens for one charge, and whether the screen leads there.
public struct CustomerPageLink: Sendable, Equatable {
    /// `https://…`, hard to guess: who has it may look at this one charge.
    public let address: String
    /// Whether the screen's code is this address instead of the payment's own link.
    public let isOnScreen: Bool
}

/// Customers' own pages, as the charge desk needs to know of them.
public struct CustomerPages: Sendable {
    private let isOnScreen: Bool
    private let address: @Sendable (ChargeID) -> String
    private let pairing: @Sendable (ChargeID) async -> String?

    /// - Parameters:
    ///   - isOnScreen: Whether the screen's code leads to the page.
    ///   - address: Where the page of a charge is.
    ///   - pairing: The pairing URI by which any wallet can connect for a charge; nil where there is none now. It holds a
    ///     key: it goes to the page of this charge and into no log.
    public init(
        isOnScreen: Bool,
        address: @escaping @Sendable (ChargeID) -> String,
        pairing: @escaping @Sendable (ChargeID) async -> String? = { _ in nil }
    ) {
        (self.isOnScreen, self.address, self.pairing) = (isOnScreen, address, pairing)
    }

    func link(for charge: Charge) -> CustomerPageLink? {
        let isPayable = charge.attempts.contains { $0.isOpen && $0.rail != .tap && $0.offer?.link != nil }
        guard isPayable else { return nil }
        return CustomerPageLink(address: address(charge.id), isOnScreen: isOnScreen)
    }

    func pairing(for id: ChargeID) async -> String? { await pairing(id) }
}

extension ChargeDesk {
    /// Takes how customers get a page of their own; nil: they get none.
    public func use(_ pages: CustomerPages?) {
        self.pages = pages
        publish()
    }

    /// How long an ended charge can still be looked at.
    static let pageOutlives = Duration.seconds(600)
    /// How long a charge can be looked at of which nobody knows the end.
    static let pageOfUnknown = Duration.seconds(86_400)

    /// What the customer of a charge may see; nil once that is over, or where there is no such charge.
    /// - Throws: ``JournalError``: it cannot be said now.
    public func customerView(of id: ChargeID) async throws(JournalError) -> CustomerView? {
        guard let pages else { return nil }
        let snapshot: ChargeSnapshot
        do throws(ChargeRefusal) { snapshot = try await charge(id) } catch {
            if case .journal(let fault) = error { throw fault }
            return nil
        }
        let (since, limit) =
            snapshot.charge.state.isFinal
            ? (snapshot.updatedAt, Self.pageOutlives) : (snapshot.charge.terms.openedAt, Self.pageOfUnknown)
        guard since.duration(to: clock.wallTime()) < limit else { return nil }
        let pairing = snapshot.link == nil ? nil : await pages.pairing(for: id)
        return CustomerView(of: snapshot, trouble: trouble, pairing: pairing, at: clock.elapsed())
    }
}
