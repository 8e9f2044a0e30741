import Foundation
import Glibc
import Locks
import StrictJSON
import Subprocess
import SystemPackage
import WalletConnect
import WebSocket

/// Many clients at one relay, which runs as a program of its own: how long a message takes, and what a client costs.
enum RelayBench {
    /// - Parameters:
    ///   - clients: Each connects and subscribes to a topic of its own.
    ///   - messages: From four senders, each of which waits for one answer before it asks again.
    static func run(clients: Int, messages: Int) async throws {
        raiseDescriptorLimit()
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
            path: "till-sandbox"
        )
        _ = try await Subprocess.run(
            .path(FilePath(program.path())),
            arguments: ["relay", "--rate-limit", "none", "--connection-limit", "100000", "--idle", "600"],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            guard let line = try await lines.next(), let json = try? ExactJSON(parsing: line),
                case .string(let url) = json.value(named: "url")
            else { throw BenchError.notReady }
            let process = execution.processIdentifier.value
            do { try await measure(url, process, clients, messages) } catch {
                try? execution.send(signal: .kill)
                throw error
            }
            try execution.send(signal: .kill)
        }
    }

    private static func measure(_ url: String, _ process: pid_t, _ clients: Int, _ messages: Int) async throws {
        let sockets = try WebSocketClient(allowsPlain: true)
        let idle = memory(of: process)
        let times = Times(count: messages)
        let start = ContinuousClock.now
        let subscribers = try await connect(clients, sockets, url)
        let seconds = seconds(since: start)
        let full = memory(of: process)
        try await withThrowingDiscardingTaskGroup { group in
            for line in subscribers { group.addTask { try? await listen(line, times) } }
            try await withThrowingDiscardingTaskGroup { senders in
                for sender in 0..<4 {
                    senders.addTask {
                        let line = try await connect(sockets, url)
                        for number in stride(from: sender, to: messages, by: 4) {
                            try await publish(number, to: (number * 7919) % clients, line, times)
                        }
                        await line.close(code: 1000)
                    }
                }
            }
            try await times.complete()
            group.cancelAll()
        }
        let (middle, slow) = times.percentiles
        print(
            "publish to delivery: p50 \(text(middle)) ms, p99 \(text(slow)) ms, \(messages) messages, \(clients) clients"
        )
        print("connect and subscribe: \(text(Double(clients) / seconds)) clients/s")
        print(
            "relay memory: \(text(idle / 1024)) MB alone, \(text(full / 1024)) MB with \(clients) clients, "
                + "\(text((full - idle) / Double(clients))) KB each"
        )
    }

    private static func connect(_ count: Int, _ sockets: WebSocketClient, _ url: String) async throws
        -> [any WebSocketLine]
    {
        try await withThrowingTaskGroup(of: (any WebSocketLine).self) { group in
            var lines: [any WebSocketLine] = []
            for number in 0..<count {
                // So many at a time: connecting is not what is measured.
                if number >= 64, let line = try await group.next() { lines.append(line) }
                group.addTask {
                    let line = try await connect(sockets, url)
                    try await line.send(RelayFrame.call(RelayID(1), .subscribe(topic: topic(number))).text)
                    _ = try await answer(line)
                    return line
                }
            }
            for try await line in group { lines.append(line) }
            return lines
        }
    }

    private static func connect(_ sockets: WebSocketClient, _ url: String) async throws -> any WebSocketLine {
        let token = try RelayToken.signed(
            by: RelayIdentity(),
            subject: String(repeating: "0", count: 64),
            audience: url,
            issuedAt: Int64(Date().timeIntervalSince1970)
        )
        return try await sockets.connect(
            WebSocketRequest(
                url: url + "/?projectId=bench",
                headers: [.init("Authorization", "Bearer " + token)],
                deadline: .seconds(30),
                messageLimitBytes: 1_310_720
            )
        )
    }

    /// As large as a request to sign: 2 KB. It begins with its number.
    private static func publish(_ number: Int, to subscriber: Int, _ line: any WebSocketLine, _ times: Times)
        async throws
    {
        let message = "\(number)." + String(repeating: "x", count: 2048)
        let post = RelayPost(topic: topic(subscriber), message: message, ttlSeconds: 300, tag: 1108, prompt: true)
        let text = RelayFrame.call(RelayID(UInt64(number) + 10), .publish(post)).text
        times.sent(number)
        try await line.send(text)
        guard case .result = try await answer(line) else { throw BenchError.refused }
    }

    private static func listen(_ line: any WebSocketLine, _ times: Times) async throws {
        while true {
            guard case .call(let id, .delivery(_, let parcel)) = try await answer(line) else { continue }
            if let number = Int(parcel.message.prefix { $0 != "." }) { times.received(number) }
            try await line.send(RelayFrame.result(id, .bool(true)).text)
        }
    }

    private static func answer(_ line: any WebSocketLine) async throws -> RelayFrame {
        while true {
            if case .message(let bytes) = try await line.receive() {
                return try RelayFrame(parsing: bytes, limitBytes: 1_310_720)
            }
        }
    }

    private static func topic(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// Resident, in KB.
    private static func memory(of process: pid_t) -> Double {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return Double(line.filter(\.isNumber)) ?? 0
    }

    private static func seconds(since start: ContinuousClock.Instant) -> Double {
        (ContinuousClock.now - start) / .seconds(1)
    }

    static func text(_ value: Double) -> String { String(format: "%.2f", value) }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// When each message was sent and when it came.
final class Times: Sendable {
    private struct State {
        var sent: [ContinuousClock.Instant?]
        var took: [Duration?]
        var left: Int
    }

    private let state: Mutex<State>

    init(count: Int) {
        state = Mutex(
            State(sent: .init(repeating: nil, count: count), took: .init(repeating: nil, count: count), left: count)
        )
    }

    func sent(_ number: Int) {
        let now = ContinuousClock.now
        state.withLock { $0.sent[number] = now }
    }

    func received(_ number: Int) {
        let now = ContinuousClock.now
        state.withLock { state in
            guard state.took.indices.contains(number), state.took[number] == nil, let sent = state.sent[number] else {
                return
            }
            state.took[number] = now - sent
            state.left -= 1
        }
    }

    /// Waits for what is still on its way, at most a minute.
    func complete() async throws {
        let start = ContinuousClock.now
        while state.withLock({ $0.left }) > 0 {
            guard ContinuousClock.now - start < .seconds(60) else { throw BenchError.lost }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// In milliseconds.
    var percentiles: (Double, Double) {
        let sorted = state.withLock { $0.took.compactMap { $0 } }.map { $0 / .milliseconds(1) }.sorted()
        guard let last = sorted.last else { return (0, 0) }
        return (sorted[sorted.count / 2], sorted.count > 100 ? sorted[sorted.count * 99 / 100] : last)
    }
}

enum BenchError: Error { case notReady, refused, lost }
