import Foundation
import Journal
import Logging
import Payments
import Terminal

/// Brings a new version of the whole system in: from a browser or a stick to the one that installs, and from there to what
/// the start after it says. What others have installed, such as a stick that needs no page, it shows and keeps as its own.
actor UpdateDesk {
    /// What is going on.
    enum Phase: String, Sendable { case idle, checking, installing, restarting }

    /// A bundle that was checked, and is newer than what runs.
    struct Offer: Sendable, Equatable {
        var path: String
        var version: String
        /// Nil where it came from a browser.
        var stick: String?
    }

    /// The last update, kept until the next.
    struct Record: Codable, Sendable, Equatable {
        enum Stage: String, Codable, Sendable {
            /// It is being written, or the power went meanwhile.
            case begun
            /// The next start takes it.
            case installed
            /// It runs, and has not passed its self-test yet.
            case tried
            case good
            /// It was left: the version before runs again.
            case rolledBack
            /// It never was whole.
            case interrupted
        }

        var version: String
        /// The one before.
        var from: String
        /// Of the machine, during which it was installed.
        var start: String
        var at: Int64
        var stage: Stage
    }

    /// How much of a file has come.
    struct Upload {
        var file: FileHandle
        var totalBytes: Int
        var receivedBytes = 0
    }

    /// Twice what an image may be packed, and as much as the installer takes.
    static let mostBytes: Int64 = 512 * 1024 * 1024
    private static let document = "update"
    /// How long the screen says what became of it.
    private static let shownFor = Duration.seconds(60)
    /// How long nothing is charged with a version that has not passed its self-test: three tries, and something over.
    private static let trial = Duration.seconds(120)
    /// How long a charge may hold up the start after another's installation, and how long that other one has to begin it. As
    /// in the image's own script for sticks.
    private static let (patience, grace) = (Duration.seconds(600), Duration.seconds(30))

    let service: (any UpdateService)?
    let folder: String
    private let journal: any Keeping
    let desk: ChargeDesk
    private let clock: TerminalClock
    private let logger: Logger
    private let jobs = AsyncStream.makeStream(of: (Offer, Payments.Actor).self, bufferingPolicy: .bufferingOldest(1))
    private let ends = AsyncStream.makeStream(of: SystemUpdate.self)

    private(set) var phase = Phase.idle
    /// Whether somebody else asked for what is being installed.
    private(set) var isOthers = false
    private(set) var percent = 0
    private(set) var problem: Problem?
    private(set) var last: Record?
    var offer: Offer?
    var upload: Upload?

    init(
        service: (any UpdateService)?,
        folder: String,
        journal: any Keeping,
        desk: ChargeDesk,
        clock: TerminalClock,
        logger: Logger
    ) {
        (self.service, self.folder, self.journal) = (service, folder, journal)
        (self.desk, self.clock, self.logger) = (desk, clock, logger)
    }

    /// Removes what an earlier run left behind, and finds out what became of the last update.
    func load() async throws(JournalError) {
        try? FileManager.default.removeItem(atPath: uploadPath)  // Mostly there is none.
        guard let service, let stored = try await journal.document(Self.document) else { return }
        guard var record = try? JSONDecoder().decode(Record.self, from: Data(stored.bytes)) else {
            return logger.error("what became of the last update cannot be read")
        }
        last = record
        // Nothing is known before the machine has started anew. What is final stays, but that a good version may be left, too.
        let isLeft = record.stage == .good && SystemVersion(service.version) < SystemVersion(record.version)
        guard record.start != service.start, isLeft || [.begun, .installed, .tried].contains(record.stage) else {
            return
        }
        if record.version == service.version {
            record.stage = .tried
        } else {
            record.stage = record.stage == .begun ? .interrupted : .rolledBack
            await showEnd(.notUpdated(version: service.version))
            await audit(
                "update.result",
                "failed",
                "\(record.stage.rawValue) \(record.version)",
                by: .terminal,
                from: ""
            )
        }
        if record != last { try await keep(record, by: .terminal) }
    }

    /// Installs what is asked for, and follows what became of the last update, until cancelled.
    func run() async {
        guard let service else { return }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.followLast() }
            group.addTask { await service.follow { await self.hear($0) } }
            group.addTask { for await (offer, who) in self.jobs.stream { await self.install(offer, by: who) } }
            for await page in ends.stream {
                group.addTask {
                    do { try await self.clock.sleep(Self.shownFor) } catch { return }  // The terminal stops.
                    await self.desk.hideUpdate(page)
                }
            }
            group.cancelAll()
        }
    }

    /// Says on the screen what became of it, for a while.
    private func showEnd(_ page: SystemUpdate) async {
        await desk.showUpdate(page)
        ends.continuation.yield(page)
    }

    private func followLast() async {
        let began = clock.elapsed()
        if let last, last.stage == .tried { await desk.showUpdate(.trying(version: last.version)) }
        do {
            while let record = last, record.stage == .tried {
                if clock.elapsed() - began >= Self.trial { await desk.hideUpdate(.trying(version: record.version)) }
                if await service?.running()?.isGood == true {
                    var good = record
                    good.stage = .good
                    try await keep(good, by: .terminal)
                    await audit("update.result", "ok", record.version, by: .terminal, from: "")
                    await showEnd(.updated(version: record.version))
                } else {
                    try await clock.sleep(.seconds(5))
                }
            }
        } catch let error as JournalError {
            logger.error("what became of the update cannot be kept", metadata: ["error": "\(error)"])
        } catch {}  // Cancelled: the terminal stops.
    }

    // MARK: - What the owner asks for

    /// Looks at the file that was sent, or at one on a stick.
    /// - Throws: ``Problem``: nothing was changed.
    func check(stick name: String?) async throws(Problem) {
        let service = try requireIdle()
        let path: String
        if let name {
            guard let file = service.sticks().first(where: { $0.name == name }) else { throw Self.stickGone }
            path = file.path
        } else {
            guard let upload, upload.receivedBytes == upload.totalBytes else { throw Self.notBegun }
            try? upload.file.synchronize()  // What is not on the disk yet is read from memory.
            path = uploadPath
        }
        (offer, problem, phase) = (nil, nil, .checking)
        defer { if phase == .checking { phase = .idle } }  // Unless another's installation began meanwhile.
        let bundle: UpdateBundle
        do throws(UpdateFault) { bundle = try await service.look(at: path) } catch { throw Self.problem(error) }
        let offered = SystemVersion(bundle.version)
        // Where an older version runs again, the newest that was good may come back.
        let newest = service.newest.map(SystemVersion.init)
        guard SystemVersion(service.version) < offered, newest.map({ $0 <= offered }) ?? true else {
            throw Self.notNewer
        }
        offer = Offer(path: path, version: bundle.version, stick: name)
    }

    /// Begins to install what was checked. The machine starts anew with it.
    /// - Throws: ``Problem``: nothing was changed.
    func begin(by who: Payments.Actor, from peer: String) async throws(Problem) {
        let service = try requireIdle()
        guard let offer else { throw Self.notChecked }
        phase = .installing
        do throws(ChargeRefusal) {
            try await desk.beginUpdate(.installing(version: offer.version, percent: 0))
        } catch {
            phase = .idle
            await audit("update", "refused", "a charge is open", by: who, from: peer)
            throw Self.chargeOpen
        }
        (problem, percent) = (nil, 0)
        let record = Record(
            version: offer.version,
            from: service.version,
            start: service.start,
            at: clock.wallTime().millisecondsSince1970,
            stage: .begun
        )
        do throws(JournalError) { try await keep(record, by: who) } catch {
            phase = .idle
            await desk.showUpdate(nil)
            throw Problem(503, error.reason)
        }
        await audit("update", "begun", "\(service.version) to \(offer.version)", by: who, from: peer)
        jobs.continuation.yield((offer, who))
    }

    private func install(_ offer: Offer, by who: Payments.Actor) async {
        guard let service else { return }
        do throws(UpdateFault) {
            try await service.install(offer.path) { percent in await self.hasCome(percent, of: offer.version) }
        } catch {
            return await fails(error, offer.version, by: who)
        }
        if var record = last {
            record.stage = .installed
            do throws(JournalError) { try await keep(record, by: who) } catch {
                // The next start finds out all the same, but takes a way back for a power cut.
                logger.error("that the update is installed cannot be kept", metadata: ["error": "\(error)"])
            }
        }
        await audit("update", "ok", offer.version, by: who, from: "")
        phase = .restarting
        await desk.showUpdate(.restarting(version: offer.version))
        forgetUpload()
        await restart(offer.version, by: who)
    }

    private func restart(_ version: String, by who: Payments.Actor) async {
        do throws(UpdateFault) { try service?.restart() } catch {
            await fails(Self.notRestarted, version, by: who)
            await desk.showUpdate(nil)
        }
    }

    // MARK: - What others have installed

    /// Takes what the installer says. Of an installation of this desk's own ``install(_:by:)`` is told, and nothing here.
    private func hear(_ news: UpdateNews) async {
        switch news {
        case .begun:
            guard phase == .idle || phase == .checking else { return }
            (isOthers, phase, problem, percent) = (true, .installing, nil, 0)
            await desk.showUpdate(.installing(version: "", percent: 0))
            if last?.stage != .begun { await audit("update", "begun", others, by: .terminal, from: "") }
        case .written(let percent):
            if isOthers { await hasCome(percent, of: "") }
        case .installed(let version):
            if isOthers { await othersInstalled(version) }
        case .failed(let fault):
            if isOthers { await fails(fault, others, by: .terminal) }
        }
    }

    /// What others install, for the audit log. Nobody may beside the terminal and the image's script for sticks; what began under
    /// this desk was begun by it, before the program was started anew.
    private var others: String { last.flatMap { $0.stage == .begun ? $0.version : nil } ?? "from a USB stick" }

    /// Has the machine start anew where whoever installed does not: the stick may be gone.
    private func othersInstalled(_ version: String?) async {
        guard let service else { return }
        let what = version.map { $0 == others ? $0 : "\($0) \(others)" } ?? others
        if let version {
            let record = Record(
                version: version,
                from: service.version,
                start: service.start,
                at: clock.wallTime().millisecondsSince1970,
                stage: .installed
            )
            do throws(JournalError) { try await keep(record, by: .terminal) } catch {
                logger.error("that the update is installed cannot be kept", metadata: ["error": "\(error)"])
            }
        }
        await audit("update", "ok", what, by: .terminal, from: "")
        phase = .restarting
        await desk.showUpdate(.restarting(version: version ?? ""))
        do {
            let begun = clock.elapsed()
            while await desk.holdsCharge, clock.elapsed() - begun < Self.patience {
                try await clock.sleep(.seconds(1))
            }
            try await clock.sleep(Self.grace)
        } catch { return }  // The terminal stops, for the machine starts anew.
        await restart(version ?? "", by: .terminal)
    }

    private func hasCome(_ percent: Int, of version: String) async {
        // The screen is drawn anew for it: not for every step.
        guard phase == .installing, percent > self.percent else { return }
        self.percent = percent
        await desk.showUpdate(.installing(version: version, percent: percent))
    }

    private func fails(_ fault: UpdateFault, _ what: String, by who: Payments.Actor) async {
        // Another's leaves a record of its own only once it is whole.
        if var record = last, record.stage == .begun {
            record.stage = .interrupted
            do throws(JournalError) { try await keep(record, by: who) } catch {
                logger.error("that the update failed cannot be kept", metadata: ["error": "\(error)"])
            }
        }
        await fails(Self.problem(fault), what, by: who)
        await showEnd(.refused(Self.refusal(fault)))
    }

    private func fails(_ problem: Problem, _ what: String, by who: Payments.Actor) async {
        logger.error("the update failed", metadata: ["why": "\(problem.reason.code)", "what": "\(what)"])
        await audit("update", "failed", "\(what) \(problem.reason.code)", by: who, from: "")
        if !isOthers {
            offer = nil
            forgetUpload()
        }
        (self.problem, phase, isOthers) = (problem, .idle, false)
    }

    // MARK: - Small things

    func requireIdle() throws(Problem) -> any UpdateService {
        guard let service else { throw Self.absent }
        guard phase == .idle else { throw Self.busy }
        return service
    }

    private func keep(_ record: Record, by who: Payments.Actor) async throws(JournalError) {
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(record)) } catch { throw .unavailable(detail: "\(error)") }
        _ = try await journal.setDocument(Self.document, bytes, expecting: .any, by: who, at: clock.wallTime())
        last = record
    }

    private func audit(_ what: String, _ result: String, _ detail: String, by who: Payments.Actor, from peer: String)
        async
    {
        let entry = AuditEntry(
            at: clock.wallTime(),
            who: who,
            from: peer,
            what: what,
            result: result,
            detail: detail
        )
        do throws(JournalError) { try await journal.audit(entry) } catch {
            logger.critical("the audit log takes no entry", metadata: ["what": "\(what)", "error": "\(error)"])
        }
    }
}
