import Backup
import Crypto
import Foundation
import StrictJSON

/// Secrets that only a passphrase opens: scrypt makes the key, AES-GCM with 256 bits seals.
///
/// Source: OWASP Password Storage Cheat Sheet, scrypt N=2^16, r=8, p=1; NIST SP 800-38D.
struct SealedSecrets: Sendable, Equatable {
    enum Failure: Error { case wrongPassphrase, cannotSeal }

    private static let bound = Array("till settings 1".utf8)
    /// What a file may ask for: a hostile one must not take the terminal's memory or time.
    private static let roundsRange = (1 << 10)...(1 << 17)

    private let salt: [UInt8]
    private let rounds: Int
    private let sealed: [UInt8]

    /// Computes for some 100 ms and takes 64 MiB: not on a thread that others wait for.
    init(_ secrets: [String: String], passphrase: String, rounds: Int = PasswordHash.usualRounds) throws {
        salt = unsafe SymmetricKey(size: .bits128).withUnsafeBytes { unsafe Array($0) }
        self.rounds = rounds
        let text = JSON.object(secrets.mapValues(JSON.string)).text
        let key = try Self.key(passphrase, salt, rounds)
        guard let box = try AES.GCM.seal(Array(text.utf8), using: key, authenticating: Self.bound).combined else {
            throw Failure.cannotSeal
        }
        sealed = Array(box)
    }

    /// Nil where it is not what ``json`` makes.
    init?(_ value: ExactJSON) {
        guard value.value(named: "kdf") == .string("scrypt"), value.value(named: "cipher") == .string("AES-256-GCM"),
            case .string(let salt)? = value.value(named: "salt"), let saltBytes = Data(base64Encoded: salt),
            saltBytes.count == 16, case .number(let digits)? = value.value(named: "n"), let rounds = Int(digits),
            Self.roundsRange.contains(rounds), rounds.nonzeroBitCount == 1, value.value(named: "r") == .number("8"),
            value.value(named: "p") == .number("1"), case .string(let sealed)? = value.value(named: "sealed"),
            let bytes = Data(base64Encoded: sealed), (28...65_536).contains(bytes.count)
        else { return nil }
        (self.salt, self.rounds, self.sealed) = (Array(saltBytes), rounds, Array(bytes))
    }

    var json: JSON {
        .object([
            "kdf": .string("scrypt"), "cipher": .string("AES-256-GCM"), "n": .integer(Int64(rounds)), "r": .integer(8),
            "p": .integer(1), "salt": .string(Data(salt).base64EncodedString()),
            "sealed": .string(Data(sealed).base64EncodedString()),
        ])
    }

    /// Computes as long as ``init(_:passphrase:rounds:)``.
    /// - Throws: ``Failure/wrongPassphrase``, also where somebody changed the sealed part.
    func open(passphrase: String) throws -> [String: String] {
        let key = try Self.key(passphrase, salt, rounds)
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let bytes = try? AES.GCM.open(box, using: key, authenticating: Self.bound),
            case .object(let members) = try? ExactJSON(parsing: Array(bytes))
        else { throw Failure.wrongPassphrase }
        var secrets: [String: String] = [:]
        for member in members { if case .string(let text) = member.value { secrets[member.name] = text } }
        return secrets
    }

    private static func key(_ passphrase: String, _ salt: [UInt8], _ rounds: Int) throws -> SymmetricKey {
        try ScryptKey.derive(from: passphrase, salt: salt, rounds: rounds)
    }
}
