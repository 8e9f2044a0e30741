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
        let passphrase = form.text("passphrase", limit: 1000)
        let password = form.optionalText("password", limit: 1000)
        try form.finish()
        if let objection = PasswordRule.objection(to: passphrase) { throw .field("passphrase", objection.reason) }
        try await requirePassword(password, because: "Taking a backup needs the password again.", of: pass)
        let peer = pass.request.peerAddress
        let writer: BackupWriter
        do throws(BackupError) {
            writer = try await BackupWriter(
                of: books,
                at: clock.wallTime(),
                by: await health.versions()["till"] ?? "",
                merchantName: await settings.current?.settings.merchantName,
                passphrase: passphrase,
                copyingTo: restore.copyPath,
                work: entrance.hashWork
            )
        } catch {
            await entrance.audit("backup.take", "failed", error.reason.code, by: pass.who, from: peer)
            if case .journal(let error) = error { throw Problem(503, error.reason) }
            throw Problem(503, error.reason)
        }
        let entries = writer.facts.ends.entries
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
            try form.finish()
            do throws(Problem) {
                _ = try await restore.check(passphrase, by: pass.who, from: pass.request.peerAddress)
            } catch {
                let code = error.reason.code
                await entrance.audit("restore.check", "refused", code, by: pass.who, from: pass.request.peerAddress)
                throw error
            }
        case .applyRestore: return try await applyRestore(pass)
        default: break
        }
        return .json(try await restoreState().text)
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
