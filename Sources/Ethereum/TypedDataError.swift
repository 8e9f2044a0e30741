public import StrictJSON

/// Why typed data cannot be hashed, and where. It must then not be signed, and nothing was.
public struct TypedDataError: Error, Sendable, Equatable {
    /// The place in the document, for example `message.permitted.amount` or `types.Order[2]`. Empty for the whole.
    public let path: String
    public let reason: Reason

    public enum Reason: Sendable, Equatable {
        /// Not JSON, or more of it than is read.
        case json(ExactJSON.Failure)
        /// A member that the types ask for is not there.
        case missing
        /// Another kind of JSON value, or another form, than `expected` in words.
        case notA(String)
        /// A whole number outside what the named Solidity type holds, for example 256 for `uint8`.
        case outOfRange(type: String)
        /// Another count of bytes than the type has.
        case length(bytes: Int, expected: Int)
        /// Another count of elements than the type has.
        case count(Int, expected: Int)
        case address(EthereumAddress.Failure)
        /// Neither a Solidity type that can be signed nor a struct that `types` defines.
        case unknownType(String)
        /// Not a Solidity identifier, or the name of a built-in type: it would make the hashed text ambiguous.
        case name(String)
        /// Two fields of one struct, or two structs, have this name.
        case duplicateName(String)
        /// A domain without its own type has a member that EIP-712 does not know.
        case unknownDomainField(String)
        /// More than is read: of structs, of fields, or of nesting.
        case tooMuch(String)
    }

    public init(_ reason: Reason, at path: String = "") { (self.reason, self.path) = (reason, path) }

    /// The same error as seen from one level further out.
    func under(_ outer: String) -> TypedDataError {
        if path.isEmpty { return TypedDataError(reason, at: outer) }
        return TypedDataError(reason, at: path.hasPrefix("[") ? outer + path : outer + "." + path)
    }
}

extension TypedDataError: CustomStringConvertible {
    public var description: String {
        let place = path.isEmpty ? "The typed data" : "'\(path)'"
        return switch reason {
        case .json(let failure): "\(place) cannot be read as JSON: \(failure)."
        case .missing: "\(place) is missing."
        case .notA(let expected): "\(place) is not \(expected)."
        case .outOfRange(let type): "\(place) does not fit \(type)."
        case .length(let bytes, let expected): "\(place) has \(bytes) bytes instead of \(expected)."
        case .count(let count, let expected): "\(place) has \(count) elements instead of \(expected)."
        case .address(let failure): "\(place) is not an address: \(failure)."
        case .unknownType(let type): "\(place) has the unknown type '\(type)'."
        case .name(let name): "\(place) has the name '\(name)', which cannot be hashed unambiguously."
        case .duplicateName(let name): "\(place) has '\(name)' twice."
        case .unknownDomainField(let name): "\(place) has the member '\(name)', which EIP-712 does not know."
        case .tooMuch(let what): "\(place) has more \(what) than are read."
        }
    }
}
