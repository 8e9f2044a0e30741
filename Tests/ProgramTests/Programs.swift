import FoundationEssentials
import Glibc
import Locks
import Subprocess
import SystemPackage
import Testing
import TestSupport

/// The programs as they were built for this test run, as real processes that end with the scope that started them.
enum Programs {
    static let directory = FilePath(BuildFolder.path)

    static let root = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
}

/// A line that a program wrote, as the JSON object it is.
struct Announcement: Decodable, Sendable {
    var ready: Bool?
    var event: String?
    var url: String?
    var code: String?
    var id: String?
    var state: String?
    var link: String?
    var readable: Bool?
    var checking: Int?
    var unresolved: Bool?
    var late: Bool?
    var charge: String?
}

/// A process that runs, and what it says.
final class Running: Sendable {
    private struct State {
        var lines: [Announcement] = []
        var isOver = false
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let signal: @Sendable (Signal) throws -> Void

    init(signal: @escaping @Sendable (Signal) throws -> Void) { self.signal = signal }

    /// As a power cut would: no handler runs.
    func kill() throws { try signal(.kill) }

    func send(_ signal: Signal) throws { try self.signal(signal) }

    var lines: [Announcement] { state.withLock { $0.lines } }

    func hear(_ line: Announcement) { wake { $0.lines.append(line) } }

    func end() { wake { $0.isOver = true } }

    /// The first line from `start` on that fits. Throws when the process ends without one.
    func first(from start: Int = 0, where fits: (Announcement) -> Bool) async throws -> Announcement {
        while true {
            let (found, isOver, count) = state.withLock { state in
                (state.lines.dropFirst(start).first(where: fits), state.isOver, state.lines.count)
            }
            if let found { return found }
            guard !isOver else { throw EndedEarly(lines: lines) }
            try Task.checkCancellation()
            await news(after: count)
        }
    }

    /// Returns once the process has closed its output.
    func untilOver() async throws {
        do { _ = try await first { _ in false } } catch is EndedEarly {}
    }

    struct EndedEarly: Error { let lines: [Announcement] }

    private func news(after count: Int) async {
        let key = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isNews = state.withLock { state in
                    if state.lines.count > count || state.isOver || Task.isCancelled { return true }
                    state.waiting[key] = continuation
                    return false
                }
                if isNews { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: key) }?.resume()
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// Runs a program for as long as `body` does, then asks it to end; kills it if it does not within five seconds.
/// - Parameter name: Of one of this package's, or the path of another.
func withProgram<Value: Sendable>(
    _ name: String,
    _ arguments: [String],
    log: FilePath,
    environment: Environment = .inherit,
    ended: (TerminationStatus) -> Void = { _ in },
    _ body: @Sendable @escaping (Running) async throws -> Value
) async throws -> Value {
    let logDescriptor = try FileDescriptor.open(
        log,
        .writeOnly,
        options: [.create, .append],
        permissions: .ownerReadWrite
    )
    let result = try await run(
        .path(name.hasPrefix("/") ? FilePath(name) : Programs.directory.appending(name)),
        arguments: Arguments(arguments),
        environment: environment,
        input: .none,
        output: .sequence,
        error: .fileDescriptor(logDescriptor, closeAfterSpawningProcess: true)
    ) { execution -> Value in
        let running = Running { try execution.send(signal: $0) }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await line in execution.standardOutput.strings() {
                    guard let announcement = try? JSONDecoder().decode(Announcement.self, from: Data(line.utf8)) else {
                        continue  // Lines for people.
                    }
                    running.hear(announcement)
                }
                running.end()
            }
            do {
                let value = try await body(running)
                await execution.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: .seconds(5))])
                return value
            } catch {
                await execution.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: .seconds(5))])
                throw error
            }
        }
    }
    ended(result.terminationStatus)
    return result.closureResult
}
