import ArgumentParser
import CMalloc
import Console
import Foundation
import Glibc
import Journal
import Logging
import Net
import Payments
import Screen
import ServiceLifecycle
import Supervision
import Terminal
import UnixSignals
import WebServer

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Runs the terminal until it is told to stop.")

    @Option(help: "The configuration file. Without one the defaults hold.") var config: String?
    @Option(help: "Also draws the screen into this PNG file.") var png: String?
    @Option(
        help: ArgumentHelp(
            "Where this file is there, nothing that is written would last: no payment is taken, and the screen says so.",
            valueName: "file"
        )
    )
    var withoutStorage: String?
    @Option(
        help: ArgumentHelp(
            "Writes what the screen shows, the claim code too, to a file; - for standard output. For development.",
            visibility: .hidden
        )
    )
    var announce: String?
    @Option(help: ArgumentHelp("A line under the screen in a terminal window. May be repeated.", visibility: .hidden))
    var caption: [String] = []

    func run() async throws {
        let configuration = try ConfigurationFile.loadWhole(config)
        let log = LogRing()
        LoggingSystem.bootstrap { label in
            let level = Logger.Level(rawValue: configuration.logLevel) ?? .info
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return MultiplexLogHandler([handler, log.handler(level: level)])
        }
        let logger = Logger(label: "till")
        // By default each thread gets a heap of its own, most of it empty: some 3 MB for nothing. Source: mallopt(3).
        mallopt(M_ARENA_MAX, 2)
        do {
            try await serve(configuration, logger, log)
        } catch let error as JournalError {
            complain("\(error.reason.message) \(error.reason.action) (\(error))")
            throw ExitCode(error.isTemporary ? Exit.temporary : Exit.inputOutput)
        } catch let error as ScreenError {
            complain("The screen cannot be used: \(error)")
            throw ExitCode(Exit.inputOutput)
        } catch let error as WebServer.StartError {
            complain("The web page cannot be served: \(error)")
            throw ExitCode(Exit.temporary)
        } catch let error as StaticFiles.LoadError {
            complain("web.pages: the web page's files cannot be read: \(error)")
            throw ExitCode(Exit.configuration)
        }
    }

    private func serve(_ configuration: Configuration, _ logger: Logger, _ log: LogRing) async throws {
        let display = Display(sinks: try configuration.openSinks(png: png, caption: caption, logger))
        // The first picture before anything that takes time: a dark screen looks broken.
        do throws(ScreenError) { try await display.show(.starting(checkingPayments: 0)) } catch {
            // A shop whose screen is broken can still see on the page what was paid.
            guard configuration.hasOwnScreen else { throw error }
        }

        let announcer = try announcer()
        let trouble = StorageTrouble(
            configuration: configuration,
            display: display,
            logger: logger,
            announcer: announcer
        )
        let (journal, restored) = try await trouble.untilOpened { () async throws(JournalError) in
            try await openRecord(configuration.state, logger)
        }
        try await journal.note(restored, logger)
        try await journal.noteWayBack(logger)
        try await journal.noteLoss(logger)
        do throws(JournalError) { try await journal.reserveLog() } catch {
            // Whether anything can be recorded is found out, and said, where something is to be.
            logger.warning(
                "the journal's log has no place of its own yet: payments go on",
                metadata: ["error": "\(error)"]
            )
        }
        let transport = try HTTPClientTransport(
            hosts: configuration.allowedHosts,
            authorities: configuration.gatewayCertificates
        )
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await takePayments(
                    configuration,
                    display,
                    journal,
                    transport,
                    logger,
                    log,
                    announcer,
                    restored.isDone
                )
            )
        } catch { result = .failure(error) }
        await display.close()
        try await transport.shutdown()
        try journal.close()
        if Wipe.isBegun(configuration.state) {
            try Wipe.finish(configuration.state)
            logger.notice("everything is erased; the next start waits for an owner")
            throw ExitCode(Exit.temporary)
        }
        if Restore.isWanted(configuration.state) {
            logger.notice("the next start takes up the backup")
            throw ExitCode(Exit.temporary)
        }
        if case .success = result { logger.notice("stopped; open payments are asked about at the next start") }
        try result.get()
    }

    /// What is kept, after what was asked before the last stop is done.
    private func openRecord(_ state: String, _ logger: Logger) async throws(JournalError) -> (Journal, Restore.Outcome)
    {
        if let withoutStorage, let why = FileManager.default.contents(atPath: withoutStorage) {
            let detail = String(decoding: why.prefix(300), as: UTF8.self)
            throw .unavailable(detail: detail.split(separator: "\n").first.map(String.init) ?? withoutStorage)
        }
        // Before anything is made there: a power cut may have come between.
        if Wipe.isBegun(state) {
            logger.notice("everything is erased, as was asked before the last stop")
            try Wipe.finish(state)
        }
        let key = try DeviceKey.loadOrCreate(at: state + "/device.key")
        let restored = try await Restore.finish(state, key: key)
        return (try Journal.open(directory: state, deviceKey: key, goingBack: true), restored)
    }

    /// Puts the parts together and runs them until the terminal is told to stop.
    private func takePayments(
        _ configuration: Configuration,
        _ display: Display,
        _ journal: Journal,
        _ transport: HTTPClientTransport,
        _ logger: Logger,
        _ log: LogRing,
        _ announcer: Announcer?,
        _ restored: Bool?
    ) async throws {
        let assembly = Assembly(
            configuration: configuration,
            display: display,
            journal: journal,
            transport: transport,
            logger: logger,
            log: log,
            restored: restored
        )
        var (parts, address) = try await assembly.parts()
        logger.notice("the page is at \(address)")
        let (desk, clock) = (assembly.desk, assembly.clock)
        if let manager = ServiceManager(environment: ProcessInfo.processInfo.environment) {
            parts.append(Part(name: "supervision") { await manager.watch(desk, clock, logger) })
        }
        if let announcer {
            announcer.listening(at: address)
            parts.append(Part(name: "announcer") { await announcer.run(desk) })
        }
        let erasing = Part(name: "erasing") { await assembly.waitForErasing() }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: parts.map { .init(service: $0) }
                    + [.init(service: erasing, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        let result: Result<Void, any Error>
        do { result = .success(try await group.run()) } catch { result = .failure(error) }
        await assembly.outside.shutdown()
        try result.get()
    }

    private func announcer() throws -> Announcer? {
        guard let announce else { return nil }
        if announce == "-" { return Announcer(descriptor: STDOUT_FILENO) }
        let descriptor = unsafe open(announce, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            complain("\(announce) cannot be written.")
            throw ExitCode(Exit.inputOutput)
        }
        return Announcer(descriptor: descriptor)
    }
}

extension Journal {
    /// Says that a newer version's tables were left for those of before.
    fileprivate func noteWayBack(_ logger: Logger) async throws(JournalError) {
        guard let left = startup.tookBack else { return }
        logger.warning(
            "the record of payments is the one from before a newer version, which recorded no payment",
            metadata: ["left": "\(left)"]
        )
        let detail = "the record from before \(left) is used again"
        try await audit(AuditEntry(at: .now, who: .terminal, from: "", what: "journal", result: "ok", detail: detail))
    }

    /// Says that entries which were written once are missing: in the log, in the audit log, and for whoever asks about a key.
    fileprivate func noteLoss(_ logger: Logger) async throws(JournalError) {
        func note(_ lost: LostEntries, _ what: String) async throws(JournalError) {
            let last = lost.to.map(String.init) ?? "an unknown one"
            let detail = "\(what) \(lost.from) to \(last) were written and are missing"
            logger.critical("the record of payments is shorter than it was", metadata: ["what": "\(detail)"])
            try await audit(
                AuditEntry(at: .now, who: .terminal, from: "", what: "record.lost", result: "failed", detail: detail)
            )
        }
        if let lost = startup.lostAudit { try await note(lost, "audit entries") }
        guard let lost = startup.lostEntries else { return }
        try await note(lost, "entries of charges")
        try await self.note(RecordGap(.endLost, at: .now), by: .terminal)
    }

    /// Says in the log, and where something was refused in the audit log too, what became of a backup that was wanted. One
    /// that was restored brings its own entry.
    fileprivate func note(_ outcome: Restore.Outcome, _ logger: Logger) async throws(JournalError) {
        let detail: String
        switch outcome {
        case .nothing: return
        case .restored(let keptDamaged):
            logger.notice("a backup is the record of payments now")
            if keptDamaged { logger.warning("what was here and could not be read is kept in \(Restore.damagedFolder)") }
            return
        case .refused(let open): detail = "\(open) payments here have no final answer"
        case .putBack(let error): detail = "it did not stand: \(error)"
        }
        logger.error("the backup was not restored; everything is as it was", metadata: ["why": "\(detail)"])
        try await audit(
            AuditEntry(at: .now, who: .terminal, from: "", what: "restore", result: "refused", detail: detail)
        )
    }
}

extension Restore.Outcome {
    /// Nil where nothing was wanted.
    fileprivate var isDone: Bool? {
        switch self {
        case .nothing: nil
        case .restored: true
        case .refused, .putBack: false
        }
    }
}

extension JournalError {
    /// Whether starting again may help.
    var isTemporary: Bool {
        switch self {
        case .inUse, .diskFull, .unavailable, .lostWrite: true
        case .readOnly, .corrupt, .fromNewerVersion, .replaced: false
        }
    }
}

extension Configuration {
    /// Whom the terminal may ask for payments.
    fileprivate var allowedHosts: AllowedHosts {
        gatewayHosts.isEmpty
            ? .anyOverTLS(allowsLoopbackHTTP: allowsLoopbackHTTP)
            : .only(gatewayHosts, allowsLoopbackHTTP: allowsLoopbackHTTP)
    }

    var console: Console.Configuration {
        Console.Configuration(
            address: webAddress,
            port: webPort,
            redirectPort: redirectPort,
            names: webNames,
            pages: pages,
            state: state,
            securityContact: securityContact.isEmpty ? nil : securityContact
        )
    }
}
