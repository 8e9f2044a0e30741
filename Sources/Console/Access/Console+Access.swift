import Payments
import Terminal
import WebServer

/// The list of access that outlives a session, and the request that ends it: a thief may have made some of it before the owner
/// set a new password.
extension Console {
    func accessResponse() async throws(Problem) -> WebResponse {
        let (book, browsers) = await (staff.book, staff.browsers)
        let names = Dictionary(book.people.map { ($0.id, $0.name) }) { first, _ in first }
        return .json(
            JSON.object([
                "tokens": .array(
                    await tokens.list.map { token in
                        .object([
                            "id": .string(token.id), "name": .string(token.name),
                            "scopes": .array(token.scopes.map { .string($0.rawValue) }),
                            "createdAt": .milliseconds(token.createdAt),
                            "usedAt": token.usedAt.map(JSON.milliseconds) ?? .null,
                        ])
                    }
                ),
                "webhooks": .array(
                    await webhooks.hooks.map { hook in
                        .object([
                            "id": .string(hook.id), "url": .string(hook.url),
                            "createdAt": .milliseconds(hook.createdAt),
                        ])
                    }
                ),
                "browsers": .array(
                    browsers.map { browser in
                        .object([
                            "id": .string(browser.id), "person": .optional(browser.person.flatMap { names[$0] }),
                            "browser": .optional(browser.browser), "system": .optional(browser.system),
                            "createdAt": .milliseconds(browser.madeAt), "createdBy": .string(browser.madeBy),
                        ])
                    }
                ),
                "people": .array(
                    book.people.filter(\.isEnabled).map { person in
                        .object([
                            "id": .string(person.id), "name": .string(person.name),
                            "role": .string(person.role.rawValue),
                            "createdAt": .milliseconds(person.createdAt), "createdBy": .string(person.createdBy),
                        ])
                    }
                ),
            ]).text
        )
    }

    /// Ends the kinds that the form names. What was ended before one fails stays ended, and the answer says which failed.
    func endAccess(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.body)
        let kinds = ["tokens", "webhooks", "browsers", "people"].filter { form.bool($0) == true }
        try form.finish()
        guard !kinds.isEmpty else {
            throw Problem(
                422,
                "required",
                "Nothing says what is to end. Nothing was changed.",
                "Send tokens, webhooks, browsers or people as true."
            )
        }
        for kind in kinds {
            do throws(Problem) {
                let count: Int
                switch kind {
                case "tokens": count = try await tokens.revokeAll(by: pass.who)
                case "webhooks": count = try await webhooks.removeAll(by: pass.who)
                case "browsers": count = try await staff.forgetAllBrowsers()
                default: count = try await staff.switchOffEverybody(by: pass.who)
                }
                await entrance.audit(
                    "access.end",
                    "ok",
                    "\(kind): \(count)",
                    by: pass.who,
                    from: pass.request.peerAddress
                )
            } catch {
                let detail = "\(kind): \(error.reason.code)"
                await entrance.audit("access.end", "failed", detail, by: pass.who, from: pass.request.peerAddress)
                throw error
            }
        }
        return try await accessResponse()
    }
}

extension TokenDesk {
    /// Makes every token void at once.
    /// - Returns: How many there were.
    func revokeAll(by actor: Payments.Actor) async throws(Problem) -> Int {
        let all = list
        for token in all { try await revoke(token.id, by: actor) }
        return all.count
    }
}

extension WebhookDesk {
    /// Forgets every webhook.
    /// - Returns: How many there were.
    func removeAll(by actor: Payments.Actor) async throws(Problem) -> Int {
        let all = hooks
        for hook in all { try await remove(hook.id, by: actor) }
        return all.count
    }
}
