import Foundation
import Locks

@testable import WalletConnectPay

/// A gateway that answers from a script, request by request, and remembers what it was asked.
final class ScriptedGateway: HTTPTransport {
    enum Turn: Sendable {
        case answer(Int, String, [(name: String, value: String)] = [])
        case fail(TransportError)
        /// Says nothing until the asking task is cancelled.
        case hang
    }

    private struct State {
        var turns: [Turn]
        var requests: [HTTPRequest] = []
    }

    private let state: Mutex<State>

    /// - Parameter turns: One for each request; the last holds for all that follow.
    init(_ turns: Turn...) { state = Mutex(State(turns: turns)) }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// What was asked, as `METHOD path?query`.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.url.dropFirst("https://gateway.test/v1".count))" }
    }

    /// The body of a request, as JSON with its keys in order.
    func body(_ index: Int) -> String { String(decoding: requests[index].body ?? [], as: UTF8.self) }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let turn = state.withLock { state in
            state.requests.append(request)
            return state.turns.count > 1 ? state.turns.removeFirst() : state.turns[0]
        }
        await Task.yield()
        switch turn {
        case .answer(let status, let text, let headers):
            return HTTPResponse(status: status, headers: headers, body: Array(text.utf8))
        case .fail(let error): throw error
        case .hang:
            let (forever, continuation) = AsyncStream.makeStream(of: Void.self)
            for await _ in forever {}  // Ends when the task is cancelled.
            continuation.finish()
            throw .cancelled
        }
    }

    func client(
        clock: any Clock<Duration> = InstantClock(),
        retries: Int = 0,
        log: (@Sendable (String) -> Void)? = nil
    ) throws -> PayClient {
        try PayClient(
            baseURL: "https://gateway.test",
            credentials: .app(id: "app-1", clientID: "client-1"),
            transport: self,
            clock: clock,
            retries: retries,
            log: log
        )
    }
}

/// A clock on which every sleep is over at once and the time has passed all the same.
final class InstantClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private let state = Mutex<(now: Instant, sleeps: [Duration])>((Instant(), []))

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }
    /// How long each sleep was.
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        await Task.yield()  // Whoever waits for this clock must get its turn.
        try Task.checkCancellation()
        state.withLock { state in
            state.sleeps.append(state.now.duration(to: deadline))
            state.now = max(state.now, deadline)
        }
    }
}

/// Shortest answers of a gateway, for tests that change one thing in them.
enum Answer {
    static let amount = #"{"unit":"caip19/eip155:8453/erc20:0x8335","value":"13500000","display":"# + display + "}"
    static let display = #"{"assetSymbol":"USDC","assetName":"USD Coin","decimals":6,"networkName":"Base"}"#
    static let price =
        #"{"unit":"iso4217/EUR","value":"1250","display":{"assetSymbol":"EUR","assetName":"Euro","decimals":2}}"#
    static let info = """
        {"status":"requires_action","amount":\(price),"expiresAt":1790000300,
         "merchant":{"name":"Corner Shop","iconUrl":null},"buyer":null}
        """

    static func options(
        _ options: String,
        info: String = info,
        collectData: String = "null",
        more: String = ""
    ) -> ScriptedGateway.Turn {
        .answer(200, #"{"info":\#(info),"options":\#(options),"collectData":\#(collectData)\#(more)}"#)
    }

    static func option(_ id: String = "opt-1", actions: String, collectData: String = "null") -> String {
        """
        {"id":"\(id)","account":"eip155:8453:0xAb","amount":\(amount),"etaS":5,"expiresAt":null,
         "actions":\(actions),"collectData":\(collectData)}
        """
    }

    static func call(_ method: String, _ params: String = "[]") -> String {
        #"{"type":"walletRpc","data":{"chain_id":"eip155:8453","method":"\#(method)","params":\#(params)}}"#
    }

    static func build(_ data: String) -> String { #"{"type":"build","data":{"data":"\#(data)"}}"# }

    static func status(_ word: String, pollInMs: Int? = nil, more: String = "") -> ScriptedGateway.Turn {
        let isFinal = ["succeeded", "failed", "expired", "cancelled"].contains(word)
        let poll = pollInMs.map(String.init) ?? "null"
        return .answer(200, #"{"status":"\#(word)","isFinal":\#(isFinal),"pollInMs":\#(poll)\#(more)}"#)
    }

    static func refusal(_ status: Int, _ code: String, _ message: String = "no") -> ScriptedGateway.Turn {
        .answer(status, #"{"code":"\#(code)","message":"\#(message)"}"#)
    }
}
