import Foundation
import GRDB
import Payments

/// The rows of the table `charge_word`: what a charge is found by, beside its own name and its amount.
enum ChargeWords {
    /// So many words of a note are found by themselves.
    private static let mostNoteWords = 20

    /// Of the charge's reference, its short code, its note and each word of that, and the names of its payments and
    /// transactions.
    static func of(_ charge: Charge, withNote: Bool = true) -> Set<String> {
        var texts = [charge.terms.code.rawValue, charge.terms.reference].compactMap(\.self)
        if withNote, let note = charge.terms.note {
            texts += [note] + note.split(whereSeparator: \.isWhitespace).prefix(mostNoteWords).map(String.init)
        }
        for attempt in charge.attempts {
            if let offer = attempt.offer { texts.append(offer.paymentID) }
            guard case .succeeded(let evidence)? = attempt.ending else { continue }
            texts.append(evidence.paymentID)
            if let transaction = evidence.transactionID { texts.append(transaction) }
        }
        return Set(texts.map(folded).filter { !$0.isEmpty })
    }

    /// The charge's words that events may have brought: those of payments and transactions. All others stand there already.
    /// - Parameter charge: After the events, of which some may have changed nothing.
    static func brought(by events: [Charge.Event], to charge: Charge) -> Set<String> {
        let texts = events.flatMap { event -> [String] in
            switch event {
            case .offered(_, let offer): [offer.paymentID]
            case .reported(_, .succeeded(let evidence)):
                [evidence.paymentID, evidence.transactionID].compactMap(\.self)
            default: []
            }
        }
        return texts.isEmpty ? [] : of(charge).intersection(texts.map(folded))
    }

    /// The text as it is compared: without regard to case, composed, and no longer than anybody types.
    static func folded(_ text: String) -> String {
        // Almost all are names and numbers that say the same as they are.
        if text.utf8.count <= StoredText.mostBytes, text.utf8.allSatisfy(isPlain) { return text.lowercased() }
        return StoredText.bounded(text.precomposedStringWithCanonicalMapping.lowercased())
            .trimmingCharacters(in: .whitespaces)
    }

    /// ASCII that can be seen: composed already, and no white space at either end.
    private static func isPlain(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    /// What stands behind every text that begins with the prefix, in the order of their bytes.
    static func end(of prefix: String) -> String { prefix + "\u{10FFFF}" }

    static func insert(_ db: Database, _ words: some Sequence<String>, opened sequence: Int64) throws {
        let statement = try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO charge_word (opened_seq, word) VALUES (?, ?)"
        )
        for word in words { try statement.execute(arguments: [sequence, word]) }
    }

    static func fetch(_ db: Database, opened sequence: Int64) throws -> Set<String> {
        try String.fetchSet(
            db.cachedStatement(sql: "SELECT word FROM charge_word WHERE opened_seq = ?"),
            arguments: [sequence]
        )
    }
}
