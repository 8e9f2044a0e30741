/// A terminal's word to one phone: you are the payer, and may execute. Source: BPP/1, section 9, `claim`.
public struct PaymentClaim: SignedPayload {
    public static let context = SigningContext.claim
    public static let algorithm = SigningAlgorithm.edDSA

    /// Who can reach the gateway. Source: BPP/1, section 16.1.
    public enum Mode: Int, Sendable, CaseIterable {
        /// At least one side.
        case online = 1
        /// Neither: a voucher pays.
        case offline = 2
    }

    public var paymentID: PaymentID
    public var acceptHash: ObjectHash
    public var claimedAtMilliseconds: Int
    /// From 1; one more after each attempt that failed.
    public var attempt: Int
    public var mode: Mode

    public init(paymentID: PaymentID, acceptHash: ObjectHash, claimedAtMilliseconds: Int, attempt: Int, mode: Mode) {
        (self.paymentID, self.acceptHash) = (paymentID, acceptHash)
        (self.claimedAtMilliseconds, self.attempt, self.mode) = (claimedAtMilliseconds, attempt, mode)
    }

    public init(map: CBORMap) throws(MalformedObject) {
        var fields = ObjectFields(map)
        paymentID = try fields.paymentID()
        acceptHash = try fields.hash(2)
        claimedAtMilliseconds = try fields.number(3)
        attempt = try fields.number(4, 1...ObjectFields.largest)
        guard let mode = Mode(rawValue: try fields.number(5)) else { throw .outOfRange(key: 5) }
        self.mode = mode
        try fields.finish()
    }

    public var map: CBORMap {
        [
            1: .bytes(paymentID.bytes), 2: .bytes(acceptHash.bytes), 3: .integer(claimedAtMilliseconds),
            4: .integer(attempt), 5: .integer(mode.rawValue),
        ]
    }
}

/// How a payment stands. Source: BPP/1, section 9.
public enum PaymentStatus: Int, Sendable, CaseIterable {
    case initiated = 1
    case inProgress, completed, failed, cancelled
    /// A voucher was taken, and nobody has told the gateway yet.
    case acceptedOffline
}

/// The gateway's word how a payment ended. Source: BPP/1, section 9, `receipt`.
public struct PaymentReceipt: SignedPayload {
    public static let context = SigningContext.receipt
    public static let algorithm = SigningAlgorithm.edDSA

    public var paymentID: PaymentID
    public var status: PaymentStatus
    public var requestHash: ObjectHash
    public var acceptHash: ObjectHash
    /// Minor units, all three.
    public var amount: Int
    public var tip: Int
    public var total: Int
    public var currency: String
    public var exponent: Int
    public var merchantID: String
    /// For people, for example the last digits of a card.
    public var instrument: String
    public var authorizationCode: String?
    public var transactionID: String?
    public var executedAtMilliseconds: Int
    public var declineCode: Int?

    /// The receipt for a request and its accept.
    public init(
        status: PaymentStatus,
        request: Signed<PaymentRequest>,
        accept: Signed<PaymentAcceptance>,
        instrument: String,
        authorizationCode: String? = nil,
        transactionID: String? = nil,
        executedAtMilliseconds: Int,
        declineCode: Int? = nil
    ) {
        (paymentID, self.status) = (request.payload.paymentID, status)
        (requestHash, acceptHash) = (request.hash, accept.hash)
        (amount, tip, total) = (accept.payload.amount, accept.payload.tip, accept.payload.total)
        (currency, exponent) = (request.payload.currency, request.payload.exponent)
        (merchantID, self.instrument) = (request.payload.merchantID, instrument)
        (self.authorizationCode, self.transactionID) = (authorizationCode, transactionID)
        (self.executedAtMilliseconds, self.declineCode) = (executedAtMilliseconds, declineCode)
    }

    public init(map: CBORMap) throws(MalformedObject) {
        var fields = ObjectFields(map)
        paymentID = try fields.paymentID()
        guard let status = PaymentStatus(rawValue: try fields.number(2)) else { throw .outOfRange(key: 2) }
        self.status = status
        requestHash = try fields.hash(3)
        acceptHash = try fields.hash(4)
        amount = try fields.number(5)
        tip = try fields.number(6)
        total = try fields.number(7)
        currency = try fields.currency(8)
        exponent = try fields.number(9, 0...18)
        merchantID = try fields.text(10)
        instrument = try fields.text(11)
        authorizationCode = try fields.optionalText(12)
        transactionID = try fields.optionalText(13, 1...128)
        executedAtMilliseconds = try fields.number(14)
        declineCode = try fields.optionalNumber(15)
        try fields.finish()
    }

    public var map: CBORMap {
        [
            1: .bytes(paymentID.bytes), 2: .integer(status.rawValue), 3: .bytes(requestHash.bytes),
            4: .bytes(acceptHash.bytes), 5: .integer(amount), 6: .integer(tip), 7: .integer(total), 8: .text(currency),
            9: .integer(exponent), 10: .text(merchantID), 11: .text(instrument),
            12: authorizationCode.map(CBOR.text), 13: transactionID.map(CBOR.text),
            14: .integer(executedAtMilliseconds), 15: declineCode.map(CBOR.integer),
        ]
    }
}
