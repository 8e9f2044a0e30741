import TapProtocol
import Testing

struct RequestCheckTests {
    let example: PublishedExample
    init() throws { example = try PublishedExample() }

    private func refusal(
        certificate: (inout TerminalCertificate) -> Void = { _ in },
        request: (inout PaymentRequest) -> Void = { _ in },
        certificateSigner: Ed25519Signer? = nil,
        requestSigner: Ed25519Signer? = nil,
        terminalKey: [UInt8]? = nil,
        nowMilliseconds: Int = PublishedExample.now,
        rules: (inout RequestCheck) -> Void = { _ in }
    ) throws -> RequestRefusal? {
        var terminal = example.certificate.payload
        certificate(&terminal)
        let signed = try Signed(signing: terminal, with: certificateSigner ?? example.gatewaySigner)
        var asked = example.request.payload
        asked.certificateHash = signed.hash
        request(&asked)
        var check = RequestCheck(trusted: example.trusted, environment: .test)
        rules(&check)
        let ask = try Signed(signing: asked, with: requestSigner ?? example.terminalSigner)
        do throws(RequestRefusal) {
            try check.check(
                ask,
                of: signed,
                terminalKey: terminalKey ?? example.terminalKey.publicKey,
                nowMilliseconds: nowMilliseconds
            )
            return nil
        } catch {
            return error
        }
    }

    private func code(_ refusal: RequestRefusal?, _ check: RequestCheckNumber) -> TapErrorCode? {
        #expect(refusal?.check == check)
        return refusal?.code
    }

    @Test func thePublishedRequestPasses() throws {
        let check = RequestCheck(trusted: example.trusted, environment: .test)
        try check.check(
            example.request,
            of: example.certificate,
            terminalKey: example.terminalKey.publicKey,
            nowMilliseconds: PublishedExample.now
        )
        #expect(try refusal() == nil)
    }

    @Test func p1TakesCertificatesOfTrustedGatewaysOnly() throws {
        let rogue = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: Array("gw01".utf8))
        #expect(code(try refusal(certificateSigner: rogue), .p1) == .certificateInvalid)
        #expect(code(try refusal(certificate: { $0.issuer = "other.example" }), .p1) == .certificateInvalid)
        let otherName = try Ed25519Signer(seed: Vectors.bytes("key.gateway.ed25519.seed"))
        #expect(code(try refusal(certificateSigner: otherName), .p1) == .certificateInvalid)
    }

    @Test func p2GivesACertificateTenMinutesOnBothEnds() throws {
        let start = example.certificate.payload.notBeforeSeconds * 1000
        let end = example.certificate.payload.notAfterSeconds * 1000
        for (now, isInTime) in [
            (start - 600_001, false), (start - 600_000, true), (end + 600_000, true), (end + 600_001, false),
        ] {
            let result = try refusal(nowMilliseconds: now)
            #expect((result?.check == .p2) == !isInTime)
            if !isInTime { #expect(result?.code == .certificateInvalid) }
        }
    }

    @Test func p3AndP4TieTheSessionToTheTerminal() throws {
        let rogue = AgreementKey().publicKey
        #expect(code(try refusal(terminalKey: rogue), .p3) == .keyMismatch)
        let id = try Vectors.bytes("tag.id")
        let tag = TerminalTag(tagID: id, terminalKey: example.terminalKey.publicKey, name: "Coffee Shop")
        #expect(try refusal(rules: { $0.tag = tag }) == nil)
        let other = TerminalTag(tagID: id, terminalKey: rogue, name: "Coffee Shop")
        #expect(code(try refusal(rules: { $0.tag = other }), .p4) == .keyMismatch)
    }

    @Test func p5RefusesDeniedTerminals() throws {
        #expect(code(try refusal(rules: { $0.denied.terminalIDs = ["T-0042"] }), .p5) == .certificateDenied)
        let hash = example.certificate.hash
        #expect(code(try refusal(rules: { $0.denied.certificateHashes = [hash] }), .p5) == .certificateDenied)
    }

    @Test func p6AndP7TieTheRequestToTheCertificate() throws {
        #expect(code(try refusal(requestSigner: example.gatewaySigner), .p6) == .requestInvalid)
        let other = example.request.hash
        #expect(code(try refusal(request: { $0.certificateHash = other }), .p7) == .requestInvalid)
        #expect(code(try refusal(request: { $0.merchantID = "merchant-457" }), .p7) == .requestInvalid)
        #expect(code(try refusal(request: { $0.merchantName = "Coffee Shop " }), .p7) == .requestInvalid)
        #expect(code(try refusal(request: { $0.terminalID = "T-0043" }), .p7) == .requestInvalid)
    }

    @Test func p8KeepsToTheCertificatesCurrenciesAndAmount() throws {
        #expect(code(try refusal(request: { $0.currency = "GBP" }), .p8) == .requestInvalid)
        #expect(code(try refusal(request: { $0.amount = 100_001 }), .p8) == .requestInvalid)
        #expect(try refusal(request: { $0.amount = 100_000 }) == nil)
    }

    @Test func p9TakesNewPaymentsOfVersion7Only() throws {
        var bytes = example.request.payload.paymentID.bytes
        bytes[6] = 0x40
        let version4 = try #require(PaymentID(bytes: bytes))
        #expect(code(try refusal(request: { $0.paymentID = version4 }), .p9) == .requestInvalid)
        let id = example.request.payload.paymentID
        #expect(code(try refusal(rules: { $0.closedPayments = [id] }), .p9) == .paymentClosed)
    }

    @Test func p10KeepsToTheClocks() throws {
        let created = example.request.payload.createdAtMilliseconds
        let end = example.request.payload.expiresAtMilliseconds
        #expect(try refusal(nowMilliseconds: end - 1) == nil)
        #expect(code(try refusal(nowMilliseconds: end), .p10) == .expired)
        #expect(try refusal(nowMilliseconds: created - 300_000) == nil)
        #expect(code(try refusal(nowMilliseconds: created - 300_001), .p10) == .clockSkew)
        #expect(try refusal(request: { $0.createdAtMilliseconds = created + 60_000 }) == nil)
        #expect(code(try refusal(request: { $0.createdAtMilliseconds = created + 60_001 }), .p10) == .requestInvalid)
        #expect(code(try refusal(request: { $0.createdAtMilliseconds = created - 60_001 }), .p10) == .requestInvalid)
    }

    @Test func p11KeepsTestMoneyApart() throws {
        #expect(code(try refusal(certificate: { $0.environment = .live }), .p11) == .environmentMismatch)
        #expect(try refusal(certificate: { $0.environment = .live }, rules: { $0.environment = .live }) == nil)
    }
}
