/// What a payment is made of. Checked here, by the gateway's own rules, before anything is sent.
public struct NewPayment: Sendable, Equatable {
    public let reference: String
    public let amount: PayAmount
    /// Unix seconds; nil for the gateway's own time limit.
    public let expiresAtSeconds: Int64?

    /// - Parameter reference: 1 to 35 letters, digits, spaces and `/ - : . , +`.
    /// - Throws: `MerchantError.invalid` naming the field.
    ///   Source: WalletConnect Pay, create payment, validation of `referenceId` and `amount`.
    public init(reference: String, amount: PayAmount, expiresAtSeconds: Int64?) throws(MerchantError) {
        guard (1...35).contains(reference.utf8.count) else {
            throw .invalid(field: "reference", message: "it must have 1 to 35 characters")
        }
        guard reference.utf8.allSatisfy({ $0.isLetterOrDigit || " /-:.,+".utf8.contains($0) }) else {
            throw .invalid(field: "reference", message: "it has characters that the gateway does not take")
        }
        guard (1...100).contains(amount.value.utf8.count), amount.value.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            amount.value.utf8.first != UInt8(ascii: "0")
        else { throw .invalid(field: "amount", message: "it must be a number of smallest units above zero") }
        self.reference = reference
        self.amount = amount
        self.expiresAtSeconds = expiresAtSeconds
    }

    var wire: WireNewPayment {
        WireNewPayment(referenceId: reference, amount: WireAmount(amount), expiresAt: expiresAtSeconds)
    }
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

/// Which payments to list. Source: WalletConnect Pay API 2026-02-19.preview, `GET /v1/merchants/payments`.
public struct PaymentQuery: Sendable, Equatable {
    /// Part of a reference, 3 to 35 characters.
    public var reference: String?
    public var statuses: [PaymentStatus]
    /// RFC 3339, inclusive.
    public var from: String?
    /// RFC 3339, exclusive.
    public var until: String?
    /// 1 to 200.
    public var limit: Int
    public var cursor: String?

    public init(
        reference: String? = nil,
        statuses: [PaymentStatus] = [],
        from: String? = nil,
        until: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.reference = reference
        self.statuses = statuses
        self.from = from
        self.until = until
        self.limit = limit
        self.cursor = cursor
    }

    var text: String {
        var items: [(String, String)] = [
            ("sortBy", "date"), ("sortDir", "desc"), ("limit", String(min(max(limit, 1), 200))),
        ]
        if let reference { items.append(("referenceId", reference)) }
        items += statuses.map { ("status", $0.word) }
        if let from { items.append(("startTs", from)) }
        if let until { items.append(("endTs", until)) }
        if let cursor { items.append(("cursor", cursor)) }
        return "?" + items.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
    }
}

public struct PaymentPage: Sendable, Equatable {
    public let payments: [ListedPayment]
    /// Pass it on for the next page; nil on the last.
    public let nextCursor: String?
}

public struct ListedPayment: Sendable, Equatable {
    public let paymentID: PaymentID
    public let merchantID: String?
    public let reference: String?
    public let status: PaymentStatus
    public let amount: PayAmount?
    public let paid: PayAmount?
    public let transactionID: String?
    /// RFC 3339.
    public let createdAt: String?
}
