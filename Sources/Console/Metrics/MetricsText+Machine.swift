import Machine
import Payments

/// Storage, clock and webhooks. What is not known is left out: nobody takes it for 0.
extension MetricsText {
    /// - Parameter webhooks: Nil where they cannot be read.
    mutating func add(_ facts: HealthFacts, _ webhooks: WebhookMeasures?) {
        addStorage(facts)
        addClock(facts)
        if let webhooks { add(webhooks) }
    }

    private mutating func addStorage(_ facts: HealthFacts) {
        if let storage = facts.machine.storage {
            add(
                "till_storage_free_bytes",
                .gauge,
                "Room left for the terminal where its journal lies.",
                Double(storage.freeBytes)
            )
            add("till_storage_size_bytes", .gauge, "Size of the storage of the journal.", Double(storage.totalBytes))
        }
        add("till_journal_size_bytes", .gauge, "Size of the journal and its log.", Double(facts.journalBytes))
        add(
            "till_journal_writable",
            .gauge,
            "1 while charges can be recorded, as far as is known without writing.",
            facts.journalFault == nil ? 1 : 0
        )
    }

    private mutating func addClock(_ facts: HealthFacts) {
        add(
            "till_clock_set",
            .gauge,
            "1 where the clock was set by somebody who knows the time.",
            facts.clock.isSet ? 1 : 0
        )
        add(
            "till_clock_synchronised",
            .gauge,
            "1 while the clock hears the time from outside.",
            facts.clock.isSynchronised ? 1 : 0
        )
        guard let offset = facts.offset else { return }
        add(
            "till_clock_gateway_offset_seconds",
            .gauge,
            "How far the gateway's clock was ahead at its last answer, to half a second.",
            Double(offset.milliseconds) / 1000
        )
    }

    private mutating func add(_ webhooks: WebhookMeasures) {
        add(
            "till_webhooks",
            .gauge,
            "Webhooks by how they stand; off is given up.",
            WebhookMeasures.states.map { ([("state", $0)], Double(webhooks.counts[$0] ?? 0)) }
        )
        add(
            "till_webhook_waiting_entries",
            .gauge,
            "Journal entries that the webhook furthest behind has not been told; paused and off ones do not count.",
            Double(webhooks.waiting)
        )
        add(
            "till_webhook_oldest_waiting_seconds",
            .gauge,
            "Age of the first of these entries.",
            webhooks.oldest / .seconds(1)
        )
    }
}
