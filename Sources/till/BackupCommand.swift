import ArgumentParser
import Backup
import Foundation
import Glibc
import Journal
import Payments
import Terminal

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Writes the terminal's whole memory into one file that only a passphrase opens.",
        discussion: """
            For a terminal that does not run; a running one gives it on its page. Payments, settings, staff and keys are in it. \
            It is an age file with a tar archive inside: `age --decrypt` opens it too. Nobody can recover the passphrase.
            """
    )

    @Option(help: "The configuration file.") var config: String?
    @Option(help: "The state directory, instead of the configuration's.") var state: String?
    @Option(help: "A file whose first line is the passphrase. Without it the passphrase is asked for.")
    var passphraseFile: String?
    @Argument(help: "Where to write it, such as till.age. A file that is there is kept.") var file: String

    func run() async throws {
        let directory = try state ?? ConfigurationFile.load(config).state
        guard FileManager.default.fileExists(atPath: directory + "/journal.sqlite") else {
            complain("There is no record of payments at \(directory). Nothing was made there.")
            throw ExitCode(Exit.noInput)
        }
        let passphrase = try Passphrase.read(passphraseFile, isNew: true)
        let facts = try await Passphrase.saying {
            let key = try DeviceKey.loadOrCreate(at: directory + "/device.key")
            let journal = try Journal.open(directory: directory, deviceKey: key)
            defer { try? journal.close() }  // Nothing was written to it.
            let writer = try await BackupWriter(
                of: journal,
                at: .now,
                by: Version.text,
                merchantName: nil,
                passphrase: passphrase,
                copyingTo: directory + "/backup.copy"
            )
            try await write(writer)
            return writer.facts
        }
        print("\(file) holds \(facts.ends.entries) entries; payments without a final answer: \(facts.openCharges).")
        for name in facts.lostSecrets { print("Not in it, as it cannot be opened here: \(name). Enter it anew.") }
    }

    /// Under a name of its own first: there is never half a backup where one is looked for.
    private func write(_ writer: BackupWriter) async throws {
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            await writer.end()
            throw BackupError.storage(detail: "\(file) is there already, or cannot be written")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            while let part = try await writer.next() { try handle.write(contentsOf: part) }
            try handle.synchronize()
            try handle.close()
        } catch {
            unsafe unlink(file)
            throw error as? BackupError ?? .storage(detail: "\(file): \(error.localizedDescription)")
        }
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts a backup in the place of what this terminal keeps.",
        discussion: """
            The terminal must not be running. The backup is checked whole first; what is here stays until the restored record \
            stands. Refused while a payment here has no final answer. Payments that were open in the backup are asked about \
            again at the next start. Erase the other terminal before it is switched on again: whatever it does after the \
            backup is not here.
            """
    )

    @Option(help: "The configuration file.") var config: String?
    @Option(help: "The state directory, instead of the configuration's.") var state: String?
    @Option(help: "A file whose first line is the passphrase. Without it the passphrase is asked for.")
    var passphraseFile: String?
    @Argument(help: "The backup.") var file: String

    func run() async throws {
        let directory = try state ?? ConfigurationFile.load(config).state
        guard FileManager.default.fileExists(atPath: file) else {
            complain("There is no file \(file). Nothing was changed.")
            throw ExitCode(Exit.noInput)
        }
        try requireOwner(of: directory)
        let passphrase = try Passphrase.read(passphraseFile, isNew: false)
        let (prepared, outcome) = try await Passphrase.saying {
            try requireStopped(directory)
            let key = try DeviceKey.loadOrCreate(at: directory + "/device.key")
            // What an earlier run was told is done first.
            _ = try await Restore.finish(directory, key: key)
            let prepared = try await BackupReader.prepare(
                file,
                passphrase: passphrase,
                for: directory,
                key: key,
                by: (.terminal, "till restore"),
                at: .now
            )
            try Restore.want(directory)
            return (prepared, try await Restore.finish(directory, key: key))
        }
        switch outcome {
        case .restored(let keptDamaged):
            print(
                "Restored \(prepared.facts.ends.entries) entries. The next start asks about \(prepared.openCharges) payments."
            )
            if keptDamaged {
                print("What was here could not be read; it is kept in \(directory)/\(Restore.damagedFolder).")
            }
            print("Erase the other terminal before it is switched on again.")
        case .refused(let open):
            complain(
                "Payments here without a final answer: \(open). Start the terminal until they have ended, then restore. "
                    + "Nothing was changed."
            )
            throw ExitCode(Exit.temporary)
        case .putBack(let error):
            complain("The restored record could not be opened in its place; everything is as it was. (\(error))")
            throw ExitCode(Exit.inputOutput)
        case .nothing:
            complain("Nothing was restored.")
            throw ExitCode(Exit.inputOutput)
        }
    }

    /// What is restored belongs to whoever restores it: as another user the terminal could not write it.
    private func requireOwner(of directory: String) throws {
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory)
        guard let owner = (attributes?[.ownerAccountID] as? NSNumber)?.uint32Value, owner != geteuid() else { return }
        let name = attributes?[.ownerAccountName] as? String ?? "\(owner)"
        complain(
            "\(directory) belongs to \(name). Restore as that user: sudo -u \(name) till restore … Nothing was changed."
        )
        throw ExitCode(Exit.inputOutput)
    }

    /// A running terminal has its record open and would go on with it.
    private func requireStopped(_ directory: String) throws {
        guard FileManager.default.fileExists(atPath: directory + "/journal.sqlite") else { return }
        do throws(JournalError) {
            let key = try DeviceKey.loadOrCreate(at: directory + "/device.key")
            try Journal.open(directory: directory, deviceKey: key).close()
        } catch {
            switch error {
            // One that cannot be read, by this version or by any, is what backups are for.
            case .corrupt, .fromNewerVersion: return
            default: throw error
            }
        }
    }
}

/// What the commands for backups have in common.
private enum Passphrase {
    /// The first line of a file or of standard input; typed, it is not shown.
    static func read(_ file: String?, isNew: Bool) throws -> String {
        let text: String
        if let file {
            guard let data = FileManager.default.contents(atPath: file), data.count <= 4096,
                let all = String(validating: data, as: UTF8.self)
            else {
                complain("\(file) cannot be read as a passphrase. Nothing was done.")
                throw ExitCode(Exit.noInput)
            }
            text = String(all.prefix { $0 != "\n" && $0 != "\r\n" })
        } else {
            text = try typed("Passphrase: ")
            if isNew, isatty(STDIN_FILENO) == 1, try typed("Once more: ") != text {
                complain("These are two different passphrases. Nothing was done.")
                throw ExitCode(Exit.noInput)
            }
        }
        guard !isNew || PassphraseStrength.isEnough(text) else {
            complain(
                "This passphrase can be guessed. Take four or more words that have nothing to do with each other. "
                    + "Nothing was done."
            )
            throw ExitCode(Exit.noInput)
        }
        return text
    }

    private static func typed(_ prompt: String) throws -> String {
        try TypedSecret.read(prompt, missing: "There is no passphrase. Nothing was done.")
    }

    /// Does it, and says what went wrong.
    static func saying<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as BackupError {
            complain("\(error.reason.message) \(error.reason.action) (\(error))")
            throw ExitCode(Exit.inputOutput)
        } catch let error as JournalError {
            complain("\(error.reason.message) \(error.reason.action) (\(error))")
            throw ExitCode(error.isTemporary ? Exit.temporary : Exit.inputOutput)
        }
    }
}
