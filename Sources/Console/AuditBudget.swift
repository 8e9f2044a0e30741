/// How many entries strangers may cause in the audit log: 30 at once, then one each ten seconds.
struct AuditBudget: Sendable {
    private static let most = 30
    private static let each = Duration.seconds(10)

    private var left = most
    private var refilledAt = Duration.zero
    private var unwritten = 0

    /// - Parameter now: Time since any fixed moment.
    /// - Returns: How many were not written since the last one that was; nil: do not write this one.
    mutating func take(at now: Duration) -> Int? {
        let earned = Int(max(0, (now - refilledAt) / Self.each))
        if left + earned >= Self.most {
            (left, refilledAt) = (Self.most, now)
        } else {
            left += earned
            refilledAt += Self.each * earned
        }
        guard left > 0 else {
            unwritten += 1
            return nil
        }
        left -= 1
        defer { unwritten = 0 }
        return unwritten
    }
}
