internal import Glibc

/// The secret of one account: whoever has it can spend what the account holds.
///
/// Prints as "redacted", also in a dump. The bytes lie in one place, outside Swift's copied arrays, and are overwritten
/// when the last copy of this value goes.
public struct PrivateKey: Sendable {
    private let memory: KeyMemory
    /// The account this key signs for.
    public let address: EthereumAddress

    /// Why bytes are no private key.
    public enum Failure: Error, Sendable, Equatable {
        /// A key has 32 bytes: 64 digits.
        case length(bytes: Int)
        /// Not `0x` and hexadecimal digits.
        case notHexadecimal
        /// Zero, or not below the order of the curve.
        case outOfRange
    }

    /// A new key from the system's random source.
    public init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    /// A new key from `generator`, which must be fit for secrets unless the account is a toy.
    public init(using generator: inout some RandomNumberGenerator) {
        while true {  // One draw in 2^128 is out of range.
            var drawn = Bytes32.random(using: &generator).bytes
            defer { PrivateKey.erase(&drawn) }
            if let key = try? PrivateKey(drawn) {
                self = key
                return
            }
        }
    }

    /// - Throws: `length`, `outOfRange`. The caller's own bytes stay as they are: erase them if they are not needed.
    public init(_ bytes: [UInt8]) throws(Failure) {
        guard bytes.count == 32 else { throw .length(bytes: bytes.count) }
        let memory = KeyMemory(copying: bytes)
        let point = unsafe memory.withPointer { key in
            unsafe Secp256k1.isValid(key: key) ? unsafe Secp256k1.publicKey(of: key) : nil
        }
        guard let point else { throw .outOfRange }
        self.memory = memory
        address = EthereumAddress(publicKey: point)
    }

    /// Reads `0x` and 64 digits.
    public init(parsing text: String) throws(Failure) {
        guard var bytes = Hexadecimal.bytes(text) else { throw .notHexadecimal }
        defer { PrivateKey.erase(&bytes) }
        try self.init(bytes)
    }

    /// Signs a digest, the same way every time. Source: RFC 6979; low `s` after EIP-2.
    ///
    /// Signs whatever it is given. Check what the digest stands for first.
    public func sign(_ digest: Bytes32) -> EthereumSignature {
        // The library refuses only invalid keys, and `init` let none in; an `r` past the group order, which Ethereum
        // cannot write, has a chance of 2^-128.
        let signed = unsafe memory.withPointer { unsafe Secp256k1.sign(digest, with: $0) }
        guard let (compact, recoveryID) = signed,
            let signature = try? EthereumSignature(compact + [UInt8(truncatingIfNeeded: recoveryID)])
        else { preconditionFailure("libsecp256k1 could not sign with a valid key") }
        return signature
    }

    /// The secret itself, as `0x` and 64 digits: for a key file, never for a log or an answer.
    public func exportSecret() -> String {
        unsafe memory.withPointer { unsafe Hexadecimal.text(UnsafeBufferPointer(start: $0, count: 32)) }
    }

    private static func erase(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            unsafe explicit_bzero(start, buffer.count)
        }
    }
}

extension PrivateKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "PrivateKey(redacted)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}

/// 32 secret bytes, overwritten before their memory is given back.
///
/// Unchecked, because it holds a pointer: the bytes are written in `init`, before anybody else has the object, and only
/// read until `deinit`, when nobody has it any more.
@safe private final class KeyMemory: @unchecked Sendable {
    private let storage: UnsafeMutablePointer<UInt8>

    /// `bytes` are 32.
    init(copying bytes: [UInt8]) {
        unsafe storage = .allocate(capacity: 32)
        for index in 0..<32 { unsafe (storage + index).initialize(to: bytes[index]) }
    }

    /// The pointer is good within `body` only: the last use of this object would otherwise free what it points to.
    func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        withExtendedLifetime(self) { unsafe body(storage) }
    }

    deinit {
        unsafe explicit_bzero(storage, 32)  // Plain stores before a free would be optimised away.
        unsafe storage.deallocate()
    }
}

extension EthereumAddress {
    /// Source: Ethereum Yellow Paper, appendix F: the last 160 bits of the hash of the 64-byte public key.
    init(publicKey coordinates: [UInt8]) { self.init(lowest160Bits: keccak256(coordinates).number) }
}
