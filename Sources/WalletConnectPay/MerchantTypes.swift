/// What a payment is made of. Checked here, by the gateway's own rules, before anything is sent.
public struct NewPayment: Sendable, Equatable {
    public let reference: String
    public let amount: PayAmount
    /// Unix seconds; nil for the gateway's own time limit.
    public let expiresAtSeconds: Int64?
    /// Where the gateway's hosted page sends the customer afterwards; nil where nobody comes from a page.
    public let checkout: Checkout?

    /// Where a customer who paid on the gateway's hosted page goes next. The gateway adds `?payment_id=` to both.
    ///
    /// Source: WalletConnect Pay API 2026-02-19.preview, `CheckoutConfig`.
    public struct Checkout: Sendable, Equatable {
        public let successURL: String
        public let errorURL: String

        /// - Throws: `MerchantError.invalid` where an address is not `https`, or longer than 2048 bytes.
        public init(successURL: String, errorURL: String) throws(MerchantError) {
            for (field, url) in [("checkout.successUrl", successURL), ("checkout.errorUrl", errorURL)] {
                guard WebAddress(url)?.isSecure == true else {
                    throw .invalid(field: field, message: "it must be an https address")
                }
            }
            (self.successURL, self.errorURL) = (successURL, errorURL)
        }
    }

    /// - Parameter reference: 1 to 35 letters, digits, spaces and `/ - : . , +`.
    /// - Throws: `MerchantError.invalid` naming the field.
    ///   Source: WalletConnect Pay, create payment, validation of `referenceId` and `amount`.
    public init(
        reference: String,
        amount: PayAmount,
        expiresAtSeconds: Int64?,
        checkout: Checkout? = nil
    ) throws(MerchantError) {
        guard (1...35).contains(reference.utf8.count) else {
            throw .invalid(field: "reference", message: "it must have 1 to 35 characters")
        }
        guard reference.utf8.allSatisfy(\.mayStandInAReference) else {
            throw .invalid(field: "reference", message: "it has characters that the gateway does not take")
        }
        guard (1...100).contains(amount.value.utf8.count), amount.value.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            amount.value.utf8.first != UInt8(ascii: "0")
        else { throw .invalid(field: "amount", message: "it must be a number of smallest units above zero") }
        self.reference = reference
        self.amount = amount
        self.expiresAtSeconds = expiresAtSeconds
        self.checkout = checkout
    }

    var wire: WireNewPayment {
        WireNewPayment(
            referenceId: reference,
            amount: WireAmount(amount),
            expiresAt: expiresAtSeconds,
            checkout: checkout.map { WireNewPayment.Checkout(successUrl: $0.successURL, errorUrl: $0.errorURL) }
        )
    }
}

extension UInt8 {
    /// Source: WalletConnect Pay API 2026-02-19.preview, query `referenceId`, pattern.
    var mayStandInAReference: Bool { isLetterOrDigit || " /-:.,+".utf8.contains(self) }
}

/// A payment that the gateway made.
public struct CreatedPayment: Sendable, Equatable {
    public let paymentID: PaymentID
    /// Other than "waits for the customer" where the order was a repetition and the payment has gone on meanwhile.
    public let status: PaymentStatus
    /// The gateway's own flag, as in ``StatusReport/isFinal``.
    public let isFinal: Bool
    /// Unix seconds, by the gateway's clock.
    public let expiresAtSeconds: Int64?
    public let pollAfter: Duration?
    /// What the QR code carries, verbatim.
    public let link: String
}

public struct PaymentDetails: Sendable, Equatable {
    public let status: PaymentStatus
    public let reference: String?
    public let failureCode: String?
    public let result: PaymentResult?
    /// The transfer to the merchant, once it is done.
    public let settlementTransactionID: String?
}

/// What became of marking a payment as refunded. Either way it is marked now.
///
/// The gateway moves no money by it: the merchant has given the money back, or will.
/// Source: WalletConnect Pay API 2026-02-19.preview, `POST /v1/refunds`.
public enum RefundMark: Sendable, Hashable {
    case marked
    /// Somebody marked it before, perhaps an earlier request of this one's whose answer got lost.
    case wasMarkedBefore
}
