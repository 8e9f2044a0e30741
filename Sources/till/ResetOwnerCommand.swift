import ArgumentParser
import Console
import Foundation
import Glibc
import Journal
import Payments
import Terminal

struct ResetOwnerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset-owner",
        abstract: "Sets a new password for the owner of this terminal.",
        discussion: """
            The terminal must not be running. Run it as the user that the terminal runs as. Everybody is signed out, and the audit \
            log says so. Payments, settings, staff and tokens stay; the page lists what else has access, and ends it.
            """
    )

    @Option(help: "The configuration file.") var config: String?
    @Option(help: "The state directory, instead of the configuration's.") var state: String?

    func run() async throws {
        let directory = try state ?? ConfigurationFile.load(config).state
        guard FileManager.default.fileExists(atPath: directory + "/journal.sqlite") else {
            complain("There is no record of payments at \(directory). Nothing was changed.")
            throw ExitCode(Exit.noInput)
        }
        let journal: Journal
        do throws(JournalError) {
            // Before a password is asked for: one that is typed in vain is a nuisance.
            let key = try DeviceKey.loadOrCreate(at: directory + "/device.key")
            journal = try Journal.open(directory: directory, deviceKey: key)
        } catch { throw Self.failed(error) }
        let result = await Self.set(in: journal)
        do throws(JournalError) { try journal.close() } catch { throw Self.failed(error) }
        try result.get()
        print("The owner has a new password. Everybody is signed out. Start the terminal and sign in.")
    }

    private static func set(in journal: Journal) async -> Result<Void, any Error> {
        do {
            let none = "There is no password. Nothing was changed."
            let password = try TypedSecret.read("New password: ", missing: none)
            if isatty(STDIN_FILENO) == 1, try TypedSecret.read("Once more: ", missing: none) != password {
                complain("These are two different passwords. Nothing was changed.")
                throw ExitCode(Exit.noInput)
            }
            do throws(OwnerPassword.Failure) {
                try await OwnerPassword.set(password, in: journal, at: .now)
            } catch {
                switch error {
                case .noOwner:
                    complain(
                        "Nobody has claimed this terminal. Claim it with the code on its screen. Nothing was changed."
                    )
                    throw ExitCode(Exit.noInput)
                case .notUsable(let reason):
                    complain("\(reason.message) \(reason.action) Nothing was changed.")
                    throw ExitCode(Exit.noInput)
                case .notComputed(let detail):
                    complain("The password could not be computed. Try again. Nothing was changed. (\(detail))")
                    throw ExitCode(Exit.temporary)
                case .journal(let error): throw failed(error)
                }
            }
            return .success(())
        } catch { return .failure(error) }
    }

    private static func failed(_ error: JournalError) -> ExitCode {
        if case .inUse = error {
            complain("The terminal is running. Stop it first. Nothing was changed.")
            return ExitCode(Exit.temporary)
        }
        complain("\(error.reason.message) \(error.reason.action) (\(error))")
        return ExitCode(error.isTemporary ? Exit.temporary : Exit.inputOutput)
    }
}

/// A secret that somebody types and nobody sees.
enum TypedSecret {
    /// One line of standard input, without an echo where that is a terminal.
    /// - Parameter missing: What to say where there is none.
    static func read(_ prompt: String, missing: String) throws -> String {
        let isTerminal = isatty(STDIN_FILENO) == 1
        var before = termios()
        if isTerminal {
            FileHandle.standardError.write(Data(prompt.utf8))
            unsafe tcgetattr(STDIN_FILENO, &before)
            var silent = before
            silent.c_lflag &= ~tcflag_t(ECHO)
            unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        }
        defer {
            if isTerminal {
                unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
                FileHandle.standardError.write(Data("\n".utf8))
            }
        }
        guard let line = readLine(), !line.isEmpty else {
            complain(missing)
            throw ExitCode(Exit.noInput)
        }
        return line
    }
}
