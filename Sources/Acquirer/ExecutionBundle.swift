public import TapProtocol

/// Everything that makes a payment payable: whoever of terminal and phone is online hands it in, and it says the same from
/// both. Source: BPP/1, section 20.
public struct ExecutionBundle: Sendable, Hashable {
    /// Larger than any bundle of objects that fit the profile's messages.
    public static let limitBytes = 20_480

    public let certificate: Signed<TerminalCertificate>
    public let request: Signed<PaymentRequest>
    public let pass: Signed<PaymentPass>
    public let accept: Signed<PaymentAcceptance>
    public let claim: Signed<PaymentClaim>

    public init(
        certificate: Signed<TerminalCertificate>,
        request: Signed<PaymentRequest>,
        pass: Signed<PaymentPass>,
        accept: Signed<PaymentAcceptance>,
        claim: Signed<PaymentClaim>
    ) {
        (self.certificate, self.request, self.pass) = (certificate, request, pass)
        (self.accept, self.claim) = (accept, claim)
    }

    /// Reads a bundle as it travels. No signature is checked.
    public init(decoding bytes: [UInt8]) throws(MalformedObject) {
        let item: CBOR
        do throws(CBORError) {
            item = try CBOR(decoding: bytes, limitBytes: Self.limitBytes)
        } catch {
            throw .cbor(error)
        }
        guard case .array(let parts) = item else { throw .notTheStructure }
        self = try Self(parts)
    }

    init(_ parts: [CBOR]) throws(MalformedObject) {
        guard parts.count == 5 else { throw .notTheStructure }
        certificate = try Signed(decoding: try Self.bytes(parts[0]))
        request = try Signed(decoding: try Self.bytes(parts[1]))
        pass = try Signed(decoding: try Self.bytes(parts[2]))
        accept = try Signed(decoding: try Self.bytes(parts[3]))
        claim = try Signed(decoding: try Self.bytes(parts[4]))
    }

    static func bytes(_ item: CBOR) throws(MalformedObject) -> [UInt8] {
        guard case .bytes(let bytes) = item else { throw .notTheStructure }
        guard (1...4096).contains(bytes.count) else { throw .cbor(.tooLong) }
        return bytes
    }

    var items: [CBOR] {
        [certificate.encoded, request.encoded, pass.encoded, accept.encoded, claim.encoded].map(CBOR.bytes)
    }

    /// As it travels: an array of the five objects, each as the bytes that were signed.
    public var encoded: [UInt8] { CBOR.array(items).encoded }

    public var paymentID: PaymentID { request.payload.paymentID }
    /// With the payment's name, what the acquirer knows this bundle by.
    public var acceptHash: ObjectHash { accept.hash }

    /// What a receipt for this bundle must say.
    public func receiptCheck(trusting keys: GatewayKeys) -> ReceiptCheck {
        ReceiptCheck(trusted: keys, issuer: certificate.payload.issuer, request: request, accept: accept)
    }
}

/// What the acquirer says to a bundle.
public enum ExecutionAnswer: Sendable, Equatable {
    /// It is over: paid, declined, or cancelled before. The receipt names this bundle; its signature is still to be checked.
    case ended(Signed<PaymentReceipt>)
    /// Money may be moving. Send the same bundle again after the pause, or ask for the payment.
    case inProgress(askAgainAfter: Duration)

    /// How it ended, once the acquirer's signature is checked; nil while it is in progress.
    /// - Throws: The receipt proves nothing: treat like an unclear answer.
    public func status(
        of bundle: ExecutionBundle,
        trusting keys: GatewayKeys
    ) throws(ReceiptRefusal) -> PaymentStatus? {
        guard case .ended(let receipt) = self else { return nil }
        return try bundle.receiptCheck(trusting: keys).check(receipt, status: nil)
    }
}
