import ArgumentParser
import Console
import Foundation
import Journal
import Machine
import Payments
import Terminal
import WebServer

struct SupportBundleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "support-bundle",
        abstract:
            "Writes one file for somebody who helps: versions, settings without secrets, the last charges and entries.",
        discussion: """
            For a terminal that does not run; a running one gives it on its page, with its log. There is no password, key, \
            token or name of staff or customers in it.
            """
    )

    @Option(help: "The configuration file.") var config: String?
    @Option(help: "The state directory, instead of the configuration's.") var state: String?
    @Argument(help: "Where to write it, such as support.tar. A file that is there is kept.") var file: String

    func run() async throws {
        let directory = try state ?? ConfigurationFile.load(config).state
        guard FileManager.default.fileExists(atPath: directory + "/journal.sqlite") else {
            complain("There is no record of payments at \(directory). Nothing was made there.")
            throw ExitCode(Exit.noInput)
        }
        var bundle = SupportBundle(at: .now)
        bundle.addMachine(
            MachineView(
                facts: { MachineFacts.gather(folder: directory) },
                clock: {
                    let now = WallTime.now
                    let isSet = MachineClock.isSet(now: now, notBefore: MachineClock.builtAt() ?? now)
                    return MachineView.Clock(isSet: isSet, isSynchronised: MachineClock.isSynchronised())
                },
                version: Version.text,
                libraries: ["libmicrohttpd": WebServer.engineVersion].merging(PackageVersions.of(["bluez"])) { $1 }
            )
        )
        do throws(JournalError) {
            let key = try DeviceKey.loadOrCreate(at: directory + "/device.key")
            let journal = try Journal.open(directory: directory, deviceKey: key)
            try await bundle.addRecords(of: journal)
            try journal.close()
        } catch {
            complain("\(error.reason.message) \(error.reason.action) (\(error))")
            throw ExitCode(error.isTemporary ? Exit.temporary : Exit.inputOutput)
        }
        do {
            try Data(bundle.tar).write(to: URL(filePath: file), options: .withoutOverwriting)
        } catch {
            complain("\(file) cannot be written: \(error.localizedDescription)")
            throw ExitCode(Exit.inputOutput)
        }
        print("\(file) holds what is said in its README.txt.")
    }
}
