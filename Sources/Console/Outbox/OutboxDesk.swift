import Foundation
import Journal
import Logging
import Payments
import Terminal

/// Copies the journal's events into the operator's own database, where the owner set one.
///
/// As for webhooks the journal's entries are what is sent: one number says how far the database is. A charge waits for nothing,
/// and what was missed for days is sent afterwards. Decided in docs/decisions/0015-the-outbox.md.
actor OutboxDesk {
    private let journal: any Keeping
    private let books: Journal
    private let desk: ChargeDesk
    /// Nil where nothing can be sent from here.
    private let sink: (any EventSink)?
    private let clock: TerminalClock
    private let logger: Logger

    private(set) var outbox = Outbox()
    private(set) var version = 0
    /// False where another version of the program wrote what is kept: then nothing is sent and nothing changed.
    private(set) var isReadable = true
    private(set) var progress = OutboxProgress(place: "")
    /// Tell this terminal's rows from another's.
    private(set) var names: SenderNames?
    /// The journal's last word where it could not be read.
    private var unread: JournalError?
    private var due: Duration?
    /// Whether this run has asked the database yet.
    private var hasTried = false
    nonisolated let bell = Bell()

    private static let document = "outbox"
    static let progressDocument = "outbox-progress"
    /// Entries that go in one transaction: what was missed for days is never in memory whole.
    static let step = 64
    private static let pauseAfterFault = Duration.seconds(60)

    init(
        journal: any Keeping,
        books: Journal,
        desk: ChargeDesk,
        sink: (any EventSink)?,
        clock: TerminalClock,
        logger: Logger
    ) {
        (self.journal, self.books, self.desk, self.sink) = (journal, books, desk, sink)
        (self.clock, self.logger) = (clock, logger)
    }

    /// Reads what was set earlier. Payments do not wait for it: what cannot be read only keeps events from being sent.
    func load() async throws(JournalError) {
        names = try await books.senderNames()
        if let stored = try await journal.document(Self.document) {
            version = stored.version
            do { outbox = try JSONDecoder().decode(Outbox.self, from: Data(stored.bytes)) } catch {
                isReadable = false
                logger.error("the outbox’s settings cannot be read: nothing is sent", metadata: ["error": "\(error)"])
            }
        }
        progress = OutboxProgress(place: outbox.place.text)
        if let stored = try await journal.document(Self.progressDocument) {
            do {
                let known = try JSONDecoder().decode(OutboxProgress.self, from: Data(stored.bytes))
                if known.place == progress.place { progress = known }
            } catch {
                // It begins anew: what is there already stays as it is.
                logger.error("how far the outbox was cannot be read", metadata: ["error": "\(error)"])
            }
        }
        progress.limit(to: try await books.lastSequence())
    }

    func checkReadable() throws(Problem) {
        guard isReadable else {
            throw Problem(
                503,
                "outbox_unreadable",
                "The outbox’s settings were written by another version of the program and cannot be read. Nothing is sent.",
                "Update the terminal, or restore a backup."
            )
        }
    }

    /// Stores it, and begins at once.
    /// - Parameter password: Nil: the one that is kept stays.
    func save(
        _ changed: Outbox,
        password: String?,
        replacing expected: Int?,
        by actor: Payments.Actor
    ) async throws(Problem) {
        try checkReadable()
        let change: DocumentChange
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(changed)) } catch {
                throw JournalError.unavailable(detail: "the outbox’s settings cannot be written: \(error)")
            }
            change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(expected ?? (version == 0 ? nil : version)),
                with: password.map { SecretChange(name: Outbox.secretName, bytes: Array($0.utf8)) },
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Problem(503, error.reason) }
        guard case .stored(let version) = change else { throw Console.problem(.conflict) }
        (outbox, self.version) = (changed, version)
        if progress.place != changed.place.text { progress = OutboxProgress(place: changed.place.text) }
        progress.noteAnswer()
        due = nil
        bell.ring()
    }

    /// Whether a password is kept.
    func hasPassword() async -> Bool { await password() != nil }

    private func password() async -> String? {
        do throws(JournalError) {
            return try await journal.secret(Outbox.secretName).map { String(decoding: $0, as: UTF8.self) }
        } catch {
            logger.error("the outbox’s password cannot be read", metadata: ["error": "\(error)"])
            return nil
        }
    }

    // MARK: - Sending

    /// Sends until cancelled. A charge never waits for it.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.listen() }
            while !Task.isCancelled {
                let rung = bell.rings
                if let pause = await work() { await bell.wait(since: rung, atMost: pause.limit, by: clock) }
            }
            group.cancelAll()
        }
    }

    /// The desk's changes say only that there is something to be read: whoever misses some reads it all the same.
    private func listen() async {
        while !Task.isCancelled {
            for await _ in await desk.follow(after: nil).next { bell.ring() }
            bell.ring()
        }
    }

    /// Until there is news, and no longer than the limit where there is one.
    private struct Pause { var limit: Duration? }

    /// - Returns: Nil where there may be more to do at once.
    private func work() async -> Pause? {
        guard isReadable, outbox.isEnabled, sink != nil else { return Pause() }
        let now = clock.elapsed()
        if let due, due > now { return Pause(limit: due - now) }
        let place = progress.place
        let entries: [ToldEntry]
        do throws(JournalError) {
            entries = try await books.told(after: progress.sequence, limit: Self.step)
            unread = nil
        } catch {
            unread = error
            logger.warning("the outbox waits: the journal cannot be read", metadata: ["error": "\(error)"])
            return Pause(limit: Self.pauseAfterFault)
        }
        guard let first = entries.first, let names else { return Pause() }
        let name = names.name(of: first.sequence)
        let sent = entries.prefix { names.name(of: $0.sequence) == name }
        let fault = await put(Self.rows(sent, audit: await books.auditEndToTell()), of: name)
        // Told to stop in the middle of it, or set to another database meanwhile.
        guard !(fault != nil && Task.isCancelled), progress.place == place else { return nil }
        let isAtStart = !hasTried
        hasTried = true
        if let fault {
            due =
                clock.elapsed()
                + progress.fail(fault, at: clock.wallTime(), chance: .random(in: 0...1), isAtStart: isAtStart)
            logger.notice(
                "events did not reach the operator’s database",
                metadata: ["why": "\(fault.kind.rawValue)", "code": "\(fault.code)", "tries": "\(progress.failures)"]
            )
        } else {
            progress.arrived(upTo: sent.last?.sequence ?? first.sequence, at: clock.wallTime())
            due = nil
        }
        await keep()
        return nil
    }

    private func put(_ rows: String, of terminal: String) async -> EventFault? {
        guard let sink else { return EventFault(.unreachable) }
        guard let password = await password() else { return EventFault(.noSecret) }
        do throws(EventFault) {
            try await sink.put(rows, of: terminal, at: outbox.place, password: password)
            return nil
        } catch { return error }
    }

    /// What webhooks say of the same entries, as rows.
    /// - Parameter audit: Where the audit log ends: it goes into `data` of the last row.
    static func rows(_ entries: ArraySlice<ToldEntry>, audit: AuditEnd? = nil) -> String {
        JSON.array(
            entries.map { entry in
                let change = ChargeChange(number: Int(entry.sequence), charge: entry.charge, at: entry.time)
                var data = JSON.change(change)
                if entry.sequence == entries.last?.sequence, let audit, case .object(var members) = data {
                    members["audit"] = audit.json
                    data = .object(members)
                }
                return .object([
                    "sequence": .integer(entry.sequence), "charge": .string(entry.charge.id.rawValue),
                    "type": .string(WebhookEvent(entry).type), "at": .time(entry.time), "data": data,
                ])
            }
        ).text
    }

    /// Writes down how far it is. What cannot be written is sent again after a restart, and changes nothing there.
    private func keep() async {
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(progress)) } catch {
                throw JournalError.unavailable(detail: "\(error)")
            }
            _ = try await journal.setDocument(
                Self.progressDocument,
                bytes,
                expecting: .any,
                by: .terminal,
                at: clock.wallTime()
            )
        } catch {
            logger.warning("how far the outbox is is not written down", metadata: ["error": "\(error)"])
        }
    }

    /// Asks the database with what is set now, and sends nothing. Where it works, what waits is sent at once.
    func test() async throws(Problem) -> EventFault? {
        try checkReadable()
        let fault = await put("[]", of: names?.current ?? "")
        if fault == nil {
            progress.noteAnswer()
            due = nil
            bell.ring()
        }
        return fault
    }

    // MARK: - How it stands

    struct Standing: Sendable {
        /// Entries that are not known to be there.
        var waiting: Int64 = 0
        var oldest: WallTime?
        /// Until it is tried again; nil where it does not wait.
        var nextTry: Duration?
    }

    func standing() async throws(JournalError) -> Standing {
        guard outbox.isEnabled else { return Standing() }
        let waiting = max(0, try await books.lastSequence() - progress.sequence)
        guard waiting > 0 else { return Standing() }
        return Standing(
            waiting: waiting,
            oldest: try await books.timeOfEntry(after: progress.sequence),
            nextTry: due.map { max($0 - clock.elapsed(), .zero) }
        )
    }

    /// What health says of it; nil where it is off.
    func health() -> HealthCheck? {
        guard isReadable else {
            return HealthCheck(
                "outbox",
                .note,
                "health_outbox_unreadable",
                "The outbox’s settings cannot be read. Nothing is sent.",
                "Update the terminal."
            )
        }
        guard outbox.isEnabled else { return nil }
        if let fault = progress.fault { return HealthCheck("outbox", .note, fault.reason) }
        if let unread { return HealthCheck("outbox", .note, unread.reason) }
        return HealthCheck("outbox", .good, "health_outbox_good", "Events reach the operator’s database.")
    }
}
