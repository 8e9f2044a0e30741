public import TapProtocol

/// A gateway key that phones and terminals trust.
public struct TrustedGatewayKey: Sendable, Hashable {
    public var issuer: String
    public var keyID: [UInt8]
    /// 32 bytes of Ed25519.
    public var publicKey: [UInt8]

    public init(issuer: String, keyID: [UInt8], publicKey: [UInt8]) {
        (self.issuer, self.keyID, self.publicKey) = (issuer, keyID, publicKey)
    }
}

/// Everything that the gateway needs to execute a payment. Source: BPP/1, section 20.
public struct PaymentBundle: Sendable, Hashable {
    public var certificate: Signed<TerminalCertificate>
    public var request: Signed<PaymentRequest>
    public var pass: Signed<PaymentPass>
    public var accept: Signed<PaymentAcceptance>
    public var claim: Signed<PaymentClaim>

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
}

/// What the gateway knows about a payment.
public enum PhoneAnswer: Sendable, Hashable {
    /// It has ended. The receipt is not checked yet.
    case receipt(Signed<PaymentReceipt>)
    case inProgress
    /// It was taken back before anything was executed, and nothing ever will be.
    case void
    /// The gateway has seen no claim for it.
    case unknown
}

/// What a terminal has told the gateway that it will ask for.
public struct PhoneAnnouncement: Sendable, Hashable {
    public var merchantID: String
    public var amount: Int
    public var currency: String
    public var exponent: Int

    public init(merchantID: String, amount: Int, currency: String, exponent: Int) {
        (self.merchantID, self.amount, self.currency, self.exponent) = (merchantID, amount, currency, exponent)
    }

    public init(_ request: PaymentRequest) {
        self.init(
            merchantID: request.merchantID,
            amount: request.amount,
            currency: request.currency,
            exponent: request.exponent
        )
    }
}

/// What the gateway made of a voucher's spend. Source: BPP/1, section 16.3.
public enum PhoneSyncAnswer: Sendable, Hashable {
    /// Settled, settled before, or settled late. The receipt is not checked yet.
    case settled(Signed<PaymentReceipt>)
    /// The voucher had ended before the claim, or the terminal was too late: released.
    case expired
    /// The merchant took the payment back first: released.
    case cancelled
    /// Spent twice: the gateway has the proof and blocks the device.
    case conflict
    /// The terminal has not brought it yet.
    case pending
}

/// What a phone asks for in advance, so that it can pay with nobody online.
public struct VoucherWish: Sendable, Hashable {
    /// Nil for the first of the customer's instruments that can be pre-authorised.
    public var instrumentID: String?
    public var currency: String
    public var exponent: Int
    /// Minor units.
    public var limitTotal: Int

    public init(instrumentID: String? = nil, currency: String, exponent: Int, limitTotal: Int) {
        (self.instrumentID, self.currency, self.exponent) = (instrumentID, currency, exponent)
        self.limitTotal = limitTotal
    }
}

/// Why the gateway gave a phone no usable answer.
public enum PhoneAcquirerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Nobody answered. Something may have happened there: ask again.
    case unreachable(String)
    /// The gateway refuses. Asking again the same way changes nothing.
    case refused(String)

    public var description: String {
        switch self {
        case .unreachable(let detail): "the gateway does not answer (\(detail))"
        case .refused(let detail): "the gateway refuses (\(detail))"
        }
    }
}

/// A phone's calls to the gateway. Source: BPP/1, section 20.
public protocol PhoneAcquirer: Sendable {
    func keys() async throws(PhoneAcquirerError) -> [TrustedGatewayKey]
    func denyList() async throws(PhoneAcquirerError) -> DenyList
    /// The names of what the customer can pay with, best first.
    func instruments() async throws(PhoneAcquirerError) -> [String]
    /// Single-use passes for online payments, for one key. A customer cannot be recognised by keys that are used once: ask for
    /// each pass with a key of its own.
    func passes(_ count: Int, for device: VerificationKey) async throws(PhoneAcquirerError) -> [Signed<PaymentPass>]
    /// Sets money aside for a voucher.
    /// - Parameter instrumentID: Where the money is held; the wish's own name is not looked at.
    func preAuthorize(
        _ wish: VoucherWish,
        on instrumentID: String,
        for device: VerificationKey
    ) async throws(PhoneAcquirerError) -> Signed<PaymentPass>
    /// Executes a bundle, or answers as it did before: the same bundle may be sent again and again.
    func execute(_ bundle: PaymentBundle) async throws(PhoneAcquirerError) -> PhoneAnswer
    func payment(_ id: PaymentID) async throws(PhoneAcquirerError) -> PhoneAnswer
    /// What the terminal has announced of a payment; nil where the gateway has not heard of it.
    func announcement(of id: PaymentID) async throws(PhoneAcquirerError) -> PhoneAnnouncement?
    /// One answer for each accept, in their order.
    func sync(_ accepts: [Signed<PaymentAcceptance>]) async throws(PhoneAcquirerError) -> [PhoneSyncAnswer]
}
