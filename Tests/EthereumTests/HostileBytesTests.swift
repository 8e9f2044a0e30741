import Ethereum
import Testing
import TestSupport

/// libsecp256k1 ends the process on an argument it calls illegal: no bytes from outside may get that far.
struct HostileBytesTests {
    @Test(arguments: 0..<8)
    func noBytesBringTheProgramDown(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            let digest = Bytes32.random(using: &generator)
            // Mostly of the right length, with many zeros and ones, which sit at the edges of the curve's ranges.
            var bytes = (0..<65).map { _ in UInt8.random(in: 0...255, using: &generator) }
            switch Int.random(in: 0...5, using: &generator) {
            case 0: bytes.replaceSubrange(0..<32, with: repeatElement(0, count: 32))
            case 1: bytes.replaceSubrange(0..<32, with: repeatElement(255, count: 32))
            case 2: bytes.replaceSubrange(32..<64, with: repeatElement(0, count: 32))
            case 3: bytes = Array(bytes.prefix(.random(in: 0...65, using: &generator)))
            default: break
            }
            if bytes.count == 65, Bool.random(using: &generator) {
                bytes[64] = [0, 1, 27, 28].randomElement(using: &generator) ?? 0
                bytes[32] &= 0x7F
            }
            if let signature = try? EthereumSignature(bytes), let signer = try? signature.signer(of: digest) {
                #expect(signer.bytes.count == 20)
            }
            _ = try? PrivateKey(bytes)
            _ = try? PrivateKey(Array(bytes.prefix(32)))
            _ = try? EthereumAddress(bytes)
            _ = try? Bytes32(bytes)
            let text = String(decoding: bytes, as: UTF8.self)
            _ = try? UInt256(parsing: text)
            _ = try? EthereumAddress(parsing: "0x" + text)
            _ = try? EthereumSignature(parsing: "0x" + text)
            _ = try? TypedData(json: text)
        }
    }
}
