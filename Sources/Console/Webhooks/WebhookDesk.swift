import Foundation
import Journal
import Logging
import Payments
import Terminal

/// Keeps where charges are told of, and how far each of them has come.
///
/// The journal's own entries are what is sent: a number for each webhook says how far it is, so that nothing is copied, a
/// charge waits for nothing, and what was missed for days is sent afterwards. Decided in docs/decisions/0014-webhooks.md.
actor WebhookDesk {
    let journal: any Keeping
    let books: Journal
    let desk: ChargeDesk
    /// Nil where nothing can be sent from here.
    let carrier: (any WebhookCarrier)?
    let clock: TerminalClock
    let logger: Logger
    /// As messages name the program.
    let agent: String

    private(set) var hooks: [Webhook] = []
    private var version = 0
    var progress: [String: WebhookProgress] = [:]
    /// What of it is on the storage.
    var saved: [String: Int64] = [:]
    /// Tell this terminal's messages from another's.
    private(set) var names: SenderNames?
    /// Not before then is a webhook tried again.
    var due: [String: Duration] = [:]
    /// Of those that this run has not tried yet.
    var untried: Set<String> = []
    /// Of those that have their task.
    var bells: [String: Bell] = [:]
    let starts = AsyncStream.makeStream(of: String.self)

    static let most = 5
    private static let document = "webhooks"
    static let progressDocument = "webhook-progress"
    private static let secretBytes = 32

    init(
        journal: any Keeping,
        books: Journal,
        desk: ChargeDesk,
        carrier: (any WebhookCarrier)?,
        version: String,
        clock: TerminalClock,
        logger: Logger
    ) {
        (self.journal, self.books, self.desk, self.carrier) = (journal, books, desk, carrier)
        (self.clock, self.logger) = (clock, logger)
        agent = version.isEmpty ? "till" : "till/\(version)"
    }

    /// False where another version of the program wrote what is kept: then nothing is sent and nothing changed.
    private(set) var isReadable = true

    /// Reads what was set earlier. Payments do not wait for webhooks: what cannot be read only keeps them from being sent.
    func load() async throws(JournalError) {
        names = try await books.senderNames()
        if let stored = try await journal.document(Self.document) {
            version = stored.version
            do { hooks = try JSONDecoder().decode([Webhook].self, from: Data(stored.bytes)) } catch {
                isReadable = false
                logger.error("webhooks cannot be read: none is sent", metadata: ["error": "\(error)"])
            }
        }
        if let stored = try await journal.document(Self.progressDocument) {
            do {
                progress = try JSONDecoder().decode([String: WebhookProgress].self, from: Data(stored.bytes))
            } catch {
                // Each begins anew where it was made: what has arrived arrives again, under the same name.
                logger.error("how far webhooks were cannot be read", metadata: ["error": "\(error)"])
            }
        }
        let newest = try await books.lastSequence()
        for hook in hooks {
            var own = progress[hook.id] ?? WebhookProgress(after: hook.after)
            // A journal that was put back to an earlier day counts on from there.
            own.sequence = min(own.sequence, newest)
            progress[hook.id] = own
            saved[hook.id] = own.sequence
        }
        untried = Set(hooks.map(\.id))
        progress = progress.filter { known in hooks.contains { $0.id == known.key } }
    }

    func hook(_ id: String) -> Webhook? { hooks.first { $0.id == id } }

    func known(_ id: String) throws(Problem) -> Webhook {
        try checkReadable()
        guard let hook = hook(id) else {
            throw Problem(404, "webhook_not_found", "There is no such webhook.", "Look at the list again.")
        }
        return hook
    }

    private func checkReadable() throws(Problem) {
        guard isReadable else {
            throw Problem(
                503,
                "webhooks_unreadable",
                "The webhooks were written by another version of the program and cannot be read. None is sent.",
                "Update the terminal, or restore a backup."
            )
        }
    }

    // MARK: - Changing

    /// Makes a webhook and returns it with its secret, which nobody can ask for again. It is told what happens from now on.
    func make(
        _ url: String,
        _ events: Set<WebhookEvent>,
        by actor: Payments.Actor
    ) async throws(Problem) -> (Webhook, secret: String) {
        try checkReadable()
        if let objection = carrier.map({ $0.objection(to: url) }) ?? .notAnAddress {
            throw .field("url", WebhookFailure.reason(objection))
        }
        guard hooks.count < Self.most else {
            throw Problem(
                409,
                "too_many_webhooks",
                "There are \(Self.most) webhooks already.",
                "Delete one that is not used."
            )
        }
        let newest: Int64
        do throws(JournalError) { newest = try await books.lastSequence() } catch { throw Problem(503, error.reason) }
        let hook = Webhook(
            id: Self.random(9),
            url: url,
            events: WebhookEvent.allCases.filter(events.contains),
            isPaused: false,
            createdAt: clock.wallTime().millisecondsSince1970,
            after: newest
        )
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<Self.secretBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        try await store(hooks + [hook], with: SecretChange(name: hook.secretName, bytes: secret), by: actor)
        progress[hook.id] = WebhookProgress(after: newest)
        saved[hook.id] = newest
        starts.continuation.yield(hook.id)
        // Source: Standard Webhooks 1.0, "Signing key serialization".
        return (hook, "whsec_" + Data(secret).base64EncodedString())
    }

    /// Holds a webhook back, or lets it go on where it was, also where the terminal had switched it off.
    func setPaused(_ id: String, _ isPaused: Bool, by actor: Payments.Actor) async throws(Problem) {
        let hook = try known(id)
        if hook.isPaused != isPaused {
            var changed = hooks
            for index in changed.indices where changed[index].id == id { changed[index].isPaused = isPaused }
            try await store(changed, with: nil, by: actor)
        }
        if !isPaused {
            progress[id]?.resume()
            due[id] = nil
            await keep()
        }
        ring(id)
    }

    /// Forgets a webhook, its secret and how far it was.
    func remove(_ id: String, by actor: Payments.Actor) async throws(Problem) {
        let hook = try known(id)
        try await store(
            hooks.filter { $0.id != id },
            with: SecretChange(name: hook.secretName, bytes: nil),
            by: actor
        )
        (progress[id], due[id], saved[id]) = (nil, nil, nil)
        ring(id)
        await keep()
    }

    private func store(
        _ changed: [Webhook],
        with secret: SecretChange?,
        by actor: Payments.Actor
    ) async throws(Problem) {
        let change: DocumentChange
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(changed)) } catch {
                throw JournalError.unavailable(detail: "the webhooks cannot be written: \(error)")
            }
            change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version == 0 ? nil : version),
                with: secret,
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Problem(503, error.reason) }
        guard case .stored(let version) = change else { throw Console.problem(.conflict) }
        (hooks, self.version) = (changed, version)
    }

    /// Writes down how far each is. What cannot be written is sent again after a restart, under the same name.
    func keep() async {
        let now = progress
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(now)) } catch {
                throw JournalError.unavailable(detail: "\(error)")
            }
            _ = try await journal.setDocument(
                Self.progressDocument,
                bytes,
                expecting: .any,
                by: .terminal,
                at: clock.wallTime()
            )
            for (id, own) in now where saved[id] != nil { saved[id] = own.sequence }
        } catch {
            logger.warning("how far webhooks are is not written down", metadata: ["error": "\(error)"])
        }
    }

    static func random(_ bytes: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=",
            with: ""
        )
    }
}
