import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// What the owner may set, and managers see, about who is told of charges.
extension Console {
    func webhookAnswer(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .makeWebhook: return try await makeWebhook(pass)
        case .pauseWebhook(let id):
            var form = try Form(pass.body)
            let isPaused = form.bool("paused")
            try form.finish()
            guard let isPaused else {
                throw .field(
                    "paused",
                    Reason(code: "required", message: "Nothing says what to do.", action: "Send paused.")
                )
            }
            try await webhooks.setPaused(id, isPaused, by: pass.who)
            await audit(isPaused ? "webhook.pause" : "webhook.resume", "ok", id, pass)
        case .removeWebhook(let id):
            try requireEmptyForm(pass)
            let hook = try await webhooks.known(id)
            try await webhooks.remove(id, by: pass.who)
            await audit("webhook.delete", "ok", "\(id) \(hook.place)", pass)
        case .testWebhook(let id):
            try requireEmptyForm(pass)
            let failure = try await webhooks.test(id)
            await audit("webhook.test", failure == nil ? "ok" : "failed", id, pass)
            return .json(JSON.object(["arrived": .bool(failure == nil), "reason": .reason(failure?.reason)]).text)
        default: break
        }
        return try await webhookList(pass)
    }

    private func audit(_ what: String, _ result: String, _ detail: String, _ pass: Gate.Pass) async {
        await entrance.audit(what, result, detail, by: pass.who, from: pass.request.peerAddress)
    }

    private func makeWebhook(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.body)
        let url = form.text("url", limit: 300)
        let names = form.texts("events", limit: WebhookEvent.allCases.count, each: 20) ?? []
        try form.finish()
        let events = Set(names.compactMap(WebhookEvent.init(rawValue:)))
        guard !events.isEmpty, events.count == names.count else {
            throw .field(
                "events",
                Reason(
                    code: names.isEmpty ? "required" : "event_unknown",
                    message: names.isEmpty
                        ? "It would be told of nothing." : "There is no such event, or it is there twice.",
                    action: "Use \(WebhookEvent.allCases.map(\.rawValue).joined(separator: ", ")), each at most once."
                )
            )
        }
        let (hook, secret) = try await webhooks.make(url, events, by: pass.who)
        await audit("webhook.make", "ok", "\(hook.id) \(hook.place)", pass)
        return .json(JSON.object(["id": .string(hook.id), "secret": .string(secret)]).text, status: 201)
    }

    private func webhookList(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let standing: [WebhookDesk.Standing]
        do throws(JournalError) { standing = try await webhooks.standing() } catch { throw Problem(503, error.reason) }
        let isOwner = pass.session?.role == .owner
        return .json(
            JSON.object([
                "webhooks": .array(standing.map { webhook($0, isOwner: isOwner) }),
                "readable": .bool(await webhooks.isReadable),
                "events": .array(WebhookEvent.allCases.map { .string($0.rawValue) }),
                "most": .integer(Int64(WebhookDesk.most)),
            ]).text
        )
    }

    private func webhook(_ standing: WebhookDesk.Standing, isOwner: Bool) -> JSON {
        let (hook, progress) = (standing.hook, standing.progress)
        return .object([
            "id": .string(hook.id),
            // An address may hold a secret of the receiver's.
            "url": .string(isOwner ? hook.url : hook.place),
            "events": .array(hook.events.map { .string($0.rawValue) }), "state": .string(Self.state(hook, progress)),
            "createdAt": .time(WallTime(millisecondsSince1970: hook.createdAt)),
            "behind": .integer(standing.behind),
            "deliveredAt": progress.delivered.map { .time($0.at) } ?? .null,
            "deliveredNumber": progress.delivered.map { .integer($0.number) } ?? .null,
            "failedAt": progress.failed.map { .time($0.at) } ?? .null,
            "reason": .reason(progress.offReason ?? progress.failed?.failure.reason),
            "nextTrySeconds": standing.wait.map { .integer($0.components.seconds) } ?? .null,
        ])
    }

    static func state(_ hook: Webhook, _ progress: WebhookProgress) -> String {
        if progress.off != nil { return "off" }
        if hook.isPaused { return "paused" }
        if progress.failed != nil { return "failing" }
        return progress.delivered == nil ? "new" : "good"
    }
}
