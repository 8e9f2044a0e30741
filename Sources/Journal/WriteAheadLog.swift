import Foundation
import Glibc
import Payments

/// SQLite's write-ahead log, looked at before SQLite does.
///
/// After a crash SQLite takes the log up to the first frame whose checksum is wrong and silently drops the rest. That is
/// right for a transaction that a power cut tore, the last one. Where whole transactions stand behind the wrong frame,
/// they had been acknowledged, and dropping them would take back what was promised.
/// Source: SQLite, "Database File Format", section 4, "The Write-Ahead Log".
enum WriteAheadLog {
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    /// How long the log gets, mostly: with 1000 frames SQLite takes it over into the database, and begins anew at its front.
    static let usualBytes = headerBytes + 1100 * (frameHeaderBytes + 4096)

    /// Writes zeros behind what the log holds until it is as long as it gets: from then on a transaction is written over what
    /// is there, and the file system has no growing file to write down with it.
    ///
    /// Nobody may write to the log meanwhile. Zeros are no frames: whoever reads the log ends at the first. Where they
    /// cannot be written, the log is as it was.
    static func reserve(_ path: String) throws(JournalError) {
        guard let size = Storage.size(path), size < usualBytes else { return }
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Storage.failure(of: path) }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var offset = size
        while offset < usualBytes {
            let written = unsafe pwrite(descriptor, zeros, min(zeros.count, usualBytes - offset), off_t(offset))
            guard written > 0 else {
                let failure = Storage.failure(of: path)
                _ = ftruncate(descriptor, off_t(size))
                throw failure
            }
            offset += written
        }
        guard fsync(descriptor) == 0 else { throw Storage.failure(of: path) }
    }

    /// - Throws: ``JournalError/corrupt(detail:)`` where acknowledged entries would be dropped.
    static func check(_ path: String) throws(JournalError) {
        guard let size = Storage.size(path), size > 0 else { return }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .unavailable(detail: "the journal's log \(path) cannot be read")
        }
        let bytes = Array(data)
        // A header that a power cut kept from being written: no transaction has used this log yet.
        guard bytes.contains(where: { $0 != 0 }), bytes.count >= headerBytes else { return }
        guard let lost = transactionsBehindDamage(bytes) else {
            throw .corrupt(detail: "the log beside the journal has a damaged header")
        }
        // One may be the transaction that the crash tore.
        guard lost <= 1 else {
            throw .corrupt(
                detail: "the log beside the journal is damaged; \(lost) acknowledged changes stand behind it"
            )
        }
    }

    /// How many transactions end at or behind the first wrong frame; nil where the header is wrong.
    private static func transactionsBehindDamage(_ bytes: [UInt8]) -> Int? {
        let magic = word(bytes, 0)
        guard magic & 0xFFFF_FFFE == 0x377F_0682, word(bytes, 4) == 3_007_000 else { return nil }
        var sum = Checksum(isBigEndian: magic & 1 == 1)
        sum.add(bytes, 0, 24)
        guard sum.first == word(bytes, 24), sum.second == word(bytes, 28) else { return nil }
        let pageBytes = Int(word(bytes, 8))
        let salt = (word(bytes, 16), word(bytes, 20))

        var isDamaged = false
        var lost = 0
        var offset = headerBytes
        while offset + frameHeaderBytes + pageBytes <= bytes.count {
            // Frames of an earlier use of the log have other salts; nothing of this use stands behind them.
            let isOfThisUse = (word(bytes, offset + 8), word(bytes, offset + 12)) == salt
            if !isDamaged {
                sum.add(bytes, offset, 8)
                sum.add(bytes, offset + frameHeaderBytes, pageBytes)
                isDamaged =
                    !isOfThisUse || sum.first != word(bytes, offset + 16) || sum.second != word(bytes, offset + 20)
            }
            let endsTransaction = word(bytes, offset + 4) != 0
            if isDamaged, isOfThisUse, endsTransaction { lost += 1 }
            offset += frameHeaderBytes + pageBytes
        }
        return lost
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16 | UInt32(bytes[offset + 2]) << 8
            | UInt32(bytes[offset + 3])
    }

    /// The running checksum over header and frames, in words of the byte order that the log's first bytes name.
    private struct Checksum {
        let isBigEndian: Bool
        var first: UInt32 = 0
        var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        /// - Parameter count: A multiple of 8.
        mutating func add(_ bytes: [UInt8], _ start: Int, _ count: Int) {
            var offset = start
            while offset < start + count {
                let (one, two) = (word(bytes, offset), word(bytes, offset + 4))
                first = first &+ (isBigEndian ? one : one.byteSwapped) &+ second
                second = second &+ (isBigEndian ? two : two.byteSwapped) &+ first
                offset += 8
            }
        }
    }
}
