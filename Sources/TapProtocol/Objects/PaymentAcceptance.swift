/// A customer's agreement to pay, signed by the key of their device. Source: BPP/1, section 9, `accept`.
public struct PaymentAcceptance: SignedPayload {
    public static let context = SigningContext.accept
    public static let algorithm = SigningAlgorithm.es256

    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let phoneOnline = Flags(rawValue: 1)
        public static let voucherSpend = Flags(rawValue: 2)
        public static let userVerified = Flags(rawValue: 4)
    }

    public var paymentID: PaymentID
    public var requestHash: ObjectHash
    /// Minor units, all three.
    public var amount: Int
    public var tip: Int
    public var total: Int
    public var currency: String
    /// An alias for this payment or this merchant, never a card's number. An account's CAIP-10 name on rails 2 and 3.
    public var instrumentID: String
    public var createdAtMilliseconds: Int
    public var railType: Int
    public var flags: Flags
    /// 16 random bytes.
    public var nonce: [UInt8]
    /// There where `flags` holds `voucherSpend`.
    public var spend: VoucherSpend?

    public init(
        accepting request: Signed<PaymentRequest>,
        tip: Int = 0,
        instrumentID: String,
        createdAtMilliseconds: Int,
        railType: Int = 1,
        flags: Flags,
        nonce: [UInt8],
        spend: VoucherSpend? = nil
    ) {
        (paymentID, requestHash) = (request.payload.paymentID, request.hash)
        (amount, self.tip, currency) = (request.payload.amount, tip, request.payload.currency)
        let (sum, isTooLarge) = request.payload.amount.addingReportingOverflow(tip)
        total = isTooLarge ? .max : sum  // No wire number, so signing refuses it.
        (self.instrumentID, self.createdAtMilliseconds) = (instrumentID, createdAtMilliseconds)
        (self.railType, self.nonce, self.spend) = (railType, nonce, spend)
        self.flags = spend == nil ? flags.subtracting(.voucherSpend) : flags.union(.voucherSpend)
    }

    public init(map: CBORMap) throws(MalformedObject) {
        var fields = ObjectFields(map)
        paymentID = try fields.paymentID()
        requestHash = try fields.hash(2)
        amount = try fields.number(3)
        tip = try fields.number(4)
        total = try fields.number(5)
        currency = try fields.currency(6)
        instrumentID = try fields.text(7, 1...128)
        createdAtMilliseconds = try fields.number(8)
        railType = try fields.number(9, 0...255)
        flags = Flags(rawValue: try fields.number(10))
        nonce = try fields.bytes(11, count: 16)
        if flags.contains(.voucherSpend) {
            spend = VoucherSpend(
                passID: try fields.bytes(12, count: 16),
                counter: try fields.number(13),
                spentAfter: try fields.number(14),
                previousHash: try fields.hash(15)
            )
        }
        try fields.finish()
    }

    public var map: CBORMap {
        [
            1: .bytes(paymentID.bytes), 2: .bytes(requestHash.bytes), 3: .integer(amount), 4: .integer(tip),
            5: .integer(total), 6: .text(currency), 7: .text(instrumentID), 8: .integer(createdAtMilliseconds),
            9: .integer(railType), 10: .integer(flags.rawValue), 11: .bytes(nonce),
            12: spend.map { .bytes($0.passID) }, 13: spend.map { .integer($0.counter) },
            14: spend.map { .integer($0.spentAfter) }, 15: spend.map { .bytes($0.previousHash.bytes) },
        ]
    }
}

/// Where one spend stands in the chain of a voucher's spends. Source: BPP/1, section 16.2.
public struct VoucherSpend: Sendable, Hashable {
    /// 16 bytes.
    public var passID: [UInt8]
    /// The last spend's and one.
    public var counter: Int
    /// Minor units: everything spent so far, this included.
    public var spentAfter: Int
    /// The accept before this one; before the first, the pass.
    public var previousHash: ObjectHash

    public init(passID: [UInt8], counter: Int, spentAfter: Int, previousHash: ObjectHash) {
        (self.passID, self.counter, self.spentAfter) = (passID, counter, spentAfter)
        self.previousHash = previousHash
    }
}
