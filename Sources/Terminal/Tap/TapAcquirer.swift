public import TapProtocol

/// Everything that makes a payment payable. Source: BPP/1, section 20.
public struct TapBundle: Sendable, Hashable {
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
}

/// What the acquirer made of one question about one payment. Nothing in it is believed before its signature is checked.
public enum TapWord: Sendable, Equatable {
    case receipt(Signed<PaymentReceipt>)
    /// Money may be moving.
    case inProgress(askAgainAfter: Duration?)
    /// It knows no claim of this payment.
    case unknownPayment
    /// It can never be paid any more, and never was.
    case voided
    /// A "no" for good: this request did not take effect and never will.
    case refused(code: String)
    /// A "no" for now. Nothing happened.
    case notNow(code: String, retryAfter: Duration?)
    /// It may have arrived.
    case noAnswer(reason: String)
    /// No byte left the terminal.
    case unreachable(reason: String)
}

/// What became of a payment that was taken offline. Source: BPP/1, section 16.3.
public struct TapSyncAnswer: Sendable, Equatable {
    public enum Verdict: String, Sendable, CaseIterable {
        case settled, duplicate, late, expired, revoked, conflict, cancelled, refused, waiting
    }
    public let paymentID: PaymentID
    public let acceptHash: ObjectHash
    public let verdict: Verdict
    /// Whether the merchant has the money.
    public let isPaid: Bool
    public let receipt: Signed<PaymentReceipt>?

    public init(
        paymentID: PaymentID,
        acceptHash: ObjectHash,
        verdict: Verdict,
        isPaid: Bool,
        receipt: Signed<PaymentReceipt>?
    ) {
        (self.paymentID, self.acceptHash, self.verdict) = (paymentID, acceptHash, verdict)
        (self.isPaid, self.receipt) = (isPaid, receipt)
    }
}

/// What the acquirer made of one upload of payments that were taken offline.
public enum TapSyncWord: Sendable, Equatable {
    case answers([TapSyncAnswer])
    /// A "no" to this upload as it is, for good: one of its payments may be why, the others may be taken without it.
    case refused(code: String)
    /// A "no" for now, or to the terminal and not to what it brings. Nothing happened.
    case notNow(code: String)
    /// It may have arrived.
    case noAnswer(reason: String)
    /// No byte left the terminal.
    case unreachable(reason: String)
}

/// The acquirer as the Tap rail needs it: one account at one address. No call throws; each ends when its task is cancelled.
public protocol TapAcquirer: Sendable {
    /// Where it is: payments made elsewhere are not asked about here.
    var url: String { get }
    /// Hands a bundle in. The same bundle may be handed in as often as is needed; it moves money once.
    func execute(_ bundle: TapBundle) async -> TapWord
    func status(of payment: PaymentID) async -> TapWord
    /// Makes a request known, so that a phone that is online can compare it before it shows it.
    /// - Returns: Why the acquirer does not know it now; nil where it does.
    func announce(_ request: Signed<PaymentRequest>, of certificate: Signed<TerminalCertificate>) async -> String?
    /// Takes a payment back: one that is paid is given back, one that is unknown can never be paid after.
    func void(_ payment: PaymentID) async -> TapWord
    /// Tells of payments that were taken offline; the same may be told as often as is needed.
    func synchronise(_ bundles: [TapBundle], isClockSet: Bool) async -> TapSyncWord
    /// Its keys as they are now.
    func keys(issuer: String) async -> TapKeysWord
    /// A certificate for the terminal's keys.
    func certificate(for keys: TapTerminalKeys) async -> TapCertificateAnswer
}

/// What the acquirer said to a terminal that asks for its keys.
public enum TapKeysWord: Sendable, Equatable {
    case keys(GatewayKeys)
    /// It is there and says no: to the password, to this terminal, or to so many questions.
    case refused
    /// No usable answer.
    case silent
}

/// What the acquirer said to a terminal that wants a certificate.
public enum TapCertificateAnswer: Sendable, Equatable {
    /// With the keys that it opens under.
    case issued(Signed<TerminalCertificate>, GatewayKeys)
    /// This terminal is not taken. Charges go on without Tap.
    case refused(code: String)
    case noAnswer(reason: String)
}
