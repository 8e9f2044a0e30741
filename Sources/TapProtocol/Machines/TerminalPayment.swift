/// One payment as the terminal sees it. It decides; a driver writes what it says to the journal and then acts.
///
/// Each event returns the actions in their order. Where the first is `journal`, that record is on disk before any of the
/// others happens: a power cut then repeats a message and never changes an outcome.
/// Source: BPP/1, sections 12.1, 14 and 15.
public struct TerminalPayment: Sendable, Hashable {
    public enum State: Sendable, Hashable {
        /// Offered to phones, nobody has won. → claimed, done
        case open
        /// One accept has won and is in the journal. → executing, done, open (declined)
        case claimed
        /// Somebody may be executing. → done, open (declined), unknown
        case executing
        /// No answer in time. Only the gateway ends it. → done, open (declined)
        case unknown
        /// Over for this payment.
        case done(Outcome)
    }

    public enum Outcome: Sendable, Hashable, CaseIterable {
        case completed, failed, cancelled
        /// A voucher was taken, and the gateway does not know it yet. → completed, failed, cancelled
        case acceptedOffline
        /// The charge was paid another way than over BLE.
        case paidElsewhere
    }

    /// The accept that won. Written to the journal as it is.
    public struct Winner: Sendable, Hashable {
        public let link: LinkID
        public let acceptHash: ObjectHash
        public let attempt: Int
        public let mode: PaymentClaim.Mode
        /// False where the winner alone reaches the gateway.
        public let isTerminalOnline: Bool

        public init(
            link: LinkID,
            acceptHash: ObjectHash,
            attempt: Int,
            mode: PaymentClaim.Mode,
            isTerminalOnline: Bool
        ) {
            (self.link, self.acceptHash, self.attempt) = (link, acceptHash, attempt)
            (self.mode, self.isTerminalOnline) = (mode, isTerminalOnline)
        }
    }

    public private(set) var state: State
    public private(set) var winner: Winner?
    /// The attempt that the next winner makes, from 1.
    public private(set) var attempt: Int
    /// Milliseconds since 1970, from the request.
    public let expiresAtMilliseconds: Int
    /// Sessions that have declined this payment and are not asked again.
    public private(set) var declined: Set<LinkID>

    /// What clocks may differ before an open payment counts as expired.
    public static let expiryGraceMilliseconds = 2_000

    /// A new payment. Sign and journal its request before this.
    public init(expiresAtMilliseconds: Int) {
        (state, winner, attempt, declined) = (.open, nil, 1, [])
        self.expiresAtMilliseconds = expiresAtMilliseconds
    }

    public mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .linkReady(let link): linkReady(link)
        case .phoneSpoke(let link): state == .open ? [.note(link)] : []
        case .accept(let link, let verdict): accept(link, verdict)
        case .cancelledByPayer(let link): cancelledByPayer(link)
        case .cancelRequested: cancelRequested()
        case .clock(let now): clock(now)
        case .submitted: submitted()
        case .receipt(let source, let status, let now): receipt(source, status, now)
        case .receiptRefused(let link): receiptRefused(link)
        case .executionOverdue: executionOverdue()
        case .voidConfirmed: voidConfirmed()
        case .closedByRail: closedByRail()
        case .errorFromPhone(let link, let code): code.ends == .nothing ? [] : linkLost(link)
        case .linkLost(let link): linkLost(link)
        case .ping(let link): [.pong(link)]
        case .unknownType(let link): [.refuse(link, .unknownType)]
        case .unexpected(let link): [.refuse(link, .unexpected)]
        case .restarted(let now, let mayResume): restarted(now, mayResume)
        }
    }

    // MARK: Open

    private mutating func linkReady(_ link: LinkID) -> [Action] {
        switch state {
        case .open: declined.contains(link) ? [.close(link)] : [.offer(link)]
        // A phone that comes back hears how it stands; a new one is not asked.
        case .claimed, .executing, .unknown: winner?.link == link ? [.offer(link), .claim(link)] : [.close(link)]
        case .done(let outcome): [finalMessage(for: link, outcome)]
        }
    }

    private mutating func accept(_ link: LinkID, _ verdict: AcceptVerdict) -> [Action] {
        switch (state, verdict) {
        case (.open, .valid(let hash, let mode, let isTerminalOnline)):
            let won = Winner(
                link: link,
                acceptHash: hash,
                attempt: attempt,
                mode: mode,
                isTerminalOnline: isTerminalOnline
            )
            (winner, state) = (won, .claimed)
            let told: [Action] = [.journal(.claimed(won)), .claim(link), .holdOthers(than: link), .stopScanning]
            guard mode == .online else {
                state = .done(.acceptedOffline)
                return [.journal(.acceptedOffline(won))] + told.dropFirst()
                    + [.queueForSync, .result(link, .acceptedOffline), .otherPaid(except: link)]
            }
            guard !isTerminalOnline else { return told + [.submit] }
            state = .executing
            return told + [.awaitResult(link)]
        case (.open, .invalid(_, let code)): return [.refuse(link, code)]
        case (.claimed, _), (.executing, _), (.unknown, _):
            guard winner?.acceptHash == verdict.acceptHash else { return [.hold(link)] }
            moveWinner(to: link)
            return [.claim(link)]
        case (.done(let outcome), _):
            if winner?.acceptHash == verdict.acceptHash { moveWinner(to: link) }
            return [finalMessage(for: link, outcome)]
        }
    }

    /// The winner came back over another link: its accept is the proof that it is the same.
    private mutating func moveWinner(to link: LinkID) {
        guard let old = winner else { return }
        winner = Winner(
            link: link,
            acceptHash: old.acceptHash,
            attempt: old.attempt,
            mode: old.mode,
            isTerminalOnline: old.isTerminalOnline
        )
    }

    private mutating func cancelledByPayer(_ link: LinkID) -> [Action] {
        switch state {
        case .open:
            declined.insert(link)
            return [.acknowledge(link), .close(link)]
        case .claimed, .executing, .unknown:
            // Crossing: the claim was first in the journal, so the payer hears both.
            guard winner?.link == link else {
                declined.insert(link)
                return [.acknowledge(link), .close(link)]
            }
            return [.refuse(link, .tooLateToCancel), .claim(link)]
        case .done(let outcome): return [finalMessage(for: link, outcome)]
        }
    }

    private mutating func cancelRequested() -> [Action] {
        switch state {
        case .open:
            state = .done(.cancelled)
            return [.journal(.done(.cancelled)), .stopScanning, .cancelAll(.merchant)]
        case .claimed, .executing, .unknown: return [.refuseCancel]
        case .done: return []
        }
    }

    private mutating func clock(_ now: Int) -> [Action] {
        guard state == .open, now > expiresAtMilliseconds + Self.expiryGraceMilliseconds else { return [] }
        state = .done(.cancelled)
        return [.journal(.done(.cancelled)), .stopScanning, .cancelAll(.expired)]
    }

    /// Another way to pay has won the charge: phones hear that somebody has paid.
    private mutating func closedByRail() -> [Action] {
        guard state == .open else { return state.isFinal ? [] : [.refuseCancel] }
        state = .done(.paidElsewhere)
        return [.journal(.done(.paidElsewhere)), .stopScanning, .otherPaid(except: nil)]
    }

    // MARK: Claimed and later

    private mutating func submitted() -> [Action] {
        if state == .claimed { state = .executing }
        return []
    }

    private mutating func receipt(_ source: ReceiptSource, _ status: PaymentStatus, _ now: Int) -> [Action] {
        guard !state.isFinal || state == .done(.acceptedOffline) else { return lateReceipt(source, status) }
        switch status {
        case .completed:
            // Also while open: the journal was lost, and the gateway knows of a claim that this terminal forgot.
            state = .done(.completed)
            return [.journal(.done(.completed)), .stopScanning] + acknowledgement(source)
                + tellWinner(source, .completed)
                + [.otherPaid(except: winner?.link ?? source.link)]
        case .failed: return failed(source, now)
        case .cancelled:
            guard state != .open else { return acknowledgement(source) }
            state = .done(.cancelled)
            return [.journal(.done(.cancelled)), .stopScanning] + acknowledgement(source)
                + tellWinner(source, .cancelled)
                + [.cancelOthers(than: winner?.link, .error)]
        case .initiated, .inProgress, .acceptedOffline: return []
        }
    }

    /// Money that moved after this terminal had closed the payment is found, shown and booked, never dropped.
    private mutating func lateReceipt(_ source: ReceiptSource, _ status: PaymentStatus) -> [Action] {
        guard status == .completed, state != .done(.completed) else { return acknowledgement(source) }
        state = .done(.completed)
        return [.journal(.done(.completed)), .tellStaffPaidAfterEnd] + acknowledgement(source)
            + tellWinner(source, .completed)
    }

    private mutating func failed(_ source: ReceiptSource, _ now: Int) -> [Action] {
        // Whoever brings it has not heard that accepts are taken again.
        guard state != .open else {
            return acknowledgement(source) + (source.link.map { [.reopen($0, attempt: attempt)] } ?? [])
        }
        let told = acknowledgement(source) + tellWinner(source, .failed)
        if state != .done(.acceptedOffline), now < expiresAtMilliseconds {
            attempt += 1
            (state, winner) = (.open, nil)
            return [.journal(.reopened(attempt: attempt))] + told + [.reopenAll(attempt: attempt), .startScanning]
        }
        state = .done(.failed)
        return [.journal(.done(.failed))] + told + [.cancelOthers(than: winner?.link, .expired)]
    }

    private func tellWinner(_ source: ReceiptSource, _ status: PaymentStatus) -> [Action] {
        guard let link = winner?.link ?? source.link else { return [] }
        return [.result(link, status)]
    }

    private func acknowledgement(_ source: ReceiptSource) -> [Action] { source.link.map { [.acknowledge($0)] } ?? [] }

    private func receiptRefused(_ link: LinkID) -> [Action] { [.refuse(link, .receiptInvalid)] }

    private mutating func executionOverdue() -> [Action] {
        guard state == .claimed || state == .executing else { return [] }
        state = .unknown
        return [.journal(.unknown), .tellStaffUnknown, .askGateway]
    }

    private mutating func voidConfirmed() -> [Action] {
        switch state {
        case .claimed, .executing, .unknown, .done(.acceptedOffline):
            state = .done(.cancelled)
            return [.journal(.done(.cancelled)), .stopScanning, .cancelAll(.merchant)]
        case .open, .done: return []
        }
    }

    // MARK: Links and power

    private func linkLost(_ link: LinkID) -> [Action] {
        let isWinner = winner?.link == link && !state.isFinal
        return isWinner ? [.close(link), .recover(link)] : [.close(link)]
    }

    private func finalMessage(for link: LinkID, _ outcome: Outcome) -> Action {
        guard winner?.link == link else {
            // What another phone or way has paid is no cancellation, and a cancellation is no payment.
            switch outcome {
            case .completed, .acceptedOffline, .paidElsewhere: return .otherPaidTo(link)
            case .failed: return .cancel(link, .expired)
            case .cancelled: return .cancel(link, .merchant)
            }
        }
        switch outcome {
        case .completed: return .result(link, .completed)
        case .failed: return .result(link, .failed)
        case .acceptedOffline: return .result(link, .acceptedOffline)
        case .cancelled: return .cancel(link, .merchant)
        case .paidElsewhere: return .otherPaidTo(link)
        }
    }

    mutating func expireAfterRestart() -> [Action] {
        state = .done(.cancelled)
        return [.journal(.done(.cancelled)), .cancelAll(.expired)]
    }

    mutating func becomeUnknownAfterRestart() -> [Action] {
        state = .unknown
        return [.journal(.unknown), .tellStaffUnknown, .askGateway] + (winner.map { [.recover($0.link)] } ?? [])
    }

    mutating func apply(_ record: Record) {
        switch record {
        case .claimed(let won):
            (winner, attempt) = (won, won.attempt)
            state = won.isTerminalOnline ? .claimed : .executing
        case .acceptedOffline(let won): (state, winner, attempt) = (.done(.acceptedOffline), won, won.attempt)
        case .reopened(let next): (state, winner, attempt) = (.open, nil, next)
        case .unknown: state = .unknown
        case .done(let outcome): state = .done(outcome)
        }
    }
}
