import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// What the owner may set, and managers see, about the operator's database.
extension Console {
    func outboxAnswer(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .saveOutbox: return try await saveOutbox(pass)
        case .testOutbox:
            try requireEmptyForm(pass)
            let fault = try await outbox.test()
            let place = await outbox.outbox.place.text
            await auditOutbox("outbox.test", fault == nil ? "ok" : "failed", place, pass)
            return .json(JSON.object(["arrived": .bool(fault == nil), "reason": .reason(fault?.reason)]).text)
        default: return try await outboxResponse()
        }
    }

    func outboxResponse() async throws(Problem) -> WebResponse {
        let standing: OutboxDesk.Standing
        do throws(JournalError) { standing = try await outbox.standing() } catch { throw Problem(503, error.reason) }
        let (settings, progress) = (await outbox.outbox, await outbox.progress)
        let state =
            !settings.isEnabled
            ? "off" : progress.fault != nil ? "failing" : progress.deliveredAt == nil ? "new" : "good"
        return .json(
            JSON.object([
                "enabled": .bool(settings.isEnabled), "host": .string(settings.place.host),
                "port": .integer(Int64(settings.place.port)), "database": .string(settings.place.database),
                "user": .string(settings.place.user),
                "authorities": .array(settings.place.authorities.map { .string($0) }),
                "outboxPasswordSet": .bool(await outbox.hasPassword()), "readable": .bool(await outbox.isReadable),
                "version": .integer(Int64(await outbox.version)),
                "terminal": .string(await outbox.names?.current ?? ""),
                "state": .string(state), "waiting": .integer(standing.waiting),
                "oldestAt": standing.oldest.map { .time($0) } ?? .null,
                "deliveredAt": progress.deliveredAt.map { .time($0) } ?? .null,
                "failedAt": progress.failedAt.map { .time($0) } ?? .null, "reason": .reason(progress.fault?.reason),
                "nextTrySeconds": standing.nextTry.map { .integer($0.components.seconds) } ?? .null,
            ]).text
        )
    }

    private func auditOutbox(_ what: String, _ result: String, _ detail: String, _ pass: Gate.Pass) async {
        await entrance.audit(what, result, detail, by: pass.who, from: pass.request.peerAddress)
    }

    /// What its form says.
    struct OutboxForm {
        var outbox: Outbox
        /// Nil: the one that is kept stays.
        var secret: String?
        var password: String?
        var version: Int?
    }

    static func outboxForm(_ pass: Gate.Pass) throws(Problem) -> OutboxForm {
        var form = try Form(pass.body, bytes: 128 * 1024)
        var place = EventPlace()
        let isEnabled = form.bool("enabled") ?? false
        place.host = form.text("host", limit: 253)
        let port = form.integer("port") ?? 5432
        place.database = form.text("database", limit: 63)
        place.user = form.text("user", limit: 63)
        place.authorities = form.texts("authorities", limit: 400, each: 200) ?? []
        let secret = form.optionalText("outboxPassword", limit: 500)
        let password = form.optionalText("password", limit: 1000)
        let version = form.integer("version")
        try form.finish()
        guard let exact = UInt16(exactly: port), exact > 0 else { throw .field("port", notAPort) }
        place.port = exact
        if isEnabled || !place.host.isEmpty {
            guard isHost(place.host) else { throw .field("host", notAHost) }
            for (name, value) in [("database", place.database), ("user", place.user)] where value.isEmpty {
                throw .field(name, incomplete)
            }
        }
        guard isPEM(place.authorities) else { throw .field("authorities", notPEM) }
        return OutboxForm(
            outbox: Outbox(isEnabled: isEnabled, place: place),
            secret: secret?.isEmpty == true ? nil : secret,
            password: password,
            version: version.map { Int($0) }
        )
    }

    /// One host: libpq takes a folder for a socket and a comma for a list.
    private static func isHost(_ text: String) -> Bool {
        guard let first = text.utf8.first, first != 0x2D else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: ".-:".utf8.contains(byte)
            }
        }
    }

    private static func isPEM(_ lines: [String]) -> Bool {
        guard let first = lines.first else { return true }
        return first == "-----BEGIN CERTIFICATE-----" && lines.last == "-----END CERTIFICATE-----"
            && !lines.contains { $0.contains("PRIVATE") }
    }

    private static let notAHost = Reason(
        code: "outbox_host",
        message: "This is not the name of a server.",
        action: "Enter one such as db.example.com, without port."
    )
    private static let notAPort = Reason(
        code: "outbox_port",
        message: "This is not a port.",
        action: "Enter a number from 1 to 65535; PostgreSQL’s own is 5432."
    )
    private static let notPEM = Reason(
        code: "outbox_pem",
        message: "This is not a certificate in PEM.",
        action: "Paste everything from BEGIN CERTIFICATE to END CERTIFICATE."
    )
    private static let incomplete = Reason(
        code: "outbox_incomplete",
        message: "Without it nothing can be sent.",
        action: "Ask whoever runs the database."
    )

    /// A password that is kept is said to the server it was entered for, and to no other.
    func checkOutboxSecret(_ form: OutboxForm) async throws(Problem) {
        guard form.outbox.isEnabled, form.secret == nil else { return }
        let (before, after) = (await outbox.outbox.place, form.outbox.place)
        let isKept = await outbox.hasPassword()
        guard isKept, before.host == after.host, before.user == after.user else {
            throw .field("outboxPassword", Self.incomplete)
        }
    }

    func saveOutbox(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let form = try Self.outboxForm(pass)
        do throws(Problem) {
            if let version = form.version, await outbox.version != version {
                throw Self.problem(SettingsError.conflict)
            }
            try await requirePassword(
                form.password,
                because: "Changing where events are sent needs the password again.",
                of: pass
            )
            try await checkOutboxSecret(form)
            try await outbox.save(form.outbox, password: form.secret, replacing: nil, by: pass.who)
        } catch {
            await auditOutbox("outbox", "refused", error.reason.code, pass)
            throw error
        }
        let place = form.outbox.place.text
        await auditOutbox("outbox", "ok", (form.outbox.isEnabled ? "on " : "off ") + place, pass)
        return try await outboxResponse()
    }
}
