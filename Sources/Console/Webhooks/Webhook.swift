import Crypto
import Foundation
import Journal
import Payments
import Terminal

/// What a webhook can be told of, each by its name: `succeeded`, or `changed` for news that leave the state as it is.
enum WebhookEvent: String, Sendable, Codable, CaseIterable {
    case created, requiresAction, processing, succeeded, failed, expired, cancelled, unknown
    /// Something else happened to the charge: a way to pay was offered, nobody answered, money was given back.
    case changed

    init(_ entry: ToldEntry) {
        self = entry.isNewState ? Self(entry.charge.state) : .changed
    }

    private init(_ state: Charge.State) {
        self =
            switch state {
            case .created: .created
            case .requiresAction: .requiresAction
            case .processing: .processing
            case .succeeded: .succeeded
            case .failed: .failed
            case .expired: .expired
            case .cancelled: .cancelled
            case .unknown: .unknown
            }
    }

    /// As messages name it.
    var type: String { "charge.\(rawValue)" }
}

/// Where charges are told of, as the owner set it. Its secret is kept apart.
struct Webhook: Sendable, Codable, Equatable {
    let id: String
    let url: String
    /// In the order of ``WebhookEvent``, each once, at least one.
    let events: [WebhookEvent]
    /// Nothing is sent; what happens meanwhile is sent later.
    var isPaused: Bool
    /// Milliseconds since 1970.
    let createdAt: Int64
    /// The journal's last entry when it was made: earlier ones are not told.
    let after: Int64

    /// Scheme, host and port: what comes after them may be a secret of the receiver's.
    var place: String {
        let start = url.hasPrefix("https://") ? 8 : 7
        return String(url.prefix(start) + url.dropFirst(start).prefix { $0 != "/" && $0 != "?" })
    }

    var secretName: String { "webhook-\(id)" }
}

/// Where the audit log ends. Kept by whoever is told, it proves later that nothing up to there was cut or written anew.
struct AuditEnd: Sendable, Equatable {
    let entries: Int64
    /// 32 bytes: the last entry's hash.
    let head: [UInt8]

    var json: JSON { .object(["entries": .integer(entries), "head": .string(head.hexadecimal)]) }
}

extension Journal {
    /// Nil where the journal cannot say it now: what is sent is worth more than its absence.
    func auditEndToTell() async -> AuditEnd? {
        guard let end = try? await auditEnd(), end.entries > 0 else { return nil }
        return AuditEnd(entries: end.entries, head: end.head)
    }
}

/// What is sent, in the style of Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp`, `webhook-signature`.
struct WebhookMessage: Sendable, Equatable {
    /// The same each time it is sent: whoever has seen it has seen the event.
    let id: String
    let body: String

    /// - Parameters:
    ///   - entry: What happened.
    ///   - journal: Tells this terminal's entries from another's, and from those before everything was erased.
    ///   - audit: Where the audit log ends while it is sent; nil where that cannot be said.
    init(_ entry: ToldEntry, journal: String, audit: AuditEnd? = nil) {
        let change = ChargeChange(number: Int(entry.sequence), charge: entry.charge, at: entry.time)
        id = "\(journal)-\(entry.sequence)"
        body = Self.body(WebhookEvent(entry).type, entry.time, .change(change), audit)
    }

    /// Says nothing but that it arrives.
    init(testAt time: WallTime, id: String) {
        self.id = id
        body = Self.body("test", time, .object([:]))
    }

    /// A message about the terminal and not about a charge.
    init(_ type: String, _ data: JSON, at time: WallTime, id: String) {
        self.id = id
        body = Self.body(type, time, data)
    }

    private static func body(_ type: String, _ time: WallTime, _ data: JSON, _ audit: AuditEnd? = nil) -> String {
        var members = ["type": .string(type), "timestamp": .time(time), "data": data]
        if let audit { members["audit"] = audit.json }
        return JSON.object(members).text
    }

    /// What goes with the body. The time is that of sending, so that a message that was overheard cannot be sent again later.
    /// Source: Standard Webhooks 1.0, "Signature scheme".
    func headers(signedWith secret: [UInt8], at time: WallTime) -> [(name: String, value: String)] {
        let timestamp = String(time.secondsSince1970)
        let signed = Array("\(id).\(timestamp).\(body)".utf8)
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret))
        return [
            ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", timestamp),
            ("webhook-signature", "v1," + Data(code).base64EncodedString()),
        ]
    }
}

/// What speaks against an address of a webhook.
public enum WebhookObjection: String, Sendable, Codable {
    case notAnAddress, plainHTTP, place
}

/// What came of sending a message.
public enum WebhookAnswer: Sendable, Equatable {
    /// - Parameter retryAfter: Seconds for which the other side asks to be left alone.
    case status(Int, retryAfter: Int64?)
    /// Nobody took the connection, or the name has no address; in a few words.
    case notSent(String)
    case silence
    case tooLarge
    case notAllowed(WebhookObjection)
}

/// Carries messages to addresses that the owner typed, and knows which of them the terminal does not ask.
public protocol WebhookCarrier: Sendable {
    /// What its text says against an address; nil where it may be asked.
    func objection(to url: String) -> WebhookObjection?

    /// One try, without following redirects; ends within half a minute.
    func post(_ url: String, headers: [(name: String, value: String)], body: [UInt8]) async -> WebhookAnswer
}
