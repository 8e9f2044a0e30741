public import Journal
public import Logging
import Payments

/// Lets the journal put its log away while nobody is paying, so that no customer waits for it.
///
/// Wakes only for news. Nothing waits for it but appends of that moment.
public struct JournalRest: Sendable {
    private let desk: ChargeDesk
    private let journal: Journal
    private let logger: Logger

    public init(desk: ChargeDesk, journal: Journal, logger: Logger) {
        (self.desk, self.journal, self.logger) = (desk, journal, logger)
    }

    /// Runs until cancelled.
    public func run() async {
        for await snapshot in await desk.snapshots() {
            if case .charging(let charge) = snapshot.phase, !charge.charge.state.isFinal { continue }
            do throws(JournalError) { try await journal.putLogAway() } catch {
                // Where nothing can be recorded, the next charge finds it out and says so.
                logger.warning(
                    "the journal's log stays as long as it is: payments go on",
                    metadata: ["error": "\(error)"]
                )
            }
        }
    }
}
