internal import Crypto
internal import FoundationEssentials

/// One direction's key and counter. Source: Noise Protocol Framework revision 34, sections 5.1 and 12 (ChaChaPoly).
struct NoiseCipher: Sendable {
    private let key: SymmetricKey
    private(set) var nonce: UInt64

    /// The length that authentication adds to every message.
    static let tagBytes = 16

    /// - Parameter nonce: Where counting starts; other than 0 for tests of its end only.
    init(key: [UInt8], nonce: UInt64 = 0) {
        self.key = SymmetricKey(data: key)
        self.nonce = nonce
    }

    /// The key's bytes, for the published vectors and nothing else.
    var keyBytes: [UInt8] { unsafe key.withUnsafeBytes { unsafe Array($0) } }

    mutating func seal(_ plaintext: [UInt8], associated: [UInt8] = []) throws(SessionError) -> [UInt8] {
        let nonce = try currentNonce()
        do {
            let box = try ChaChaPoly.seal(plaintext, using: key, nonce: nonce, authenticating: associated)
            self.nonce += 1
            return Array(box.ciphertext) + Array(box.tag)
        } catch {
            throw .notAuthentic
        }
    }

    /// The counter moves on only for a message that opens. Source: Noise, section 5.1.
    mutating func open(_ message: [UInt8], associated: [UInt8] = []) throws(SessionError) -> [UInt8] {
        guard message.count >= Self.tagBytes else { throw .length }
        let nonce = try currentNonce()
        do {
            let box = try ChaChaPoly.SealedBox(
                nonce: nonce,
                ciphertext: message.dropLast(Self.tagBytes),
                tag: message.suffix(Self.tagBytes)
            )
            let plaintext = Array(try ChaChaPoly.open(box, using: key, authenticating: associated))
            self.nonce += 1
            return plaintext
        } catch {
            throw .notAuthentic
        }
    }

    /// Four zero bytes and the counter, its lowest byte first. The largest number is reserved.
    private func currentNonce() throws(SessionError) -> ChaChaPoly.Nonce {
        guard nonce < .max else { throw .exhausted }
        let bytes = [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: nonce >> (8 * UInt64($0))) }
        guard let value = try? ChaChaPoly.Nonce(data: bytes) else { throw .exhausted }
        return value
    }
}
