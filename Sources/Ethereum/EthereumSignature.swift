/// An account's consent to a digest: 65 bytes, from which the account can be recovered.
public struct EthereumSignature: Sendable, Hashable {
    public let r: Bytes32
    /// In the lower half of the group order, so that nobody can make a second valid signature from this one.
    public let s: Bytes32
    /// Which of two points: 27 or 28.
    public let v: UInt8

    /// Why bytes are no signature a token contract would take, or give no account.
    public enum Failure: Error, Sendable, Equatable {
        /// A signature has 65 bytes: 130 digits.
        case length(bytes: Int)
        /// Not `0x` and hexadecimal digits.
        case notHexadecimal
        /// The last byte is none of 0, 1, 27, 28.
        case recoveryID(UInt8)
        /// `r` or `s` is zero or not below the group order.
        case outOfRange
        /// The mirrored form, which contracts refuse since EIP-2.
        case highS
        /// No public key could have made this signature of this digest.
        case noSigner
    }

    /// Source: SEC 2, version 2.0, section 2.4.1 (`n`).
    private static let groupOrder: UInt256 =
        0xFFFF_FFFF_FFFF_FFFF_FFFF_FFFF_FFFF_FFFE_BAAE_DCE6_AF48_A03B_BFD2_5E8C_D036_4141
    /// `n / 2`, rounded down. Source: EIP-2.
    private static let halfOrder: UInt256 =
        0x7FFF_FFFF_FFFF_FFFF_FFFF_FFFF_FFFF_FFFF_5D57_6E73_57A4_501D_DFE9_2F46_681B_20A0

    /// Reads `r`, `s` and one byte for `v`, where 0 and 1 stand for 27 and 28 as some wallets write them.
    public init(_ bytes: some Collection<UInt8>) throws(Failure) {
        let bytes = Array(bytes)
        guard bytes.count == 65, let r = try? Bytes32(bytes[..<32]), let s = try? Bytes32(bytes[32..<64]) else {
            throw .length(bytes: bytes.count)
        }
        switch bytes[64] {
        case 0, 27: v = 27
        case 1, 28: v = 28
        default: throw .recoveryID(bytes[64])
        }
        guard r.number != .zero, r.number < Self.groupOrder, s.number != .zero, s.number < Self.groupOrder else {
            throw .outOfRange
        }
        guard s.number <= Self.halfOrder else { throw .highS }
        (self.r, self.s) = (r, s)
    }

    /// Reads `0x` and 130 digits.
    public init(parsing text: String) throws(Failure) {
        guard let bytes = Hexadecimal.bytes(text) else { throw .notHexadecimal }
        try self.init(bytes)
    }

    /// 65 bytes, `v` 27 or 28.
    public var bytes: [UInt8] { r.bytes + s.bytes + [v] }

    /// `0x` and 130 lower-case digits: what wallets answer to `eth_signTypedData_v4`.
    public var hexadecimal: String { Hexadecimal.text(bytes) }

    /// The account that signed `digest`. For any other digest it is some other account, not an error: compare it.
    /// - Throws: `noSigner`.
    public func signer(of digest: Bytes32) throws(Failure) -> EthereumAddress {
        guard let point = Secp256k1.recover(r: r, s: s, oddY: v == 28, digest: digest) else { throw .noSigner }
        return EthereumAddress(publicKey: point)
    }
}

extension EthereumSignature: CustomStringConvertible {
    public var description: String { hexadecimal }
}
