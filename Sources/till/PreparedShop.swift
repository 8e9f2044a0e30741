import Foundation
import Glibc
import Journal
import Logging
import Payments
import Terminal

/// What `till.yaml` prepares of a shop's settings, so that many terminals are set up alike: used by one that has none yet.
///
/// The gateway's key does not stay in a file that anybody can read who holds the card: `till take-secrets` puts it beside
/// the journal first, and from there it goes into the terminal's sealed memory.
struct PreparedShop: Sendable, Equatable {
    /// With the key where the file still holds it.
    var form: SettingsForm

    /// Who has set what stands in the file, as the settings and the audit log say it.
    static let author = Payments.Actor.staff(name: "till.yaml")

    /// Where a key waits that was taken out of the file.
    static func keyFile(in state: String) -> String { state + "/gateway.key" }

    /// What is wrong with it; nil where it can be used.
    func error(_ gateways: GatewayPolicy) -> ConfigurationError? {
        // A key that was taken out of the file is looked at where it is used.
        let errors = form.errors(hasKey: form.gatewayKey == nil, gateways: gateways)
        guard let (field, reason) = errors.min(by: { $0.key < $1.key }) else { return nil }
        return ConfigurationError(
            key: "shop.\(field)",
            value: text(of: field),
            allowed: "\(reason.message) \(reason.action.trimmingCharacters(in: ["."]))"
        )
    }

    /// What may be said of it in a log: not a key, nor what stands where another field was meant.
    private func text(of field: String) -> String {
        switch field {
        case "operatorID": form.operatorID
        case "merchantID": form.merchantID
        case "merchantName": form.merchantName
        case "gatewayURL" where form.gatewayURL.contains("://"): form.gatewayURL
        case "gatewayURL" where !form.gatewayURL.isEmpty, "gatewayKey": "…"
        case "currency": form.currency
        case "locale": form.locale ?? ""
        case "language": form.language ?? ""
        case "timeZone": form.timeZone ?? ""
        default: ""
        }
    }

    /// Stores it where the terminal has no settings, and erases the key beside the journal once nobody needs it there.
    /// - Throws: `JournalError`, where it could not be stored for the storage's sake: the next start tries again.
    static func apply(
        _ shop: PreparedShop?,
        to settings: SettingsDesk,
        _ journal: Journal,
        state: String,
        _ logger: Logger
    ) async throws(JournalError) {
        let file = keyFile(in: state)
        let waiting = FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) }
        if await settings.current == nil {
            guard var form = shop?.form else { return }
            form.gatewayKey = form.gatewayKey ?? waiting
            guard try await isStored(form, settings, journal, logger) else { return }
        }
        if waiting != nil { try Wipe.erase(file) }
    }

    /// False where the owner has to enter it all.
    private static func isStored(
        _ form: SettingsForm,
        _ settings: SettingsDesk,
        _ journal: Journal,
        _ logger: Logger
    ) async throws(JournalError) -> Bool {
        let time: WallTime
        do throws(SettingsError) {
            time = try await settings.save(form, replacing: nil, by: author).changedAt
        } catch {
            if case .journal(let error) = error { throw error }
            // Nobody else saves before the page is served, so it is the form: a key is missing after everything was erased.
            var fields = ""
            if case .invalid(let errors) = error { fields = errors.fields.keys.sorted().joined(separator: ", ") }
            logger.error(
                "the shop that till.yaml prepares is not used: the owner enters it on the page",
                metadata: ["wrong": "\(fields)"]
            )
            return false
        }
        try await journal.audit(
            AuditEntry(at: time, who: author, from: "till.yaml", what: "settings", result: "ok", detail: "")
        )
        logger.notice("the shop is set as till.yaml prepares it")
        return true
    }
}
