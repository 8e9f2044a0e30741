internal import CSecp256k1

/// The curve's calculations, through the one context of libsecp256k1 that the process owns.
///
/// The library aborts the process on illegal arguments, so every length and the recovery ID are fixed by the types here.
/// Source: secp256k1.h and secp256k1_recovery.h, 0.2.0.
enum Secp256k1 {
    /// Owns the library's context, made and blinded once, before any other use.
    ///
    /// Unchecked, because the compiler cannot see into C: after `init` the context is only read, which the library allows
    /// from many threads at once (secp256k1.h, "A constructed context can safely be used from multiple threads").
    @safe private final class Context: @unchecked Sendable {
        let pointer: OpaquePointer

        init() {
            // Never null: the library's own answer to missing memory is to abort.
            unsafe pointer = secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE))
            var generator = SystemRandomNumberGenerator()
            let seed = Bytes32.random(using: &generator).bytes
            // Blinds the calculations with secrets against side channels; results do not depend on it.
            let blinded = unsafe secp256k1_context_randomize(pointer, seed)
            precondition(blinded == 1, "libsecp256k1 documents 1 as the only answer for an own context")
        }

        deinit { unsafe secp256k1_context_destroy(pointer) }
    }

    private static let context = Context()

    /// True for a number from 1 to the group order less 1. `key` points to 32 bytes.
    static func isValid(key: UnsafePointer<UInt8>) -> Bool {
        unsafe secp256k1_ec_seckey_verify(context.pointer, key) == 1
    }

    /// The 64 bytes of the point's coordinates; nil for a key out of range. `key` points to 32 bytes.
    static func publicKey(of key: UnsafePointer<UInt8>) -> [UInt8]? {
        var point = secp256k1_pubkey()
        guard unsafe secp256k1_ec_pubkey_create(context.pointer, &point, key) == 1 else { return nil }
        return unsafe coordinates(of: &point)
    }

    /// A signature with the nonce of RFC 6979 and the lower of the two possible `s`. `key` points to 32 bytes.
    static func sign(
        _ digest: Bytes32,
        with key: UnsafePointer<UInt8>
    ) -> (compact: [UInt8], recoveryID: Int32)? {
        var signature = secp256k1_ecdsa_recoverable_signature()
        guard unsafe secp256k1_ecdsa_sign_recoverable(context.pointer, &signature, digest.bytes, key, nil, nil) == 1
        else { return nil }
        var compact = [UInt8](repeating: 0, count: 64)
        var recoveryID: Int32 = 0
        unsafe secp256k1_ecdsa_recoverable_signature_serialize_compact(
            context.pointer,
            &compact,
            &recoveryID,
            &signature
        )
        return (compact, recoveryID)
    }

    /// The only public key, as 64 bytes, whose signature of `digest` this is; nil where there is none.
    static func recover(r: Bytes32, s: Bytes32, oddY: Bool, digest: Bytes32) -> [UInt8]? {
        var signature = secp256k1_ecdsa_recoverable_signature()
        let parsed = unsafe secp256k1_ecdsa_recoverable_signature_parse_compact(
            context.pointer,
            &signature,
            r.bytes + s.bytes,
            oddY ? 1 : 0
        )
        var point = secp256k1_pubkey()
        guard parsed == 1, unsafe secp256k1_ecdsa_recover(context.pointer, &point, &signature, digest.bytes) == 1
        else { return nil }
        return unsafe coordinates(of: &point)
    }

    private static func coordinates(of point: UnsafePointer<secp256k1_pubkey>) -> [UInt8] {
        var serialized = [UInt8](repeating: 0, count: 65)
        var length = serialized.count
        unsafe secp256k1_ec_pubkey_serialize(
            context.pointer,
            &serialized,
            &length,
            point,
            UInt32(SECP256K1_EC_UNCOMPRESSED)
        )
        return Array(serialized[1...])  // The first byte only says "uncompressed".
    }
}
