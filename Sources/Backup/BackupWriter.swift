import Crypto
import Foundation
public import Journal
public import Payments

/// Gives a terminal's whole memory as one sealed file, a part at a time: a tar archive inside an age file that a passphrase
/// opens. Decided in docs/decisions/0018-backup.md.
///
/// It reads a copy of the journal, which is made first and goes with the last part.
public actor BackupWriter {
    public static let contentType = "application/octet-stream"
    /// Of scrypt, as a power of two. Source: OWASP Password Storage Cheat Sheet, N=2^16, r=8, p=1.
    public static let usualWork = 16

    /// What it says of itself.
    public nonisolated let facts: BackupFacts
    /// How long the whole file will be.
    public nonisolated let totalBytes: Int
    private let path: String
    private let file: FileHandle
    private var sealer: AgeSealer
    /// What comes before the journal.
    private var front: [UInt8]?
    private var left: Int
    private var hasEnded = false

    /// Copies the journal. Computes for some 100 ms and takes 64 MiB with the usual work, on a thread of its own.
    /// - Parameters:
    ///   - path: Where the copy lies meanwhile: in the terminal's own folder, so that nobody else can read it.
    ///   - work: Less only in tests.
    /// - Throws: ``BackupError``. Nothing is left then.
    public init(
        of journal: Journal,
        at time: WallTime,
        by program: String,
        merchantName: String?,
        passphrase: String,
        copyingTo path: String,
        work: Int = usualWork
    ) async throws(BackupError) {
        let copy: JournalCopy
        do throws(JournalError) { copy = try await journal.copy(to: path) } catch {
            throw error == .diskFull ? .noRoom : .journal(error)
        }
        do {
            guard copy.bytes <= TarHead.mostBytes else { throw BackupError.noRoom }
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw BackupError.storage(detail: "the copy cannot be read")
            }
            facts = BackupFacts(
                madeAt: time,
                madeBy: program,
                merchantName: merchantName,
                journal: copy.journal,
                ends: copy.ends,
                openCharges: copy.openCharges,
                lostSecrets: copy.lostSecrets,
                journalBytes: copy.bytes
            )
            let secrets = copy.secrets.mapValues { Data($0).base64EncodedString() }
            let front = try Self.front(facts, secrets)
            sealer = try await Self.elsewhere { try AgeSealer(passphrase: passphrase, work: work) }
            let plain = front.count + TarHead(name: "", size: copy.bytes).padding + copy.bytes + TarHead.end.count
            let pieces = max(1, (plain + AgeCounter.pieceBytes - 1) / AgeCounter.pieceBytes)
            totalBytes = sealer.start.count + plain + pieces * AgeCounter.tagBytes
            (self.front, self.path, self.file, left) = (front, path, file, copy.bytes)
        } catch {
            Journal.removeCopy(path)
            throw error as? BackupError ?? .storage(detail: "\(error)")
        }
    }

    private static func front(_ facts: BackupFacts, _ secrets: [String: String]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        var bytes: [UInt8] = []
        for (name, content) in [
            (BackupFacts.fileName, Array(try encoder.encode(facts))),
            (BackupFacts.secretsName, Array(try encoder.encode(secrets))),
        ] {
            let head = TarHead(name: name, size: content.count)
            bytes += head.bytes(secondsSince1970: facts.madeAt.secondsSince1970) + content
            bytes += [UInt8](repeating: 0, count: head.padding)
        }
        let head = TarHead(name: BackupFacts.journalName, size: facts.journalBytes)
        return bytes + head.bytes(secondsSince1970: facts.madeAt.secondsSince1970)
    }

    /// The next part; nil after the last one.
    /// - Throws: ``BackupError``: what was given so far is no backup.
    public func next() throws(BackupError) -> [UInt8]? {
        guard !hasEnded else { return nil }
        do {
            if let front {
                self.front = nil
                return sealer.start + (try sealer.add(front))
            }
            if left > 0 {
                let bytes = try file.read(upToCount: min(left, 4 * AgeCounter.pieceBytes)) ?? Data()
                guard !bytes.isEmpty else { throw BackupError.storage(detail: "the copy became shorter") }
                left -= bytes.count
                return try sealer.add(Array(bytes))
            }
            let padding = TarHead(name: "", size: facts.journalBytes).padding
            let last = try sealer.add([UInt8](repeating: 0, count: padding) + TarHead.end) + sealer.finish()
            end()
            return last
        } catch {
            end()
            throw error as? BackupError ?? .io(error, "reading the copy")
        }
    }

    /// Removes the copy, also where not all of it was taken.
    public func end() {
        hasEnded = true
        try? file.close()  // Only read from.
        Journal.removeCopy(path)
    }

    deinit { Journal.removeCopy(path) }

    /// scrypt would hold a thread that others wait for.
    static func elsewhere<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
        }
    }
}
