import Foundation
import Payments
import Terminal
import WebServer

/// What a monitoring system may read, and what the owner may see and change about who reads it.
extension Console {
    static let metricsPath = "/metrics"

    /// The metrics, for who shows a token of that scope. A session does not count: a browser has no business there.
    func metricsResponse(_ request: WebRequest) async -> WebResponse {
        guard request.method == "GET" else {
            var problem = Problem(405, "method_not_allowed", "Metrics can only be read.", "Use GET.")
            problem.allowed = ["GET", "HEAD"]
            return problem.response
        }
        switch await tokens.check(Gate.shownToken(request), for: .metrics, from: request.peerAddress) {
        case .granted:
            var metrics = MetricsText(await desk.measures, process: ProcessMeasures(), startedAt: startedAt)
            metrics.add(await health.facts(), await webhooks.measures())
            // A journal that cannot be read says so in till_trouble.
            if await outbox.outbox.isEnabled, let standing = try? await outbox.standing() {
                metrics.addOutbox(standing, await outbox.progress, at: clock.wallTime())
            }
            return .file(Array(metrics.text.utf8), contentType: MetricsText.contentType)
        case .tooOften(let wait):
            var problem = Problem(
                429,
                "too_many_tries",
                "Too many tries without a token.",
                "Wait, then use a token of this terminal."
            )
            problem.retryAfter = wait
            return problem.response
        case .refused:
            await entrance.audit("metrics", "refused", "", by: .stranger, from: request.peerAddress)
            var response = Problem(
                401,
                "token_needed",
                "Metrics need a token of this terminal.",
                "Send it as Authorization: Bearer …; the owner makes one in the settings."
            ).response
            response.headers.add("WWW-Authenticate", "Bearer realm=\"metrics\"")
            return response
        }
    }

    // MARK: - Tokens

    func tokenList() async -> WebResponse {
        .json(
            JSON.object([
                "tokens": .array(await tokens.list.map(Self.token)), "readable": .bool(await tokens.isReadable),
            ]).text
        )
    }

    private static func token(_ token: AccessToken) -> JSON {
        .object([
            "id": .string(token.id), "name": .string(token.name),
            "scopes": .array(token.scopes.map { .string($0.rawValue) }),
            "createdAt": .time(WallTime(millisecondsSince1970: token.createdAt)),
            "usedAt": token.usedAt.map { .time(WallTime(millisecondsSince1970: $0)) } ?? .null,
        ])
    }

    func makeToken(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body)
        let name = form.text("name", limit: 40)
        let names = form.texts("scopes", limit: TokenScope.allCases.count, each: 20) ?? []
        try form.finish()
        let scopes = Set(names.compactMap(TokenScope.init(rawValue:)))
        guard !scopes.isEmpty, scopes.count == names.count else {
            throw .field(
                "scopes",
                Payments.Reason(
                    code: names.isEmpty ? "required" : "scope_unknown",
                    message: names.isEmpty
                        ? "The token would allow nothing." : "There is no such scope, or it is there twice.",
                    action: "Use \(TokenScope.allCases.map(\.rawValue).joined(separator: ", ")), each at most once."
                )
            )
        }
        let (made, text) = try await tokens.make(name, scopes, by: pass.who)
        await entrance.audit(
            "token.make",
            "ok",
            "\(made.id) \(made.scopes.map(\.rawValue).joined(separator: " "))",
            by: pass.who,
            from: pass.request.peerAddress
        )
        return .json(JSON.object(["token": .string(text), "id": .string(made.id)]).text, status: 201)
    }

    func revokeToken(_ id: String, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        try await tokens.revoke(id, by: pass.who)
        await entrance.audit("token.revoke", "ok", id, by: pass.who, from: pass.request.peerAddress)
        return await tokenList()
    }
}
