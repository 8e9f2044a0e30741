import TapProtocol

/// The published example: the keys of gateway, terminal and phone, and what they signed.
struct PublishedExample {
    /// 2025-11-24 16:00:00 UTC, the example's time.
    static let now = 1_764_000_000_000

    let gatewaySigner: Ed25519Signer
    let terminalSigner: Ed25519Signer
    let deviceSigner: ES256Signer
    let terminalKey: AgreementKey
    let terminalEphemeral: AgreementKey
    let phoneEphemeral: AgreementKey
    let trusted: GatewayKeys

    let certificate: Signed<TerminalCertificate>
    let request: Signed<PaymentRequest>
    let pass: Signed<PaymentPass>
    let accept: Signed<PaymentAcceptance>
    let voucherPass: Signed<PaymentPass>
    let voucherAccept: Signed<PaymentAcceptance>
    let claim: Signed<PaymentClaim>
    let receipt: Signed<PaymentReceipt>

    init() throws {
        gatewaySigner = try Ed25519Signer(seed: Vectors.bytes("key.gateway.ed25519.seed"), keyID: Array("gw01".utf8))
        terminalSigner = try Ed25519Signer(seed: Vectors.bytes("key.terminal.ed25519.seed"))
        deviceSigner = try ES256Signer(scalar: Vectors.bytes("key.device.p256.d"))
        terminalKey = try AgreementKey(bytes: Vectors.bytes("key.terminal.x25519.priv"))
        terminalEphemeral = try AgreementKey(bytes: Vectors.bytes("key.terminal.e.priv"))
        phoneEphemeral = try AgreementKey(bytes: Vectors.bytes("key.phone.e.priv"))
        var trusted = GatewayKeys()
        trusted.add(
            issuer: "gw.example",
            keyID: Array("gw01".utf8),
            ed25519: try Vectors.bytes("key.gateway.ed25519.pub")
        )
        self.trusted = trusted
        certificate = try Signed(decoding: Vectors.bytes("cert"))
        request = try Signed(decoding: Vectors.bytes("request"))
        pass = try Signed(decoding: Vectors.bytes("pass.online"))
        accept = try Signed(decoding: Vectors.bytes("accept"))
        voucherPass = try Signed(decoding: Vectors.bytes("pass.voucher"))
        voucherAccept = try Signed(decoding: Vectors.bytes("accept.offline"))
        claim = try Signed(decoding: Vectors.bytes("claim"))
        receipt = try Signed(decoding: Vectors.bytes("receipt"))
    }

    func hello(isTagged: Bool = false) throws -> Hello {
        guard let hello = Hello(isTagged: isTagged, sessionID: try [UInt8](hex: "2b6f70e6d02e2279")) else {
            throw Vectors.Missing(name: "hello")
        }
        return hello
    }
}
