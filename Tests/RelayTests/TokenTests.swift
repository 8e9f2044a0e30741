import FoundationEssentials
import Testing

@testable import WalletConnect

@Suite("Who a client is to a relay")
struct TokenTests {
    private struct Vectors: Decodable {
        struct Negative: Decodable {
            let name: String
            let jwt: String
        }
        let seed: String
        let publicKey: String
        let iss: String
        let sub: String
        let aud: String
        let iat: Int64
        let exp: Int64
        let jwt: String
        let negative: [Negative]
    }

    private let vectors: Vectors

    init() throws { vectors = try JSONDecoder().decode(Vectors.self, from: Vector.data("relay_auth_jwt.json")) }

    @Test func `A token is the same as the one that other implementations make`() throws {
        let identity = try RelayIdentity(seed: try #require(Hex.bytes(vectors.seed)))
        #expect(identity.issuer == vectors.iss)
        let token = try RelayToken.signed(
            by: identity,
            subject: vectors.sub,
            audience: vectors.aud,
            issuedAt: vectors.iat
        )
        #expect(token == vectors.jwt)
    }

    @Test func `A good token says who comes and until when`() throws {
        let token = try RelayToken(checking: vectors.jwt, now: vectors.iat)
        #expect(token.issuer == vectors.iss)
        #expect(token.subject == vectors.sub)
        #expect(token.expiresAt == vectors.exp)
    }

    @Test func `Every spoiled token of the published list is refused`() throws {
        #expect(vectors.negative.count == 6)
        for negative in vectors.negative {
            let error = #expect(throws: RelayTokenError.self, "\(negative.name)") {
                try RelayToken(checking: negative.jwt, now: vectors.iat)
            }
            #expect(error == (negative.name == "Invalid signature" ? .signature : .issuer), "\(negative.name)")
        }
    }

    @Test func `Clocks may be two minutes apart and no more`() throws {
        _ = try RelayToken(checking: vectors.jwt, now: vectors.exp + 120)
        #expect(throws: RelayTokenError.expired) { try RelayToken(checking: vectors.jwt, now: vectors.exp + 121) }
        _ = try RelayToken(checking: vectors.jwt, now: vectors.iat - 120)
        #expect(throws: RelayTokenError.early) { try RelayToken(checking: vectors.jwt, now: vectors.iat - 121) }
    }

    @Test(arguments: ["", ".", "..", "a.b.c", "=.=.=", String(repeating: "a.", count: 4000)])
    func `What is no token is refused and nothing worse`(text: String) {
        #expect(throws: RelayTokenError.form) { try RelayToken(checking: text, now: 0) }
    }

    @Test func `A token that was changed anywhere is refused`() throws {
        let bytes = Array(vectors.jwt.utf8)
        for index in stride(from: 0, to: bytes.count - 1, by: 7) where bytes[index] != UInt8(ascii: ".") {
            var spoiled = bytes
            spoiled[index] = spoiled[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let text = String(decoding: spoiled, as: UTF8.self)
            #expect(throws: RelayTokenError.self, "byte \(index)") {
                try RelayToken(checking: text, now: vectors.iat)
            }
        }
    }

    @Test func `The key never shows in a log`() throws {
        let identity = try RelayIdentity(seed: try #require(Hex.bytes(vectors.seed)))
        var dumped = ""
        dump(identity, to: &dumped)
        for text in ["\(identity)", String(reflecting: identity), dumped] {
            #expect(!text.contains(vectors.seed))
            #expect(text.contains("redacted") || text == dumped)
        }
    }

    @Test func `Leading zeros survive base 58`() {
        for bytes: [UInt8] in [[], [0], [0, 0, 1], [255], [0, 255, 0], Array(repeating: 255, count: 34)] {
            #expect(Base58.decode(Base58.encode(bytes)) == bytes)
        }
        #expect(Base58.decode("0OIl") == nil)
    }
}

/// Files beside the tests.
enum Vector {
    static func path(_ name: String) -> String {
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/" + name
    }

    static func data(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: path("Vectors/" + name))) }
}
