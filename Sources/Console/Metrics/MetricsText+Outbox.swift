import Payments

extension MetricsText {
    /// How far the operator's database is behind.
    mutating func addOutbox(_ standing: OutboxDesk.Standing, _ progress: OutboxProgress, at now: WallTime) {
        add("till_outbox_waiting", .gauge, "Events that are not in the operator’s database.", Double(standing.waiting))
        let age = standing.oldest.map { max($0.duration(to: now), .zero).components.seconds } ?? 0
        add("till_outbox_oldest_seconds", .gauge, "How old the oldest of them is.", Double(age))
        add("till_outbox_failing", .gauge, "1 while the database does not take them.", progress.fault == nil ? 0 : 1)
        if let at = progress.deliveredAt {
            add(
                "till_outbox_delivered_time_seconds",
                .gauge,
                "When the database took some last, in seconds since 1970.",
                Double(at.millisecondsSince1970) / 1000
            )
        }
    }
}
