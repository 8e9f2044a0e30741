public import TapProtocol

/// Something a customer can pay with.
///
/// Source: Vipaso SDK, Android, customer instruments.
public struct Instrument: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case card = "CARD"
        case bankAccount = "BANK_ACCOUNT"
        case mobileMoney = "MNO"
    }

    /// An alias, never the number of a card.
    public let instrumentID: String
    public let kind: Kind
    /// For people: `VISA ···· 4242`.
    public let display: String
    /// Whether it can be pre-authorised.
    public let isPreAuthorisable: Bool
}

/// Money that the acquirer holds so that a phone can pay without anybody online.
public struct PreAuthorisation: Sendable, Equatable {
    /// Source: Vipaso SDK, Android, offline payment, `VipasoPreAuthorization`.
    public enum Status: String, Sendable, CaseIterable {
        case available = "AVAILABLE"
        case voided = "VOIDED"
        case expired = "EXPIRED"
    }

    public let id: String
    public let status: Status
    public let instrumentID: String
    /// Minor units.
    public let amount: Int
    public let currency: String
    public let exponent: Int
    /// Minor units that spends have taken so far, as far as the acquirer was told.
    public let spent: Int
    public let expiresAtSeconds: Int
    /// The voucher. Its signature is still to be checked.
    public let pass: Signed<PaymentPass>

    init(_ fields: JSONFields) throws(MalformedAnswer) {
        id = try fields.text("preAuthorisationId", 1...64)
        status = try fields.word("status")
        instrumentID = try fields.text("instrumentId")
        amount = try fields.number("amount", 1...(1 << 53 - 1))
        currency = try fields.currency("currency")
        exponent = try fields.number("exponent", 0...18)
        spent = try fields.number("spent")
        expiresAtSeconds = try fields.number("expiresAt")
        pass = try fields.object("pass")
        guard let voucher = pass.payload.voucher, voucher.currency == currency, voucher.limitTotal == amount,
            voucher.exponent == exponent, voucher.instrumentID.utf8.elementsEqual(instrumentID.utf8)
        else { throw MalformedAnswer(detail: "the pass is not of this pre-authorisation") }
    }
}

/// What to hold, for which device.
public struct PreAuthorisationOrder: Sendable, Equatable {
    public var instrumentID: String
    /// Minor units, 1 or more.
    public var amount: Int
    public var currency: String
    /// Digits behind the point, 0 to 18.
    public var exponent: Int
    /// The P-256 key that will sign the spends.
    public var deviceKey: VerificationKey

    public init(instrumentID: String, amount: Int, currency: String, exponent: Int, deviceKey: VerificationKey) {
        (self.instrumentID, self.amount, self.currency) = (instrumentID, amount, currency)
        (self.exponent, self.deviceKey) = (exponent, deviceKey)
    }
}
