/// A new owner password that somebody at the terminal asks for, as everybody is told of it.
public enum OwnerReset: Sendable, Equatable {
    /// A stick is in. The code comes in so many minutes, at least 1, unless somebody ends it. → ``shown`` or gone
    case waiting(minutes: Int)
    /// The code is on the screen, or comes there once no charge is open. → gone
    case shown
}

extension ChargeDesk {
    /// Says how far a new owner password is; nil: nobody asks for one. Charges go on, and have the screen while they do.
    public func setOwnerReset(_ reset: OwnerReset?) {
        guard ownerReset != reset else { return }
        ownerReset = reset
        publish()
    }
}
