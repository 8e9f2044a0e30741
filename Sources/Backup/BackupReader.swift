import Foundation
public import Journal
public import Payments

/// A backup that was opened, checked whole and made ready to take a terminal's place.
public struct PreparedBackup: Sendable, Equatable {
    public let facts: BackupFacts
    /// Charges that the restored terminal asks the authority about.
    public let openCharges: Int
}

/// Opens backups.
public enum BackupReader {
    /// How long a sealed file may be: as much as its archive can hold, and what sealing adds.
    public static let mostBytes = TarHead.mostBytes + (1 << 24)

    /// Opens the sealed file at `path`, checks all of it, and makes it ready to become the journal of `directory`, which is not
    /// touched: ``Restore/want(_:)`` says that it shall be, and the next start does it.
    /// - Parameters:
    ///   - key: The key of the terminal that takes it over.
    ///   - who: Whoever restores, and from where.
    /// - Throws: ``BackupError``. Nothing is prepared then.
    public static func prepare(
        _ path: String,
        passphrase: String,
        for directory: String,
        key: DeviceKey,
        by who: (actor: Payments.Actor, from: String),
        at time: WallTime
    ) async throws(BackupError) -> PreparedBackup {
        let draft: String
        do throws(JournalError) { draft = try Restore.begin(directory) } catch { throw .journal(error) }
        do {
            let (facts, secrets) = try await BackupWriter.elsewhere {
                try extract(path, passphrase: passphrase, to: draft)
            }
            let entry = AuditEntry(
                at: time,
                who: who.actor,
                from: who.from,
                what: "restore",
                result: "ok",
                detail: "backup of \(facts.madeAt.secondsSince1970) s, \(facts.ends.entries) entries, "
                    + "\(facts.openCharges) open"
            )
            let open = try await Restore.prepare(
                directory,
                endingAt: facts.ends,
                secrets: secrets,
                key: key,
                entry: entry
            )
            return PreparedBackup(facts: facts, openCharges: open)
        } catch {
            try? Restore.forget(directory)  // The next start does it where this cannot.
            switch error {
            case let error as BackupError: throw error
            case JournalError.diskFull: throw .noRoom
            case JournalError.corrupt(let detail): throw .damaged(detail: detail)
            case JournalError.fromNewerVersion: throw .newer
            case let error as JournalError: throw .journal(error)
            default: throw .storage(detail: "\(error)")
            }
        }
    }

    /// Writes the journal of a backup to `draft`. Blocks.
    static func extract(
        _ path: String,
        passphrase: String,
        to draft: String
    ) throws(BackupError) -> (BackupFacts, [String: [UInt8]]) {
        var opener = try AgeOpener(path: path, passphrase: passphrase)
        let facts: BackupFacts
        do {
            let bytes = try small(BackupFacts.fileName, &opener)
            let label = try JSONDecoder().decode(Label.self, from: Data(bytes))
            guard label.kind == BackupFacts.kind else { throw BackupError.notABackup(detail: "of another kind") }
            guard label.version <= BackupFacts.version else { throw BackupError.newer }
            facts = try JSONDecoder().decode(BackupFacts.self, from: Data(bytes))
        } catch {
            throw error as? BackupError ?? .notABackup(detail: "it does not say what it holds")
        }
        var secrets: [String: [UInt8]] = [:]
        do {
            let texts = try JSONDecoder().decode(
                [String: String].self,
                from: Data(small(BackupFacts.secretsName, &opener))
            )
            for (name, text) in texts {
                guard let bytes = Data(base64Encoded: text) else { throw BackupError.damaged(detail: "a secret") }
                secrets[name] = Array(bytes)
            }
        } catch { throw error as? BackupError ?? .damaged(detail: "its secrets are no list") }
        let head = try head(BackupFacts.journalName, &opener)
        guard head.size == facts.journalBytes else { throw .damaged(detail: "its journal has another length") }
        try copy(head.size, from: &opener, to: draft)
        _ = try opener.take(head.padding)
        guard try opener.take(TarHead.end.count).allSatisfy({ $0 == 0 }) else {
            throw .damaged(detail: "its archive does not end where it should")
        }
        try opener.finish()
        return (facts, secrets)
    }

    /// What every version of it says first.
    private struct Label: Decodable {
        var kind: String
        var version: Int
    }

    private static func head(_ name: String, _ opener: inout AgeOpener) throws(BackupError) -> TarHead {
        guard let head = TarHead(try opener.take(TarHead.block)), head.name == name else {
            throw .notABackup(detail: "there is no \(name) where it should be")
        }
        return head
    }

    private static func small(_ name: String, _ opener: inout AgeOpener) throws(BackupError) -> [UInt8] {
        let head = try head(name, &opener)
        guard head.size <= BackupFacts.mostBytes else { throw .notABackup(detail: "\(name) is too long") }
        let bytes = Array(try opener.take(head.size))
        _ = try opener.take(head.padding)
        return bytes
    }

    private static func copy(_ count: Int, from opener: inout AgeOpener, to draft: String) throws(BackupError) {
        guard let file = FileHandle(forWritingAtPath: draft) else {
            throw .storage(detail: "\(draft) cannot be written")
        }
        var left = count
        do {
            while left > 0 {
                let bytes = try opener.take(min(left, AgeCounter.pieceBytes))
                try file.write(contentsOf: bytes)
                left -= bytes.count
            }
            try file.synchronize()
            try file.close()
        } catch {
            try? file.close()  // The folder goes anyway.
            throw error as? BackupError ?? .io(error, "writing the copy")
        }
    }
}
