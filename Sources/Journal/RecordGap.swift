import Foundation
public import Payments

/// Why the record may lack charges that this terminal, or the one that its backup was taken from, once made.
///
/// While there is such a gap nobody can be told that a key has opened no charge: the charge may be among those that are missing.
public struct RecordGap: Sendable, Equatable, Codable {
    public enum Kind: String, Sendable, Codable {
        /// A backup took the record's place: what came after the backup is not in it.
        case restored
        /// The record ends earlier than it once did.
        case endLost
    }

    public let kind: Kind
    /// When it was restored, or found.
    public let at: WallTime

    public init(_ kind: Kind, at time: WallTime) { (self.kind, at) = (kind, time) }

    /// How long somebody may still ask about a key from before the gap.
    public static let isAskedAbout = Duration.seconds(30 * 86_400)

    /// Whether it still counts. A clock that was set back does not end it.
    public func counts(at now: WallTime) -> Bool { at.duration(to: now) < Self.isAskedAbout }

    static let document = "record-gap"
}

extension Journal {
    /// The newest gap in the record; nil where none is known.
    public func gap() async throws(JournalError) -> RecordGap? {
        guard let stored = try await document(RecordGap.document) else { return nil }
        return try StoredJSON.decoded(stored.bytes, "what the record lacks")
    }

    /// Writes down that the record has a gap.
    public func note(_ gap: RecordGap, by actor: Actor) async throws(JournalError) {
        let bytes = Array(try StoredJSON.encode(gap))
        _ = try await setDocument(RecordGap.document, bytes, expecting: .any, by: actor, at: gap.at)
    }
}

extension StoredJSON {
    fileprivate static func decoded<Value: Decodable>(_ bytes: [UInt8], _ what: String) throws(JournalError) -> Value {
        do { return try decode(Data(bytes)) } catch {
            throw .fromNewerVersion(detail: "\(what) cannot be read: \(error)")
        }
    }
}
