import Logging
public import Payments

/// Payments that nobody waited for: they are said until somebody says that they have seen them, over restarts too.
extension ChargeDesk {
    /// More than these are found in the history only.
    private static let mostNotices = 20
    /// What nobody has seen in so long is not brought back by a restart. The history keeps it.
    private static let oldestNews = Duration.seconds(7 * 86_400)

    /// Takes away what is said of a charge's late or second payment. The history keeps it.
    /// - Throws: ``ChargeRefusal/journal(_:)``: it would come back after a restart, so it is still shown.
    public func markSeen(_ id: ChargeID, by actor: Actor) async throws(ChargeRefusal) -> ChargeSnapshot {
        let before = try await charge(id)
        do throws(JournalError) { _ = try await record(.seen(by: actor), of: id) } catch { throw .journal(error) }
        notices.removeAll { $0.id == id }
        publish()
        return charges[id] == nil ? before : try snapshot(of: id)
    }

    /// Says what is new about a charge that nobody waits for.
    func notice(_ before: Charge, _ after: Charge, at time: WallTime) {
        let isAgain = after.surplusAttempts.count > before.surplusAttempts.count
        guard let news = after.unseen, isAgain || news != before.unseen else { return }
        say(news, of: after, at: time)
        logger.notice(
            "a payment that nobody waited for",
            metadata: ["charge": "\(after.id)", "kind": "\(news.rawValue)"]
        )
    }

    /// Says again what nobody had seen when the terminal stopped.
    func recallNews() async throws(JournalError) {
        let since = clock.wallTime().advanced(by: .zero - Self.oldestNews)
        for (charge, time) in try await archive.unseen(since: since, limit: Self.mostNotices).reversed() {
            if let news = charge.unseen { say(news, of: charge, at: time) }
        }
    }

    private func say(_ news: Charge.News, of charge: Charge, at time: WallTime) {
        let notice = PaymentNotice(
            id: charge.id,
            kind: news,
            code: charge.terms.code,
            amountText: format.text(charge.terms.amount),
            at: time
        )
        notices.removeAll { $0.id == charge.id }
        notices = Array(([notice] + notices).prefix(Self.mostNotices))
        jobs.continuation.yield(.endNotice(notice))
    }

    /// Takes a notice off the screen once its time is over. A newer one of the same charge stays.
    func endNotice(_ notice: PaymentNotice) async {
        do { try await clock.sleep(resultTimes.notice) } catch { return }  // The terminal stops.
        notices.removeAll { $0 == notice }
        publish()
    }
}
