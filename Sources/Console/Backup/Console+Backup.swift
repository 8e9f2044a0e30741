import Foundation
import Journal
import Payments
import StrictJSON
import Terminal
import WebServer

/// Taking along what the owner set, and bringing it in.
extension Console {
    // MARK: - Out

    /// The file: without secrets, or with them sealed under a passphrase, for which the password is asked again.
    func exportBackup(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body)
        let passphrase = form.optionalText("passphrase", limit: 1000) ?? ""
        let password = form.optionalText("password", limit: 1000)
        try form.finish()
        var file = BackupFile()
        (file.madeAt, file.madeBy) = (clock.wallTime(), await health.versions()["till"] ?? "")
        for part in BackupPart.allCases { file.parts[part] = try await currentFields(part) }
        if !passphrase.isEmpty {
            if let objection = PassphraseRule.objection(to: passphrase) { throw .field("passphrase", objection) }
            try await requirePassword(password, because: "Taking keys along needs the password again.", of: pass)
            let secrets = try await currentSecrets()
            do { file.sealed = try await entrance.seal(secrets, passphrase) } catch {
                throw Problem(503, "not_sealed", "The keys could not be sealed. Nothing was made.", "Try again.")
            }
        }
        let detail = passphrase.isEmpty ? "without keys" : "keys are sealed"
        await entrance.audit("backup.export", "ok", detail, by: pass.who, from: pass.request.peerAddress)
        let name = "till-settings-\(clock.wallTime().moment.prefix(10)).json"
        return .json(
            file.json.text,
            headers: ["Content-Disposition": "attachment; filename=\"\(name)\""]
        )
    }

    /// What a part holds now, by its fields; nil where this terminal does not have it.
    private func currentFields(_ part: BackupPart) async throws(Problem) -> [String: ExactJSON]? {
        let response: WebResponse
        switch part {
        case .settings:
            guard await settings.current != nil else { return nil }
            response = await settingsResponse()
        case .taps:
            guard await taps?.current != nil else { return nil }
            response = try await tapsResponse()
        case .connect:
            guard await wallets?.current != nil else { return nil }
            response = try await connectResponse()
        case .customers: response = await customersResponse()
        case .receipts: response = await receiptsResponse()
        case .counter:
            return await counter.tips.fields.merging(counter.keypad.fields) { $1 }.merging(counter.rest.fields) { $1 }
                .merging(counter.sound.fields) { $1 }
        case .outbox:
            // One that was never set is nobody's to take along.
            guard await !outbox.outbox.place.host.isEmpty else { return nil }
            response = try await outboxResponse()
        case .logo: return ["image": await logo.address.map(ExactJSON.string) ?? .null]
        }
        let limits = ExactJSON.Limits(bytes: BackupFile.bodyBytes, depth: 16)
        guard case .bytes(let bytes) = response.body, let all = try? ExactJSON(parsing: bytes, limits: limits) else {
            throw Problem(503, "not_readable", "The settings could not be read. Nothing was changed.", "Try again.")
        }
        var fields: [String: ExactJSON] = [:]
        for name in part.fields { fields[name] = all.value(named: name) }
        // Wallets that came with a terminal are not its owner's.
        if part == .customers, fields["suppliedWallets"] == .bool(true) { fields["wallets"] = nil }
        if case .object(let times)? = fields["times"] {
            fields["times"] = .object(times.map { .init($0.name, $0.value.value(named: "milliseconds") ?? .null) })
        }
        return fields
    }

    private func currentSecrets() async throws(Problem) -> [String: String] {
        var secrets: [String: String] = [:]
        for part in BackupPart.allCases {
            guard let (field, name) = part.secret else { continue }
            do throws(JournalError) {
                if let bytes = try await books.secret(name) { secrets[field] = String(decoding: bytes, as: UTF8.self) }
            } catch { throw Problem(503, error.reason) }
        }
        return secrets
    }

    // MARK: - In

    /// Says what a file would change and what of it cannot be used; with `apply`, changes it.
    func importBackup(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body, bytes: BackupFile.bodyBytes)
        let document = form.document("file")
        let passphrase = form.optionalText("passphrase", limit: 1000) ?? ""
        let password = form.optionalText("password", limit: 1000)
        var typed: [String: String] = [:]
        for name in BackupPart.allCases.compactMap(\.secret?.field) {
            if let text = form.optionalText(name, limit: 500), !text.isEmpty { typed[name] = text }
        }
        let applies = form.bool("apply") ?? false
        try form.finish()
        let file = try BackupFile(document)
        var secrets: [String: String] = [:]
        if let sealed = file.sealed, !passphrase.isEmpty {
            do { secrets = try await entrance.open(sealed, passphrase) } catch {
                throw .field("passphrase", Self.wrongPassphrase)
            }
        }
        secrets.merge(typed) { $1 }
        let plan = try await plan(file, secrets, password, pass)
        guard applies else { return .json(answer(plan, file, secrets).text) }
        try await requirePassword(password, because: "Bringing settings in needs the password again.", of: pass)
        return .json(try await apply(plan, pass).text)
    }

    /// What a file means for one part.
    private struct PlannedPart {
        let part: BackupPart
        /// What its form is sent.
        let body: ExactJSON
        let changes: [(field: String, from: ExactJSON, to: ExactJSON)]
        let setsSecret: Bool
        var problems: [String: Reason] = [:]
        /// Whether this terminal has it.
        let isKnown: Bool

        var isEmpty: Bool { changes.isEmpty && !setsSecret }
    }

    private func plan(
        _ file: BackupFile,
        _ secrets: [String: String],
        _ password: String?,
        _ pass: Gate.Pass
    ) async throws(Problem) -> [PlannedPart] {
        var plan: [PlannedPart] = []
        for part in BackupPart.allCases {
            guard let fields = file.parts[part] else { continue }
            let now = try await currentFields(part)
            let changes = part.fields.compactMap { name -> (field: String, from: ExactJSON, to: ExactJSON)? in
                guard let value = fields[name], now?[name] != value else { return nil }
                return (name, now?[name] ?? .null, value)
            }
            var members = part.fields.compactMap { name in fields[name].map { ExactJSON.Member(name, $0) } }
            let secret = part.secret.flatMap { secrets[$0.field] }
            if let secret, let field = part.secret?.field { members.append(.init(field, .string(secret))) }
            if part.takesPassword, let password { members.append(.init("password", .string(password))) }
            let hasIt = part != .taps && part != .connect || now != nil
            var planned = PlannedPart(
                part: part,
                body: .object(members),
                changes: changes,
                setsSecret: secret != nil,
                isKnown: hasIt
            )
            if hasIt, !planned.isEmpty { planned.problems = await problems(of: planned, pass) }
            plan.append(planned)
        }
        return plan
    }

    /// What its form says against it, before anything is stored.
    private func problems(of planned: PlannedPart, _ pass: Gate.Pass) async -> [String: Reason] {
        var part = pass
        part.part = Array(planned.body.text.utf8)
        do throws(Problem) {
            switch planned.part {
            case .settings: return await settings.validate(try settingsForm(part).0)
            case .taps: return await taps?.validate(try Self.tapForm(part).0) ?? [:]
            case .connect: return await wallets?.validate(try Self.connectForm(part).0) ?? [:]
            case .customers: _ = try await customers.leads(try Self.customerForm(part).0)
            case .receipts: _ = try Self.receiptForm(part).0.checked(over: await receipts.settings)
            case .counter: _ = try Self.counterForm(part).0.checked(over: await counter.tips, await counter.rest)
            case .outbox: try await checkOutboxSecret(try Self.outboxForm(part))
            case .logo: _ = try LogoDesk.picture(of: Self.logoForm(part).image)
            }
            return [:]
        } catch { return error.fields.isEmpty ? ["": error.reason] : error.fields }
    }

    private func answer(_ plan: [PlannedPart], _ file: BackupFile, _ secrets: [String: String]) -> JSON {
        let changes = plan.flatMap { planned in
            planned.changes.map { change in
                JSON.object([
                    "part": .string(planned.part.rawValue), "field": .string(change.field),
                    "from": .string(Self.shown(change.from)), "to": .string(Self.shown(change.to)),
                ])
            }
        }
        let problems = plan.flatMap { planned in
            planned.problems.sorted { $0.key < $1.key }.map { field, reason in
                JSON.object([
                    "part": .string(planned.part.rawValue), "field": .string(field), "code": .string(reason.code),
                    "message": .string(reason.message), "action": .string(reason.action),
                ])
            }
        }
        return .object([
            "changes": .array(changes), "problems": .array(problems),
            "unknownParts": .array(plan.filter { !$0.isKnown }.map { .string($0.part.rawValue) }),
            "secrets": .array(secrets.keys.sorted().map(JSON.string)), "sealed": .bool(file.sealed != nil),
        ])
    }

    /// A value for people: short, and a text without its quotes.
    private static func shown(_ value: ExactJSON) -> String {
        let text: String
        switch value {
        case .null: text = ""
        case .string(let plain): text = plain
        default: text = value.text
        }
        return text.count > 120 ? text.prefix(120) + "…" : text
    }

    /// Stores part after part. Each is checked before the first is stored; what fails all the same is said.
    private func apply(_ plan: [PlannedPart], _ pass: Gate.Pass) async throws(Problem) -> JSON {
        let wanted = plan.filter { $0.isKnown && !$0.isEmpty }
        if let refused = wanted.first(where: { !$0.problems.isEmpty }) {
            await entrance.audit(
                "backup.import",
                "refused",
                refused.part.rawValue,
                by: pass.who,
                from: pass.request.peerAddress
            )
            var problem = Problem(
                422,
                "backup_not_usable",
                "Some of the file cannot be used here. Nothing was changed.",
                "Look at what is marked."
            )
            for (field, reason) in refused.problems { problem.fields["\(refused.part.rawValue).\(field)"] = reason }
            throw problem
        }
        var done: [BackupPart] = []
        var failure: (part: BackupPart, problem: Problem)?
        for planned in wanted {
            var part = pass
            part.part = Array(planned.body.text.utf8)
            do throws(Problem) {
                switch planned.part {
                case .settings: _ = try await saveSettings(part)
                case .taps: _ = try await saveTaps(part)
                case .connect: _ = try await saveConnect(part)
                case .customers: _ = try await saveCustomers(part)
                case .receipts: _ = try await saveReceipts(part)
                case .counter: _ = try await saveCounter(part)
                case .outbox: _ = try await saveOutbox(part)
                case .logo: _ = try await saveLogo(part)
                }
                done.append(planned.part)
            } catch {
                failure = (planned.part, error)
                break
            }
        }
        await entrance.audit(
            "backup.import",
            failure == nil ? "ok" : "failed",
            done.map(\.rawValue).joined(separator: ", ") + (failure.map { "; not \($0.part.rawValue)" } ?? ""),
            by: pass.who,
            from: pass.request.peerAddress
        )
        let left = wanted.map(\.part).filter { !done.contains($0) }
        return .object([
            "complete": .bool(failure == nil), "stored": .array(done.map { .string($0.rawValue) }),
            "notStored": .array(left.map { .string($0.rawValue) }), "trouble": .reason(failure?.problem.reason),
        ])
    }

    private static let wrongPassphrase = Reason(
        code: "passphrase_wrong",
        message: "This passphrase does not open the file’s keys, or the file was changed. Nothing was changed here.",
        action: "Type it again, or leave it empty and enter the keys themselves."
    )
}

extension Entrance {
    /// scrypt takes as long and as much as a password's check: on the same queue.
    func seal(_ secrets: [String: String], _ passphrase: String) async throws -> SealedSecrets {
        let rounds = hashRounds
        return try await onHashingQueue { try SealedSecrets(secrets, passphrase: passphrase, rounds: rounds) }
    }

    func open(_ sealed: SealedSecrets, _ passphrase: String) async throws -> [String: String] {
        try await onHashingQueue { try sealed.open(passphrase: passphrase) }
    }
}

extension CounterKeypad {
    /// As the form of the counter's settings takes them.
    fileprivate var fields: [String: ExactJSON] {
        ["keypadMode": .string(mode.rawValue), "keypadErase": .bool(mayErase)]
    }
}

extension ScreenRest {
    /// As the form of the counter's settings takes them.
    fileprivate var fields: [String: ExactJSON] {
        [
            "screenRest": .string(mode.rawValue), "screenRestFrom": .string(Self.text(from)),
            "screenRestUntil": .string(Self.text(until)),
        ]
    }
}

extension SoundSettings {
    /// As the form of the counter's settings takes them.
    fileprivate var fields: [String: ExactJSON] { ["sound": .bool(isOn), "soundLoudness": .number("\(loudness)")] }
}

extension CounterTips {
    /// As the form of the counter's settings takes them.
    fileprivate var fields: [String: ExactJSON] {
        [
            "tipMode": .string(mode.rawValue), "tipMaximumPercent": .number("\(maximumPercent)"),
            "tipPresets": .string(presetsPercent.map(String.init).joined(separator: ", ")),
        ]
    }
}
