import Foundation
import Journal
import Locks
import Payments
import Subprocess
import Terminal
import TestSupport

extension TemporaryFolder {
    func openJournal() throws(JournalError) -> Journal {
        try Journal.open(directory: path + "/journal", deviceKey: try DeviceKey.loadOrCreate(at: path + "/device.key"))
    }

    /// Every byte that lies in the folder and below it.
    var bytes: Data {
        let files = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return files.sorted().reduce(into: Data()) { bytes, name in
            bytes.append(FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data())
        }
    }
}

/// Time that moves only when a test says so. Whoever sleeps does so until it is cancelled.
final class StillClock: Sendable {
    private let time = Mutex(Duration.zero)
    private static let start = WallTime(millisecondsSince1970: 1_790_000_000_000)

    var wallTime: WallTime { Self.start.advanced(by: time.withLock { $0 }) }

    func advance(by duration: Duration) { time.withLock { $0 += duration } }

    var terminalClock: TerminalClock {
        TerminalClock(
            elapsed: { self.time.withLock { $0 } },
            sleep: { _ in
                let (never, continuation) = AsyncStream<Never>.makeStream()
                await withTaskCancellationHandler {
                    for await _ in never {}
                } onCancel: {
                    continuation.finish()
                }
                throw CancellationError()
            },
            wallTime: { self.wallTime }
        )
    }
}

/// What OpenSSL's own program says.
func openssl(_ arguments: String...) async throws -> String { try await openssl(arguments) }

func openssl(_ arguments: [String]) async throws -> String {
    let result = try await Subprocess.run(
        .name("openssl"),
        arguments: Arguments(arguments),
        output: .string(limit: 1 << 20),
        error: .discarded
    )
    return result.standardOutput
}
