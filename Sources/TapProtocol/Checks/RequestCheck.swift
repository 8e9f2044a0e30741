/// The phone's eleven checks before it shows anything. Source: BPP/1, section 7.4.
public enum RequestCheckNumber: Int, Sendable, CaseIterable {
    /// The certificate opens under a trusted key of its issuer.
    case p1 = 1
    /// It is in time.
    case p2
    /// It names the key that the terminal proved to hold.
    case p3
    /// The tag names that key too.
    case p4
    /// It is not on the deny list.
    case p5
    /// The request opens under the certificate's key.
    case p6
    /// The request is of this certificate and says the same.
    case p7
    /// Currency and amount are what the terminal may ask for.
    case p8
    /// The payment's name is sound and new here.
    case p9
    /// The request is in time.
    case p10
    /// Test money and real money do not meet.
    case p11
}

/// The first check that a request failed. Show nothing, send `code`.
public struct RequestRefusal: Error, Sendable, Equatable {
    public let check: RequestCheckNumber
    public let code: TapErrorCode

    init(_ check: RequestCheckNumber, _ code: TapErrorCode) { (self.check, self.code) = (check, code) }
}

/// Terminals that a gateway takes back before their certificates end.
public struct DenyList: Sendable, Hashable {
    public var terminalIDs: Set<String>
    public var certificateHashes: Set<ObjectHash>

    public init(terminalIDs: Set<String> = [], certificateHashes: Set<ObjectHash> = []) {
        (self.terminalIDs, self.certificateHashes) = (terminalIDs, certificateHashes)
    }

    func holds(_ certificate: Signed<TerminalCertificate>) -> Bool {
        terminalIDs.contains(certificate.payload.terminalID) || certificateHashes.contains(certificate.hash)
    }
}

/// What a phone knows when a request arrives, and how it judges one.
public struct RequestCheck: Sendable {
    /// How far clocks may differ where a certificate or a pass is judged.
    public static let graceSeconds = 600
    /// How far the terminal's clock may be from the phone's.
    public static let clockToleranceMilliseconds = 300_000
    /// How far the payment's name may be from its making.
    public static let nameToleranceMilliseconds = 60_000

    public var trusted: GatewayKeys
    public var denied: DenyList
    public var environment: TerminalCertificate.Environment
    /// Nil where the phone read none.
    public var tag: TerminalTag?
    /// Payments that this phone has seen end, or has declined.
    public var closedPayments: Set<PaymentID>

    public init(
        trusted: GatewayKeys,
        denied: DenyList = DenyList(),
        environment: TerminalCertificate.Environment,
        tag: TerminalTag? = nil,
        closedPayments: Set<PaymentID> = []
    ) {
        (self.trusted, self.denied, self.environment) = (trusted, denied, environment)
        (self.tag, self.closedPayments) = (tag, closedPayments)
    }

    /// Passes when the request may be shown: with the name from the certificate, never another.
    /// - Parameters:
    ///   - terminalKey: What the handshake proved.
    ///   - nowMilliseconds: The phone's clock, since 1970.
    public func check(
        _ request: Signed<PaymentRequest>,
        of certificate: Signed<TerminalCertificate>,
        terminalKey: [UInt8],
        nowMilliseconds: Int
    ) throws(RequestRefusal) {
        try check(certificate, terminalKey: terminalKey, nowMilliseconds: nowMilliseconds)
        do throws(COSEError) {
            try request.verify(certificate.payload.requestKey)
        } catch {
            throw RequestRefusal(.p6, .requestInvalid)
        }
        let (asked, terminal) = (request.payload, certificate.payload)
        guard asked.certificateHash == certificate.hash, Self.isSame(asked.merchantID, terminal.merchantID),
            Self.isSame(asked.merchantName, terminal.merchantName), Self.isSame(asked.terminalID, terminal.terminalID)
        else { throw RequestRefusal(.p7, .requestInvalid) }
        guard terminal.currencies.contains(asked.currency), asked.amount <= terminal.maximumAmount else {
            throw RequestRefusal(.p8, .requestInvalid)
        }
        guard asked.paymentID.isVersion7 else { throw RequestRefusal(.p9, .requestInvalid) }
        guard !closedPayments.contains(asked.paymentID) else { throw RequestRefusal(.p9, .paymentClosed) }
        guard asked.expiresAtMilliseconds > nowMilliseconds else { throw RequestRefusal(.p10, .expired) }
        guard Self.isNear(asked.createdAtMilliseconds, nowMilliseconds, within: Self.clockToleranceMilliseconds) else {
            throw RequestRefusal(.p10, .clockSkew)
        }
        guard
            Self.isNear(
                asked.createdAtMilliseconds,
                asked.paymentID.madeAtMilliseconds,
                within: Self.nameToleranceMilliseconds
            )
        else { throw RequestRefusal(.p10, .requestInvalid) }
        guard terminal.environment == environment else { throw RequestRefusal(.p11, .environmentMismatch) }
    }

    /// The checks that need no request: P1 to P5.
    public func check(
        _ certificate: Signed<TerminalCertificate>,
        terminalKey: [UInt8],
        nowMilliseconds: Int
    ) throws(RequestRefusal) {
        let terminal = certificate.payload
        guard let key = trusted.key(issuer: terminal.issuer, keyID: certificate.envelope.keyID) else {
            throw RequestRefusal(.p1, .certificateInvalid)
        }
        do throws(COSEError) {
            try certificate.verify(key)
        } catch {
            throw RequestRefusal(.p1, .certificateInvalid)
        }
        guard Self.isInTime(terminal.notBeforeSeconds, terminal.notAfterSeconds, nowMilliseconds) else {
            throw RequestRefusal(.p2, .certificateInvalid)
        }
        guard terminal.staticKey == terminalKey else { throw RequestRefusal(.p3, .keyMismatch) }
        guard tag?.matches(terminalKey: terminalKey) != false else { throw RequestRefusal(.p4, .keyMismatch) }
        guard !denied.holds(certificate) else { throw RequestRefusal(.p5, .certificateDenied) }
    }

    /// Ten minutes of grace on both ends, both included.
    static func isInTime(_ notBefore: Int, _ notAfter: Int, _ nowMilliseconds: Int) -> Bool {
        (notBefore - graceSeconds) * 1000 <= nowMilliseconds && nowMilliseconds <= (notAfter + graceSeconds) * 1000
    }

    private static func isNear(_ first: Int, _ second: Int, within tolerance: Int) -> Bool {
        abs(first - second) <= tolerance
    }

    /// By bytes: two names that only look the same are two names.
    private static func isSame(_ first: String, _ second: String) -> Bool { first.utf8.elementsEqual(second.utf8) }
}
