import Foundation
import FoundationNetworking
import WalletConnectPay

/// Real HTTP over loopback, with Foundation's client: the clients under test bring their own protocol, not their own sockets.
struct LoopbackTransport: HTTPTransport {
    private let session: URLSession
    private let patience: Double

    /// - Parameter patience: Seconds of silence after which the client gives up.
    init(patience: Double = 20) {
        let configuration = URLSessionConfiguration.ephemeral
        self.patience = patience
        configuration.httpMaximumConnectionsPerHost = 64
        session = URLSession(configuration: configuration)
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        guard let url = URL(string: request.url) else { throw .notSent(reason: "no URL") }
        var outgoing = URLRequest(url: url)
        outgoing.httpMethod = request.method.rawValue
        for header in request.headers { outgoing.setValue(header.value, forHTTPHeaderField: header.name) }
        outgoing.httpBody = request.body.map { Data($0) }
        outgoing.timeoutInterval = patience
        do {
            let (data, answer) = try await session.data(for: outgoing)
            guard let answer = answer as? HTTPURLResponse else { throw TransportError.noAnswer(after: .zero) }
            let headers = answer.allHeaderFields.compactMap { name, value in
                (name as? String).map { (name: $0, value: "\(value)") }
            }
            return HTTPResponse(status: answer.statusCode, headers: headers, body: [UInt8](data))
        } catch {
            throw .noAnswer(after: .zero)
        }
    }
}
