public import Payments
import Screen

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
    private let address: @Sendable (ChargeID) -> String?

    /// - Parameters:
    ///   - isOnScreen: Whether the screen's code leads to the page.
    ///   - address: Where the page of a charge is; nil while no phone could reach it.
    public init(isOnScreen: Bool, address: @escaping @Sendable (ChargeID) -> String?) {
        (self.isOnScreen, self.address) = (isOnScreen, address)
    }

    /// Nil while there is nothing to pay with: then the page would lead nowhere.
    func link(for snapshot: ChargeSnapshot) -> CustomerPageLink? {
        guard snapshot.link != nil, let address = address(snapshot.id) else { return nil }
        return CustomerPageLink(address: address, isOnScreen: isOnScreen)
    }
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
    /// - Parameter acceptLanguage: The header by that name of who asks; the screen's language where it names none of ours.
    /// - Throws: ``JournalError``: it cannot be said now.
    public func customerView(of id: ChargeID, acceptLanguage: String? = nil) async throws(JournalError) -> CustomerView?
    {
        guard pages != nil else { return nil }
        let snapshot: ChargeSnapshot
        do throws(ChargeRefusal) { snapshot = try await charge(id) } catch {
            switch error {
            case .journal(let fault): throw fault
            // Not over: the page asks again.
            case .starting: throw .unavailable(detail: "the terminal is starting")
            default: return nil
            }
        }
        let (since, limit) =
            snapshot.charge.state.isFinal
            ? (snapshot.updatedAt, Self.pageOutlives) : (snapshot.charge.terms.openedAt, Self.pageOfUnknown)
        guard since.duration(to: clock.wallTime()) < limit else { return nil }
        let text = ScreenText.preferred(acceptLanguage) ?? .inLanguage(settings?.language ?? "")
        return CustomerView(of: snapshot, trouble: fault?.reason, at: clock.elapsed(), text: text)
    }
}
