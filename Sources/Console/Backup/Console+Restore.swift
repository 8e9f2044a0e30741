import Backup
import Foundation
import Journal
import Payments
import StrictJSON
import Terminal
import WebServer

/// The terminal's whole memory: taking it along, and taking another terminal's place.
extension Console {
    /// The sealed file, made while it is sent. The copy it is made of is of one moment.
    func takeBackup(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body)
        let words = try backupWords(&form)
        try form.finish()
        try await requireWords(words, of: pass)
        let writer = try await makeBackup(words.passphrase, copyingTo: restore.copyPath, as: "backup.take", of: pass)
        let entries = writer.facts.ends.entries
        let peer = pass.request.peerAddress
        await entrance.audit("backup.take", "ok", "\(entries) entries", by: pass.who, from: peer)
        let name = "till-backup-\(clock.wallTime().moment.prefix(10)).age"
        return WebResponse(
            headers: [
                "Content-Type": BackupWriter.contentType,
                "Content-Disposition": "attachment; filename=\"\(name)\"",
            ],
            body: .parts { try await writer.next() }
        )
    }

    /// The same onto a stick. The answer does not wait for it: ``stickState()`` says how far it has come.
    func stickAnswer(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard pass.route == .writeToStick else { return .json(await stickState().text) }
        var form = try Form(pass.request.body)
        let words = try backupWords(&form)
        let name = form.text("stick", limit: 255)
        try form.finish()
        try await requireWords(words, of: pass)
        let stick = try await sticks.begin(name)
        do throws(Problem) {
            let copy = restore.stickCopyPath
            let writer = try await makeBackup(words.passphrase, copyingTo: copy, as: "backup.stick", of: pass)
            await entrance.audit("backup.stick", "begun", name, by: pass.who, from: pass.request.peerAddress)
            await sticks.write(writer, onto: stick, by: pass.who)
        } catch {
            await sticks.giveUp()
            throw error
        }
        return .json(await stickState().text, status: 202)
    }

    private func stickState() async -> JSON {
        guard let found = sticks.sticks else { return .object(["available": .bool(false)]) }
        let files = found.files()
        // Once the stick is gone there is nothing to pull out.
        let written = await sticks.written.flatMap { written in
            files.contains { $0.place == "\(written.stick)/\(written.file)" } ? written : nil
        }
        return .object([
            "available": .bool(true),
            "sticks": .array(
                found.sticks().map { stick in
                    .object([
                        "name": .string(stick.name), "freeBytes": .integer(stick.freeBytes),
                        "readOnly": .bool(stick.isReadOnly),
                    ])
                }
            ),
            "files": .array(
                files.map { file in
                    .object([
                        "place": .string(file.place), "name": .string(file.name), "bytes": .integer(file.bytes),
                    ])
                }
            ),
            "phase": .string(await sticks.phase.rawValue), "percent": .integer(Int64(await sticks.percent)),
            "problem": .reason(await sticks.problem?.reason),
            "written": written.map { written in
                .object([
                    "file": .string(written.file), "stick": .string(written.stick), "bytes": .integer(written.bytes),
                ])
            } ?? .null,
        ])
    }

    private func backupWords(_ form: inout Form) throws(Problem) -> (passphrase: String, password: String?) {
        (form.text("passphrase", limit: 1000), form.optionalText("password", limit: 1000))
    }

    private func requireWords(_ words: (passphrase: String, password: String?), of pass: Gate.Pass)
        async throws(Problem)
    {
        if let objection = PassphraseRule.objection(to: words.passphrase) { throw .field("passphrase", objection) }
        try await requirePassword(words.password, because: "Taking a backup needs the password again.", of: pass)
    }

    /// What gives the sealed file, part after part.
    private func makeBackup(_ passphrase: String, copyingTo path: String, as what: String, of pass: Gate.Pass)
        async throws(Problem) -> BackupWriter
    {
        do throws(BackupError) {
            return try await BackupWriter(
                of: books,
                at: clock.wallTime(),
                by: await health.versions()["till"] ?? "",
                merchantName: await settings.current?.settings.merchantName,
                passphrase: passphrase,
                copyingTo: path,
                work: entrance.hashWork
            )
        } catch {
            let peer = pass.request.peerAddress
            await entrance.audit(what, "failed", error.reason.code, by: pass.who, from: peer)
            if case .journal(let error) = error { throw Problem(503, error.reason) }
            throw Problem(503, error.reason)
        }
    }

    func restoreAnswer(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .beginRestore:
            var form = try Form(pass.request.body)
            let bytes = form.integer("bytes") ?? 0
            try form.finish()
            try await restore.begin(bytes: bytes)
        case .addToRestore:
            var form = try Form(pass.request.body, bytes: RestoreDesk.bodyBytes)
            let place = form.integer("at") ?? -1
            guard case .string(let text)? = form.document("piece"), let piece = Data(base64Encoded: text) else {
                throw .field("piece", BackupError.damaged(detail: "").reason)
            }
            try form.finish()
            try await restore.add(Array(piece), at: place)
        case .dropRestore:
            try requireEmptyForm(pass)
            await restore.drop()
        case .checkRestore:
            var form = try Form(pass.request.body)
            let passphrase = form.text("passphrase", limit: 1000)
            let place = form.optionalText("stick", limit: 600)
            try form.finish()
            do throws(Problem) { try await check(passphrase, on: place, of: pass) } catch {
                let code = error.reason.code
                await entrance.audit("restore.check", "refused", code, by: pass.who, from: pass.request.peerAddress)
                throw error
            }
        case .applyRestore: return try await applyRestore(pass)
        default: break
        }
        return .json(try await restoreState().text)
    }

    /// What was sent, or what lies on a stick; the screen says how the latter goes.
    private func check(_ passphrase: String, on place: String?, of pass: Gate.Pass) async throws(Problem) {
        let peer = pass.request.peerAddress
        guard let place else {
            _ = try await restore.check(passphrase, by: pass.who, from: peer)
            return
        }
        let file = try sticks.file(place)
        await sticks.show(.reading(file: file.name))
        do throws(Problem) {
            try await restore.take(file)
            _ = try await restore.check(passphrase, by: pass.who, from: peer)
            await sticks.showEnd(.whole(file: file.name))
        } catch {
            await sticks.showEnd(.notUsable(file: file.name))
            // No file was chosen in the form.
            throw error.fields["file"] == nil ? error : Problem(error.status, error.reason)
        }
    }

    private func applyRestore(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body)
        let password = form.optionalText("password", limit: 1000)
        try form.finish()
        let peer = pass.request.peerAddress
        try await requirePassword(password, because: "Restoring a backup needs the password again.", of: pass)
        let open = try await unfinished()
        guard open == 0 else {
            await entrance.audit("restore", "refused", "\(open) payments are open", by: pass.who, from: peer)
            throw Problem(
                409,
                "restore_payments_open",
                "Payments here without a final answer: \(open). Restored over, nobody would hear how they ended. "
                    + "Nothing was changed.",
                "Wait until they have ended, then restore."
            )
        }
        await entrance.audit("restore", "begun", "", by: pass.who, from: peer)
        try await restore.apply()
        await sticks.show(.restoring)
        var response = WebResponse.json(JSON.object(["restoring": .bool(true)]).text, status: 202)
        response.headers.add("Set-Cookie", "\(Gate.cookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict")
        return response
    }

    private func restoreState() async throws(Problem) -> JSON {
        let status = await restore.status
        let entries: Int64
        do throws(JournalError) { entries = try await books.entryCounts().charges } catch {
            throw Problem(503, error.reason)
        }
        return .object([
            "totalBytes": .optional(status.totalBytes), "receivedBytes": .integer(Int64(status.receivedBytes)),
            "pieceBytes": .integer(Int64(RestoreDesk.pieceBytes)),
            "openPaymentsHere": .integer(Int64(try await unfinished())), "entriesHere": .integer(entries),
            "found": status.prepared.map { prepared in
                .object([
                    "madeAt": .time(prepared.facts.madeAt), "madeBy": .string(prepared.facts.madeBy),
                    "merchantName": .optional(prepared.facts.merchantName),
                    "entries": .integer(prepared.facts.ends.entries),
                    "openPayments": .integer(Int64(prepared.openCharges)),
                    "lostSecrets": .array(prepared.facts.lostSecrets.map(JSON.string)),
                ])
            } ?? .null,
        ])
    }
}

extension Entrance {
    /// As a power of two.
    nonisolated var hashWork: Int { min(BackupWriter.usualWork, max(8, hashRounds.trailingZeroBitCount)) }
}
