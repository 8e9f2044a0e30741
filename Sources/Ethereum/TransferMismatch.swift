/// The first difference between what an account is asked to sign and what was agreed. Do not sign, and do not confirm.
public struct TransferMismatch: Error, Sendable, Equatable {
    public enum Field: String, Sendable, CaseIterable {
        /// The kind of message, or the definition of its fields.
        case kind
        case domainName, domainVersion, chainID, contract
        case token, from, to, value, validAfter, validBefore, nonce
        /// The signature is not of the paying account.
        case signer
        /// All fields agree and the hashes do not: a fault in this program.
        case digest
    }

    public let field: Field
    /// What was agreed, as text for a log.
    public let expected: String
    /// What the message says. From outside: shorten and clean before it is shown.
    public let found: String

    public init(_ field: Field, expected: String, found: String) {
        (self.field, self.expected, self.found) = (field, expected, found)
    }

    /// Throws where two values differ. Texts are compared by their bytes, which is what the hash sees.
    static func check<Value: Equatable>(
        _ field: Field,
        _ expected: Value,
        _ found: Value
    ) throws(TransferMismatch) {
        let isEqual =
            if let expected = expected as? String, let found = found as? String {
                expected.utf8.elementsEqual(found.utf8)
            } else {
                expected == found
            }
        guard isEqual else { throw TransferMismatch(field, expected: "\(expected)", found: "\(found)") }
    }
}

extension TransferMismatch: CustomStringConvertible {
    public var description: String { "\(field.rawValue) is '\(found)' instead of '\(expected)'" }
}
