public import StrictJSON

/// What `eth_signTypedData_v4` asks an account to sign: values, their types, and the contract they are meant for.
///
/// A value of this type has been read, checked and hashed: it can be signed or compared, and nothing about it can fail
/// any more. Members of `domain` and `message` that the types do not name are kept but not signed, as in every wallet;
/// never show them as if they were.
///
/// Where wallets differ, this reader refuses instead of guessing: missing or null values, a `bytes4` of three bytes, a
/// text for a `bool`, an address with a wrong checksum. Source: EIP-712; eth-sig-util and eth-account answer each of
/// these differently.
public struct TypedData: Sendable, Equatable {
    /// One field of a struct, both parts as in the document.
    public struct Field: Sendable, Hashable {
        public let name: String
        /// A Solidity type such as `uint256`, a struct's name, or either with array brackets.
        public let type: String

        public init(_ type: String, _ name: String) { (self.type, self.name) = (type, name) }
    }

    /// A struct's definition. The order of the fields is part of what is signed.
    public struct Structure: Sendable, Hashable {
        public let name: String
        public let fields: [Field]

        public init(_ name: String, _ fields: [Field]) { (self.name, self.fields) = (name, fields) }
    }

    /// In the document's order, `EIP712Domain` included, also where the document left it out.
    public let types: [Structure]
    public let primaryType: String
    public let domain: ExactJSON
    public let message: ExactJSON

    /// Ties the signature to one contract on one chain.
    public let domainSeparator: Bytes32
    /// The hash of `message` as a `primaryType`.
    public let structHash: Bytes32
    /// What is signed.
    public let digest: Bytes32

    static let domainType = "EIP712Domain"

    /// Reads the JSON of typed data, or a JSON string that holds it: wallets are sent both.
    /// - Throws: The place and the reason. Do not sign.
    public init(json: String, limits: ExactJSON.Limits = .standard) throws(TypedDataError) {
        let document: ExactJSON
        do throws(ExactJSON.Failure) {
            let outer = try ExactJSON(parsing: json, limits: limits)
            if case .string(let inner) = outer {
                document = try ExactJSON(parsing: inner, limits: limits)
            } else {
                document = outer
            }
        } catch {
            throw TypedDataError(.json(error))
        }
        try self.init(document)
    }

    /// Reads a document that was parsed already, for example one element of a request's `params`.
    public init(_ document: ExactJSON) throws(TypedDataError) {
        guard case .object = document else { throw TypedDataError(.notA("an object")) }
        guard let types = document.value(named: "types") else { throw TypedDataError(.missing, at: "types") }
        guard let primaryType = document.value(named: "primaryType") else {
            throw TypedDataError(.missing, at: "primaryType")
        }
        guard case .string(let primaryName) = primaryType else {
            throw TypedDataError(.notA("a text"), at: "primaryType")
        }
        guard let domain = document.value(named: "domain") else { throw TypedDataError(.missing, at: "domain") }
        guard let message = document.value(named: "message") else { throw TypedDataError(.missing, at: "message") }
        try self.init(
            types: try Structure.all(in: types),
            primaryType: primaryName,
            domain: domain,
            message: message
        )
    }

    /// Checks and hashes typed data made in code. A missing `EIP712Domain` is made from what `domain` has.
    public init(
        types given: [Structure],
        primaryType: String,
        domain: ExactJSON,
        message: ExactJSON
    ) throws(TypedDataError) {
        var types = given
        if !types.contains(where: { $0.name == Self.domainType }) {
            types.insert(try Structure(forDomain: domain), at: 0)
        }
        var hasher = try TypedDataHasher(types)
        // Without a message of its own there would be two ways to hash it, and wallets take both.
        guard SolidityType.isIdentifier(primaryType), primaryType != Self.domainType else {
            throw TypedDataError(.name(String(primaryType.prefix(64))), at: "primaryType")
        }
        domainSeparator = try hasher.hash(domain, as: Self.domainType, at: "domain")
        structHash = try hasher.hash(message, as: primaryType, at: "message")
        digest = keccak256([0x19, 0x01] + domainSeparator.bytes + structHash.bytes)
        (self.types, self.primaryType, self.domain, self.message) = (types, primaryType, domain, message)
    }

    /// The text whose hash stands for a struct's type: its own fields, then those of the structs it uses, by name.
    /// - Throws: `unknownType` for a name that `types` does not define.
    public func encodeType(_ name: String) throws(TypedDataError) -> String {
        try TypedDataHasher(types).encodeType(name)
    }

    /// The hash of ``encodeType(_:)``.
    public func typeHash(_ name: String) throws(TypedDataError) -> Bytes32 { keccak256(try encodeType(name)) }

    /// The document as the gateway writes it: domain, types with `EIP712Domain`, primary type, message, no white space.
    public var json: String {
        let types = types.map { structure in
            ExactJSON.Member(
                structure.name,
                .array(
                    structure.fields.map {
                        .object([
                            ExactJSON.Member("type", .string($0.type)), ExactJSON.Member("name", .string($0.name)),
                        ])
                    }
                )
            )
        }
        return ExactJSON.object([
            ExactJSON.Member("domain", domain), ExactJSON.Member("types", .object(types)),
            ExactJSON.Member("primaryType", .string(primaryType)), ExactJSON.Member("message", message),
        ]).text
    }
}

extension TypedData.Structure {
    /// Source: EIP-712, "Definition of domainSeparator": the fields and their order.
    static let domainFields = [
        TypedData.Field("string", "name"), TypedData.Field("string", "version"), TypedData.Field("uint256", "chainId"),
        TypedData.Field("address", "verifyingContract"), TypedData.Field("bytes32", "salt"),
    ]

    /// The type of a domain that came without one: the known fields it has, in the standard's order.
    init(forDomain domain: ExactJSON) throws(TypedDataError) {
        guard case .object(let members) = domain else { throw TypedDataError(.notA("an object"), at: "domain") }
        let present = members.filter { $0.value != .null }
        for member in present where !Self.domainFields.contains(where: { $0.name.utf8.elementsEqual(member.name.utf8) })
        {
            throw TypedDataError(.unknownDomainField(String(member.name.prefix(64))), at: "domain")
        }
        self.init(
            TypedData.domainType,
            Self.domainFields.filter { field in present.contains { $0.name.utf8.elementsEqual(field.name.utf8) } }
        )
    }

    /// Reads the document's `types`.
    static func all(in types: ExactJSON) throws(TypedDataError) -> [TypedData.Structure] {
        guard case .object(let members) = types else { throw TypedDataError(.notA("an object"), at: "types") }
        var structures: [TypedData.Structure] = []
        for member in members {
            do throws(TypedDataError) {
                structures.append(TypedData.Structure(member.name, try fields(in: member.value)))
            } catch {
                throw error.under(String(member.name.prefix(64))).under("types")
            }
        }
        return structures
    }

    private static func fields(in value: ExactJSON) throws(TypedDataError) -> [TypedData.Field] {
        guard case .array(let elements) = value else { throw TypedDataError(.notA("a list of fields")) }
        var fields: [TypedData.Field] = []
        for (index, element) in elements.enumerated() {
            guard case .string(let name)? = element.value(named: "name"),
                case .string(let type)? = element.value(named: "type")
            else { throw TypedDataError(.notA("a field with name and type"), at: "[\(index)]") }
            fields.append(TypedData.Field(type, name))
        }
        return fields
    }
}
