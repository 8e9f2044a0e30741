import Foundation
import Glibc
import Locks
import Payments

/// Entries that were written once and do not stand in the journal any more.
public struct LostEntries: Sendable, Equatable {
    /// The first that is missing or is another one than was written.
    public let from: Int64
    /// The last that is known to have been written; nil where nobody knows.
    public let to: Int64?

    public init(from: Int64, to: Int64?) { (self.from, self.to) = (from, to) }

    /// Both together.
    func joined(_ other: LostEntries?) -> LostEntries {
        guard let other else { return self }
        let last = to.flatMap { to in other.to.map { max(to, $0) } }
        return LostEntries(from: min(from, other.from), to: last)
    }
}

/// Where the journal's chains ended after its last transaction: the high-water mark, kept beside the database.
///
/// A database whose end was lost, cut or replaced by an older one is whole in itself. This says that there was more. It is not
/// synced with each transaction, so that after a power cut it may be older than the database, and never newer than what the
/// storage has said it keeps.
struct EndMark: Sendable, Equatable {
    /// The journal's name.
    var journal: String
    var ends: JournalCopy.Ends
    /// What was found missing since the journal was made or restored.
    var lostEntries: LostEntries?
    var lostAudit: LostEntries?

    /// What is missing in a database that ends here, together with what was known to be missing.
    /// - Parameters:
    ///   - found: Where the database ends.
    ///   - entry: The hash of the entry of a number; nil where there is none.
    ///   - audit: The same of the audit log.
    func judged(
        _ found: JournalCopy.Ends,
        entry: (Int64) throws -> [UInt8]?,
        audit: (Int64) throws -> [UInt8]?
    ) rethrows -> EndMark {
        var judged = self
        judged.ends = found
        if let lost = try Self.lost(ends.entries, ends.head, found.entries, entry) {
            judged.lostEntries = lost.joined(lostEntries)
        }
        if let lost = try Self.lost(ends.auditEntries, ends.auditHead, found.auditEntries, audit) {
            judged.lostAudit = lost.joined(lostAudit)
        }
        return judged
    }

    private static func lost(
        _ last: Int64,
        _ head: [UInt8],
        _ found: Int64,
        _ hash: (Int64) throws -> [UInt8]?
    ) rethrows -> LostEntries? {
        guard last > 0 else { return nil }
        if last > found { return LostEntries(from: found + 1, to: last) }
        return try hash(last) == head ? nil : LostEntries(from: last, to: last)
    }
}

/// The file that holds the mark: two places that are written in turns, so that a torn one leaves the other.
///
/// Each bears a code made with the device's key: whoever changes the database without that key cannot change the mark with it.
final class EndMarkFile: Sendable {
    private static let slotBytes = 1024
    private let key: DeviceKey
    private let state: Mutex<(descriptor: Int32?, turn: UInt64)>

    /// What the file holds.
    enum Reading: Sendable, Equatable {
        case none
        /// There is a file, and nothing in it was made with this device's key.
        case unreadable
        case mark(EndMark)
    }

    static func path(_ directory: String) -> String { directory + "/journal.end" }

    /// Opens the file, or makes it.
    init(_ directory: String, key: DeviceKey) throws(JournalError) {
        self.key = key
        let path = Self.path(directory)
        let isNew = !Storage.exists(path)
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Storage.failure(of: path) }
        if isNew { try Storage.sync(directory) }
        let turn = Self.newest(Self.slots(descriptor, key))?.turn ?? 0
        state = Mutex((descriptor: descriptor, turn: turn))
    }

    /// What a folder's mark says.
    static func read(_ directory: String, key: DeviceKey) throws(JournalError) -> Reading {
        let descriptor = unsafe open(path(directory), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return .none }
            throw Storage.failure(of: path(directory))
        }
        defer { Glibc.close(descriptor) }
        return newest(slots(descriptor, key)).map { .mark($0.mark) } ?? .unreadable
    }

    /// Writes a mark. Costs no sync.
    func write(_ mark: EndMark) throws(JournalError) {
        let isWritten = state.withLock { state -> Bool in
            guard let descriptor = state.descriptor else { return true }
            let turn = state.turn &+ 1
            var line = Self.line(mark, turn)
            line += " " + Self.hexadecimal(key.code(over: line)) + "\n"
            var bytes = Array(line.utf8)
            guard bytes.count <= Self.slotBytes else { return false }
            bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.slotBytes - bytes.count)
            let place = off_t(turn % 2) * off_t(Self.slotBytes)
            guard unsafe pwrite(descriptor, bytes, bytes.count, place) == bytes.count else { return false }
            state.turn = turn
            return true
        }
        guard isWritten else { throw Storage.failure(of: "the mark of the journal's end") }
    }

    /// Waits until it survives a power cut. For moments in which nobody waits.
    func sync() throws(JournalError) {
        let isSynced = state.withLock { state -> Bool in
            guard let descriptor = state.descriptor else { return true }
            return fsync(descriptor) == 0
        }
        guard isSynced else { throw Storage.failure(of: "the mark of the journal's end") }
    }

    func close() {
        state.withLock { state in
            if let descriptor = state.descriptor { Glibc.close(descriptor) }
            state.descriptor = nil
        }
    }

    deinit { close() }

    // MARK: - What stands there

    private static func slots(_ descriptor: Int32, _ key: DeviceKey) -> [(mark: EndMark, turn: UInt64)] {
        (0..<2).compactMap { slot in
            var bytes = [UInt8](repeating: 0, count: slotBytes)
            let count = unsafe pread(descriptor, &bytes, bytes.count, off_t(slot) * off_t(slotBytes))
            guard count > 0 else { return nil }
            let text = String(decoding: bytes.prefix(count), as: UTF8.self)
            guard let line = text.split(separator: "\n").first, let space = line.lastIndex(of: " ") else { return nil }
            let said = String(line[..<space])
            guard hexadecimal(key.code(over: said)) == line[line.index(after: space)...] else { return nil }
            return parse(said)
        }
    }

    private static func newest(_ slots: [(mark: EndMark, turn: UInt64)]) -> (mark: EndMark, turn: UInt64)? {
        slots.max { $0.turn < $1.turn }
    }

    private static func line(_ mark: EndMark, _ turn: UInt64) -> String {
        func words(_ lost: LostEntries?) -> String {
            lost.map { "\($0.from) \($0.to.map(String.init) ?? "?")" } ?? "- -"
        }
        let ends = mark.ends
        return "till end 1 \(turn) \(mark.journal) \(ends.entries) \(hexadecimal(ends.head)) \(ends.auditEntries) "
            + "\(hexadecimal(ends.auditHead)) \(words(mark.lostEntries)) \(words(mark.lostAudit))"
    }

    private static func parse(_ line: String) -> (mark: EndMark, turn: UInt64)? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 13, words[0...2] == ["till", "end", "1"], let turn = UInt64(words[3]),
            let entries = Int64(words[5]), let head = bytes(words[6]), let audits = Int64(words[7]),
            let auditHead = bytes(words[8])
        else { return nil }
        func lost(_ from: String, _ to: String) -> LostEntries? {
            Int64(from).map { LostEntries(from: $0, to: Int64(to)) }
        }
        let ends = JournalCopy.Ends(entries: entries, head: head, auditEntries: audits, auditHead: auditHead)
        return (
            EndMark(
                journal: words[4],
                ends: ends,
                lostEntries: lost(words[9], words[10]),
                lostAudit: lost(words[11], words[12])
            ),
            turn
        )
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
