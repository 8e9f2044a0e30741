import Dispatch
import Glibc
import Locks
import WebServer

/// A plain actor, as most of the terminal's parts are.
private actor Counter {
    private var count = 0

    func next() -> Int {
        count += 1
        return count
    }
}

/// An actor with a queue of its own, as the journal and other blocking adapters are.
private actor QueuedCounter {
    private let executor = QueueExecutor()
    private var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    func next() -> Int {
        count += 1
        return count
    }
}

private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "bench.counter")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

private func json(_ count: Int) -> WebResponse {
    .json("{\"phase\":\"idle\",\"gateway\":\"ready\",\"checking\":0,\"at\":\(count)}")
}

func serve() async throws {
    let folder = try temporaryFolder(named: "page.html", bytes: 10_240)
    let files = try StaticFiles(folder: folder)
    let (plain, queued) = (Counter(), QueuedCounter())
    var limits = WebServer.Limits()
    limits.connections = 256
    limits.connectionsPerAddress = 256
    limits.connectionsBeforeRequest = 256
    let configuration = WebServer.Configuration(
        port: CommandLine.arguments.dropFirst().first.flatMap(UInt16.init) ?? 0,
        limits: limits,
        defaultHeaders: ["X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"]
    )
    let direct = SharedCount()
    let server = try WebServer(configuration: configuration) { request in
        switch request.path {
        case "/json": .now(json(direct.next()))
        case "/later": .later { json(await plain.next()) }
        case "/away": .later { json(await queued.next()) }
        case "/pool": .elsewhere { json(await plain.next()) }
        default: .now(files.response(for: request) ?? .text("not found", status: 404))
        }
    }
    let line = Array("\(server.port)\n".utf8)
    _ = unsafe write(STDOUT_FILENO, line, line.count)  // `print` would keep it in a buffer.
    try await server.run()
}

/// What a handler on the server's thread counts with.
private final class SharedCount: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

private func temporaryFolder(named name: String, bytes: Int) throws -> String {
    var template = Array("/tmp/till-bench-web-XXXXXX".utf8CString)
    guard let folder = unsafe mkdtemp(&template) else { throw WebServer.StartError.system(detail: "mkdtemp") }
    let path = unsafe String(cString: folder)
    guard let file = unsafe fopen("\(path)/\(name)", "w") else { throw WebServer.StartError.system(detail: "fopen") }
    unsafe fputs(String(repeating: "x", count: bytes), file)
    unsafe fclose(file)
    return path
}
