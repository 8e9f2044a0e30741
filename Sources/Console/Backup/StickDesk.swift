import Backup
import Journal
import Logging
import Payments
import Terminal

/// Writes backups onto sticks, and says on the screen how a backup stands.
actor StickDesk {
    enum Phase: String, Sendable { case idle, writing }

    /// The backup that was written last.
    struct Written: Sendable, Equatable {
        var file: String
        var stick: String
        var bytes: Int64
    }

    /// What is on its way.
    private struct Job: Sendable {
        var stick: BackupSticks.Stick
        var writer: BackupWriter
        var who: Payments.Actor
    }

    /// How long the screen says how it ended.
    private static let shownFor = Duration.seconds(60)

    /// Nil where the machine shows no sticks.
    nonisolated let sticks: BackupSticks?
    private let journal: any Keeping
    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let logger: Logger
    private let jobs = AsyncStream.makeStream(of: Job.self, bufferingPolicy: .bufferingOldest(1))
    private let ends = AsyncStream.makeStream(of: BackupProgress.self, bufferingPolicy: .bufferingNewest(4))

    private(set) var phase = Phase.idle
    private(set) var percent = 0
    private(set) var problem: Problem?
    private(set) var written: Written?

    init(sticks: BackupSticks?, journal: any Keeping, desk: ChargeDesk, clock: TerminalClock, logger: Logger) {
        (self.sticks, self.journal, self.desk) = (sticks, journal, desk)
        (self.clock, self.logger) = (clock, logger)
    }

    /// Writes what is asked for, and takes its end from the screen after a while, until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { for await job in self.jobs.stream { await self.write(job) } }
            for await page in ends.stream {
                group.addTask {
                    do { try await self.clock.sleep(Self.shownFor) } catch { return }  // The terminal stops.
                    await self.desk.hideBackup(page)
                }
            }
            group.cancelAll()
        }
    }

    /// Shows how something ended, for a while.
    func showEnd(_ page: BackupProgress) async {
        await desk.showBackup(page)
        ends.continuation.yield(page)
    }

    /// Shows what goes on.
    func show(_ page: BackupProgress) async { await desk.showBackup(page) }

    // MARK: - Writing

    /// Makes sure that a backup can be written onto the stick of this name, and keeps others from doing so meanwhile: follow it
    /// with ``write(_:onto:by:)`` or ``giveUp()``.
    func begin(_ name: String) throws(Problem) -> BackupSticks.Stick {
        guard let sticks else { throw Self.absent }
        guard phase == .idle else { throw Self.busy }
        guard let stick = sticks.sticks().first(where: { $0.name == name }) else { throw Self.missing }
        guard !stick.isReadOnly else { throw Problem(409, StickError.readOnly.reason) }
        (phase, percent, problem, written) = (.writing, 0, nil, nil)
        return stick
    }

    /// Nothing is written after all.
    func giveUp() { phase = .idle }

    /// Writes it; the answer does not wait for that.
    func write(_ writer: BackupWriter, onto stick: BackupSticks.Stick, by who: Payments.Actor) {
        jobs.continuation.yield(Job(stick: stick, writer: writer, who: who))
    }

    private func write(_ job: Job) async {
        await show(.writing(percent: 0))
        do throws(StickError) {
            let name = "till-backup-\(job.writer.facts.madeAt.moment.prefix(10))"
            let file = try await StickFile.write(job.writer, named: name, into: job.stick.path) { percent in
                await self.hasCome(percent)
            }
            written = Written(file: file, stick: job.stick.name, bytes: Int64(job.writer.totalBytes))
            await audit("ok", "\(file), \(job.writer.facts.ends.entries) entries", by: job.who)
            await showEnd(.written(file: file))
        } catch {
            let reason = error.reason
            logger.error("the backup is not on the stick", metadata: ["why": "\(error)"])
            problem = Problem(503, reason)
            await audit("failed", reason.code, by: job.who)
            await showEnd(.notWritten)
        }
        phase = .idle
    }

    private func hasCome(_ percent: Int) async {
        // The page hears of each; the screen is drawn anew for each fifth.
        self.percent = percent
        if percent % 5 == 0 { await show(.writing(percent: percent)) }
    }

    private func audit(_ result: String, _ detail: String, by who: Payments.Actor) async {
        let entry = AuditEntry(
            at: clock.wallTime(),
            who: who,
            from: "",
            what: "backup.stick",
            result: result,
            detail: detail
        )
        do throws(JournalError) { try await journal.audit(entry) } catch {
            logger.critical("the audit log takes no entry", metadata: ["what": "backup.stick", "error": "\(error)"])
        }
    }

    // MARK: - Reading

    /// The backup at this place.
    nonisolated func file(_ place: String) throws(Problem) -> BackupSticks.File {
        guard let sticks else { throw Self.absent }
        guard let file = sticks.files().first(where: { $0.place == place }) else { throw Self.missing }
        return file
    }

    private static let absent = Problem(
        409,
        "stick_absent",
        "This terminal is a program on a machine of its own owner, and is shown no sticks. Nothing was changed.",
        "Download the backup instead, or send it from this page."
    )
    private static let missing = Problem(
        409,
        "stick_missing",
        "This stick or this file is not there any more. Nothing was changed.",
        "Plug the stick in again."
    )
    private static let busy = Problem(
        409,
        "stick_busy",
        "A backup is being written onto a stick already. Nothing was changed.",
        "Wait until it is done."
    )
}
