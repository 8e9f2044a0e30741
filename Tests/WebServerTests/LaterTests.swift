import Dispatch
import Locks
import Testing

@testable import WebServer

private actor Plain {
    private var count = 0

    func next() -> Int {
        count += 1
        return count
    }
}

private actor Queued {
    private let executor = QueueExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    func echo(_ text: String) -> String { text }
}

private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "test actor")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// Answers that are worked on by a task.
struct LaterTests {
    @Test func anAnswerMayTakeTime() async throws {
        let (plain, queued) = (Plain(), Queued())
        let handler: WebHandler = { request in
            switch request.path {
            case "/once": .later { .text("once") }
            case "/actor": .later { .text("\(await plain.next())") }
            case "/queue": .later { .text(await queued.echo("queue")) }
            case "/sleep":
                .later {
                    try? await Task.sleep(for: .milliseconds(20))
                    return .text("slept")
                }
            default: .elsewhere { .text("elsewhere \(await plain.next())") }
            }
        }
        try await withServer(handler: handler) { server in
            let client = try RawClient(server)
            #expect(try await client.get("/once").text == "once")
            #expect(try await client.get("/actor").text == "1")
            #expect(try await client.get("/queue").text == "queue")
            #expect(try await client.get("/sleep").text == "slept")
            #expect(try await client.get("/pool").text == "elsewhere 2")
            #expect(try await client.get("/sleep", method: "POST", body: "x").text == "slept")
        }
    }

    /// Pitfall: a connection is used for its next request as soon as one is over. No answer may reach another's client.
    @Test func everyClientGetsItsOwnAnswer() async throws {
        let queued = Queued()
        let handler: WebHandler = { request in
            let text = request.path + String(decoding: request.body, as: UTF8.self)
            return switch request.path.utf8.count % 4 {
            case 0: .now(.text(text))
            case 1: .later { .text(await queued.echo(text)) }
            case 2:
                .later {
                    for _ in 0..<Int.random(in: 1...200) { await Task.yield() }
                    try? await Task.sleep(for: .microseconds(Int.random(in: 1...3000)))
                    return .text(text)
                }
            default:
                .later {
                    async let first = queued.echo(text)
                    async let second = queued.echo("")
                    return .text(await first + (await second))
                }
            }
        }
        try await withServer({ $0.limits.connectionsPerAddress = 64 }, handler: handler) { server in
            try await withThrowingTaskGroup { group in
                for number in 0..<16 {
                    group.addTask {
                        let client = try RawClient(server)
                        for round in 0..<40 {
                            let path = "/" + String(repeating: "x", count: round % 9) + "\(number)"
                            #expect(
                                try await client.get(path, method: "POST", body: "\(round)").text == path + "\(round)"
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func aTaskThatNeverRestsHoldsUpNobody() async throws {
        let released = Released()
        let handler: WebHandler = { request in
            guard request.path == "/busy" else { return .now(.text("quick")) }
            return .later {
                while !released.value { await Task.yield() }
                return .text("done")
            }
        }
        try await withServer(handler: handler) { server in
            let (busy, other) = (try RawClient(server), try RawClient(server))
            try await busy.send("GET /busy HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await other.get("/").text == "quick")
            #expect(try await other.get("/").text == "quick")
            released.value = true
            #expect(try await busy.answer().text == "done")
        }
    }

    @Test func anOverdueAnswerIsGivenUp() async throws {
        let (started, cancelled, mayEnd) = (Signal(), Signal(), Signal())
        let handler: WebHandler = { request in
            guard request.path == "/slow" else { return .now(.text("quick")) }
            return .later {
                await withTaskCancellationHandler {
                    started.set()
                    await mayEnd.wait()
                } onCancel: {
                    cancelled.set()
                }
                return .text("too late")
            }
        }
        try await withServer({ $0.limits.answering = .seconds(1000) }, handler: handler) { server in
            let client = try RawClient(server)
            try await client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            await started.wait()
            server.sweep(after: .seconds(900))
            server.sweep(after: .seconds(1001))
            let answer = try await client.answer()
            #expect(answer.status == 503)
            #expect(answer.text.contains("\"overdue\""))
            await cancelled.wait()
            mayEnd.set()
            #expect(try await client.get("/quick").text == "quick")
        }
    }
}

private final class Released: Sendable {
    private let flag = Atomic<Bool>(false)

    var value: Bool {
        get { flag.load(ordering: .acquiring) }
        set { flag.store(newValue, ordering: .releasing) }
    }
}
