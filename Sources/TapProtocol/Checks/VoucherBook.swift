/// Why a voucher's spend is refused. Source: BPP/1, section 16.2, rules V1 and V2.
public enum VoucherRefusal: Error, Sendable, Equatable, CaseIterable {
    // Rule V1.
    /// The terminal takes no vouchers, or does not know the time.
    case notTaken
    /// The terminal has been without the gateway for too long.
    case offlineTooLong
    /// The pass is none of a voucher, or of another voucher than the spend's.
    case otherPass
    case wrongCurrency
    case overPaymentLimit
    case overTotalLimit
    case overFloor
    case overMerchantLimit
    case counterOutOfRange
    // Rule V2.
    /// This counter, or a later one, was taken here already.
    case counterUsed
    /// The running sum is less than what this terminal has seen.
    case sumTooLow
    /// The spend does not follow the one that this terminal has seen, or the pass.
    case chainBroken

    public var code: TapErrorCode {
        switch self {
        case .notTaken, .offlineTooLong: .vouchersNotTaken
        case .otherPass: .passInvalid
        case .wrongCurrency: .voucherExpired
        case .overPaymentLimit, .overTotalLimit, .overFloor, .overMerchantLimit: .overLimit
        case .counterOutOfRange, .counterUsed, .sumTooLow, .chainBroken: .counterConflict
        }
    }
}

/// What a terminal, or a shop's terminals together, risks on vouchers and has taken of them.
public struct VoucherBook: Sendable, Hashable {
    /// The last spend taken of one voucher.
    public struct Entry: Sendable, Hashable {
        public let counter: Int
        public let spentAfter: Int
        public let acceptHash: ObjectHash

        public init(counter: Int, spentAfter: Int, acceptHash: ObjectHash) {
            (self.counter, self.spentAfter, self.acceptHash) = (counter, spentAfter, acceptHash)
        }
    }

    /// Minor units of one payment that the terminal takes without the gateway.
    public var floor: Int
    /// Minor units of all vouchers that the gateway has not seen yet.
    public var merchantLimit: Int
    /// How long the terminal may have been without the gateway: 24 hours unless set.
    public var maximumOfflineAge: Duration
    /// When the gateway was last reached; nil if never.
    public var lastOnlineMilliseconds: Int?
    /// False where the clock was not set since the start: then no voucher is taken.
    public var isClockSet: Bool
    /// By the pass's 16 bytes.
    public private(set) var entries: [[UInt8]: Entry] = [:]
    /// Minor units taken and not settled yet.
    public private(set) var unsettled = 0

    public init(
        floor: Int,
        merchantLimit: Int,
        maximumOfflineAge: Duration = .seconds(86_400),
        lastOnlineMilliseconds: Int?,
        isClockSet: Bool
    ) {
        (self.floor, self.merchantLimit, self.maximumOfflineAge) = (floor, merchantLimit, maximumOfflineAge)
        (self.lastOnlineMilliseconds, self.isClockSet) = (lastOnlineMilliseconds, isClockSet)
    }

    /// Passes when the spend keeps every limit and follows what was seen before.
    func check(
        _ accept: Signed<PaymentAcceptance>,
        pass: Signed<PaymentPass>,
        request: PaymentRequest,
        nowMilliseconds: Int
    ) throws(VoucherRefusal) {
        guard request.flags.contains(.vouchersTaken), isClockSet else { throw .notTaken }
        guard let lastOnlineMilliseconds,
            .milliseconds(nowMilliseconds - lastOnlineMilliseconds) < maximumOfflineAge
        else { throw .offlineTooLong }
        guard let spend = accept.payload.spend, let voucher = pass.payload.voucher, spend.passID == pass.payload.passID
        else { throw .otherPass }
        guard voucher.currency == request.currency, voucher.exponent == request.exponent else { throw .wrongCurrency }
        let total = accept.payload.total
        guard total <= voucher.limitPerPayment else { throw .overPaymentLimit }
        guard spend.spentAfter <= voucher.limitTotal else { throw .overTotalLimit }
        guard spend.counter > voucher.startCounter, spend.counter - voucher.startCounter <= voucher.maximumCount else {
            throw .counterOutOfRange
        }
        guard total <= floor else { throw .overFloor }
        guard total <= merchantLimit - unsettled else { throw .overMerchantLimit }
        try checkChain(spend, total: total, pass: pass, startCounter: voucher.startCounter)
    }

    private func checkChain(
        _ spend: VoucherSpend,
        total: Int,
        pass: Signed<PaymentPass>,
        startCounter: Int
    ) throws(VoucherRefusal) {
        if let seen = entries[spend.passID] {
            guard spend.counter > seen.counter else { throw .counterUsed }
            guard spend.spentAfter - seen.spentAfter >= total else { throw .sumTooLow }
            guard spend.counter != seen.counter + 1 || spend.previousHash == seen.acceptHash else { throw .chainBroken }
        } else {
            guard spend.spentAfter >= total else { throw .sumTooLow }
        }
        if spend.counter == startCounter + 1 {
            guard spend.previousHash == pass.hash else { throw .chainBroken }
        }
    }

    /// Books a spend that was claimed. Call it before the claim is sent, and keep the book on disk.
    public mutating func take(_ accept: Signed<PaymentAcceptance>) {
        guard let spend = accept.payload.spend else { return }
        note(passID: spend.passID, spend.counter, spend.spentAfter, accept.hash)
        let (sum, isTooLarge) = unsettled.addingReportingOverflow(accept.payload.total)
        unsettled = isTooLarge ? .max : sum
    }

    /// Learns of a spend that another terminal of the shop has taken.
    public mutating func learn(passID: [UInt8], entry: Entry) {
        note(passID: passID, entry.counter, entry.spentAfter, entry.acceptHash)
    }

    /// The gateway has given its final answer about a spend.
    public mutating func settle(_ accept: Signed<PaymentAcceptance>) {
        unsettled = max(0, unsettled - accept.payload.total)
    }

    private mutating func note(passID: [UInt8], _ counter: Int, _ spentAfter: Int, _ hash: ObjectHash) {
        if let seen = entries[passID], seen.counter >= counter { return }
        entries[passID] = Entry(counter: counter, spentAfter: spentAfter, acceptHash: hash)
    }
}

/// Two accepts that one device signed for the same place in a voucher's chain: it has spent money twice.
/// Source: BPP/1, section 16.2, rule V5.
public struct DoubleSpendProof: Sendable, Hashable {
    public let first: Signed<PaymentAcceptance>
    public let second: Signed<PaymentAcceptance>

    /// Nil unless both are signed by the pass's device, are not the same, and share a counter or a predecessor.
    public init?(_ first: Signed<PaymentAcceptance>, _ second: Signed<PaymentAcceptance>, pass: Signed<PaymentPass>) {
        guard let one = first.payload.spend, let other = second.payload.spend, one.passID == pass.payload.passID,
            other.passID == pass.payload.passID,
            // The same agreement signed again has another signature and proves nothing.
            first.envelope.payload != second.envelope.payload,
            one.counter == other.counter || one.previousHash == other.previousHash,
            (try? first.verify(pass.payload.deviceKey)) != nil, (try? second.verify(pass.payload.deviceKey)) != nil
        else { return nil }
        (self.first, self.second) = (first, second)
    }
}
