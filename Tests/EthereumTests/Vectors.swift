import Ethereum
import Foundation
import StrictJSON

/// Reads the data files beside these tests. Numbers keep their digits.
enum Vectors {
    static func load(_ name: String) throws -> ExactJSON {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")
        let bytes = Array(try Data(contentsOf: folder.appending(path: name + ".json")))
        return try ExactJSON(parsing: bytes, limits: ExactJSON.Limits(bytes: 1 << 20, depth: 64))
    }
}

struct MissingVector: Error { let name: String }

extension ExactJSON {
    func member(_ name: String) throws -> ExactJSON {
        guard let value = value(named: name) else { throw MissingVector(name: name) }
        return value
    }

    func string(_ name: String) throws -> String {
        guard case .string(let text) = try member(name) else { throw MissingVector(name: name) }
        return text
    }

    func optionalString(_ name: String) throws -> String? {
        if try member(name) == .null { return nil }
        return try string(name)
    }

    func number(_ name: String) throws -> UInt256 {
        guard case .number(let text) = try member(name) else { throw MissingVector(name: name) }
        return try UInt256(parsing: text)
    }

    func elements(_ name: String? = nil) throws -> [ExactJSON] {
        guard case .array(let elements) = try name.map(member) ?? self else {
            throw MissingVector(name: name ?? "a list")
        }
        return elements
    }

    /// The same document with one value changed, found by its member names. A number in the path is an index.
    func replacing(_ path: [String], with new: ExactJSON?) throws -> ExactJSON {
        guard let first = path.first else { return new ?? .null }
        let rest = Array(path.dropFirst())
        switch self {
        case .object(var members):
            guard let index = members.firstIndex(where: { $0.name == first }) else {
                guard rest.isEmpty, let new else { throw MissingVector(name: first) }
                return .object(members + [Member(first, new)])
            }
            if rest.isEmpty, new == nil {
                members.remove(at: index)
            } else {
                members[index] = Member(first, try members[index].value.replacing(rest, with: new))
            }
            return .object(members)
        case .array(var elements):
            guard let index = Int(first), elements.indices.contains(index) else { throw MissingVector(name: first) }
            elements[index] = try elements[index].replacing(rest, with: new)
            return .array(elements)
        default: throw MissingVector(name: first)
        }
    }
}
