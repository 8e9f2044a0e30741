internal import CNettle

/// The hash of Ethereum: Keccak-256 as submitted to NIST, which pads differently from the SHA3-256 it became.
///
/// Source: The Keccak reference 3.0, multi-rate padding; nettle 3.8 `sha3.h`, `nettle_sha3_permute`.
public func keccak256(_ bytes: [UInt8]) -> Bytes32 {
    let rateBytes = 136  // 1600 bits of state, less twice the 256 bits of the digest.
    var state = sha3_state()
    var offset = 0
    while bytes.count - offset >= rateBytes {
        absorb(bytes[offset..<offset + rateBytes], into: &state)
        offset += rateBytes
    }
    var last = Array(bytes[offset...])
    last.append(0x01)  // SHA-3 would append 0x06 here.
    last.append(contentsOf: repeatElement(0, count: rateBytes - last.count))
    last[rateBytes - 1] |= 0x80
    absorb(last[...], into: &state)
    let words = state.a
    return Bytes32(
        UInt256(
            words: (
                words.0.byteSwapped, words.1.byteSwapped,
                words.2.byteSwapped, words.3.byteSwapped
            )
        )
    )
}

/// The hash of a text's UTF-8.
public func keccak256(_ text: String) -> Bytes32 { keccak256(Array(text.utf8)) }

/// Mixes one block into the state and permutes it. The state's words are little-endian, as is every machine Till runs on.
private func absorb(_ block: ArraySlice<UInt8>, into state: inout sha3_state) {
    unsafe withUnsafeMutableBytes(of: &state.a) { lanes in
        for (index, byte) in block.enumerated() { unsafe lanes[index] ^= byte }
    }
    unsafe nettle_sha3_permute(&state)
}
