import ArgumentParser
import Foundation
import Glibc
import Journal
import Payments
import Terminal

/// Reads a configuration file the way `till run` does.
struct ConfigurationFile {
    /// - Throws: `ExitCode` 78 after saying which key is wrong, what stands there and what may.
    static func load(_ path: String?) throws -> Configuration {
        guard let path else { return Configuration() }
        let text: String
        do {
            let data = try Data(contentsOf: URL(filePath: path))
            guard data.count <= 1 << 20, let decoded = String(validating: data, as: UTF8.self) else {
                throw ConfigurationError(key: "the file", value: path, allowed: "UTF-8 text up to 1 MiB")
            }
            text = decoded
        } catch let error as ConfigurationError {
            throw fail("\(path): \(error)")
        } catch {
            throw fail("\(path) cannot be read: \(error.localizedDescription)")
        }
        do throws(ConfigurationError) { return try Configuration(yaml: text) } catch { throw fail("\(path): \(error)") }
    }

    /// As ``load(_:)``, with the files that it names, for those who ask the gateway.
    static func loadWhole(_ path: String?) throws -> Configuration {
        var configuration = try load(path)
        do throws(ConfigurationError) {
            try configuration.checkShop()
            try configuration.readCertificates()
        } catch { throw fail("\(path ?? "the configuration"): \(error)") }
        return configuration
    }

    private static func fail(_ sentence: String) -> ExitCode {
        complain(sentence)
        return ExitCode(Exit.configuration)
    }
}

/// Says a sentence to whoever started the program.
func complain(_ sentence: String) {
    FileHandle.standardError.write(Data("till: \(sentence)\n".utf8))
}

struct CheckConfiguration: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Says whether a configuration file can be used."
    )

    @Argument(help: "The file.") var file: String
    @Flag(help: "Whether the appliance can use it: its ports and folders are fixed.") var appliance = false

    func run() async throws {
        let configuration = try ConfigurationFile.loadWhole(file)
        if appliance {
            do throws(ConfigurationError) { try configuration.checkForAppliance() } catch {
                complain("\(file): \(error)")
                throw ExitCode(Exit.configuration)
            }
        }
        print("\(file) can be used.")
    }
}

struct VerifyJournal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-journal",
        abstract: "Checks that the record of payments is whole: every entry follows from the one before it.",
        discussion: "Then compares what lists, searches and totals are made from with what the entries say."
    )

    @Option(help: "The configuration file.") var config: String?
    @Option(help: "The state directory, instead of the configuration's.") var state: String?
    @Flag(help: "Makes lists and totals anew from the entries where they do not agree.") var mendLists = false

    func run() async throws {
        let directory = try state ?? ConfigurationFile.load(config).state
        let journal = directory + "/journal.sqlite"
        guard FileManager.default.fileExists(atPath: journal) else {
            complain("There is no record of payments at \(journal). Nothing was made there.")
            throw ExitCode(Exit.noInput)
        }
        let disagreement: String?
        do throws(JournalError) {
            let key = try DeviceKey.loadOrCreate(at: directory + "/device.key")
            let journal = try Journal.open(directory: directory, deviceKey: key)
            let check = try await journal.verifyChain()
            print(check)
            let audits = try await journal.verifyAudit()
            print("audit log: \(audits)")
            for check in [check, audits] {
                if case .broken = check { throw JournalError.corrupt(detail: "the chain is broken") }
            }
            disagreement = try await journal.verifyProjections()
            if disagreement != nil, mendLists { try await journal.rebuildProjections() }
            try journal.close()
        } catch {
            complain("\(error.reason.message) \(error.reason.action) (\(error))")
            throw ExitCode(Exit.inputOutput)
        }
        guard let disagreement else { return print("lists and totals agree with the entries") }
        print("lists and totals do not agree: \(disagreement)")
        guard mendLists else {
            complain("No entry is lost. Stop the terminal and run this again with --mend-lists.")
            throw ExitCode(Exit.inputOutput)
        }
        print("They were made anew from the entries.")
    }
}
