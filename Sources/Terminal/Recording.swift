import Logging
public import Payments

/// Whether the journal takes what happens to one charge. A part of the charge's picture: whoever shows the charge shows it.
public enum Recording: Sendable, Equatable {
    case works
    /// Nothing can be recorded, and no customer can have paid the charge: the payment was never shown to anybody.
    case fails(Reason)
    /// An answer about the charge was not recorded, or none can be while a customer can pay. Whether the charge is paid is not
    /// known yet: take the code away, and tell nobody to pay again.
    case answerMissing(Reason)

    /// Why, in a cashier's words; nil where everything can be recorded.
    public var reason: Reason? {
        switch self {
        case .works: nil
        case .fails(let reason), .answerMissing(let reason): reason
        }
    }
}

/// Answers of authorities that came and could not be recorded. A value of the desk's: it decides, without a clock or I/O.
///
/// Only the authority's next answer that is recorded takes the place of a missing one: that the storage works again says nothing
/// about the payment.
struct MissingAnswers {
    private var keys: Set<JobKey> = []

    /// Takes an event that the journal refused.
    mutating func miss(_ event: Charge.Event, of charge: ChargeID) {
        guard event.speaksOfMoney, let attempt = event.answeredAttempt else { return }
        keys.insert(JobKey(charge: charge, attempt: attempt))
    }

    /// Takes an event that is in the journal, or that changes nothing about the charge.
    /// - Parameter charge: After the event.
    mutating func heard(_ event: Charge.Event, _ charge: Charge) {
        if let attempt = event.answeredAttempt {
            keys.remove(JobKey(charge: charge.id, attempt: attempt))
        } else if charge.isUnresolved {
            // Silence that is recorded makes the charge itself say that it is not known.
            for attempt in charge.attempts where attempt.isOpen && attempt.isSilent {
                keys.remove(JobKey(charge: charge.id, attempt: attempt.id))
            }
        }
    }

    /// Whether an answer about the charge is missing.
    func concerns(_ charge: Charge) -> Bool {
        guard !keys.isEmpty else { return false }
        return charge.attempts.contains { keys.contains(JobKey(charge: charge.id, attempt: $0.id)) }
    }
}

extension Charge.Event {
    /// The attempt that an authority, or a customer through the rail, has said something about; nil for every other event.
    fileprivate var answeredAttempt: Attempt.ID? {
        switch self {
        case .offered(let id, _), .refused(let id, _), .notFound(let id), .reported(let id, _), .claimWanted(let id, _),
            .claimed(let id), .claimDropped(let id), .promised(let id), .givenBack(let id):
            id
        case .attemptStarted, .sending, .notSent, .silent, .overdue, .refundAsked, .refunded, .refundDenied,
            .cancelRequested, .deadlineReached, .released, .resumed, .seen:
            nil
        }
    }
}

extension Charge.Event {
    /// Whether money can have moved with it. Nobody can pay what was not offered in the journal first.
    fileprivate var speaksOfMoney: Bool {
        switch self {
        case .reported, .claimWanted, .claimed, .claimDropped, .promised, .givenBack: true
        case .offered, .refused, .notFound, .attemptStarted, .sending, .notSent, .silent, .overdue, .refundAsked,
            .refunded, .refundDenied, .cancelRequested, .deadlineReached, .released, .resumed, .seen:
            false
        }
    }
}

extension Charge {
    /// Whether somebody can hold what it takes to pay this charge, or money is moving for it.
    fileprivate var canHoldMoney: Bool {
        attempts.contains { attempt in
            guard case .offered = attempt.phase else { return false }
            return true
        }
    }
}

extension ChargeDesk {
    /// Whether what happens to the charge is recorded, as the charge stands now.
    func recording(of charge: Charge) -> Recording {
        // The authority's word that it is paid stands in the journal: nothing that is missing takes it back.
        guard charge.state != .succeeded else { return .works }
        let isMissing = missing.concerns(charge)
        guard let fault = fault ?? (isMissing ? lastFault : nil) else { return .works }
        if isMissing || (!charge.state.isFinal && charge.canHoldMoney) { return .answerMissing(fault.reasonAtCharge) }
        return charge.state.isFinal ? .works : .fails(fault.reason)
    }

    /// Notes that the journal did not take these events.
    func miss(_ events: [Charge.Event], of id: ChargeID, _ error: JournalError) {
        for event in events { missing.miss(event, of: id) }
        note(error)
    }

    /// Notes that the journal does not take what happened.
    func note(_ error: JournalError) {
        logger.critical("the journal does not take what happened", metadata: ["error": "\(error)"])
        (fault, lastFault) = (error, error)
        meter.noteJournalFault()
        storageTroubles.continuation.yield()
        tellRecording()
        publish()
    }

    /// Tells whoever follows charges of those that have become unknown, or known again, by the storage alone.
    func tellRecording() {
        let now = Set(
            charges.values.filter { if case .answerMissing = recording(of: $0) { true } else { false } }.map(\.id)
        )
        for id in now.symmetricDifference(unknownByStorage) {
            if let charge = charges[id] { changes.add(charge, at: clock.wallTime(), isUnresolved: now.contains(id)) }
        }
        unknownByStorage = now
    }

    /// Tries the journal every five seconds while it does not take what happens, until cancelled. Without a charge under way nothing
    /// else would find out that it works again.
    func watchStorage() async {
        for await _ in storageTroubles.stream {
            while fault != nil {
                do { try await clock.sleep(.seconds(5)) } catch { return }  // The terminal stops.
                guard fault != nil else { break }
                let now = await archive.writeFault()
                guard fault != now else { continue }
                fault = now
                if let now { lastFault = now } else { logger.notice("the storage works again") }
                tellRecording()
                publish()
            }
        }
    }
}

extension ChargeSnapshot {
    /// Whether nobody can say how the charge stands: the authority is silent, or its answer is not recorded.
    public var isUnresolved: Bool { charge.isUnresolved || isAnswerMissing }

    /// Whether an answer about the charge is not recorded. Show "not known yet", whatever the state.
    public var isAnswerMissing: Bool { if case .answerMissing = recording { true } else { false } }

    /// Whether staff can ask to take the charge back, and the wish can be recorded.
    public var canCancel: Bool { charge.canCancel && recording == .works }

    /// Whether staff can go on without an answer, and the decision can be recorded.
    public var canRelease: Bool { charge.canRelease && recording == .works }
}
