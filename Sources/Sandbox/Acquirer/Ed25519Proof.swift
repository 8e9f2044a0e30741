import Crypto

/// A terminal's proof that it holds the key that it wants certified.
enum Ed25519Proof {
    static func isValid(_ signature: [UInt8], over message: [UInt8], key: [UInt8]) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key) else { return false }
        return key.isValidSignature(signature, for: message)
    }
}
