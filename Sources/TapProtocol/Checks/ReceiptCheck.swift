/// Why a receipt proves nothing about a payment. Answer ERROR 0x25 and believe nothing. Source: BPP/1, section 12.
public enum ReceiptRefusal: Error, Sendable, Equatable, CaseIterable {
    /// No receipt where one must be.
    case missing
    /// Not signed by the gateway.
    case notTheGateway
    case otherPayment
    case otherRequest
    case otherAccept
    case amounts
    case merchant
    /// Not how a payment ends, or not what the message around it says.
    case status
}

/// What a receipt must be about.
public struct ReceiptCheck: Sendable {
    public var trusted: GatewayKeys
    /// The certificate's issuer: receipts name a key but no issuer.
    public var issuer: String
    public var request: Signed<PaymentRequest>
    /// Nil on a terminal that has lost its journal and knows only what it asked for.
    public var accept: Signed<PaymentAcceptance>?

    public init(
        trusted: GatewayKeys,
        issuer: String,
        request: Signed<PaymentRequest>,
        accept: Signed<PaymentAcceptance>?
    ) {
        (self.trusted, self.issuer, self.request, self.accept) = (trusted, issuer, request, accept)
    }

    /// Passes when the gateway says with this receipt how this payment ended.
    /// - Parameter status: What the message around the receipt says; nil where nothing does.
    /// - Returns: `completed`, `failed` or `cancelled`.
    public func check(
        _ receipt: Signed<PaymentReceipt>?,
        status: PaymentStatus?
    ) throws(ReceiptRefusal) -> PaymentStatus {
        guard let receipt else { throw .missing }
        guard let key = trusted.key(issuer: issuer, keyID: receipt.envelope.keyID) else { throw .notTheGateway }
        do throws(COSEError) { try receipt.verify(key) } catch { throw .notTheGateway }
        let (said, asked) = (receipt.payload, request.payload)
        guard said.paymentID == asked.paymentID else { throw .otherPayment }
        guard said.requestHash == request.hash else { throw .otherRequest }
        guard said.amount == asked.amount, said.currency == asked.currency, said.exponent == asked.exponent,
            said.total == said.amount + said.tip
        else { throw .amounts }
        if let accept {
            guard said.acceptHash == accept.hash else { throw .otherAccept }
            guard said.tip == accept.payload.tip, said.total == accept.payload.total else { throw .amounts }
        }
        guard said.merchantID.utf8.elementsEqual(asked.merchantID.utf8) else { throw .merchant }
        guard [.completed, .failed, .cancelled].contains(said.status), status == nil || status == said.status else {
            throw .status
        }
        return said.status
    }
}
