/// How many entries strangers may cause in the audit log: 30 at once, then one each ten seconds, and 1000 a day.
struct AuditBudget: Sendable {
    static let mostADay = 1000
    private static let most = 30
    private static let each = Duration.seconds(10)
    private static let day = Duration.seconds(24 * 3600)

    private var left = most
    private var refilledAt = Duration.zero
    private var leftToday = mostADay
    private var dayBegan = Duration.zero
    private var unwritten = 0

    /// - Parameter now: Time since any fixed moment.
    /// - Returns: How many were not written since the last one that was; nil: do not write this one.
    mutating func take(at now: Duration) -> Int? {
        if now - dayBegan >= Self.day { (leftToday, dayBegan) = (Self.mostADay, now) }
        let earned = Int(max(0, (now - refilledAt) / Self.each))
        if left + earned >= Self.most {
            (left, refilledAt) = (Self.most, now)
        } else {
            left += earned
            refilledAt += Self.each * earned
        }
        guard left > 0, leftToday > 0 else {
            unwritten += 1
            return nil
        }
        left -= 1
        leftToday -= 1
        defer { unwritten = 0 }
        return unwritten
    }
}
