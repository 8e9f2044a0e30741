import Crypto
import StrictJSON
import Testing
import TestSupport

@testable import WalletConnect

struct EnvelopeTests {
    let vectors: ExactJSON
    init() throws { vectors = try Vectors.load("crypto") }

    private func bytes(_ path: String...) throws -> [UInt8] {
        let json = try path.dropLast().reduce(vectors) { try $0.at($1) }
        return try #require(Hex.bytes(try json.text(path[path.count - 1])))
    }

    @Test func bothSidesDeriveTheRecordedKeyAndTopic() throws {
        let a = try #require(AgreementKey(bytes: try bytes("keyPairs", "A", "privateKey")))
        let b = try #require(AgreementKey(bytes: try bytes("keyPairs", "B", "privateKey")))
        #expect(a.publicKey.bytes == (try bytes("keyPairs", "A", "publicKey")))
        #expect(b.publicKey.bytes == (try bytes("keyPairs", "B", "publicKey")))
        #expect(a.sharedSecret(with: b.publicKey)?.bytes == (try bytes("symKeyAB")))
        #expect(b.sharedSecret(with: a.publicKey) == a.sharedSecret(with: b.publicKey))
        for entry in try vectors.list("topics") {
            if let key = entry.value(named: "symKey")?.string {
                #expect(SymmetricSecret(hexadecimal: key)?.topic.text == entry.value(named: "topic")?.string)
            } else {
                let key = try #require(PublicKey(try entry.text("publicKey")))
                #expect(try key.answerTopic.text == entry.text("authResponseTopic"))
            }
        }
        #expect(sha256Hexadecimal(try vectors.text("message")) == (try vectors.text("messageHash")))
    }

    @Test func aKeyThatLeadsToASecretEverybodyKnowsIsRefused() throws {
        let key = AgreementKey(using: TestRandom(seed: 1))
        let zero = try #require(PublicKey(bytes: [UInt8](repeating: 0, count: 32)))
        #expect(key.sharedSecret(with: zero) == nil)
    }

    @Test func envelopesAreTheRecordedBytesInBothAlphabets() throws {
        let (message, nonce) = (try vectors.text("message"), try bytes("iv"))
        let secret = try #require(SymmetricSecret(bytes: try bytes("symKeyAB")))
        let sender = try #require(PublicKey(bytes: try bytes("keyPairs", "A", "publicKey")))
        let type0 = Envelope.seal(message, with: secret, nonce: nonce)
        #expect(type0.text(for: .relay) == (try vectors.at("type0").text("base64")))
        #expect(type0.text(for: .link) == (try vectors.at("type0").text("base64url")))
        let type1 = Envelope.seal(message, from: sender, with: secret, nonce: nonce)
        #expect(type1.text(for: .relay) == (try vectors.at("type1").text("base64")))
        #expect(type1.text(for: .link) == (try vectors.at("type1").text("base64url")))
        #expect(Envelope.plain(Array(message.utf8)).text(for: .link) == (try vectors.at("type2").text("base64url")))
    }

    @Test func envelopesOpenWithPaddingAndWithoutInEitherAlphabet() throws {
        let secret = try #require(SymmetricSecret(bytes: try bytes("symKeyAB")))
        let texts = [
            try vectors.at("type0").text("base64"), try vectors.at("type0").text("base64url"),
            try vectors.at("acceptUnpaddedBase64").text("base64"),
        ]
        for text in texts {
            for way in [Envelope.Way.relay, .link] {
                guard case .sealed(let sealed) = try Envelope(text: text, from: way) else {
                    throw ExactJSON.Missing(name: text)
                }
                #expect(try String(decoding: sealed.open(with: secret), as: UTF8.self) == vectors.text("message"))
            }
        }
        let combined = try #require(Base64.decode(try vectors.at("chachaOnly").text("combinedBase64")))
        #expect(try Envelope.SealedBytes(bytes: combined).open(with: secret) == Array("WalletConnect".utf8))
    }

    @Test func everyRecordedFaultIsRefused() throws {
        for entry in try vectors.list("reject") {
            let text = try entry.value(named: "base64")?.string ?? entry.text("base64url")
            let secret = try #require(SymmetricSecret(bytes: try bytes("symKeyAB")))
            #expect(throws: MessageFault.self) {
                switch try Envelope(text: text, from: .relay) {
                case .sealed(let sealed), .sealedFrom(_, let sealed): _ = try sealed.open(with: secret)
                case .plain: break
                }
            }
        }
    }

    @Test func plainTextIsTakenFromALinkAndNeverFromARelay() throws {
        let text = try vectors.at("type2").text("base64url")
        #expect(try Envelope(text: text, from: .link) == .plain(Array(try vectors.text("message").utf8)))
        #expect(throws: MessageFault.plainText) { try Envelope(text: text, from: .relay) }
        let sample = try vectors.text("swiftType2LinkModeSample")
        guard case .plain(let bytes) = try Envelope(text: sample, from: .link),
            case .request(let request) = try RPCMessage(parsing: bytes)
        else { throw ExactJSON.Missing(name: "sample") }
        #expect(request.method == "wc_sessionAuthenticate")
    }

    @Test func noChangedBitOfASealedMessageOpens() throws {
        let secret = try #require(SymmetricSecret(bytes: try bytes("symKeyAB")))
        let original = Envelope.seal("{\"id\":1}", with: secret, nonce: try bytes("iv")).bytes
        for index in original.indices {
            for bit in 0..<8 {
                var changed = original
                changed[index] ^= 1 << UInt8(bit)
                guard let envelope = try? Envelope(bytes: changed), case .sealed(let sealed) = envelope else {
                    continue
                }
                #expect(throws: MessageFault.notAuthentic) { try sealed.open(with: secret) }
            }
        }
    }

    @Test func noBytesStopTheReaders() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<5000 {
            let count = Int.random(in: 0...90, using: &generator)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if let first = bytes.indices.first { bytes[first] = UInt8.random(in: 0...4, using: &generator) }
            if let envelope = try? Envelope(bytes: bytes) { #expect(envelope.bytes == bytes) }
            _ = try? RPCMessage(parsing: bytes)
            _ = try? Envelope(text: String(decoding: bytes, as: UTF8.self), from: .relay)
            #expect(Base64.decode(Base64.padded(bytes)) == bytes)
            #expect(Base64.decode(Base64.urlSafe(bytes)) == bytes)
        }
    }

    @Test func anAttestationTellsAnOriginAsAClaim() throws {
        #expect(Attestation.origin(in: try vectors.at("p256VerifyJwt").text("jwt")) == "http://localhost:3000")
        for text in ["", "a.b", "a.b.c", "..", String(repeating: "a", count: 9000)] {
            #expect(Attestation.origin(in: text) == nil)
        }
    }
}

struct RPCMessageTests {
    private func id(_ text: String) -> RPCID? {
        guard
            case .response(let response)? = try? RPCMessage(
                parsing: Array("{\"id\":\(text),\"jsonrpc\":\"2.0\",\"result\":1}".utf8)
            )
        else { return nil }
        return response.id
    }

    @Test func idsAreNumbersOfUpToNineteenDigitsOrTexts() {
        #expect(id("1795235674605190614")?.text == "1795235674605190614")
        #expect(id("9999999999999999999")?.number == 9_999_999_999_999_999_999)
        #expect(id("\"1795235674605190614\"") == id("1795235674605190614"))
        #expect(id("\"1795235579864000001n\"") == RPCID(1_795_235_579_864_000_001))
        #expect(id("\"abc\"")?.text == "abc")
        for bad in [
            "1.5", "1e3", "12345678901234567890", "\"\"", "null", "true", "[1]",
            "\"\(String(repeating: "a", count: 65))\"",
        ] {
            #expect(id(bad) == nil)
        }
    }

    @Test(arguments: ["7", "\"7\"", "\"7n\"", "1795235674605190614", "\"a b\""])
    func anAnswerCarriesTheIDExactlyAsItCame(written: String) throws {
        let read = try #require(id(written))
        let answer = RPCMessage.response(RPCResponse(id: read, result: .response(.bool(true))))
        #expect(answer.text == "{\"id\":\(written),\"jsonrpc\":\"2.0\",\"result\":true}")
    }

    @Test func messagesThatBreakTheRulesAreRefused() {
        let bad = [
            "", "[]", "{}", "{\"id\":1,\"result\":1}", "{\"id\":1,\"jsonrpc\":\"1.0\",\"result\":1}",
            "{\"id\":1,\"jsonrpc\":\"2.0\"}", "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"\"}",
            "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":5}",
            "{\"id\":1,\"jsonrpc\":\"2.0\",\"error\":{\"message\":\"x\"}}",
            "{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
            "{\"id\":1,\"id\":2,\"jsonrpc\":\"2.0\",\"result\":1}", "{\"jsonrpc\":\"2.0\",\"result\":1}",
            "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"a\",\"result\":1}",
        ]
        for text in bad { #expect(throws: MessageFault.self) { try RPCMessage(parsing: Array(text.utf8)) } }
    }

    @Test func aMessageOfOneMebibyteIsReadAndALargerOneIsNot() throws {
        let frame = "{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":\"\"}"
        let fits = String(repeating: "x", count: RPCMessage.limitBytes - frame.utf8.count)
        _ = try RPCMessage(parsing: Array(frame.replacing("\"\"", with: "\"\(fits)\"").utf8))
        #expect(throws: MessageFault.self) {
            try RPCMessage(parsing: Array(frame.replacing("\"\"", with: "\"\(fits)x\"").utf8))
        }
        let text = String(repeating: "A", count: RPCMessage.limitBytes + 1)
        #expect(throws: MessageFault.tooLarge) { try Envelope(text: text, from: .relay) }
    }

    @Test func idsWeMakeRiseAndFitEveryPeer() {
        var engine = SignEngine(metadata: .terminal, random: TestRandom(seed: 2), book: Book())
        engine.begin(1_800_000_000_000)
        let ids = (0..<2000).map { _ in engine.nextID().number ?? 0 }
        #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 })
        #expect(ids.allSatisfy { $0 < 1 << 53 && $0 / 1_000_000 >= 1_800_000_000 })
    }
}
