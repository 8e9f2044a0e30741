import StrictJSON

/// Reads the members of a message that was hashed already. A member that cannot be read names its field.
struct TransferFields {
    private let object: ExactJSON

    init(_ object: ExactJSON) { self.object = object }

    /// The message's own struct, what it uses, and the domain's must be defined exactly so: order and types are signed.
    static func checkTypes(
        of data: TypedData,
        _ types: [TypedData.Structure],
        primaryType: String
    ) throws(TransferMismatch) {
        try TransferMismatch.check(.kind, primaryType, data.primaryType)
        for type in types {
            let found = data.types.first { $0.name == type.name }
            try TransferMismatch.check(.kind, Self.text(type), found.map(Self.text) ?? "")
        }
    }

    private static func text(_ structure: TypedData.Structure) -> String {
        "\(structure.name)(\(structure.fields.map { "\($0.type) \($0.name)" }.joined(separator: ",")))"
    }

    func text(_ name: String, _ field: TransferMismatch.Field) throws(TransferMismatch) -> String {
        guard case .string(let text)? = object.value(named: name) else {
            throw TransferMismatch(field, expected: "a text", found: "")
        }
        return text
    }

    func number(_ name: String, _ field: TransferMismatch.Field) throws(TransferMismatch) -> UInt256 {
        do throws(TypedDataError) {
            return try SolidityType.unsigned(object.value(named: name) ?? .null, bits: 256)
        } catch {
            throw TransferMismatch(field, expected: "a number of 256 bits", found: "\(error)")
        }
    }

    func address(_ name: String, _ field: TransferMismatch.Field) throws(TransferMismatch) -> EthereumAddress {
        do throws(TypedDataError) {
            return try SolidityType.readAddress(object.value(named: name) ?? .null)
        } catch {
            throw TransferMismatch(field, expected: "an address", found: "\(error)")
        }
    }

    func bytes32(_ name: String, _ field: TransferMismatch.Field) throws(TransferMismatch) -> Bytes32 {
        do throws(TypedDataError) {
            return try SolidityType.fixedBytes(32).encode(atomic: object.value(named: name) ?? .null)
        } catch {
            throw TransferMismatch(field, expected: "32 bytes", found: "\(error)")
        }
    }

    func chainID() throws(TransferMismatch) -> UInt64 {
        let number = try number("chainId", .chainID)
        guard let chainID = number.asUInt64 else {
            throw TransferMismatch(.chainID, expected: "a chain of 64 bits", found: "\(number)")
        }
        return chainID
    }
}
