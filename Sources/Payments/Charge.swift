/// One request for money, and everything that is known of how it went.
///
/// A value that decides: no clock, no I/O, no task. ``handle(_:)`` takes what happened and returns what to do next; the
/// driver writes the event to the journal *before* it does it, so that replaying the events gives the same charge.
/// Total: every event has a meaning in every state, and what makes no sense changes nothing.
/// Decided in docs/decisions/0002-only-the-authority-ends-a-payment.md.
public struct Charge: Sendable, Hashable {
    /// What staff, customer and till are told. Derived from the attempts, so it cannot disagree with them.
    public enum State: String, Sendable, Codable, CaseIterable {
        /// Opened; no payment is known to exist yet. → any
        case created
        /// A customer can pay. → any later state
        case requiresAction
        /// Money may be moving. → `unknown` and any final state
        case processing
        /// The authority says: paid. Stays for ever.
        case succeeded
        /// The authority says: not paid. → `succeeded`, should a payment slip in
        case failed, expired, cancelled
        /// Nobody could say yet. → whatever the authority says, nothing else
        case unknown

        /// True where the authority has given its last word.
        public var isFinal: Bool {
            switch self {
            case .succeeded, .failed, .expired, .cancelled: true
            case .created, .requiresAction, .processing, .unknown: false
            }
        }
    }

    /// What happened. Written to the journal as it is.
    public enum Event: Sendable, Hashable, Codable {
        case attemptStarted(attempt: Attempt.ID, rail: Rail)
        /// A request that may create the payment is about to leave.
        case sending(attempt: Attempt.ID)
        /// It did not leave: refused, no route, no trust.
        case notSent(attempt: Attempt.ID, reason: String)
        /// It left, or a question left, and no usable answer came.
        case silent(attempt: Attempt.ID, reason: String)
        /// A payment is under way, and the time is over in which somebody should have said how it ended.
        case overdue(attempt: Attempt.ID)
        case offered(attempt: Attempt.ID, offer: Offer)
        /// The authority refused to make the payment, to a request that nothing unanswered went before.
        case refused(attempt: Attempt.ID, refusal: Refusal)
        /// The authority was asked for the payment by our reference and knows none.
        case notFound(attempt: Attempt.ID)
        case reported(attempt: Attempt.ID, report: Report)
        /// The customer has agreed to pay on this attempt, with a tip in minor units. The others are taken back first.
        case claimWanted(attempt: Attempt.ID, tipMinorUnits: Int64)
        /// Every other attempt is known to be without money: this one may be executed.
        case claimed(attempt: Attempt.ID)
        /// The rail lets go of a wish, or the authority refused the claim's try for good: no money moved in it.
        case claimDropped(attempt: Attempt.ID)
        /// The customer's promise was taken while nobody could be asked.
        case promised(attempt: Attempt.ID)
        /// The authority confirmed that a payment which had succeeded went back to the customer.
        case givenBack(attempt: Attempt.ID)
        /// Staff say that they give money of a payment back. Written down before the gateway is told.
        case refundAsked(attempt: Attempt.ID, refund: Refund)
        /// What was asked for is booked.
        case refunded(attempt: Attempt.ID, mark: Refund.Mark)
        /// The gateway does not mark it, for good or for now: nothing is booked.
        case refundDenied(attempt: Attempt.ID, code: String)
        case cancelRequested(by: Actor)
        /// The customer's time is over by the monotonic clock. Ends nothing.
        case deadlineReached
        /// Staff go on without an answer.
        case released(by: Actor)
        /// The terminal started again and found this charge open.
        case resumed
        /// Staff have seen what is said of a payment that nobody waited for.
        case seen(by: Actor)
    }

    /// What staff must hear of although they do not wait for this charge any more.
    public enum News: String, Sendable, Hashable, Codable {
        /// Paid after the terminal had gone on.
        case late
        /// Paid more than once: one payment is to be given back.
        case paidTwice
    }

    /// What the driver does next, after the event is in the journal.
    public enum Action: Sendable, Hashable {
        /// Make the payment at the rail's authority under the attempt's key, then follow it.
        case pursue(Attempt.ID)
        /// Take the payment back at the authority; it answers or the question stays open.
        case withdraw(Attempt.ID)
        /// One question to the authority, now.
        case ask(Attempt.ID)
        /// The screen is free for the next charge.
        case freeTerminal
        /// A payment is open that the terminal does not wait for: ask about it in the background until it has ended.
        case followInBackground
        /// Somebody must look: the customer paid more than once for one charge.
        case alarmPaidTwice(Attempt.ID)
    }

    public let terms: ChargeTerms
    public internal(set) var attempts: [Attempt] = []
    public private(set) var isCancelRequested = false
    public private(set) var isPastDeadline = false
    /// The terminal went on without the authority's last word.
    public private(set) var isReleased = false
    /// The attempt whose payment counts: the first that succeeded.
    public private(set) var paidAttempt: Attempt.ID?
    /// Paid after the charge had ended otherwise, had been cancelled, or had been let go.
    public private(set) var isLate = false
    /// What nobody has said yet that they have seen.
    public private(set) var unseen: News?

    public init(terms: ChargeTerms) { self.terms = terms }

    /// The charge that `events` make of `terms`, as the journal replays it.
    public init(terms: ChargeTerms, replaying events: some Sequence<Event>) {
        self.init(terms: terms)
        for event in events { _ = handle(event) }
    }

    public var id: ChargeID { terms.id }

    /// Source: PRODUCT.md's order of states is the gateway's `PaymentStatus` plus `created` and `unknown`.
    public var state: State {
        if paidAttempt != nil { return .succeeded }
        let open = attempts.filter(\.isOpen)
        guard !open.isEmpty else { return stateWithNothingOpen }
        var isProcessing = false
        var isOffered = false
        for attempt in open {
            if case .offered(_, let progress) = attempt.phase {
                if progress.unrecognisedWord != nil || progress.contradiction != nil { return .unknown }
                isOffered = true
                isProcessing = isProcessing || progress.isProcessing
            }
        }
        if open.contains(where: \.isPromised) { return .processing }
        if open.contains(where: \.isOverdue) { return .unknown }
        if isReleased, open.contains(where: \.isInTheDark) { return .unknown }
        return isProcessing ? .processing : isOffered ? .requiresAction : .created
    }

    /// True while the last question about an open payment has no usable answer. Show "not known yet", never "failed".
    public var isUnresolved: Bool {
        !state.isFinal && attempts.contains { $0.isOpen && $0.isSilent && !$0.isPromised }
    }

    /// True while the customer's promise waits for the authority: taken without it, and not booked yet.
    public var isPromised: Bool { paidAttempt == nil && attempts.contains { $0.isOpen && $0.isPromised } }

    /// True where something payable was made for this charge and its authority has not ended it: the customer may have paid.
    public var mayHaveBeenPaid: Bool {
        attempts.contains { if case .offered = $0.phase { true } else { false } }
    }

    /// True where everything that was paid for this charge went back to the customer.
    public var isGivenBack: Bool {
        let paid = attempts.filter { $0.ending?.evidence != nil }
        return !paid.isEmpty && paid.allSatisfy(\.isGivenBack)
    }

    /// Whether the terminal itself can give the money back: it holds what the acquirer needs for that.
    public var canGiveBack: Bool {
        attempts.contains { $0.rail == .tap && $0.ending?.evidence != nil && !$0.isGivenBack }
    }

    /// True while the customer's agreement holds back every other way to pay.
    public var isClaimed: Bool { attempts.contains { $0.isOpen && $0.claim != nil } }

    /// What the customer pays, with a tip that was added on the phone.
    public var total: Money {
        let attempt = paidAttempt.flatMap(attempt) ?? attempts.first { $0.isOpen && $0.claim != nil }
        guard let tip = attempt?.claim?.tipMinorUnits else { return terms.amount }
        let (sum, overflow) = terms.amount.minorUnits.addingReportingOverflow(tip)
        return overflow ? terms.amount : Money(minorUnits: sum, currency: terms.amount.currency)
    }

    /// Whether a wish to claim can be granted: nothing else of this charge can be paid any more.
    public func canClaim(_ id: Attempt.ID) -> Bool {
        guard case .wanted? = attempt(id)?.claim else { return false }
        return attempts.allSatisfy { $0.id == id || !$0.couldStillBePaid }
    }

    /// True until the authority's last word, or until staff went on without it.
    public var holdsTerminal: Bool { !state.isFinal && !isReleased }

    /// Attempts whose payment succeeded although another one already had: money to give back.
    public var surplusAttempts: [Attempt] {
        let kept = attempts.filter { $0.ending?.evidence != nil && !$0.isGivenBack }
        // Whichever of them was given back, the charge keeps one payment.
        let counted = kept.contains { $0.id == paidAttempt } ? paidAttempt : kept.first?.id
        return kept.filter { $0.id != counted }
    }

    public var evidence: Evidence? { paidAttempt.flatMap(attempt)?.ending?.evidence }

    /// Whether a further attempt can begin.
    public var canStart: Bool { holdsTerminal && !isCancelRequested && !isPastDeadline }

    /// Whether staff can still ask to take the charge back.
    public var canCancel: Bool {
        !state.isFinal && !isCancelRequested && state != .processing && !isReleased
            && !attempts.contains { $0.isOpen && $0.isOverdue }
    }

    /// Whether an attempt's wish to claim is heard now.
    private func mayClaim(_ id: Attempt.ID) -> Bool {
        guard holdsTerminal, !isCancelRequested, let attempt = attempt(id), attempt.claim == nil else { return false }
        return attempt.waitsForCustomer && !attempts.contains { $0.id != id && ($0.isMovingMoney || $0.isClaiming) }
    }

    /// Whether staff can go on without an answer: only where waiting is all that is left.
    public var canRelease: Bool { holdsTerminal && (isUnresolved || state == .processing || state == .unknown) }

    /// It was not paid, and an authority refused to make a payment for it: the screen, the page and lists say so instead of
    /// “not paid”.
    public var wasRefused: Bool {
        state == .failed && attempts.contains { if case .refused = $0.ending { true } else { false } }
    }

    public func attempt(_ id: Attempt.ID) -> Attempt? { attempts.first { $0.id == id } }

    /// Takes what happened and returns what to do next.
    public mutating func handle(_ event: Event) -> [Action] {
        let before = self
        var actions: [Action] = []
        switch event {
        case .attemptStarted(let id, let rail): actions = start(id, rail)
        case .sending(let id): change(id) { $0.markSending() }
        case .notSent(let id, _): change(id) { $0.markNotSent() }
        case .silent(let id, _): change(id) { $0.markSilent() }
        case .overdue(let id): change(id) { $0.markOverdue() }
        case .offered(let id, let offer): change(id) { $0.take(offer) }
        case .refused(let id, let refusal): change(id) { $0.end(refusal) }
        case .notFound(let id): change(id) { $0.endNotFound() }
        case .reported(let id, let report): change(id) { $0.take(report) }
        case .claimWanted(let id, let tip):
            if tip >= 0, mayClaim(id) { change(id) { $0.claim = .wanted(tipMinorUnits: tip) } }
        case .claimed(let id): if canClaim(id) { change(id) { $0.makeClaim() } }
        case .claimDropped(let id): change(id) { $0.dropClaim() }
        case .promised(let id): promise(id)
        case .givenBack(let id): change(id) { if $0.ending?.evidence != nil { $0.isGivenBack = true } }
        case .refundAsked(let id, let refund): ask(for: refund, of: id)
        case .refunded(let id, let mark): book(mark, of: id)
        case .refundDenied(let id, _): change(id) { $0.askedRefund = nil }
        case .cancelRequested: if !state.isFinal { isCancelRequested = true }
        case .deadlineReached:
            guard !state.isFinal, !isPastDeadline else { break }
            isPastDeadline = true
            actions = attempts.filter { $0.isOpen && $0.phase != .idle }.map { .ask($0.id) }
        case .released: if canRelease { isReleased = true }
        case .resumed: actions = resume()
        case .seen: unseen = nil
        }
        if paidAttempt == nil { paidAttempt = attempts.first { $0.ending?.evidence != nil }?.id }
        letGo(after: event)
        // A charge that had ended and whose payment turns up after all is not the terminal's business of the moment.
        if before.state.isFinal, !state.isFinal { isReleased = true }
        dropHopelessWishes()
        if isCancelRequested || isPastDeadline || isReleased || isClaimed || paidAttempt != nil { endWhatNeverLeft() }
        actions += withdrawals(since: before, because: event)
        flagLatePayment(since: before)
        if surplusAttempts.count > before.surplusAttempts.count {
            unseen = .paidTwice
            if case .reported(let id, _) = event { actions.append(.alarmPaidTwice(id)) }
        }
        if before.holdsTerminal, !holdsTerminal { actions.append(.freeTerminal) }
        if isOpenInBackground, !before.isOpenInBackground { actions.append(.followInBackground) }
        return actions
    }
}

// MARK: - Parts of the decision

extension Charge {
    private var stateWithNothingOpen: State {
        let endings = attempts.compactMap(\.ending)
        if endings.contains(where: { if case .failed = $0 { true } else { false } }) { return .failed }
        if endings.contains(.expired) { return .expired }
        if endings.contains(.cancelled) { return .cancelled }
        // Left: refused, unknown to the authority, or never sent. No payment exists.
        if isCancelRequested { return .cancelled }
        return attempts.isEmpty && !isPastDeadline ? .created : .failed
    }

    private mutating func start(_ id: Attempt.ID, _ rail: Rail) -> [Action] {
        guard canStart, attempt(id) == nil else { return [] }
        attempts.append(Attempt(id: id, rail: rail))
        return [.pursue(id)]
    }

    private mutating func change(_ id: Attempt.ID, _ body: (inout Attempt) -> Void) {
        guard let index = attempts.firstIndex(where: { $0.id == id }) else { return }
        body(&attempts[index])
    }

    /// After a start nothing is known of what was under way: every open attempt counts as silent until it is asked.
    private mutating func resume() -> [Action] {
        var actions: [Action] = []
        for index in attempts.indices where attempts[index].isOpen {
            attempts[index].markInterrupted()
            // Nothing was executed for a wish; the customer's phone says it again.
            if attempts[index].claim?.isMade == false { attempts[index].claim = nil }
            let id = attempts[index].id
            actions.append(isReleased || isPastDeadline || isCancelRequested ? .ask(id) : .pursue(id))
        }
        return actions
    }

    /// A cancelled, overdue or beaten attempt of which no byte has left needs nobody's word: there is no payment.
    private mutating func endWhatNeverLeft() {
        for index in attempts.indices where attempts[index].phase == .idle {
            attempts[index].phase = .ended(.neverSent, nil)
            attempts[index].isSilent = false
        }
    }

    /// Every payment that waits for the customer and must not be paid any more: cancelled, beaten, overdue, let go
    /// by staff, or found after the charge had ended. Each answer "still waiting" asks for it again: the earlier withdrawal was lost.
    private func withdrawals(since before: Charge, because event: Event) -> [Action] {
        attempts.compactMap { attempt in
            guard attempt.waitsForCustomer else { return nil }
            let isStillWaiting =
                event == .reported(attempt: attempt.id, report: .requiresAction)
                || event == .claimDropped(attempt: attempt.id)
            let isNews = before.attempt(attempt.id)?.offer == nil || isStillWaiting
            let becameUnwanted = isUnwanted(attempt) && !before.isUnwanted(attempt)
            let isOverdue = isPastDeadline || isReleased || before.state.isFinal
            return becameUnwanted || isNews && (isUnwanted(attempt) || isOverdue) ? .withdraw(attempt.id) : nil
        }
    }

    private var isOpenInBackground: Bool { !holdsTerminal && attempts.contains(where: \.isOpen) }

    /// True where staff or another attempt's payment speak against this one.
    private func isUnwanted(_ attempt: Attempt) -> Bool {
        isCancelRequested || attempts.contains { $0.id != attempt.id && ($0.isMovingMoney || $0.isClaiming) }
    }

    /// The customer may go: what is promised is settled when the authority can be asked again.
    private mutating func promise(_ id: Attempt.ID) {
        guard let attempt = attempt(id), attempt.isOpen, attempt.claim?.isMade == true, !attempt.isPromised else {
            return
        }
        change(id) { $0.isPromised = true }
        isReleased = true
    }

    /// A wish that can never be granted any more is no wish: staff cancelled, or another way to pay was faster.
    private mutating func dropHopelessWishes() {
        for index in attempts.indices {
            guard case .wanted? = attempts[index].claim else { continue }
            let isBeaten = attempts.contains { $0.id != attempts[index].id && $0.isMovingMoney }
            if isCancelRequested || isReleased || isBeaten || !attempts[index].isOpen { attempts[index].claim = nil }
        }
    }

    /// Past the deadline, silence to the last question lets the terminal go on; the question stays open.
    private mutating func letGo(after event: Event) {
        guard isPastDeadline, holdsTerminal else { return }
        switch event {
        case .silent, .overdue, .notSent, .refused:
            // What never left is over with the deadline: it holds nobody.
            let open = attempts.filter { $0.isOpen && $0.phase != .idle }
            isReleased = !open.isEmpty && open.allSatisfy(\.isSilent)
        default: break
        }
    }

    private mutating func flagLatePayment(since before: Charge) {
        guard state == .succeeded, before.state != .succeeded else { return }
        // A promise that is kept is not late: the terminal did not go on without it.
        isLate = before.state.isFinal || before.isCancelRequested || before.isReleased && !before.isPromised
        // Where the terminal still waits, staff see the result on the screen.
        if isLate, !before.holdsTerminal { unseen = .late }
    }
}

extension Attempt {
    /// An answer to the request to make the payment that names somebody else's: nothing is known of ours.
    fileprivate mutating func take(beforeAnyOffer report: Report) {
        guard case .contradictory(let what) = report else { return }
        switch phase {
        case .sending, .unanswered:
            phase = .unanswered
            (isSilent, contradiction) = (true, what)
        case .idle, .offered, .ended: break
        }
    }

    /// A payment may exist and the authority's last answer about it is missing. A first request still on its way is
    /// not: it either left or did not, and its result says which within its time limit.
    fileprivate var isInTheDark: Bool {
        switch phase {
        case .idle, .sending(afterSilence: false), .ended: false
        case .sending(afterSilence: true), .unanswered: true
        case .offered: isSilent
        }
    }

    fileprivate var waitsForCustomer: Bool {
        if case .offered(_, let progress) = phase { !progress.isProcessing } else { false }
    }

    /// Somebody may hold what it takes to pay this: it was shown, and the authority has not ended it.
    fileprivate var couldStillBePaid: Bool {
        switch phase {
        // Without its link nobody can pay it, and a link that arrives now is not shown but taken back.
        case .idle, .sending, .unanswered: false
        case .offered: true
        case .ended(let ending, _): ending.evidence != nil
        }
    }

    fileprivate var isClaiming: Bool { isOpen && claim != nil }

    fileprivate mutating func makeClaim() {
        guard let claim, case .offered(let offer, var progress) = phase else { return }
        self.claim = .made(tipMinorUnits: claim.tipMinorUnits)
        progress.isProcessing = true
        phase = .offered(offer, progress)
    }

    fileprivate mutating func dropClaim() {
        guard claim != nil, !isPromised, case .offered(let offer, var progress) = phase else { return }
        if claim?.isMade == true { (progress.isProcessing, isSilent, isOverdue) = (false, false, false) }
        claim = nil
        phase = .offered(offer, progress)
    }

    fileprivate var isMovingMoney: Bool {
        switch phase {
        case .idle, .sending, .unanswered: false
        case .offered(_, let progress): progress.isProcessing
        case .ended(let ending, _): ending.evidence != nil
        }
    }

    fileprivate mutating func markSending() {
        switch phase {
        case .idle: phase = .sending(afterSilence: false)
        case .unanswered: phase = .sending(afterSilence: true)
        // A second request while nothing is known of the first one: what it brings proves nothing about the first.
        case .sending: phase = .sending(afterSilence: true)
        case .offered, .ended: break
        }
    }

    fileprivate mutating func markNotSent() {
        guard case .sending(let afterSilence) = phase else { return }
        phase = afterSilence ? .unanswered : .idle
        isSilent = true
    }

    fileprivate mutating func markSilent() {
        switch phase {
        case .sending: phase = .unanswered
        case .idle, .unanswered, .offered: break
        case .ended: return
        }
        isSilent = true
    }

    fileprivate mutating func markOverdue() {
        guard case .offered(_, let progress) = phase, progress.isProcessing, !isPromised else { return }
        (isSilent, isOverdue) = (true, true)
    }

    fileprivate mutating func markInterrupted() {
        if case .sending = phase { phase = .unanswered }
        isSilent = true
    }

    fileprivate mutating func take(_ offer: Offer) {
        switch phase {
        case .idle, .sending, .unanswered, .ended(.refused, _), .ended(.notFound, _), .ended(.neverSent, _):
            phase = .offered(offer, Progress())
            (isSilent, contradiction) = (false, nil)
        case .offered, .ended:
            break  // The key makes one payment; the first answer named it.
        }
    }

    /// A refusal ends only what no silence went before: else an earlier request may have made the payment.
    fileprivate mutating func end(_ refusal: Refusal) {
        switch phase {
        case .idle, .sending(afterSilence: false):
            phase = .ended(.refused(refusal), nil)
            isSilent = false
        case .sending(afterSilence: true):
            phase = .unanswered
            isSilent = true
        case .unanswered, .offered, .ended:
            break
        }
    }

    fileprivate mutating func endNotFound() {
        switch phase {
        case .sending, .unanswered:
            phase = .ended(.notFound, nil)
            (isSilent, contradiction) = (false, nil)
        case .idle, .offered, .ended:
            break
        }
    }

    fileprivate mutating func take(_ report: Report) {
        if case .succeeded(let evidence) = report, ending?.evidence == nil {
            phase = .ended(.succeeded(evidence), offer)
            isSilent = false
            return
        }
        guard case .offered(let offer, var progress) = phase else { return take(beforeAnyOffer: report) }
        (isSilent, isOverdue) = (false, false)
        if let ending = report.ending {
            phase = .ended(ending, offer)
            return
        }
        switch report {
        case .processing: (progress.isProcessing, progress.unrecognisedWord, progress.contradiction) = (true, nil, nil)
        case .unrecognised(let word): (progress.unrecognisedWord, progress.contradiction) = (word, nil)
        case .contradictory(let what): (progress.unrecognisedWord, progress.contradiction) = (nil, what)
        case .requiresAction, .succeeded, .failed, .expired, .cancelled:
            (progress.unrecognisedWord, progress.contradiction) = (nil, nil)
        }
        phase = .offered(offer, progress)
    }
}
