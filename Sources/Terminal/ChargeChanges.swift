public import Payments

/// One change of a charge, in as many words as it takes to know whether to ask for the whole.
public struct ChargeChange: Sendable, Equatable {
    /// Of the desk's own stream, from 1 at each start; of what is told from the journal, the entry's number.
    public let number: Int
    public let id: ChargeID
    public let code: ChargeCode
    public let state: Charge.State
    public let reference: String?
    public let total: Money
    public let isUnresolved: Bool
    public let isLate: Bool
    public let isPromised: Bool
    public let openedBy: Actor
    public let at: WallTime

    /// - Parameters:
    ///   - charge: As it is after the change.
    ///   - isUnresolved: Whether nobody can say how it stands although the charge itself does not say so: an answer is not recorded.
    public init(number: Int, charge: Charge, at time: WallTime, isUnresolved: Bool = false) {
        (self.number, at) = (number, time)
        (id, code, state) = (charge.id, charge.terms.code, charge.state)
        (reference, total) = (charge.terms.reference, charge.total)
        (isLate, isPromised) = (charge.isLate, charge.isPromised)
        self.isUnresolved = isUnresolved || charge.isUnresolved
        openedBy = charge.terms.openedBy
    }
}

/// The last changes of this run, and who waits for the next. A value of the desk's.
struct ChargeChanges {
    /// Changes remembered for those who come back.
    static let capacity = 128
    /// Changes that somebody may be behind. Whoever is further behind is let go, and comes back by the number.
    static let backlog = 64

    private(set) var last = 0
    private var ring: [ChargeChange] = []
    private let followers = Listeners<ChargeChange>(.upTo(Self.backlog))

    mutating func add(_ charge: Charge, at time: WallTime, isUnresolved: Bool = false) {
        last += 1
        let change = ChargeChange(number: last, charge: charge, at: time, isUnresolved: isUnresolved)
        ring.append(change)
        if ring.count > Self.capacity { ring.removeFirst() }
        followers.tell(change)
    }

    /// What came after that number; nil where some of it is forgotten, or the number is of another run.
    func missed(after number: Int) -> [ChargeChange]? {
        guard (0...last).contains(number), number >= last - ring.count else { return nil }
        return ring.filter { $0.number > number }
    }

    func follow() -> AsyncStream<ChargeChange> { followers.join() }
}

/// Where somebody who follows charges stands.
public struct ChargeFollowing: Sendable {
    /// The changes after the number that was named; nil where they are not all known any more, or none was named.
    public let missed: [ChargeChange]?
    /// The number of the last change before `next`.
    public let last: Int
    /// Each later change. Ends where its reader is too far behind.
    public let next: AsyncStream<ChargeChange>
}

extension ChargeDesk {
    /// Each change of each charge from now on, and what was missed since the change of that number.
    public func follow(after number: Int?) -> ChargeFollowing {
        let missed = number.flatMap { changes.missed(after: $0) }
        return ChargeFollowing(missed: missed, last: changes.last, next: changes.follow())
    }

    /// The charge that was opened under a caller's key, whatever became of it; nil where there is none.
    /// - Throws: ``ChargeRefusal/journal(_:)``.
    public func charge(openedUnder key: String) async throws(ChargeRefusal) -> ChargeSnapshot? {
        let earlier: (id: ChargeID, requestDigest: [UInt8])?
        do throws(JournalError) { earlier = try await archive.chargeOpened(under: key) } catch {
            throw .journal(error)
        }
        guard let earlier else { return nil }
        return try await charge(earlier.id)
    }
}
