import Crypto
import Foundation

/// The SHA-256 of a row, over bytes that no other row has: every field with its length before it, absent ones marked.
///
/// SQLite does not notice a bit that the storage changed within a value; this does.
struct RowDigest {
    private var bytes: [UInt8] = []

    /// - Parameter table: Keeps the rows of two tables apart, and this layout from later ones.
    init(_ table: String) {
        bytes.reserveCapacity(768)
        add(table)
    }

    mutating func add(_ text: String) {
        add(length: UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ data: Data) {
        add(length: UInt64(data.count))
        bytes.append(contentsOf: data)
    }

    mutating func add(_ number: Int64) {
        add(length: 8)
        add(bigEndian: UInt64(bitPattern: number))
    }

    mutating func add(_ text: String?) {
        if let text { add(text) } else { addNothing() }
    }

    mutating func add(_ number: Int64?) {
        if let number { add(number) } else { addNothing() }
    }

    /// No field is this long.
    private mutating func addNothing() { add(length: .max) }

    private mutating func add(length: UInt64) { add(bigEndian: length) }

    private mutating func add(bigEndian number: UInt64) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// 32 bytes.
    var value: Data { Data(SHA256.hash(data: bytes)) }
}
