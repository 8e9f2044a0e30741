public import Acquirer
public import WalletConnectPay

/// Carries an acquirer client's requests to a sandbox acquirer in the same process, without a socket.
public struct InProcessAcquirer: HTTPTransport {
    /// What a client's base URL is here. Nothing listens there.
    public static let url = "http://127.0.0.1:9"

    private let acquirer: SandboxAcquirer
    /// False: as if there were no network.
    private let isReachable: @Sendable () -> Bool

    /// - Parameter isReachable: Asked before each request; false means that no byte leaves.
    public init(_ acquirer: SandboxAcquirer, isReachable: @escaping @Sendable () -> Bool = { true }) {
        (self.acquirer, self.isReachable) = (acquirer, isReachable)
    }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        guard isReachable() else { throw .notSent(reason: "no network") }
        guard request.url.hasPrefix(Self.url + "/") else { throw .notSent(reason: "no such host") }
        let question = GatewayRequest(
            request.method.rawValue,
            String(request.url.dropFirst(Self.url.count)),
            headers: Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }),
            body: request.body ?? []
        )
        guard let reply = await acquirer.answer(question) else { throw .noAnswer(after: request.timeout) }
        let body = reply.body
        guard body.count <= request.responseLimitBytes else {
            throw .answerTooLarge(limitBytes: request.responseLimitBytes)
        }
        return HTTPResponse(
            status: reply.status,
            headers: reply.headers.map { ($0.key, $0.value) } + [("Content-Type", reply.contentType)],
            body: body
        )
    }

    /// A client of this acquirer that nobody is logged in with.
    public func client() throws(AcquirerError) -> AcquirerClient {
        try AcquirerClient(baseURL: Self.url, transport: self)
    }
}
