/// What a terminal asks a phone to pay. Source: BPP/1, section 9, `request`.
public struct PaymentRequest: SignedPayload {
    public static let context = SigningContext.request
    public static let algorithm = SigningAlgorithm.edDSA

    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let terminalOnline = Flags(rawValue: 1)
        public static let vouchersTaken = Flags(rawValue: 2)
    }

    public var paymentID: PaymentID
    public var merchantID: String
    public var operatorID: String
    public var merchantName: String
    /// Minor units, without the tip.
    public var amount: Int
    public var currency: String
    /// Digits behind the point, 0 to 18.
    public var exponent: Int
    public var createdAtMilliseconds: Int
    public var expiresAtMilliseconds: Int
    public var tip: TipTerms
    /// The merchant's own number for the sale.
    public var reference: String?
    public var terminalID: String
    public var flags: Flags
    public var certificateHash: ObjectHash
    /// Nil where only instruments at the gateway are taken.
    public var rails: [RailOffer]?

    /// The rails on offer, the default written out.
    public var offeredRails: [RailOffer] { rails ?? [.instrument] }

    public init(
        paymentID: PaymentID,
        certificate: Signed<TerminalCertificate>,
        operatorID: String,
        amount: Int,
        currency: String,
        exponent: Int,
        createdAtMilliseconds: Int,
        expiresAtMilliseconds: Int,
        tip: TipTerms = .none,
        reference: String? = nil,
        flags: Flags = [],
        rails: [RailOffer]? = nil
    ) {
        (self.paymentID, self.operatorID) = (paymentID, operatorID)
        let terminal = certificate.payload
        (merchantID, merchantName, terminalID) = (terminal.merchantID, terminal.merchantName, terminal.terminalID)
        (self.amount, self.currency, self.exponent) = (amount, currency, exponent)
        (self.createdAtMilliseconds, self.expiresAtMilliseconds) = (createdAtMilliseconds, expiresAtMilliseconds)
        (self.tip, self.reference, self.flags, self.rails) = (tip, reference, flags, rails)
        certificateHash = certificate.hash
    }

    public init(map: CBORMap) throws(MalformedObject) {
        var fields = ObjectFields(map)
        paymentID = try fields.paymentID()
        merchantID = try fields.text(2)
        operatorID = try fields.text(3)
        merchantName = try fields.text(4)
        amount = try fields.number(5)
        currency = try fields.currency(6)
        exponent = try fields.number(7, 0...18)
        createdAtMilliseconds = try fields.number(8)
        expiresAtMilliseconds = try fields.number(9)
        tip = try TipTerms(try fields.required(10))
        reference = try fields.optionalText(11)
        terminalID = try fields.text(12)
        flags = Flags(rawValue: try fields.number(13))
        certificateHash = try fields.hash(14)
        if map[15] != nil {
            var offers: [RailOffer] = []
            for offer in try fields.list(15, 1...8) { offers.append(try RailOffer(offer)) }
            rails = offers
        }
        try fields.finish()
    }

    public var map: CBORMap {
        [
            1: .bytes(paymentID.bytes), 2: .text(merchantID), 3: .text(operatorID), 4: .text(merchantName),
            5: .integer(amount), 6: .text(currency), 7: .integer(exponent), 8: .integer(createdAtMilliseconds),
            9: .integer(expiresAtMilliseconds), 10: tip.item, 11: reference.map(CBOR.text), 12: .text(terminalID),
            13: .integer(flags.rawValue), 14: .bytes(certificateHash.bytes), 15: rails.map { .array($0.map(\.item)) },
        ]
    }
}

/// Whether and how much a customer may add. Source: BPP/1, sections 9 and 17.
public struct TipTerms: Sendable, Hashable {
    public enum Mode: Int, Sendable {
        case none, allowed
        /// The customer must choose; nothing is a choice too.
        case ask
    }

    public var mode: Mode
    /// Minor units.
    public var maximum: Int
    /// Hundredths of a percent of the amount, at most 8 choices of 0 to 10 000.
    public var presetBasisPoints: [Int]

    public static let none = TipTerms(mode: .none, maximum: 0)

    public init(mode: Mode, maximum: Int, presetBasisPoints: [Int] = []) {
        (self.mode, self.maximum, self.presetBasisPoints) = (mode, maximum, presetBasisPoints)
    }

    init(_ item: CBOR) throws(MalformedObject) {
        var fields = try ObjectFields(item)
        guard let mode = Mode(rawValue: try fields.number(1)) else { throw .outOfRange(key: 1) }
        self.mode = mode
        maximum = try fields.number(2)
        presetBasisPoints = []
        for preset in try fields.list(3, 0...8) {
            presetBasisPoints.append(try ObjectFields.number(preset, 3, 0...10_000))
        }
        try fields.finish()
    }

    var item: CBOR {
        .map([1: .integer(mode.rawValue), 2: .integer(maximum), 3: .array(presetBasisPoints.map(CBOR.integer))])
    }

    /// A preset's tip on `amount`, rounded half up to one minor unit; nil where it would not be a wire number.
    public static func tip(on amount: Int, basisPoints: Int) -> Int? {
        guard 0...ObjectFields.largest ~= amount, 0...10_000 ~= basisPoints else { return nil }
        // The product is at most 2^53 · 10^4 and fits 67 bits, so the whole part and the rest are multiplied apart.
        let (whole, rest) = amount.quotientAndRemainder(dividingBy: 10_000)
        return whole * basisPoints + (rest * basisPoints + 5_000) / 10_000
    }

    /// True where these terms take `tip`.
    public func allows(_ tip: Int) -> Bool { tip == 0 || (mode != .none && tip > 0 && tip <= maximum) }
}

/// One way to pay that a terminal offers for a request. Source: BPP/1, section 9; extension W.
public enum RailOffer: Sendable, Hashable {
    /// An instrument at the gateway.
    case instrument
    /// A WalletConnect Pay link that the phone pays through by itself.
    case paymentLink(String)
    /// The phone's wallet signs, and the terminal asks the WalletConnect Pay gateway.
    case walletOverTap(gatewayHost: String, gatewayPaymentID: String)
    /// A rail of a later version: not to be used.
    case unknown(type: Int)

    /// As accepts name it.
    public var type: Int {
        switch self {
        case .instrument: 1
        case .paymentLink: 2
        case .walletOverTap: 3
        case .unknown(let type): type
        }
    }

    init(_ item: CBOR) throws(MalformedObject) {
        var fields = try ObjectFields(item)
        let type = try fields.number(1)
        switch type {
        case 1: self = .instrument
        case 2: self = .paymentLink(try fields.text(2, 1...1024))
        case 3:
            var data = try ObjectFields(try fields.required(2))
            self = .walletOverTap(
                gatewayHost: try data.text(1, 1...253),
                gatewayPaymentID: try data.text(2, 1...128)
            )
            try data.finish()
        default:
            _ = fields.optional(2)
            self = .unknown(type: type)
        }
        try fields.finish()
    }

    var item: CBOR {
        switch self {
        case .instrument, .unknown: .map([1: .integer(type)])
        case .paymentLink(let link): .map([1: .integer(type), 2: .text(link)])
        case .walletOverTap(let host, let id):
            .map([1: .integer(type), 2: .map([1: .text(host), 2: .text(id)])])
        }
    }
}
