import Crypto
import TapProtocol
import Testing
import TestSupport

struct SignedObjectTests {
    @Test func thePublishedObjectsSayWhatTheyShould() throws {
        let example = try PublishedExample()
        #expect(example.certificate.payload.merchantName == "Coffee Shop")
        #expect(example.certificate.payload.currencies == ["USD", "EUR"])
        #expect(example.certificate.payload.maximumAmount == 100_000)
        #expect(example.request.payload.paymentID.description == (try Vectors.text("paymentID")))
        #expect(example.request.payload.paymentID.isVersion7)
        #expect(example.request.payload.paymentID.madeAtMilliseconds == 1_764_000_000_000)
        #expect(example.request.payload.amount == 2550)
        #expect(
            example.request.payload.tip
                == TipTerms(mode: .allowed, maximum: 1000, presetBasisPoints: [500, 1000, 1500])
        )
        #expect(example.request.hash.bytes == (try Vectors.bytes("requestHash")))
        #expect(example.accept.payload.total == 2805)
        #expect(example.accept.hash.bytes == (try Vectors.bytes("acceptHash")))
        #expect(example.voucherAccept.payload.spend?.previousHash == example.voucherPass.hash)
        #expect(example.voucherPass.payload.voucher?.limitPerPayment == 5000)
        #expect(example.claim.payload.mode == .online)
        #expect(example.receipt.payload.instrument == "VISA *1111")
    }

    @Test func everySignatureOpensUnderItsKeyOnly() throws {
        let example = try PublishedExample()
        let gateway = VerificationKey.ed25519(try Vectors.bytes("key.gateway.ed25519.pub"))
        let terminal = VerificationKey.ed25519(try Vectors.bytes("key.terminal.ed25519.pub"))
        let device = example.pass.payload.deviceKey
        let stranger = try ES256Signer(scalar: [UInt8](repeating: 7, count: 32)).publicKey
        try example.certificate.verify(gateway)
        try example.request.verify(terminal)
        try example.accept.verify(device)
        try example.voucherAccept.verify(device)
        try example.pass.verify(gateway)
        try example.voucherPass.verify(gateway)
        try example.claim.verify(terminal)
        try example.receipt.verify(gateway)
        #expect(throws: COSEError.invalidSignature) { try example.certificate.verify(terminal) }
        #expect(throws: COSEError.invalidSignature) { try example.claim.verify(gateway) }
        #expect(throws: COSEError.wrongAlgorithm) { try example.accept.verify(gateway) }
        #expect(throws: COSEError.invalidSignature) {
            try example.accept.verify(stranger)
        }
    }

    /// Ed25519 signs the same bytes the same way, so signing again must give the published objects.
    @Test func signingAgainGivesThePublishedBytes() throws {
        let example = try PublishedExample()
        #expect(
            try Signed(signing: example.certificate.payload, with: example.gatewaySigner).encoded
                == Vectors.bytes("cert")
        )
        #expect(
            try Signed(signing: example.request.payload, with: example.terminalSigner).encoded
                == Vectors.bytes("request")
        )
        #expect(
            try Signed(signing: example.claim.payload, with: example.terminalSigner).encoded == Vectors.bytes("claim")
        )
        #expect(
            try Signed(signing: example.receipt.payload, with: example.gatewaySigner).encoded
                == Vectors.bytes("receipt")
        )
        #expect(
            try Signed(signing: example.pass.payload, with: example.gatewaySigner).encoded
                == Vectors.bytes("pass.online")
        )
        #expect(
            try Signed(signing: example.voucherPass.payload, with: example.gatewaySigner).encoded
                == Vectors.bytes("pass.voucher")
        )
        #expect(example.request.envelope.payload == (try Vectors.bytes("request.payload")))
        #expect(example.accept.envelope.payload == (try Vectors.bytes("accept.payload")))
        let again = try Signed(signing: example.accept.payload, with: example.deviceSigner)
        #expect(again.envelope.payload == example.accept.envelope.payload)
        #expect(again.envelope.keyID == example.accept.envelope.keyID)
        try again.verify(example.pass.payload.deviceKey)
    }

    @Test func aSignatureOfOneKindIsNoneOfAnother() throws {
        let example = try PublishedExample()
        let terminal = VerificationKey.ed25519(try Vectors.bytes("key.terminal.ed25519.pub"))
        for context in SigningContext.allCases where context != .request {
            #expect(throws: COSEError.invalidSignature) {
                try example.request.envelope.verify(terminal, as: context)
            }
        }
        try example.request.envelope.verify(terminal, as: .request)
    }

    /// Every bit of every object, flipped.
    @Test func noChangedObjectPasses() throws {
        let example = try PublishedExample()
        let gateway = VerificationKey.ed25519(try Vectors.bytes("key.gateway.ed25519.pub"))
        let bytes = example.certificate.encoded
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << UInt8(bit)
                guard let object = try? Signed<TerminalCertificate>(decoding: changed) else { continue }
                // The name of the key is a hint that the signature covers like everything else.
                #expect(throws: COSEError.invalidSignature) { try object.verify(gateway) }
            }
        }
    }

    @Test func headersHaveOneForm() throws {
        let signature = [UInt8](repeating: 1, count: 64)
        func object(_ header: CBOR, _ unprotected: CBOR = .map([:]), signature: [UInt8]) -> [UInt8] {
            CBOR.array([.bytes(header.encoded), unprotected, .bytes([0xA0]), .bytes(signature)]).encoded
        }
        _ = try COSESign1(decoding: object(.map([1: .integer(-8), 4: .bytes([1])]), signature: signature))
        for bad: [UInt8] in [
            object(.map([1: .integer(-8)]), signature: signature),
            object(.map([1: .integer(-8), 4: .bytes([])]), signature: signature),
            object(.map([1: .integer(-8), 4: .bytes([1]), 5: .bytes([1])]), signature: signature),
            object(.map([1: .integer(-8), 4: .bytes([1])]), .map([1: .unsigned(1)]), signature: signature),
            object(.map([1: .integer(-8), 4: .bytes([1])]), signature: [1]), [0x80], [0x84, 0, 0, 0, 0],
            [0xD2] + object(.map([1: .integer(-8), 4: .bytes([1])]), signature: signature),
        ] {
            #expect(throws: COSEError.self) { _ = try COSESign1(decoding: bad) }
        }
        for algorithm in [-35, -47, 5, 1] {
            let bytes = object(.map([1: .integer(algorithm), 4: .bytes([1])]), signature: signature)
            #expect(throws: COSEError.wrongAlgorithm) { _ = try COSESign1(decoding: bytes) }
        }
    }

    /// Each key left out, each value of another type, each key that does not exist: refused; a key over 127: taken.
    @Test(arguments: [
        "cert", "request", "accept", "accept.offline", "pass.online", "pass.voucher", "claim", "receipt",
    ])
    func everyMemberOfAnObjectIsJudged(name: String) throws {
        let envelope = try COSESign1(decoding: Vectors.bytes(name))
        guard case .map(let map) = try CBOR(decoding: envelope.payload) else { throw Vectors.Missing(name: name) }
        let optional: [String: [Int]] = ["request": [11, 15], "receipt": [12, 13]]
        for member in map.members {
            var shorter = map
            shorter[member.key] = nil
            let error = Self.reading(name, shorter)
            #expect((error == nil) == (optional[name] ?? []).contains(member.key), "\(member.key)")
            var other = map
            other[member.key] = .array([.bool(true)])
            #expect(Self.reading(name, other) != nil, "\(member.key)")
        }
        for key in [-1, 0, 16, 127] {
            var more = map
            more[key] = .unsigned(0)
            #expect(Self.reading(name, more) == .unknownKey(key))
        }
        var more = map
        more[128] = .bool(true)
        #expect(Self.reading(name, more) == nil)
    }

    static func reading(_ name: String, _ map: CBORMap) -> MalformedObject? {
        do throws(MalformedObject) {
            switch name {
            case "cert": _ = try TerminalCertificate(map: map)
            case "request": _ = try PaymentRequest(map: map)
            case "accept", "accept.offline": _ = try PaymentAcceptance(map: map)
            case "claim": _ = try PaymentClaim(map: map)
            case "receipt": _ = try PaymentReceipt(map: map)
            default: _ = try PaymentPass(map: map)
            }
            return nil
        } catch {
            return error
        }
    }

    @Test func valuesOutOfRangeAreRefused() throws {
        let example = try PublishedExample()
        func refuses(_ name: String, _ map: CBORMap, _ key: Int, _ value: CBOR) {
            var map = map
            map[key] = value
            #expect(Self.reading(name, map) != nil, "\(name) \(key)")
        }
        let request = example.request.payload.map
        refuses("request", request, 5, .unsigned(1 << 53))
        refuses("request", request, 5, .integer(-1))
        for code in ["US", "usd", "USDUSDUSD", "US1", "ÜSD"] { refuses("request", request, 6, .text(code)) }
        refuses("request", request, 4, .text(String(repeating: "a", count: 65)))
        refuses("request", request, 15, .array([]))
        refuses("request", request, 10, .map([1: .unsigned(3), 2: .unsigned(0), 3: .array([])]))
        refuses("request", request, 10, .map([1: .unsigned(1), 2: .unsigned(0), 3: .array([.unsigned(10_001)])]))
        refuses("claim", example.claim.payload.map, 4, .unsigned(0))
        refuses("claim", example.claim.payload.map, 5, .unsigned(3))
        refuses("receipt", example.receipt.payload.map, 2, .unsigned(7))
        refuses("cert", example.certificate.payload.map, 9, .unsigned(2))
        let key: CBORMap = [1: .unsigned(2), -1: .unsigned(1), -2: .bytes([1]), -3: .bytes([2])]
        refuses("pass.online", example.pass.payload.map, 3, .map(key))
        refuses("accept", example.accept.payload.map, 10, .unsigned(2))
        var rails = request
        rails[15] = .array([.map([1: .unsigned(9), 2: .bool(true)]), .map([1: .unsigned(1)])])
        #expect(try PaymentRequest(map: rails).rails == [.unknown(type: 9), .instrument])
    }

    @Test func anyBytesEndInAnAnswer() throws {
        var generator = SeededGenerator(seed: 5)
        let whole = try Vectors.bytes("accept.offline")
        for _ in 0..<5000 {
            var bytes = whole
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? Signed<PaymentAcceptance>(decoding: bytes)
            _ = try? Signed<PaymentAcceptance>(decoding: generator.bytes(40))
            _ = try? Signed<PaymentAcceptance>(
                decoding: Array(whole.prefix(Int.random(in: 0..<whole.count, using: &generator)))
            )
        }
    }

    @Test func presetTipsAreRoundedHalfUp() {
        #expect(TipTerms.tip(on: 2550, basisPoints: 1000) == 255)
        #expect(TipTerms.tip(on: 1, basisPoints: 5000) == 1)
        #expect(TipTerms.tip(on: 1, basisPoints: 4999) == 0)
        #expect(TipTerms.tip(on: 333, basisPoints: 1500) == 50)
        #expect(TipTerms.tip(on: 1 << 53 - 1, basisPoints: 10_000) == 1 << 53 - 1)
        #expect(TipTerms.tip(on: 1 << 53, basisPoints: 1) == nil)
        #expect(TipTerms.tip(on: -1, basisPoints: 1) == nil)
    }

    @Test func signersDoNotShowTheirKeys() throws {
        let example = try PublishedExample()
        for text in ["\(example.gatewaySigner)", "\(example.deviceSigner)", String(reflecting: example.terminalKey)] {
            #expect(text.contains("redacted"))
        }
    }
}
