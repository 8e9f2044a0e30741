/// A phone's own account of one voucher. Keep it in protected storage, and write it before an accept leaves.
/// Source: BPP/1, section 16.2, rule V3.
public struct VoucherChain: Sendable, Hashable {
    /// Why the voucher cannot pay now.
    public enum Refusal: Error, Sendable, Equatable {
        case noVoucher
        /// Another payment's spend has not ended.
        case outstanding(PaymentID)
        case wrongCurrency
        case overPaymentLimit
        case overTotalLimit
        case noneLeft
    }

    public let pass: Signed<PaymentPass>
    /// The last counter that was ever committed. It never goes back.
    public private(set) var counter: Int
    /// Minor units committed so far, claimed or not.
    public private(set) var spent = 0
    /// What the next spend names as the one before it.
    public private(set) var previousHash: ObjectHash
    /// The payment whose spend is on its way.
    public private(set) var outstanding: PaymentID?

    /// A voucher that has not been used.
    public init(pass: Signed<PaymentPass>) {
        (self.pass, previousHash) = (pass, pass.hash)
        counter = pass.payload.voucher?.startCounter ?? 0
    }

    /// A chain that was kept over a restart.
    public init(
        pass: Signed<PaymentPass>,
        counter: Int,
        spent: Int,
        previousHash: ObjectHash,
        outstanding: PaymentID?
    ) {
        (self.pass, self.counter, self.spent) = (pass, counter, spent)
        (self.previousHash, self.outstanding) = (previousHash, outstanding)
    }

    /// Commits the next place in the chain. Store the chain before signing and sending the accept.
    /// - Parameter total: Minor units, the tip included.
    public mutating func commit(total: Int, for request: PaymentRequest) throws(Refusal) -> VoucherSpend {
        guard let voucher = pass.payload.voucher else { throw .noVoucher }
        if let outstanding { throw .outstanding(outstanding) }
        guard voucher.currency == request.currency, voucher.exponent == request.exponent else { throw .wrongCurrency }
        guard total >= 0, total <= voucher.limitPerPayment else { throw .overPaymentLimit }
        guard total <= voucher.limitTotal - spent else { throw .overTotalLimit }
        guard counter - voucher.startCounter < voucher.maximumCount else { throw .noneLeft }
        counter += 1
        spent += total
        outstanding = request.paymentID
        return VoucherSpend(
            passID: pass.payload.passID,
            counter: counter,
            spentAfter: spent,
            previousHash: previousHash
        )
    }

    /// The accept with the committed spend has been signed: the next one follows it.
    public mutating func signed(_ accept: Signed<PaymentAcceptance>) {
        guard accept.payload.spend?.counter == counter else { return }
        previousHash = accept.hash
    }

    /// The spend's payment has ended for this phone. What it spent stays counted, claimed or not, until the gateway says
    /// otherwise with a new voucher.
    public mutating func ended(_ payment: PaymentID) {
        if outstanding == payment { outstanding = nil }
    }
}
