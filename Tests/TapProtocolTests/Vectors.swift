import Foundation
import TestSupport

/// Reads the data files beside these tests.
enum Vectors {
    struct Missing: Error { let name: String }

    private static func load() throws -> [String: Any] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")
        let bytes = try Data(contentsOf: folder.appending(path: "bpp1.json"))
        guard let all = try JSONSerialization.jsonObject(with: bytes) as? [String: Any] else {
            throw Missing(name: "bpp1.json")
        }
        return all
    }

    static func text(_ name: String) throws -> String {
        guard let text = try load()[name] as? String else { throw Missing(name: name) }
        return text
    }

    static func bytes(_ name: String) throws -> [UInt8] { try [UInt8](hex: try text(name)) }

    static func frames(_ name: String) throws -> [[UInt8]] {
        guard let texts = try load()[name] as? [String] else { throw Missing(name: name) }
        return try texts.map { try [UInt8](hex: $0) }
    }
}

extension [UInt8] {
    init(hex text: String) throws {
        let digits = Array<Character>(text)
        guard digits.count.isMultiple(of: 2) else { throw Vectors.Missing(name: text) }
        self = try stride(from: 0, to: digits.count, by: 2).map {
            guard let byte = UInt8(String(digits[$0...($0 + 1)]), radix: 16) else { throw Vectors.Missing(name: text) }
            return byte
        }
    }
}

extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}
