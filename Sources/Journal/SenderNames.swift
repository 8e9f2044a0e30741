import Foundation
public import Payments

/// What tells this terminal's entries, by their numbers, from another terminal's where they are sent: the first half of a
/// webhook message's name, and of a row's key in the operator's database.
///
/// A restored journal counts on where its backup ended, and the terminal that it was taken from may have sent entries under
/// the same numbers. From there on it has another name, or receivers would take new entries for those that they know.
public struct SenderNames: Sendable, Equatable {
    struct Part: Sendable, Codable, Equatable {
        /// The last entry that another name belongs to.
        let after: Int64
        let name: String
    }

    static let document = "sender"
    let first: String
    /// Of each restoring, the earliest first.
    var later: [Part] = []

    /// Whose an entry is.
    public func name(of sequence: Int64) -> String { later.last { $0.after < sequence }?.name ?? first }

    /// Whose the next entry is.
    public var current: String { later.last?.name ?? first }
}

extension Journal {
    /// - Throws: ``JournalError``: nobody can say under which names entries were sent.
    public func senderNames() async throws(JournalError) -> SenderNames {
        let own = try await name().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(12).lowercased()
        guard let stored = try await document(SenderNames.document) else { return SenderNames(first: own) }
        do {
            let parts = try JSONDecoder().decode([SenderNames.Part].self, from: Data(stored.bytes))
            return SenderNames(first: own, later: parts)
        } catch { throw .corrupt(detail: "the names that entries are sent under cannot be read: \(error)") }
    }

    /// Gives entries from the next one on a name that no other terminal has.
    func renameSender(after last: Int64, by actor: Actor, at time: WallTime) async throws(JournalError) {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        var generator = SystemRandomNumberGenerator()
        let fresh = String((0..<12).map { _ in letters[Int.random(in: letters.indices, using: &generator)] })
        let parts = try await senderNames().later + [SenderNames.Part(after: last, name: fresh)]
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(parts)) } catch {
            throw .unavailable(detail: "the name that entries are sent under cannot be written: \(error)")
        }
        _ = try await setDocument(SenderNames.document, bytes, expecting: .any, by: actor, at: time)
    }
}
