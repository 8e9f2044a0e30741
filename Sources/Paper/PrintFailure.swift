public import Payments

/// How a job ended that the printer took whole.
public enum PrintOutcome: String, Sendable, Equatable {
    /// The printer answered, after the job's last byte, that it has paper and is ready.
    case confirmed
    /// It read every byte and says nothing of the paper.
    case delivered
}

/// Why a job is not known to be on paper. The payment has nothing to do with it.
public enum PrintFailure: Error, Sendable, Equatable {
    /// No byte left the terminal: nothing was printed.
    case notReached(String)
    /// Some bytes left, or all, and the printer broke off: look at the paper.
    case unclear(sentBytes: Int, of: Int, String)
    /// Longer than any receipt. Nothing was printed.
    case tooLong(bytes: Int)

    /// Whether anything of it could be on paper.
    public var mayHavePrinted: Bool {
        switch self {
        case .notReached, .tooLong: false
        case .unclear: true
        }
    }

    /// In words for a cashier.
    public var reason: Reason {
        switch self {
        case .notReached(let detail):
            Reason(
                code: "printer_not_reached",
                message: "The printer cannot be reached: \(detail). Nothing was printed; the payment is as it was.",
                action: "Check that the printer is on and its address in the settings, then print again."
            )
        case .unclear(_, _, let detail):
            Reason(
                code: "print_unknown",
                message:
                    "It is not known whether all of it was printed: \(detail). The payment is as it was.",
                action: "Look at the paper. Print again if the receipt is missing or cut off."
            )
        case .tooLong:
            Reason(
                code: "print_too_long",
                message: "The receipt is too long. Nothing was printed; the payment is as it was.",
                action: "Shorten the lines above and below it in the settings."
            )
        }
    }
}
