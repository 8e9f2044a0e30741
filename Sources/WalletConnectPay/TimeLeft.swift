/// How much time there is left to pay, for the customer to know.
public enum TimeLeft: Sendable, Hashable {
    /// A minute or more.
    case enough
    /// Less than a minute: say so.
    case low
    /// Less than ten seconds, or none: a signature may come too late. Source: the official sample wallets stop here.
    case almostNone
}

extension PaymentInfo {
    /// What ``expiresAt`` means at this time of day.
    ///
    /// For words to the customer. The gateway counts by its own clock, and only its answer ends a payment: a wallet whose
    /// clock is wrong would refuse what can be paid.
    /// - Parameter nowSeconds: Unix seconds, by the wallet's clock.
    public func timeLeft(nowSeconds: Int64) -> TimeLeft {
        let (seconds, isOutOfRange) = expiresAt.subtractingReportingOverflow(nowSeconds)
        if isOutOfRange { return expiresAt > nowSeconds ? .enough : .almostNone }
        return seconds >= 60 ? .enough : seconds >= 10 ? .low : .almostNone
    }
}
