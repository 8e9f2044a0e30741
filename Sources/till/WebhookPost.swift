import Console
import Net
import WalletConnectPay

/// Carries webhooks' messages over HTTP.
struct WebhookPost: WebhookCarrier {
    let policy: OutsidePolicy
    let transport: OutsideTransport

    private static let timeout = Duration.seconds(15)
    /// Of an answer nothing is used but its status.
    private static let answerBytes = 64 * 1024

    func objection(to url: String) -> WebhookObjection? { policy.objection(to: url).map(WebhookObjection.init) }

    func post(_ url: String, headers: [(name: String, value: String)], body: [UInt8]) async -> WebhookAnswer {
        let request = HTTPRequest(
            method: .post,
            url: url,
            headers: headers.map { HTTPRequest.Header($0.name, $0.value) },
            body: body,
            timeout: Self.timeout,
            responseLimitBytes: Self.answerBytes
        )
        do throws(OutsideError) {
            let answer = try await transport.send(request)
            return .status(answer.status, retryAfter: answer.retryAfter(atMost: .seconds(14_400))?.components.seconds)
        } catch {
            switch error {
            case .objected(let objection): return .notAllowed(WebhookObjection(objection))
            case .transport(.notSent(let reason)): return .notSent(reason)
            case .transport(.answerTooLarge): return .tooLarge
            case .transport(.noAnswer), .transport(.cancelled): return .silence
            }
        }
    }
}

extension WebhookObjection {
    fileprivate init(_ objection: OutsideObjection) {
        self =
            switch objection {
            case .notAnAddress: .notAnAddress
            case .plainHTTP: .plainHTTP
            case .place: .place
            }
    }
}
