public import TapProtocol

/// The acquirer's words for how a payment stands. Source: Vipaso SDK, Android, customer payments, `unifiedStatus`; BPP/1,
/// section 9.
public enum PaymentWord: String, Sendable, CaseIterable {
    case initiated = "INITIATED"
    case inProgress = "IN_PROGRESS"
    case completed = "COMPLETED"
    case failed = "FAILED"
    case cancelled = "CANCELLED"
    /// The phone has told of a voucher's spend, and the terminal has not yet.
    case acceptedOffline = "ACCEPTED_OFFLINE"

    /// The number that signed objects use.
    public var status: PaymentStatus {
        switch self {
        case .initiated: .initiated
        case .inProgress: .inProgress
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        case .acceptedOffline: .acceptedOffline
        }
    }
}

/// How a payment stands at the acquirer.
public struct PaymentRecord: Sendable, Equatable {
    /// One accept that was handed in.
    public struct Attempt: Sendable, Equatable {
        /// From 1, as the terminal's claim counts.
        public let number: Int
        public let acceptHash: ObjectHash
        public let word: PaymentWord
        /// Where it failed: the bank's number for why, or one of ``DeclineCode``.
        public let declineCode: Int?
    }

    public let paymentID: PaymentID
    public let word: PaymentWord
    public let merchantID: String
    /// Minor units. Nil where only a void is known of the payment.
    public let amount: Int?
    /// Minor units; nil until something was accepted.
    public let tip: Int?
    public let currency: String?
    public let exponent: Int?
    public let operatorID: String?
    public let terminalID: String?
    /// The merchant's own number for the sale.
    public let reference: String?
    public let instrumentID: String?
    public let attempts: [Attempt]
    /// Of the attempt that ended last; nil where none ended. Its signature is still to be checked.
    public let receipt: Signed<PaymentReceipt>?
    public let updatedAtMilliseconds: Int

    init(_ fields: JSONFields) throws(MalformedAnswer) {
        paymentID = try fields.paymentID()
        word = try fields.word("status")
        merchantID = try fields.text("merchantId")
        amount = try fields.optionalNumber("amount")
        tip = try fields.optionalNumber("tip")
        currency = fields.optional("currency") == nil ? nil : try fields.currency("currency")
        exponent = try fields.optionalNumber("exponent", 0...18)
        operatorID = try fields.optionalText("operatorId")
        terminalID = try fields.optionalText("terminalId")
        reference = try fields.optionalText("reference")
        instrumentID = try fields.optionalText("instrumentId")
        var attempts: [Attempt] = []
        for item in try fields.list("attempts", upTo: 64) {
            let attempt = try JSONFields(item)
            attempts.append(
                Attempt(
                    number: try attempt.number("attempt", 1...(1 << 53 - 1)),
                    acceptHash: try attempt.hash("acceptHash"),
                    word: try attempt.word("status"),
                    declineCode: try attempt.optionalNumber("declineCode")
                )
            )
        }
        self.attempts = attempts
        receipt = try fields.optionalObject("receipt")
        updatedAtMilliseconds = try fields.number("updatedAt")
        if let receipt, receipt.payload.paymentID != paymentID {
            throw MalformedAnswer(detail: "the receipt is of another payment")
        }
    }
}

/// Some of a merchant's payments, the newest first.
public struct PaymentRecordPage: Sendable, Equatable {
    public let payments: [PaymentRecord]
    /// Asks for the next page; nil on the last one.
    public let nextCursor: String?
}

/// What came of a void. The payment's name never pays again.
public struct VoidAnswer: Sendable, Equatable {
    public let paymentID: PaymentID
    /// Whether the customer had paid and has their money back.
    public let gaveBack: Bool
    /// Status `cancelled`, of the accept that had been executed; nil where none was. Its signature is still to be checked.
    public let receipt: Signed<PaymentReceipt>?
}

/// Why the acquirer declined by itself, as receipts say it in `declineCode`. Banks' numbers are below 100.
public enum DeclineCode: Int, Sendable, CaseIterable {
    /// The instrument has not enough money.
    case insufficientFunds = 51
    /// The bundle came later than ten minutes after the claim. Source: BPP/1, section 13.
    case tooLate = 101
    case terminalDenied = 102
    /// A single-use pass that was used, a void voucher, or a blocked device.
    case passSpent = 103
    /// The customer has no such instrument.
    case unknownInstrument = 104
    /// A voucher's money was spent twice, and its limit is used up. Source: BPP/1, rule V5.
    case doubleSpend = 105
}
