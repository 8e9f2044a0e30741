import Ethereum
import Testing

struct KeyAndSignatureTests {
    private static let order: UInt256 =
        0xFFFF_FFFF_FFFF_FFFF_FFFF_FFFF_FFFF_FFFE_BAAE_DCE6_AF48_A03B_BFD2_5E8C_D036_4141

    @Test func signsAndRecoversAsEthAccountDoes() throws {
        for row in try Vectors.load("eth-account").elements("typedData") {
            let key = try PrivateKey(parsing: try row.string("privateKey"))
            let digest = try Bytes32(parsing: try row.string("digest"))
            let signature = key.sign(digest)
            #expect(key.address.checksummed == (try row.string("address")))
            #expect(signature.hexadecimal == (try row.string("signature")))
            #expect(try signature.signer(of: digest) == key.address)
            #expect(key.sign(digest) == signature)
        }
    }

    /// Source: EIP-712, Example.js (key: keccak256 of "cow"); EIP-155, example (key: 46 repeated; v 37 stands for 27).
    @Test(arguments: [
        (
            "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2",
            "0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c",
            "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"
        ),
        (
            "0xdaf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53",
            "0x28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa63627667cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d831b",
            "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
        ),
    ])
    func recoversTheSignersOfThePublishedExamples(digest: String, signature: String, account: String) throws {
        let signature = try EthereumSignature(parsing: signature)
        #expect(try signature.signer(of: Bytes32(parsing: digest)).checksummed == account)
    }

    @Test func recoversTheSignerAlsoWhereWalletsCountFromZero() throws {
        for row in try Vectors.load("eth-account").elements("typedData") {
            let signature = try EthereumSignature(parsing: try row.string("signature"))
            let zeroBased = try EthereumSignature(signature.bytes.dropLast() + [signature.v - 27])
            #expect(zeroBased == signature)
            #expect(zeroBased.bytes.last == signature.v)
        }
    }

    @Test func givesAnotherAccountForAnotherDigest() throws {
        let key = try PrivateKey(parsing: "0x0000000000000000000000000000000000000000000000000000000000000001")
        #expect(key.address.checksummed == "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf")
        let signature = key.sign(keccak256("ten euros"))
        #expect((try? signature.signer(of: keccak256("eleven euros"))) != key.address)
    }

    @Test func refusesTheMirroredSignature() throws {
        let signature = PrivateKey().sign(keccak256("pay"))
        let mirroredS = try Self.order.subtracting(signature.s.number)
        let mirrored = signature.r.bytes + mirroredS.bigEndianBytes + [signature.v == 27 ? 28 : 27]
        #expect(throws: EthereumSignature.Failure.highS) { try EthereumSignature(mirrored) }
    }

    @Test func acceptsTheLargestLowSAndRefusesTheNext() throws {
        let half = try Self.order.quotientAndRemainder(dividingBy: 2).quotient
        let r = keccak256("r").bytes
        #expect(throws: Never.self) { try EthereumSignature(r + half.bigEndianBytes + [27]) }
        #expect(throws: EthereumSignature.Failure.highS) {
            try EthereumSignature(r + half.adding(1).bigEndianBytes + [27])
        }
    }

    @Test func refusesImpossibleSignatures() {
        let good = PrivateKey().sign(keccak256("pay")).bytes
        let zero = [UInt8](repeating: 0, count: 32)
        let order = Self.order.bigEndianBytes
        #expect(throws: EthereumSignature.Failure.length(bytes: 64)) { try EthereumSignature(good.dropLast()) }
        #expect(throws: EthereumSignature.Failure.length(bytes: 66)) { try EthereumSignature(good + [0]) }
        #expect(throws: EthereumSignature.Failure.recoveryID(2)) { try EthereumSignature(good.dropLast() + [2]) }
        #expect(throws: EthereumSignature.Failure.recoveryID(29)) { try EthereumSignature(good.dropLast() + [29]) }
        #expect(throws: EthereumSignature.Failure.outOfRange) { try EthereumSignature(zero + good[32...]) }
        #expect(throws: EthereumSignature.Failure.outOfRange) { try EthereumSignature(good[..<32] + zero + [27]) }
        #expect(throws: EthereumSignature.Failure.outOfRange) { try EthereumSignature(order + good[32...]) }
        #expect(throws: EthereumSignature.Failure.notHexadecimal) { try EthereumSignature(parsing: "0xsignature") }
    }

    @Test func keysKeepToTheGroupOrder() throws {
        let last = try Self.order.subtracting(1)
        #expect(throws: Never.self) { try PrivateKey(last.bigEndianBytes) }
        #expect(throws: PrivateKey.Failure.outOfRange) { try PrivateKey(Self.order.bigEndianBytes) }
        #expect(throws: PrivateKey.Failure.outOfRange) { try PrivateKey([UInt8](repeating: 0, count: 32)) }
        #expect(throws: PrivateKey.Failure.outOfRange) { try PrivateKey([UInt8](repeating: 255, count: 32)) }
        #expect(throws: PrivateKey.Failure.length(bytes: 31)) { try PrivateKey([UInt8](repeating: 1, count: 31)) }
        #expect(throws: PrivateKey.Failure.notHexadecimal) { try PrivateKey(parsing: "secret") }
    }

    @Test func newKeysDiffer() {
        #expect(Set((0..<50).map { _ in PrivateKey().address }).count == 50)
    }

    @Test func aKeyNeverShowsItselfByAccident() throws {
        let secret = "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
        let key = try PrivateKey(parsing: secret)
        var dumped = ""
        dump(["key": key], to: &dumped)
        for text in ["\(key)", String(describing: key), String(reflecting: [key]), dumped] {
            #expect(!text.lowercased().contains("4c0883a69102937d"))
            #expect(!text.contains("KeyMemory"))
        }
        #expect(key.exportSecret() == secret)
    }

    /// The library keeps one context for the whole process; this is what many requests at once do to it.
    @Test func signsFromManyTasksAtOnce() async throws {
        let key = PrivateKey()
        let digests = (0..<200).map { keccak256("charge \($0)") }
        let expected = digests.map { key.sign($0) }
        let found = await withTaskGroup(of: (Int, EthereumSignature).self) { group in
            for (index, digest) in digests.enumerated() { group.addTask { (index, key.sign(digest)) } }
            var result: [Int: EthereumSignature] = [:]
            for await (index, signature) in group { result[index] = signature }
            return result
        }
        #expect(digests.indices.allSatisfy { found[$0] == expected[$0] })
    }
}
