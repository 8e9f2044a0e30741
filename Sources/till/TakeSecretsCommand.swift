import ArgumentParser
import Foundation
import Glibc
import Terminal

/// `till take-secrets`: what the appliance's start does to a prepared `till.yaml` before anybody else reads it.
struct TakeSecrets: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take-secrets",
        abstract: "Moves the gateway's key out of a configuration file, to where the terminal takes it from.",
        discussion: """
            The key's line in the file is written over in its place and leaves a comment. First the key is on the storage of \
            --state: where the power goes in between, it is in both places until the next start.
            """
    )

    @Argument(help: "The configuration file.") var file: String
    @Option(help: "The terminal's state directory. It is made where there is none.") var state: String

    func run() async throws {
        let configuration = try ConfigurationFile.load(file)
        guard let key = configuration.shop?.form.gatewayKey else { return }
        do {
            let text = try Data(contentsOf: URL(filePath: file))
            let place = try Self.place(in: text, of: configuration)
            try FileManager.default.createDirectory(
                atPath: state,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try Self.keep(Array(key.utf8), at: PreparedShop.keyFile(in: state))
            try Self.overwrite(Self.comment(place.count), at: place.lowerBound, of: file)
        } catch let error as ConfigurationError {
            complain("\(file): \(error)")
            throw ExitCode(Exit.configuration)
        } catch {
            complain("\(file): the gateway's key cannot be taken out of it: \(error)")
            throw ExitCode(Exit.inputOutput)
        }
    }

    /// Where the line of the key stands, from the key's name to the line's end.
    /// - Throws: `ConfigurationError` where the file would say something else without it.
    static func place(in text: Data, of configuration: Configuration) throws(ConfigurationError) -> Range<Int> {
        let fault = ConfigurationError(
            key: "shop.gatewayKey",
            value: "…",
            allowed: "on a line of its own, such as ‘  gatewayKey: wcp_…’"
        )
        let name = Array("gatewayKey:".utf8)
        var places: [Range<Int>] = []
        var start = 0
        for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let indent = line.prefix { $0 == UInt8(ascii: " ") }.count
            var content = line.dropFirst(indent)
            if content.last == UInt8(ascii: "\r") { content = content.dropLast() }
            if content.starts(with: name) { places.append(start + indent..<start + indent + content.count) }
            start += line.count + 1
        }
        guard places.count == 1, let place = places.first else { throw fault }
        var without = text
        without.replaceSubrange(place, with: comment(place.count))
        var wanted = configuration
        wanted.shop?.form.gatewayKey = nil
        guard let rest = String(validating: without, as: UTF8.self), (try? Configuration(yaml: rest)) == wanted else {
            throw fault
        }
        return place
    }

    /// A comment of so many bytes.
    static func comment(_ count: Int) -> [UInt8] {
        let words = Array("# gatewayKey: taken into the terminal".utf8)
        return words.prefix(count) + Array(repeating: UInt8(ascii: "-"), count: max(0, count - words.count))
    }

    /// A file that nobody else reads, whole or not at all, and on the storage when this returns.
    private static func keep(_ bytes: [UInt8], at path: String) throws {
        let draft = path + ".new"
        try write(bytes, at: 0, of: draft, O_CREAT | O_TRUNC)
        guard unsafe rename(draft, path) == 0 else { throw failure() }
        let folder = unsafe open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failure() }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw failure() }
    }

    /// In their place: on a card without a journal, what is written anew leaves the old bytes where everybody reads them.
    private static func overwrite(_ bytes: [UInt8], at offset: Int, of path: String) throws {
        try write(bytes, at: offset, of: path, 0)
    }

    private static func write(_ bytes: [UInt8], at offset: Int, of path: String, _ flags: Int32) throws {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        guard unsafe pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count, fsync(descriptor) == 0 else {
            throw failure()
        }
    }

    private static func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
