import CryptoExtras
import Foundation
import Locks
public import Crypto

/// A key made of a passphrase by scrypt, which takes 64 MiB with the usual cost and 128 MiB with the largest.
///
/// One at a time in the whole process: two at once, and the unit's memory limit ends the terminal. Everything that uses scrypt
/// comes by here.
public enum ScryptKey {
    private static let turn = Mutex(())

    /// Computes for some 100 ms after whoever was first. Blocks: not on a thread that others wait for.
    /// - Parameters:
    ///   - passphrase: In the one form that the text has, whichever keys it was typed with.
    ///     Source: NIST SP 800-63B, 5.1.1.2.
    ///   - rounds: The cost N, a power of two. Each takes 1 KiB with a block size of 8.
    /// - Throws: What the computation throws; nothing else comes of it.
    public static func derive(
        from passphrase: String,
        salt: [UInt8],
        rounds: Int,
        blockSize: Int = 8,
        parallelism: Int = 1
    ) throws -> SymmetricKey {
        let text = Data(passphrase.precomposedStringWithCanonicalMapping.utf8)
        return try turn.withLock { _ in
            try KDF.Scrypt.deriveKey(
                from: text,
                salt: salt,
                outputByteCount: 32,
                rounds: rounds,
                blockSize: blockSize,
                parallelism: parallelism
            )
        }
    }
}
