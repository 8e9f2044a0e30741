import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// What the merchant sets.
extension Console {
    func settingsResponse() async -> WebResponse {
        guard let stored = await settings.current else {
            return .json(
                JSON.object([
                    "operatorID": .string(""), "merchantID": .string(""), "merchantName": .string(""),
                    "gatewayURL": .string(""), "gatewayKeySet": .bool(false), "currency": .string(""),
                    "locale": .string("en-US"), "language": .string("en"), "chargeLimitMinor": .null,
                    "hourlyLimitMinor": .null, "timeZone": .null, "changedAt": .null, "changedBy": .null,
                    "version": .integer(0), "openPayments": await openPayments(),
                ]).text
            )
        }
        let set = stored.settings
        return .json(
            JSON.object([
                "operatorID": .string(set.operatorID), "merchantID": .string(set.merchantID),
                "merchantName": .string(set.merchantName), "gatewayURL": .string(set.gatewayURL),
                "gatewayKeySet": .bool(stored.gatewayKeySet), "currency": .string(set.currency.code),
                "locale": .string(set.locale), "language": .string(set.language ?? "en"),
                "timeZone": .optional(set.timeZone),
                "chargeLimitMinor": set.limits.maximumMinorUnits.map(JSON.integer) ?? .null,
                "hourlyLimitMinor": set.limits.maximumPerHourMinorUnits.map(JSON.integer) ?? .null,
                "changedAt": .time(stored.changedAt), "changedBy": .string(stored.changedBy.name),
                "version": .integer(Int64(stored.version)), "openPayments": await openPayments(),
            ]).text
        )
    }

    /// How many payments a change of gateway or merchant concerns; null where the journal cannot say.
    private func openPayments() async -> JSON {
        guard let open = try? await settings.openPayments() else { return .null }
        return .object([
            "here": .integer(Int64(open.here)), "followed": .integer(Int64(open.followed)),
            "stranded": .integer(Int64(open.stranded)),
        ])
    }

    /// The form of settings, and the password where the request carries one.
    func settingsForm(_ pass: Gate.Pass) throws(Problem) -> (
        SettingsForm, password: String?, version: Int64?
    ) {
        var form = try Form(pass.body)
        let parsed = SettingsForm(
            operatorID: form.text("operatorID", limit: 200),
            merchantID: form.text("merchantID", limit: 200),
            merchantName: form.text("merchantName", limit: 200),
            gatewayURL: form.text("gatewayURL", limit: 500),
            gatewayKey: form.optionalText("gatewayKey", limit: 500),
            currency: form.text("currency", limit: 10),
            locale: form.optionalText("locale", limit: 20),
            chargeLimitMinor: form.integer("chargeLimitMinor"),
            hourlyLimitMinor: form.integer("hourlyLimitMinor"),
            timeZone: form.optionalText("timeZone", limit: 100),
            language: form.optionalText("language", limit: 20)
        )
        let password = form.optionalText("password", limit: 1000)
        let version = form.integer("version")
        try form.finish()
        return (parsed, password, version)
    }

    func saveSettings(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (form, password, version) = try settingsForm(pass)
        let current = await settings.current
        // The page names the version it showed: two people who save at once must not undo each other.
        if let version, version != Int64(current?.version ?? 0) { throw Self.problem(.conflict) }
        if current != nil {
            let sendsMoneyElsewhere =
                await settings.movesPayments(form) || form.gatewayKey?.isEmpty == false
            if sendsMoneyElsewhere {
                try await requirePassword(password, because: Self.sendsMoneyElsewhere, of: pass)
            }
        }
        do throws(SettingsError) {
            _ = try await settings.save(form, replacing: current?.version, by: pass.who)
        } catch {
            await entrance.audit("settings", "refused", "", by: pass.who, from: pass.request.peerAddress)
            throw Self.problem(error)
        }
        await entrance.audit("settings", "ok", "", by: pass.who, from: pass.request.peerAddress)
        await setUp.show()
        return await settingsResponse()
    }

    static let sendsMoneyElsewhere = "Changing where payments are made needs the password again."

    /// Who is signed in proves again that they are who they were. Source: OWASP ASVS 5.0, 7.5.1.
    /// - Parameter cause: What is changed, as a sentence.
    func requirePassword(_ password: String?, because cause: String, of pass: Gate.Pass) async throws(Problem) {
        guard let password, !password.isEmpty else {
            let reason = Reason(code: "password_needed", message: cause, action: "Enter the owner's password.")
            throw Problem.field("password", reason)
        }
        do throws(Problem) {
            try await entrance.check(
                password: password,
                what: "settings.password",
                by: pass.who,
                of: pass.session,
                from: pass.request.peerAddress
            )
        } catch {
            // Signed in they are; it is the field that is wrong.
            throw error.status == 401 ? .field("password", error.reason) : error
        }
    }

    func testConnection(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (form, _, _) = try settingsForm(pass)
        let test: ConnectionTest
        do throws(SettingsError) { test = try await settings.testConnection(form) } catch { throw Self.problem(error) }
        let (seconds, attoseconds) = test.duration.components
        return .json(
            JSON.object([
                "ok": .bool(test.isOK), "code": .string(test.reason.code), "message": .string(test.reason.message),
                "action": .string(test.reason.action),
                "milliseconds": .integer(seconds * 1000 + attoseconds / 1_000_000_000_000_000),
            ]).text
        )
    }

    /// Which letters of a merchant's name the screen cannot draw, for who types it.
    func checkName(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body)
        let name = form.text("merchantName", limit: 1000)
        try form.finish()
        return .json(JSON.object(["missing": .string(await settings.undrawable(in: name))]).text)
    }

    static func problem(_ error: SettingsError) -> Problem {
        switch error {
        case .invalid(let errors):
            var problem = Problem(
                422,
                "invalid_settings",
                "Some of the settings cannot be used. Nothing was changed.",
                "Correct the fields that are marked."
            )
            problem.fields = errors.fields
            return problem
        case .conflict:
            return Problem(
                409,
                "settings_changed",
                "Somebody else saved settings at the same moment. Yours were not saved.",
                "Look at the settings again, then save."
            )
        case .journal(let error): return Problem(503, error.reason)
        }
    }
}
