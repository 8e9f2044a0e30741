import Locks
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import TestSupport
import WalletConnectPay

/// Asks the gateway without a socket, on a clock that the test turns: a silence of an hour takes no time.
struct DirectTransport: HTTPTransport {
    let gateway: Gateway
    let clock: ManualClock
    static let baseURL = "http://127.0.0.1:1"

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let question = GatewayRequest(
            request.method.rawValue,
            String(request.url.dropFirst(Self.baseURL.count)),
            headers: Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }),
            body: request.body ?? []
        )
        let sleep = clock.terminalClock.sleep
        let answer = await withTaskGroup(of: GatewayAnswer?.self) { group in
            group.addTask {
                if let answer = await gateway.answer(question) { return answer }
                try? await sleep(request.timeout)  // Dropped: the caller hears nothing for as long as it listens.
                return nil
            }
            group.addTask {
                try? await sleep(request.timeout)  // Cancelled: the answer is there.
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if Task.isCancelled { throw .cancelled }
        guard let answer else { throw .noAnswer(after: request.timeout) }
        return HTTPResponse(
            status: answer.status,
            headers: answer.headers.map { (name: $0.key, value: $0.value) },
            body: answer.body
        )
    }
}
