/// The phone's side. It decides; a driver stores, shows and sends what it says, in the order in which it says it.
///
/// Two rules stand over all others: nothing is executed before a claim is held, and from the first accept on the payment
/// counts as possibly charged until the gateway says otherwise. Source: BPP/1, section 12.3.
public struct PhonePayment: Sendable, Hashable {
    public enum State: Sendable, Hashable {
        /// The pay screen is closed. → advertising
        case idle
        /// → linked, idle
        case advertising
        /// A terminal has read READ. → prompting, advertising
        case linked
        /// → sent, held, advertising
        case prompting(Offer)
        /// Another wallet is paying. → prompting, advertising
        case held(Offer)
        /// An accept has left. → won, held, advertising, ended
        case sent(Offer, ObjectHash)
        /// A claim is held. → ended
        case won(Offer, ObjectHash)
        /// → prompting (declined, and reopened), advertising
        case ended(Offer, PaymentStatus)
    }

    public private(set) var state = State.idle
    /// Whether the customer has the pay screen open. A payment whose accept is out goes on without it.
    public private(set) var isScreenOpen = false
    /// Payments that are over for this phone. Keep them for 24 hours.
    public private(set) var closed: [PaymentID: Closing] = [:]
    /// Payments given up while an accept was out: a dishonest terminal may have executed, so the gateway is asked on.
    public private(set) var watched: [PaymentID: Offer] = [:]

    /// How long after a request's end the gateway may still take its bundle.
    public static let settlingMilliseconds = 600_000

    public init() {}

    /// A value that was kept over a restart. Show it `.restarted` first.
    public init(state: State, closed: [PaymentID: Closing], watched: [PaymentID: Offer]) {
        (self.state, self.closed, self.watched) = (state, closed, watched)
    }

    /// Forgets payments that ended more than `age` ago, by the time in their names. A request that old is refused anyhow. A
    /// voucher's spend stays until the gateway has settled it.
    public mutating func forgetClosed(olderThan age: Duration = .seconds(86_400), nowMilliseconds: Int) {
        let oldest = nowMilliseconds - Int(age.components.seconds) * 1000
        closed = closed.filter { id, closing in
            id.madeAtMilliseconds >= oldest || closing == .final(.acceptedOffline) || id == current?.paymentID
        }
    }

    public mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .payScreenOpened: return payScreenOpened()
        case .payScreenClosed: return payScreenClosed()
        case .advertisingOver: return advertisingOver()
        case .read: return read()
        case .request(let offer): return request(offer)
        case .requestRefused(let code): return requestRefused([.refuse(code)])
        case .handshakeFailed: return requestRefused([.control(.handshakeFailed)])
        case .userAccepted(let hash, let isVoucher): return userAccepted(hash, isVoucher)
        case .userCancelled(let reason): return userCancelled(reason)
        case .claim(let id, let hash, let mode, let isOnline): return claim(id, hash, mode, isOnline)
        case .hold(let id): return hold(id)
        case .reopen(let id): return reopen(id)
        case .otherPaid(let id): return withdrawn(id, .otherPaid)
        case .cancelledByTerminal(let id): return withdrawn(id, .cancelled)
        case .result(let id, let status, let verdict): return result(id, status, verdict)
        case .gatewayResult(let id, let status): return gatewayResult(id, status)
        case .gatewayKnowsNoClaim(let id, let now): return noClaim(id, now)
        case .error(let code): return error(code)
        case .acknowledged: return acknowledged()
        case .closingOver: return closing()
        case .linkLost: return linkLost()
        case .clock(let now): return clock(now)
        case .restarted: return restarted()
        }
    }

    // MARK: Before a payment

    private mutating func payScreenOpened() -> [Action] {
        isScreenOpen = true
        guard state == .idle else { return [] }
        state = .advertising
        return [.advertise(newSession: true)]
    }

    private mutating func payScreenClosed() -> [Action] {
        isScreenOpen = false
        switch state {
        case .idle: return []
        case .advertising: return leave()
        case .linked: return [.hangUp] + leave()
        case .prompting, .held: return userCancelled(.user)
        // Asked again, nobody would see it.
        case .ended(_, .failed): return closing()
        // The payment goes on without its screen.
        case .sent, .won, .ended: return []
        }
    }

    private mutating func advertisingOver() -> [Action] {
        switch state {
        case .advertising, .linked:
            isScreenOpen = false
            return leave()
        case .idle, .prompting, .held, .sent, .won, .ended: return []
        }
    }

    /// This phone is in no payment any more: the next terminal may come, or, with the pay screen closed, none.
    private mutating func leave() -> [Action] {
        state = isScreenOpen ? .advertising : .idle
        return isScreenOpen ? [] : [.stopAdvertising]
    }

    private mutating func read() -> [Action] {
        switch state {
        case .idle: return []
        case .advertising:
            state = .linked
            return [.startSession]
        // The terminal has come back: a new session, and the same payment when it is offered again.
        case .linked, .prompting, .held, .sent, .won, .ended: return [.startSession]
        }
    }

    private mutating func request(_ offer: Offer) -> [Action] {
        if let current, current.paymentID == offer.paymentID {
            // Other bytes under the same name are another payment in disguise.
            guard current.requestHash == offer.requestHash else { return [.refuse(.requestInvalid)] }
            return resumed()
        }
        if let closing = closed[offer.paymentID] {
            switch closing {
            case .declined: return [.cancel(offer.paymentID, .alreadyDeclined)]
            case .withdrawn: return [.received(.alreadyFinal)]
            // The link that was to bring REOPEN fell: the terminal says it again to the receipt.
            case .final(.failed) where state == .linked || state == .advertising:
                state = .ended(offer, .failed)
                return [.received(.alreadyFinal), .result(offer.paymentID, .failed)]
            case .final(let status): return [.received(.alreadyFinal), .result(offer.paymentID, status)]
            }
        }
        guard watched[offer.paymentID] == nil else { return [.received(.alreadyFinal)] }
        switch state {
        case .linked, .advertising:
            state = .prompting(offer)
            return [.received(.prompting), .prompt(offer.paymentID), .tell(.receivedPayment)]
        case .idle: return [.refuse(.unexpected)]
        case .prompting, .held, .sent, .won, .ended: return [.refuse(.busy)]
        }
    }

    private func resumed() -> [Action] {
        switch state {
        case .idle, .advertising, .linked: []
        case .prompting, .held: [.received(.prompting)]
        case .sent: [.received(.acceptSent), .sendAccept]
        case .won: [.received(.won)]
        case .ended(let offer, let status): [.received(.alreadyFinal), .result(offer.paymentID, status)]
        }
    }

    private mutating func requestRefused(_ answer: [Action]) -> [Action] {
        if state == .linked { state = .advertising }
        return answer
    }

    // MARK: The user

    private mutating func userAccepted(_ hash: ObjectHash, _ isVoucher: Bool) -> [Action] {
        guard case .prompting(let offer) = state else { return [] }
        state = .sent(offer, hash)
        return (isVoucher ? [.commitVoucher] : []) + [.store, .sendAccept]
    }

    private mutating func userCancelled(_ reason: PayerCancelReason) -> [Action] {
        switch state {
        case .prompting(let offer), .held(let offer):
            return endOpen(offer, .declined, [.cancel(offer.paymentID, reason)])
        // Only the terminal can say whether it is too late.
        case .sent(let offer, _): return [.cancel(offer.paymentID, reason)]
        case .won: return [.tell(.tooLateToCancel)]
        case .idle, .advertising, .linked, .ended: return []
        }
    }

    // MARK: The terminal

    private mutating func claim(
        _ id: PaymentID,
        _ hash: ObjectHash,
        _ mode: PaymentClaim.Mode,
        _ isOnline: Bool
    ) -> [Action] {
        switch state {
        case .sent(let offer, let mine) where offer.paymentID == id && mine == hash:
            guard mode == .online else {
                state = .ended(offer, .acceptedOffline)
                closed[id] = .final(.acceptedOffline)
                return [.store, .closePrompt, .tell(.finishedPayment(.acceptedOffline))]
            }
            state = .won(offer, hash)
            return [.store] + (isOnline ? [.submit] : [])
        // The same claim again: it was answered once.
        case .won(let offer, let mine) where offer.paymentID == id && mine == hash: return []
        case .ended(let offer, _) where offer.paymentID == id: return []
        default: return [.refuse(.unexpected)]
        }
    }

    private mutating func hold(_ id: PaymentID) -> [Action] {
        switch state {
        case .prompting(let offer) where offer.paymentID == id:
            state = .held(offer)
            return [.disableAccept]
        case .sent(let offer, _) where offer.paymentID == id:
            // The accept lost. It may have been executed all the same by a dishonest terminal, so the gateway is asked on.
            watched[id] = offer
            state = .held(offer)
            return [.store, .disableAccept]
        case .held(let offer) where offer.paymentID == id: return []
        default: return [.refuse(.unexpected)]
        }
    }

    private mutating func reopen(_ id: PaymentID) -> [Action] {
        switch state {
        case .held(let offer) where offer.paymentID == id:
            state = .prompting(offer)
            return [.enableAccept]
        case .ended(let offer, .failed) where offer.paymentID == id:
            // Nobody looks at the pay screen any more.
            guard isScreenOpen else { return [.cancel(id, .user)] + leave() }
            state = .prompting(offer)
            closed[id] = nil
            return [.prompt(id), .enableAccept]
        default: return [.refuse(.unexpected)]
        }
    }

    private mutating func withdrawn(_ id: PaymentID, _ notice: Notice) -> [Action] {
        switch state {
        case .prompting(let offer), .held(let offer):
            guard offer.paymentID == id else { return [.acknowledge(id)] }
            return endOpen(offer, .withdrawn, [.acknowledge(id)]) + [.tell(notice)]
        case .sent(let offer, _):
            guard offer.paymentID == id else { return [.acknowledge(id)] }
            watched[id] = offer
            let left = leave()
            return [.store, .acknowledge(id), .closePrompt, .tell(notice), .askGateway(id)] + left
        // It holds a claim: only the gateway ends this payment.
        case .won(let offer, _):
            return offer.paymentID == id ? [.acknowledge(id), .askGateway(id)] : [.acknowledge(id)]
        case .idle, .advertising, .linked, .ended: return [.acknowledge(id)]
        }
    }

    private mutating func result(_ id: PaymentID, _ status: PaymentStatus, _ verdict: ReceiptVerdict) -> [Action] {
        switch state {
        case .won(let offer, _), .sent(let offer, _):
            guard offer.paymentID == id else { return [.refuse(.unexpected)] }
            guard verdict == .valid || verdict == .reported, [.completed, .failed, .cancelled].contains(status) else {
                return [.refuse(.receiptInvalid)]
            }
            return finish(offer, status, [.acknowledge(id)])
        case .ended(let offer, .acceptedOffline) where offer.paymentID == id && verdict == .valid:
            return finish(offer, status, [.acknowledge(id)])
        case .ended(let offer, _) where offer.paymentID == id: return [.acknowledge(id)]
        default: return [.acknowledge(id)]
        }
    }

    private mutating func error(_ code: TapErrorCode) -> [Action] {
        switch (state, code.ends) {
        case (.sent(let offer, _), .attempt), (.sent(let offer, _), .payment):
            watched[offer.paymentID] = offer
            let left = leave()
            return [.store, .closePrompt, .tell(.error(code)), .askGateway(offer.paymentID)] + left
        case (.prompting(let offer), .payment), (.held(let offer), .payment):
            return endOpen(offer, .withdrawn, []) + [.tell(.error(code))]
        default: return [.tell(.error(code))]
        }
    }

    // MARK: The gateway

    private mutating func gatewayResult(_ id: PaymentID, _ status: PaymentStatus) -> [Action] {
        guard [.completed, .failed, .cancelled].contains(status) else { return [] }
        if let current, current.paymentID == id, mayBeCharged {
            return finish(current, status, [.result(id, status)])
        }
        if case .ended(let offer, .acceptedOffline) = state, offer.paymentID == id {
            return finish(offer, status, [.result(id, status)])
        }
        // The voucher was settled long after its screen was closed.
        if closed[id] == .final(.acceptedOffline) {
            closed[id] = .final(status)
            return [.store, .tell(status == .completed ? .finishedPayment(status) : .failed)]
        }
        guard watched.removeValue(forKey: id) != nil else { return [] }
        closed[id] = .final(status)
        // What was shown as lost turns out to be paid: say so. A failed one needs no word.
        guard status == .completed else { return [.store] }
        if let current, current.paymentID == id { state = .ended(current, status) }
        return [.store, .tell(.finishedPayment(status))]
    }

    private mutating func noClaim(_ id: PaymentID, _ now: Int) -> [Action] {
        if let offer = watched[id], isSettled(offer, now) {
            watched[id] = nil
            return [.store]
        }
        guard case .sent(let offer, _) = state, offer.paymentID == id, isSettled(offer, now) else { return [] }
        closed[id] = .withdrawn
        let left = leave()
        return [.store, .closePrompt, .tell(.cancelled)] + left
    }

    private func isSettled(_ offer: Offer, _ now: Int) -> Bool {
        now > offer.expiresAtMilliseconds + Self.settlingMilliseconds
    }

    // MARK: Time, links and power

    /// The terminal knows how it ended. After a decline it may ask again on this link, and of a voucher it may bring the
    /// receipt: both have the five seconds.
    private mutating func acknowledged() -> [Action] {
        switch state {
        case .ended(_, .completed), .ended(_, .cancelled): closing()
        case .idle, .advertising, .linked, .prompting, .held, .sent, .won, .ended: []
        }
    }

    private mutating func closing() -> [Action] {
        guard case .ended = state else { return [] }
        return [.bye] + leave()
    }

    private func linkLost() -> [Action] {
        switch state {
        case .idle, .advertising: []
        case .linked, .prompting, .held, .ended: [.tell(.disconnected), .advertise(newSession: false)]
        case .sent(let offer, _), .won(let offer, _):
            [.tell(.waitingForTerminal), .advertise(newSession: false), .askGateway(offer.paymentID)]
        }
    }

    private mutating func clock(_ now: Int) -> [Action] {
        switch state {
        case .prompting(let offer), .held(let offer):
            guard now >= offer.expiresAtMilliseconds else { return [] }
            return endOpen(offer, .withdrawn, []) + [.tell(.cancelled)]
        case .idle, .advertising, .linked, .sent, .won, .ended: return []
        }
    }

    private mutating func restarted() -> [Action] {
        let asked = watched.keys.sorted { $0.description < $1.description }.map(Action.askGateway)
        isScreenOpen = false
        switch state {
        case .sent(let offer, _), .won(let offer, _):
            // The terminal may have no network, and then finds its payer by the session's name alone.
            return [.tell(.mayBeCharged), .askGateway(offer.paymentID), .advertise(newSession: false)] + asked
        case .idle, .advertising, .linked, .prompting, .held, .ended:
            state = .idle
            return asked
        }
    }

    // MARK: Shared

    /// The payment that the screen is about.
    public var current: Offer? {
        switch state {
        case .idle, .advertising, .linked: nil
        case .prompting(let offer), .held(let offer), .sent(let offer, _), .won(let offer, _), .ended(let offer, _):
            offer
        }
    }

    /// True while an accept is out whose end nobody has said.
    public var mayBeCharged: Bool {
        switch state {
        case .sent, .won: true
        case .idle, .advertising, .linked, .prompting, .held, .ended: false
        }
    }

    /// Ends a payment for which this phone holds no claim and has no accept out.
    private mutating func endOpen(_ offer: Offer, _ closing: Closing, _ actions: [Action]) -> [Action] {
        if watched[offer.paymentID] == nil { closed[offer.paymentID] = closing }
        let left = leave()
        return [.store] + actions + [.closePrompt] + left
    }

    private mutating func finish(_ offer: Offer, _ status: PaymentStatus, _ actions: [Action]) -> [Action] {
        state = .ended(offer, status)
        closed[offer.paymentID] = .final(status)
        watched[offer.paymentID] = nil
        let isGood = status == .completed || status == .acceptedOffline
        return [.store] + actions + [.tell(isGood ? .finishedPayment(status) : .failed)]
    }
}
