import ArgumentParser
import FoundationEssentials

struct Link: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Prints the link of the charge on the screen, from the announcements of `till run`.",
        shouldDisplay: false
    )

    @Option(help: "The file that `till run --announce` writes.") var announced: String

    private struct Line: Decodable {
        var event: String
        var link: String?
    }

    func run() async throws {
        let text = try String(decoding: Data(contentsOf: URL(filePath: announced)), as: UTF8.self)
        let last = text.split(separator: "\n").last.flatMap {
            try? JSONDecoder().decode(Line.self, from: Data($0.utf8))  // A line that is being written is no line yet.
        }
        guard let link = last?.link else {
            complain("no charge waits for a customer. Charge something on the page first.")
            throw ExitCode(1)
        }
        print(link)
    }
}
