import ArgumentParser

/// Till, the payment terminal.
@main
struct Till: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "till",
        abstract: "A payment terminal for the shop counter.",
        version: Version.text,
        subcommands: [
            Run.self, CheckConfiguration.self, VerifyJournal.self, Link.self, Doctor.self, SupportBundleCommand.self,
            BackupCommand.self, RestoreCommand.self, WipeCommand.self, SelfTest.self,
            TakeSecrets.self, ResetOwnerCommand.self,
        ]
    )
}

/// The program's version.
enum Version {
    static let text = "0.1.0"
}

/// Exit codes that scripts and systemd can rely on. Source: sysexits.h.
enum Exit {
    /// The configuration file is wrong. Starting again does not help.
    static let configuration: Int32 = 78
    /// The journal or a device could not be used.
    static let inputOutput: Int32 = 74
    /// What was named does not exist.
    static let noInput: Int32 = 66
    /// Something the terminal needs is in use or not there yet, or everything was erased. Starting again helps, or may.
    static let temporary: Int32 = 75
}
