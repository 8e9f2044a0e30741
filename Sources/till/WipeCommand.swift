import ArgumentParser
import Foundation
import Journal
import Logging
import Payments
import Terminal

/// Lets a running terminal be erased, or a backup take its place: begins it, and says when the program has to end for the
/// rest.
final class Eraser: Sendable {
    private let directory: String
    private let journal: Journal
    private let logger: Logger
    private let begun = AsyncStream.makeStream(of: Void.self)

    init(directory: String, journal: Journal, logger: Logger) {
        (self.directory, self.journal, self.logger) = (directory, journal, logger)
    }

    /// Erases the device's key and closes the record of payments: no charge is taken from here on.
    func begin() throws(JournalError) {
        try Wipe.begin(directory)
        logger.notice("everything is erased, as was asked; the program ends and begins anew")
        try journal.close()
        begun.continuation.yield()
    }

    /// Says that a backup which was checked shall be the journal, and closes the one that is: no charge is taken from here on.
    func beginRestore() throws(JournalError) {
        try Restore.want(directory)
        logger.notice("a backup takes this terminal’s place, as the owner asked; the program ends and begins anew")
        try journal.close()
        begun.continuation.yield()
    }

    /// Returns once erasing has begun and its answer had a moment to leave.
    func wait(_ clock: TerminalClock) async {
        for await _ in begun.stream {
            try? await clock.sleep(.seconds(1))  // Cancelled: the terminal stops anyway.
            return
        }
    }
}

struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Erases everything that the terminal keeps: payments, settings, keys, the owner.",
        discussion: """
            The terminal must not be running. The device's key goes first: what it sealed cannot be read any more, even where \
            flash memory keeps old bytes for a while. The next start waits for a new owner.
            """
    )

    @Option(help: "The configuration file.") var config: String?
    @Option(help: "The state directory, instead of the configuration's.") var state: String?
    @Flag(help: "Does not ask.") var yes = false
    @Flag(help: "Erases even where payments have no final answer yet, or where nobody can tell.")
    var evenWithOpenPayments = false

    func run() async throws {
        let directory = try state ?? ConfigurationFile.load(config).state
        do throws(JournalError) {
            if !Wipe.isBegun(directory) {
                guard try await mayErase(directory) else {
                    throw JournalError.unavailable(detail: "nothing was erased")
                }
                try Wipe.begin(directory)
            }
            try Wipe.finish(directory)
        } catch {
            if case .inUse = error {
                complain("The terminal is running. Erase it on its page, or stop it first. Nothing was erased.")
                throw ExitCode(Exit.temporary)
            }
            complain("\(error)")
            throw ExitCode(Exit.inputOutput)
        }
        print("Everything at \(directory) is erased.")
    }

    private func mayErase(_ directory: String) async throws(JournalError) -> Bool {
        guard FileManager.default.fileExists(atPath: directory + "/journal.lock") else {
            throw .unavailable(detail: "There is no terminal's memory at \(directory). Nothing was erased.")
        }
        if !evenWithOpenPayments, FileManager.default.fileExists(atPath: directory + "/journal.sqlite") {
            let key = try DeviceKey.loadOrCreate(at: directory + "/device.key")
            let journal = try Journal.open(directory: directory, deviceKey: key)
            let open = try await journal.openCharges().count
            try journal.close()
            guard open == 0 else {
                complain(
                    "Payments without a final answer: \(open). Once erased, nobody hears here how they ended. "
                        + "Start the terminal until they have, or add --even-with-open-payments. Nothing was erased."
                )
                return false
            }
        }
        if yes { return true }
        print("This erases everything at \(directory), for good. Type ERASE to go on:")
        guard readLine() == "ERASE" else {
            complain("Nothing was erased.")
            return false
        }
        return true
    }
}
