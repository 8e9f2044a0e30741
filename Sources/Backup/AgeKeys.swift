import Crypto
import Foundation

/// The head of an age file that a passphrase opens: who it is for, and an authentication of all that.
///
/// Source: C2SP, "The age file encryption format", version 1: "Header", "The scrypt recipient type", "Payload".
struct AgeHead: Sendable {
    static let version = "age-encryption.org/v1"
    /// Of the head as a text. Source: four lines, the longest of which has fewer than 80 characters.
    static let mostBytes = 512
    private static let saltLabel = Array("age-encryption.org/v1/scrypt".utf8)
    /// What a file may ask for: a hostile one must not take the terminal's memory or time. 17 takes 128 MiB.
    static let workRange = 8...17

    /// As they stand in the file.
    let bytes: [UInt8]
    private let fileKey: SymmetricKey

    /// Makes a new one. Computes for some 100 ms and takes 64 MiB with the usual work: not on a thread that others wait for.
    /// - Parameter work: The power of two of scrypt's cost.
    init(passphrase: String, work: Int) throws {
        fileKey = SymmetricKey(size: .bits128)
        let salt = unsafe SymmetricKey(size: .bits128).withUnsafeBytes { unsafe Array($0) }
        let wrap = try Self.wrapKey(passphrase, salt, work)
        let nonce = try ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 12))
        let box = try ChaChaPoly.seal(unsafe fileKey.withUnsafeBytes { unsafe Array($0) }, using: wrap, nonce: nonce)
        let body = Array(box.ciphertext) + Array(box.tag)
        let text = "\(Self.version)\n-> scrypt \(Self.base64(salt)) \(work)\n\(Self.base64(body))\n---"
        bytes = Array("\(text) \(Self.base64(Self.mac(text, fileKey)))\n".utf8)
    }

    /// Reads one from the beginning of a file. Computes as long as ``init(passphrase:work:)``.
    init(reading start: [UInt8], passphrase: String) throws(BackupError) {
        guard start.starts(with: (Self.version + "\n").utf8) else {
            throw start.starts(with: "age-encryption.org/".utf8) ? .newer : .notABackup(detail: "no age file")
        }
        var lines: [String] = []
        var place = 0
        while lines.count < 4, let end = start[place...].firstIndex(of: 0x0A) {
            guard let line = String(validating: start[place..<end], as: UTF8.self) else {
                throw .notABackup(detail: "its head is no text")
            }
            lines.append(line)
            place = end + 1
        }
        let words = lines.count == 4 ? lines[1].split(separator: " ", omittingEmptySubsequences: false) : []
        guard words.count == 4, words[0] == "->", words[1] == "scrypt", lines[3].hasPrefix("--- "),
            let salt = Self.bytes(words[2]), salt.count == 16, let body = Self.bytes(lines[2][...]), body.count == 32,
            let mac = Self.bytes(lines[3].dropFirst(4)), mac.count == 32
        else { throw .notABackup(detail: "it is not sealed with one passphrase") }
        guard let work = Int(words[3]), String(work) == words[3], Self.workRange.contains(work) else {
            throw .notABackup(detail: "its passphrase takes more work than this terminal does")
        }
        do {
            let wrap = try Self.wrapKey(passphrase, salt, work)
            let nonce = try ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 12))
            let box = try ChaChaPoly.SealedBox(nonce: nonce, ciphertext: body.prefix(16), tag: body.suffix(16))
            fileKey = SymmetricKey(data: try ChaChaPoly.open(box, using: wrap))
        } catch { throw .wrongPassphrase }
        let text = lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n---"
        guard Self.isEqual(Self.mac(text, fileKey), mac) else { throw .damaged(detail: "its head was changed") }
        bytes = Array(start[..<place])
    }

    /// The key of what follows, by the 16 random bytes before it.
    func payloadKey(_ nonce: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: fileKey, salt: nonce, info: Array("payload".utf8), outputByteCount: 32)
    }

    private static func wrapKey(_ passphrase: String, _ salt: [UInt8], _ work: Int) throws -> SymmetricKey {
        try ScryptKey.derive(from: passphrase, salt: saltLabel + salt, rounds: 1 << work)
    }

    private static func mac(_ text: String, _ fileKey: SymmetricKey) -> [UInt8] {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: fileKey,
            salt: [UInt8](),
            info: Array("header".utf8),
            outputByteCount: 32
        )
        return Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
    }

    private static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Without padding, as age writes it.
    private static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().filter { $0 != "=" }
    }

    /// Nil where there is another way to write the same bytes: age allows one.
    private static func bytes(_ text: Substring) -> [UInt8]? {
        guard !text.contains("="), text.utf8.count <= 64 else { return nil }
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: text + padding) else { return nil }
        let bytes = Array(data)
        return base64(bytes) == text ? bytes : nil
    }
}

/// Where in a file a piece stands, and whether it is the last: pieces cannot be left out, put elsewhere or added.
struct AgeCounter: Sendable {
    static let pieceBytes = 64 * 1024
    static let tagBytes = 16
    private var count: UInt64 = 0

    /// Big-endian in 11 bytes, then whether it is the last one. Source: as above, "Payload" (STREAM).
    mutating func next(isLast: Bool) throws -> ChaChaPoly.Nonce {
        var bytes = [UInt8](repeating: 0, count: 12)
        for place in 0..<8 { bytes[3 + place] = UInt8(truncatingIfNeeded: count >> (56 - 8 * UInt64(place))) }
        bytes[11] = isLast ? 1 : 0
        count += 1
        return try ChaChaPoly.Nonce(data: bytes)
    }
}
