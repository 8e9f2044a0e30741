public import Payments

/// What staff or the shop's till ask for.
public struct ChargeRequest: Sendable, Hashable {
    public var amount: Money
    /// The part of `amount` that is a tip.
    public var tip: Money?
    /// The shop's own number for the sale, up to 35 characters of letters, digits, space and `/ - : . , +`.
    public var reference: String?
    /// For staff only, at most ``Payments/ChargeTerms/longestNote`` characters. It never leaves the terminal.
    public var note: String?
    public var key: IdempotencyKey?
    public var by: Actor
    /// Where it comes from, for the audit log: an address on the network, or `keypad`. Nil writes no line there.
    public var from: String?
    /// The largest charge that the one who asks may make, in minor units; nil: only the terminal's own limit counts. A
    /// repetition of a charge that was opened is not held to it.
    public var ownMaximumMinorUnits: Int64?

    public init(
        amount: Money,
        tip: Money? = nil,
        reference: String? = nil,
        note: String? = nil,
        key: IdempotencyKey? = nil,
        by: Actor,
        from: String? = nil
    ) {
        self.amount = amount
        self.tip = tip
        self.reference = reference
        self.note = note
        self.key = key
        self.by = by
        self.from = from
    }

    static func isValid(note: String) -> Bool {
        (1...ChargeTerms.longestNote).contains(note.unicodeScalars.count)
            && SettingsForm.isVisible(note, needsLetter: false)
    }

    /// Characters of a reference.
    static let longestReference = 35

    /// Any script: the reference stays in the shop. The gateway gets the charge's own name, ``ChargeTerms/reference(on:)``.
    static func isValid(reference: String) -> Bool {
        (1...longestReference).contains(reference.unicodeScalars.count) && SettingsForm.isVisible(reference)
    }
}

/// Why the desk did not do what it was asked. Nothing was charged by the request that got it.
public enum ChargeRefusal: Error, Sendable, Equatable {
    /// No merchant, operator or gateway is set.
    case notSetUp
    /// Earlier payments are still being asked about. Try again in a moment.
    case notReady(checking: Int)
    /// The terminal has just begun to run: how earlier charges stand is not known before it has looked at them.
    case starting
    /// A new version of the system is being installed, or the machine is about to start with it.
    case updating
    /// Another charge holds the terminal.
    case busy(ChargeID)
    case limit(ChargeLimits.Violation)
    /// More than the one who asks may charge.
    case aboveOwnLimit(Money)
    case invalidReference
    /// The note is too long, or has characters that cannot be shown.
    case invalidNote
    /// Staff add no tips here, as the owner set it.
    case tipsAreOff
    /// The tip is more than the policy allows, negative, or of another currency.
    case invalidTip
    /// The key was used for another request.
    case idempotencyConflict
    case notFound
    /// The charge is past the point where this can be done.
    case tooLate(Charge.State)
    /// It could not be recorded, so it was not begun.
    case journal(JournalError)
    /// What happens to the charge is not recorded. The words are the charge's own, which never lead to a second payment.
    case unrecorded(Reason)
}

extension ChargeRefusal {
    /// The refusal in a cashier's words.
    public func reason(format: AmountFormat) -> Reason {
        switch self {
        case .notSetUp:
            Reason(
                code: "not_set_up",
                message: "This terminal does not know yet who is paid.",
                action: "Ask the owner to enter the operator ID, the merchant ID and the gateway in the settings."
            )
        case .notReady(let checking):
            Reason(
                code: "checking_payments",
                message: "The terminal has just started and is looking at earlier payments.",
                action: "Try again in a few seconds.",
                values: ["count": String(checking)]
            )
        case .starting: Reason(code: "starting", message: "The terminal is starting.", action: "Try again in a moment.")
        case .updating:
            Reason(
                code: "updating",
                message: "The terminal is being updated. Nothing was charged.",
                action: "Wait a few minutes. The terminal’s screen says when it goes on."
            )
        case .busy:
            Reason(
                code: "busy",
                message: "Another charge is on the screen. Nothing new was charged.",
                action: "Cancel that charge. If its payment is under way, wait for its end, or go on without an answer."
            )
        case .limit(let violation): Self.reason(violation, format)
        case .aboveOwnLimit(let maximum):
            Reason(
                code: "amount_above_own_limit",
                message: "You may charge \(format.text(maximum)) at most. Nothing was charged.",
                action: "Check the amount, or ask a manager or the owner to charge it.",
                values: ["limit": format.text(maximum)]
            )
        case .invalidReference:
            Reason(
                code: "invalid_reference",
                message:
                    "The reference has more than \(ChargeRequest.longestReference) characters, or some that cannot be shown.",
                action: "Shorten it, or type it again. Nothing was charged."
            )
        case .invalidNote:
            Reason(
                code: "invalid_note",
                message: "The note has more than \(ChargeTerms.longestNote) characters, or some that cannot be shown.",
                action: "Shorten it, or type it again. Nothing was charged."
            )
        case .tipsAreOff:
            Reason(
                code: "tips_off",
                message: "Tips are not added at the counter here. Nothing was charged.",
                action: "Charge without a tip, or ask the owner to switch tips on."
            )
        case .invalidTip:
            Reason(
                code: "invalid_tip",
                message: "The tip is larger than this terminal allows. Nothing was charged.",
                action: "Enter a smaller tip."
            )
        case .idempotencyConflict:
            Reason(
                code: "idempotency_conflict",
                message: "This request's key was already used for another charge. Nothing new was charged.",
                action: "Look at the last charges, then charge again."
            )
        case .notFound:
            Reason(
                code: "charge_not_found",
                message: "There is no such charge here.",
                action: "Look at the last charges."
            )
        case .tooLate(let state): Self.reason(tooLate: state)
        case .journal(let error): error.reason
        case .unrecorded(let reason): reason
        }
    }

    private static func reason(_ violation: ChargeLimits.Violation, _ format: AmountFormat) -> Reason {
        switch violation {
        case .aboveMaximum(let maximum):
            Reason(
                code: "amount_above_limit",
                message: "One charge may be \(format.text(maximum)) at most. Nothing was charged.",
                action: "Check the amount, or ask the owner to raise the limit.",
                values: ["limit": format.text(maximum)]
            )
        case .aboveHourlyMaximum(let maximum):
            Reason(
                code: "hourly_limit_reached",
                message: "This would pass the limit of \(format.text(maximum)) an hour. Nothing was charged.",
                action: "Wait, or ask the owner to raise the limit.",
                values: ["limit": format.text(maximum)]
            )
        case .wrongCurrency(let expected):
            Reason(
                code: "wrong_currency",
                message: "This terminal charges in \(expected.code). Nothing was charged.",
                action: "Enter the amount in \(expected.code).",
                values: ["currency": expected.code]
            )
        case .notPositive:
            Reason(
                code: "amount_not_positive",
                message: "The amount must be more than zero. Nothing was charged.",
                action: "Enter the amount again."
            )
        }
    }

    private static func reason(tooLate state: Charge.State) -> Reason {
        switch state {
        case .succeeded:
            Reason(
                code: "already_paid",
                message: "The charge is already paid.",
                action: "Open the charge in the history. It says whether the terminal gives the money back or you do."
            )
        case .failed, .expired, .cancelled:
            Reason(
                code: "already_ended",
                message: "The charge has already ended without a payment.",
                action: "Charge again if the customer still wants to pay."
            )
        case .created, .requiresAction:
            Reason(
                code: "still_open",
                message: "The customer can still pay this charge.",
                action: "Wait for the customer, or cancel the charge."
            )
        case .processing, .unknown:
            Reason(
                code: "payment_under_way",
                message: "The payment is under way and cannot be cancelled now.",
                action: "Wait until the terminal says how it ended. Do not charge again."
            )
        }
    }
}

extension JournalError {
    /// What a broken memory means for the shop.
    public var reason: Reason {
        switch self {
        case .diskFull:
            Reason(
                code: "storage_full",
                message: "The terminal's storage is full, so it cannot record payments.",
                action: "Take payments another way and ask for help to free space. Nothing recorded is lost."
            )
        case .readOnly:
            Reason(
                code: "storage_read_only",
                message: "The terminal's storage takes no writes, so nothing can be recorded.",
                action: "Take payments another way and have the storage replaced."
            )
        case .corrupt:
            Reason(
                code: "journal_damaged",
                message: "The terminal's record of payments is damaged.",
                action: "Take payments another way and ask for help. Do not delete the record."
            )
        case .fromNewerVersion:
            Reason(
                code: "journal_newer",
                message: "The record of payments was written by a newer version of the program.",
                action: "Update the terminal's program."
            )
        case .inUse:
            Reason(
                code: "journal_in_use",
                message: "Another program on this terminal has the record of payments open.",
                action: "Stop the other program, then start the terminal again."
            )
        case .unavailable:
            Reason(
                code: "storage_failed",
                message: "The terminal's storage does not work, so nothing can be recorded.",
                action: "Take payments another way and ask for help."
            )
        case .lostWrite:
            Reason(
                code: "storage_lost_write",
                message:
                    "The terminal's storage lost a write. Nothing more is recorded until the terminal has started again.",
                action:
                    "Switch the terminal off and on: it then asks how every open payment ended. If this comes again, have the storage replaced."
            )
        case .replaced:
            Reason(
                code: "journal_gone",
                message:
                    "The record of payments was deleted, replaced or cut while the terminal runs. Nothing more is recorded.",
                action:
                    "Take payments another way. Take a backup on the terminal's page before the terminal is switched off: after that it may be too late. Then ask for help."
            )
        }
    }

    /// What a broken memory means for a charge that somebody may have paid, under the same code. It never leads to a second payment.
    public var reasonAtCharge: Reason {
        let isRestartWanted = if case .lostWrite = self { true } else { false }
        return Reason(
            code: reason.code,
            message:
                "The terminal's storage does not take what happens to this charge. Whether it is paid is not known yet.",
            action: isRestartWanted
                ? "Do not charge again. Switch the terminal off and on: it then asks how this payment ended."
                : "Do not charge again. Leave the terminal on and ask for help with its storage: it keeps asking how this payment ended.",
            values: ["case": "charge"]
        )
    }
}
