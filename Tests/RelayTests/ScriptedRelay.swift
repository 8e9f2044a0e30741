import StrictJSON

@testable import WalletConnect

/// Sockets whose other end is the test.
final class ScriptedSockets: WebSocketPort {
    /// What the next attempts meet, before they succeed again.
    let failures = Line<WebSocketFailure>()
    /// Every connection that was made.
    let opened = Line<ScriptedLine>()
    let requests = Line<WebSocketRequest>()

    func connect(_ request: WebSocketRequest) async throws(WebSocketFailure) -> any WebSocketLine {
        requests.put(request)
        await Task.yield()
        if failures.count > 0, let failure = await failures.take() { throw failure }
        let line = ScriptedLine()
        opened.put(line)
        return line
    }

    /// The next connection, with its subscriptions answered.
    func ready() async throws -> ScriptedLine {
        guard let line = await opened.take() else { throw CancellationError() }
        return line
    }
}

/// One connection, seen from the relay.
final class ScriptedLine: WebSocketLine {
    private let toClient = Line<Result<WebSocketEvent, WebSocketFailure>>()
    let fromClient = Line<String>()
    let pings = Line<Bool>()
    let closed = Line<UInt16>()

    func send(_ text: String) async throws(WebSocketFailure) {
        await Task.yield()
        fromClient.put(text)
    }

    func receive() async throws(WebSocketFailure) -> WebSocketEvent {
        guard let event = await toClient.take() else { throw .cancelled }
        return try event.get()
    }

    func ping() async throws(WebSocketFailure) {
        await Task.yield()
        pings.put(true)
    }

    func close(code: UInt16) async {
        await Task.yield()
        closed.put(code)
    }

    /// What the client says next.
    func next() async throws -> RelayFrame {
        guard let text = await fromClient.take() else { throw CancellationError() }
        return try RelayFrame(parsing: Array(text.utf8), limitBytes: 1 << 22)
    }

    func nextCall() async throws -> (RelayID, RelayCall) {
        while true {
            if case .call(let id, let call) = try await next() { return (id, call) }
        }
    }

    /// The number of the push that the client acknowledges next.
    func nextAcknowledgement() async throws -> RelayID {
        while true {
            if case .result(let id, .bool(true)) = try await next() { return id }
        }
    }

    func say(_ frame: RelayFrame) { toClient.put(.success(.message(Array(frame.text.utf8)))) }
    func say(_ text: String) { toClient.put(.success(.message(Array(text.utf8)))) }
    func say(_ event: WebSocketEvent) { toClient.put(.success(event)) }

    func end(_ failure: WebSocketFailure) { toClient.put(.failure(failure)) }

    func push(_ message: String, _ topic: Topic, number: UInt64) {
        let parcel = RelayParcel(topic: topic.text, message: message, publishedAt: 1_795_000_000_000, tag: 1108)
        say(.call(RelayID(number), .delivery(subscription: "sub", parcel)))
    }

    /// Says yes to everything until the client is subscribed and has fetched an empty mailbox.
    func settle(topics: Int) async throws {
        guard topics > 0 else { return }
        var fetched = 0
        while fetched < topics {
            let (id, call) = try await nextCall()
            switch call {
            case .subscribe: say(.result(id, .string("sub")))
            case .batchSubscribe(let topics, _): say(.result(id, .array(topics.map { _ in .string("sub") })))
            case .fetch:
                fetched += 1
                say(.mailbox(id, [], hasMore: false))
            case .batchFetch(let topics):
                fetched += topics.count
                say(.mailbox(id, [], hasMore: false))
            default: say(.result(id, .bool(true)))
            }
        }
    }
}

/// A memory that fails when it is told to.
actor BrittleMemory: RelayMemory {
    private var marks: Set<RelayMark> = []
    private(set) var failuresLeft = 0
    private(set) var remembered = 0

    struct Full: Error {}

    func fail(times: Int) { failuresLeft = times }

    func knows(_ mark: RelayMark) async -> Bool {
        await Task.yield()
        return marks.contains(mark)
    }

    func remember(_ mark: RelayMark, until: Int64) async throws {
        await Task.yield()
        if failuresLeft > 0 {
            failuresLeft -= 1
            throw Full()
        }
        remembered += 1
        marks.insert(mark)
    }
}

extension Topic {
    /// A topic of the test's own.
    static func numbered(_ number: Int) -> Topic {
        let digits = String(number, radix: 16)
        return Topic(bytes: Hex.bytes(String(repeating: "0", count: 64 - digits.count) + digits) ?? [])
    }
}
