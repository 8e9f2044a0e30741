import Journal
import Payments
import Terminal

/// How webhooks stand, in numbers.
struct WebhookMeasures: Sendable, Equatable {
    /// As the list of webhooks calls it, and how many are in it.
    static let states = ["new", "good", "failing", "paused", "off"]

    var counts: [String: Int] = [:]
    /// Of those that are sent to: the entries that the one furthest behind has not been told yet, wanted or not.
    var waiting: Int64 = 0
    /// How old the first of these is.
    var oldest = Duration.zero
}

extension WebhookDesk {
    /// Nil where webhooks or the journal cannot be read: then nothing is known of them.
    func measures() async -> WebhookMeasures? {
        guard isReadable, let all = try? await standing() else { return nil }
        var measures = WebhookMeasures()
        for one in all { measures.counts[Console.state(one.hook, one.progress), default: 0] += 1 }
        let sent = all.filter { !$0.hook.isPaused && $0.progress.off == nil }
        guard let last = sent.max(by: { $0.behind < $1.behind }), last.behind > 0 else { return measures }
        measures.waiting = last.behind
        do throws(JournalError) {
            guard let first = try await books.timeOfEntry(after: last.progress.sequence) else { return measures }
            // A clock that was set back makes nothing younger than now.
            measures.oldest = max(first.duration(to: clock.wallTime()), .zero)
        } catch { return nil }
        return measures
    }
}
