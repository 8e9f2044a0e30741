import StrictJSON

/// Hashes values by their types. Each type's own hash is calculated once.
///
/// Source: EIP-712, "Definition of hashStruct", "Definition of encodeType", "Definition of encodeData".
struct TypedDataHasher {
    private struct Field {
        let name: String
        let type: SolidityType
        let typeText: String
    }

    /// More structs than this, or more fields in one, are refused: what `encodeType` writes grows with both.
    static let structureLimit = 64
    static let fieldLimit = 64
    /// Structs and arrays within each other. A recursive type is only as deep as its values.
    static let depthLimit = 48

    private var structures: [String: [Field]] = [:]
    private var typeHashes: [String: Bytes32] = [:]

    /// Checks every definition, used or not.
    init(_ types: [TypedData.Structure]) throws(TypedDataError) {
        guard types.count <= Self.structureLimit else { throw TypedDataError(.tooMuch("structs"), at: "types") }
        for structure in types {
            let name = String(structure.name.prefix(64))
            guard SolidityType.isIdentifier(structure.name), !SolidityType.looksBuiltIn(structure.name) else {
                throw TypedDataError(.name(name), at: "types")
            }
            guard structures[structure.name] == nil else { throw TypedDataError(.duplicateName(name), at: "types") }
            do throws(TypedDataError) {
                structures[structure.name] = try Self.read(structure.fields)
            } catch {
                throw error.under(name).under("types")
            }
        }
        for structure in types {
            for (index, field) in (structures[structure.name] ?? []).enumerated() {
                guard let used = field.type.structureName, structures[used] == nil else { continue }
                throw TypedDataError(.unknownType(String(used.prefix(64))), at: "types.\(structure.name)[\(index)]")
            }
        }
    }

    private static func read(_ fields: [TypedData.Field]) throws(TypedDataError) -> [Field] {
        guard fields.count <= fieldLimit else { throw TypedDataError(.tooMuch("fields")) }
        var names: Set<String> = []
        var result: [Field] = []
        for (index, field) in fields.enumerated() {
            guard SolidityType.isIdentifier(field.name) else {
                throw TypedDataError(.name(String(field.name.prefix(64))), at: "[\(index)]")
            }
            guard names.insert(field.name).inserted else {
                throw TypedDataError(.duplicateName(field.name), at: "[\(index)]")
            }
            guard let type = SolidityType(field.type) else {
                throw TypedDataError(.unknownType(String(field.type.prefix(64))), at: "[\(index)]")
            }
            result.append(Field(name: field.name, type: type, typeText: field.type))
        }
        return result
    }

    // MARK: Types

    func encodeType(_ name: String) throws(TypedDataError) -> String {
        guard SolidityType.isIdentifier(name), structures[name] != nil else {
            throw TypedDataError(.unknownType(String(name.prefix(64))))
        }
        var used: Set<String> = [name]
        var open = [name]
        while let next = open.popLast() {
            for field in structures[next] ?? [] {
                if let dependency = field.type.structureName, used.insert(dependency).inserted {
                    open.append(dependency)
                }
            }
        }
        used.remove(name)
        // Names are ASCII, where Swift's order is the order of the bytes.
        return ([name] + used.sorted()).map { structure in
            let fields = (structures[structure] ?? []).map { "\($0.typeText) \($0.name)" }
            return "\(structure)(\(fields.joined(separator: ",")))"
        }.joined()
    }

    private mutating func typeHash(_ name: String) throws(TypedDataError) -> Bytes32 {
        if let known = typeHashes[name] { return known }
        let hash = keccak256(try encodeType(name))
        typeHashes[name] = hash
        return hash
    }

    // MARK: Values

    /// The hash of a whole struct. `place` opens the path of an error.
    mutating func hash(_ value: ExactJSON, as name: String, at place: String) throws(TypedDataError) -> Bytes32 {
        do throws(TypedDataError) {
            return try hash(value, as: name, depth: 0)
        } catch {
            throw error.under(place)
        }
    }

    private mutating func hash(
        _ value: ExactJSON,
        as name: String,
        depth: Int
    ) throws(TypedDataError) -> Bytes32 {
        guard depth < Self.depthLimit else { throw TypedDataError(.tooMuch("nesting")) }
        guard let fields = structures[name] else { throw TypedDataError(.unknownType(name)) }
        guard case .object = value else { throw TypedDataError(.notA("an object")) }
        var encoded = try typeHash(name).bytes
        for field in fields {
            do throws(TypedDataError) {
                guard let member = value.value(named: field.name) else { throw TypedDataError(.missing) }
                encoded += try encode(member, as: field.type, depth: depth).bytes
            } catch {
                throw error.under(field.name)
            }
        }
        return keccak256(encoded)
    }

    /// The 32 bytes that stand for a value within its struct.
    private mutating func encode(
        _ value: ExactJSON,
        as type: SolidityType,
        depth: Int
    ) throws(TypedDataError) -> Bytes32 {
        switch type {
        case .structure(let name): return try hash(value, as: name, depth: depth + 1)
        case .array(let element, let count):
            guard depth < Self.depthLimit else { throw TypedDataError(.tooMuch("nesting")) }
            guard case .array(let values) = value else { throw TypedDataError(.notA("a list")) }
            if let count, count != values.count { throw TypedDataError(.count(values.count, expected: count)) }
            var encoded: [UInt8] = []
            for (index, value) in values.enumerated() {
                do throws(TypedDataError) {
                    encoded += try encode(value, as: element, depth: depth + 1).bytes
                } catch {
                    throw error.under("[\(index)]")
                }
            }
            return keccak256(encoded)
        default: return try type.encode(atomic: value)
        }
    }
}
