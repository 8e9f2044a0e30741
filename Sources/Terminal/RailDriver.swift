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

    /// Has the authority mark the attempt's whole payment as refunded. No money moves by it.
    func markRefunded(_ attempt: AttemptLink) async -> RefundAnswer

    /// Whether the terminal can ask where a charge was opened: it may have no key for that gateway and merchant any more.
    func canAsk(about terms: ChargeTerms) -> Bool
}

extension RailDriver {
    public func markRefunded(_ attempt: AttemptLink) async -> RefundAnswer {
        .silent("this way to pay knows no mark for a refund")
    }

    public func canAsk(about terms: ChargeTerms) -> Bool { true }
}

/// What came of asking for a mark.
public enum RefundAnswer: Sendable, Equatable {
    case marked(Refund.Mark)
    /// The authority's "no", by its own code.
    case denied(code: String)
    /// Nothing usable came back, or nothing left. Asking again is harmless: it is marked once.
    case silent(String)
}

/// A rail's way to its attempt: what was agreed, how it stands, and where news goes.
public struct AttemptLink: Sendable {
    public let terms: ChargeTerms
    public let id: Attempt.ID
    private let read: @Sendable () async -> Attempt?
    private let write: @Sendable (Charge.Event) async -> Attempt?
    private let whole: @Sendable () async -> Charge?
    private let ask: @Sendable (Int64) async -> ClaimAnswer
    private let askNow: ClaimNow
    private let light: @Sendable (GatewayLight) async -> Void
    private let hinder: @Sendable (AskingHindrance?) async -> Void

    /// - Parameters:
    ///   - charge: Reads the whole charge.
    ///   - claim: Asks that money may move on this attempt alone.
    ///   - light: Takes what an exchange said about the gateway itself.
    ///   - hinder: Takes the cause of a silence; nil where none is known.
    public init(
        terms: ChargeTerms,
        id: Attempt.ID,
        read: @escaping @Sendable () async -> Attempt?,
        write: @escaping @Sendable (Charge.Event) async -> Attempt?,
        charge: @escaping @Sendable () async -> Charge? = { nil },
        claim: @escaping @Sendable (_ tipMinorUnits: Int64) async -> ClaimAnswer = { _ in .refused(.unrecorded) },
        light: @escaping @Sendable (GatewayLight) async -> Void = { _ in },
        hinder: @escaping @Sendable (AskingHindrance?) async -> Void = { _ in }
    ) {
        self.init(
            terms: terms,
            id: id,
            read: read,
            write: write,
            charge: charge,
            claim: claim,
            claimNow: { _, _ in nil },
            light: light,
            hinder: hinder
        )
    }

    typealias ClaimNow = @Sendable (_ tip: Int64, ClaimRecords) async -> (answer: ClaimAnswer, isKept: Bool)?

    init(
        terms: ChargeTerms,
        id: Attempt.ID,
        read: @escaping @Sendable () async -> Attempt?,
        write: @escaping @Sendable (Charge.Event) async -> Attempt?,
        charge: @escaping @Sendable () async -> Charge?,
        claim: @escaping @Sendable (Int64) async -> ClaimAnswer,
        claimNow: @escaping ClaimNow,
        light: @escaping @Sendable (GatewayLight) async -> Void,
        hinder: @escaping @Sendable (AskingHindrance?) async -> Void = { _ in }
    ) {
        (self.terms, self.id, self.read, self.write) = (terms, id, read, write)
        (self.light, self.hinder) = (light, hinder)
        (whole, ask, askNow) = (charge, claim, claimNow)
    }

    /// The attempt as it stands now. Nil when its charge is not at the desk any more.
    public func current() async -> Attempt? { await read() }

    /// Records what happened and returns the attempt after it, unchanged where it could not be recorded. Act on what is
    /// returned only: what is not in the journal has not happened.
    @discardableResult
    public func record(_ event: Charge.Event) async -> Attempt? { await record(event, because: nil) }

    /// The same, with what is known of the reason for a silence. It holds until something else is recorded.
    @discardableResult
    func record(_ event: Charge.Event, because hindrance: AskingHindrance?) async -> Attempt? {
        // Whoever hears of the event sees its reason with it, and nobody sees the reason of before without its event.
        if let hindrance { await hinder(hindrance) }
        let attempt = await write(event)
        if hindrance == nil { await hinder(nil) }
        return attempt
    }

    /// The charge with its other attempts. Nil when it is not at the desk any more.
    public func charge() async -> Charge? { await whole() }

    /// Asks that money may move on this attempt alone, because its customer has agreed to pay.
    ///
    /// Every other attempt of the charge is taken back first and its authority's word awaited, so it can take as long as
    /// that. Execute nothing before the answer. Asking again gives the same answer while it holds.
    /// - Parameter tipMinorUnits: What the customer adds, in minor units of the charge's currency; 0 or more.
    public func claim(tipMinorUnits: Int64) async -> ClaimAnswer { await ask(tipMinorUnits) }

    /// The same, and what the rail keeps of the claim is kept in the same step.
    /// - Returns: Nil where another attempt has to be taken back first: ``claim(tipMinorUnits:)`` waits for that. A claim that
    ///   was granted before is granted again, and nothing is kept then.
    func claimNow(tipMinorUnits: Int64, keeping records: ClaimRecords) async -> (answer: ClaimAnswer, isKept: Bool)? {
        await askNow(tipMinorUnits, records)
    }

    /// Says how the gateway answered, whatever it said of the payment.
    public func hear(_ light: GatewayLight) async { await self.light(light) }
}

/// The desk's answer to an attempt that wants to take the customer's money.
public enum ClaimAnswer: Sendable, Equatable {
    /// It is in the journal, and no other attempt of the charge can be paid any more.
    case granted
    /// Nothing may be executed.
    case refused(ClaimRefusal)
}

public enum ClaimRefusal: Sendable, Equatable {
    /// The charge was cancelled, let go or has ended.
    case over
    /// The customer is paying another way.
    case beaten
    /// The storage did not take it, or the terminal stops. Ask again while the charge stands.
    case unrecorded
}
