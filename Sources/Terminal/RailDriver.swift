public import Payments

/// Carries one attempt out with its authority. It does things and says what happened; ``Charge`` decides.
public protocol RailDriver: Sendable {
    var rail: Rail { get }

    /// Makes the attempt's payment and follows it until it is over or the task is cancelled.
    func pursue(_ attempt: AttemptLink) async

    /// Takes the payment back. Returns when the authority has said how the payment stands, or when cancelled.
    func withdraw(_ attempt: AttemptLink) async

    /// One question to the authority, also about an attempt that ended without money. Returns when what it said, or its
    /// silence, is recorded.
    func ask(_ attempt: AttemptLink) async
}

/// A rail's way to its attempt: what was agreed, how it stands, and where news goes.
public struct AttemptLink: Sendable {
    public let terms: ChargeTerms
    public let id: Attempt.ID
    private let read: @Sendable () async -> Attempt?
    private let write: @Sendable (Charge.Event) async -> Attempt?
    private let light: @Sendable (GatewayLight) async -> Void

    /// - Parameter light: Takes what an exchange said about the gateway itself.
    public init(
        terms: ChargeTerms,
        id: Attempt.ID,
        read: @escaping @Sendable () async -> Attempt?,
        write: @escaping @Sendable (Charge.Event) async -> Attempt?,
        light: @escaping @Sendable (GatewayLight) async -> Void = { _ in }
    ) {
        (self.terms, self.id, self.read, self.write, self.light) = (terms, id, read, write, light)
    }

    /// The attempt as it stands now. Nil when its charge is not at the desk any more.
    public func current() async -> Attempt? { await read() }

    /// Records what happened and returns the attempt after it, unchanged where it could not be recorded. Act on what is
    /// returned only: what is not in the journal has not happened.
    @discardableResult
    public func record(_ event: Charge.Event) async -> Attempt? { await write(event) }

    /// Says how the gateway answered, whatever it said of the payment.
    public func hear(_ light: GatewayLight) async { await self.light(light) }
}
