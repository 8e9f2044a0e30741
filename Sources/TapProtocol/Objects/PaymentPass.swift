/// The gateway's word that a device's key may pay: once and online, or within limits without anybody online.
/// Source: BPP/1, section 9, `pass`, and 16.2.
public struct PaymentPass: SignedPayload {
    public static let context = SigningContext.pass
    public static let algorithm = SigningAlgorithm.edDSA

    /// What a pre-authorised instrument pays without anybody online.
    public struct Voucher: Sendable, Hashable {
        public var currency: String
        public var exponent: Int
        /// Minor units over the voucher's life, more than 0.
        public var limitTotal: Int
        /// Minor units of one payment, the tip included.
        public var limitPerPayment: Int
        /// Spends over the voucher's life.
        public var maximumCount: Int
        /// The first spend carries this and one.
        public var startCounter: Int
        public var instrumentID: String

        public init(
            currency: String,
            exponent: Int,
            limitTotal: Int = 100_00,
            limitPerPayment: Int = 50_00,
            maximumCount: Int = 10,
            startCounter: Int = 0,
            instrumentID: String
        ) {
            (self.currency, self.exponent, self.limitTotal) = (currency, exponent, limitTotal)
            (self.limitPerPayment, self.maximumCount) = (limitPerPayment, maximumCount)
            (self.startCounter, self.instrumentID) = (startCounter, instrumentID)
        }
    }

    /// How long a voucher lives unless the gateway says otherwise. Source: BPP/1, rule V4.
    public static let standardVoucherLife = Duration.seconds(3 * 86_400)

    /// 16 bytes.
    public var passID: [UInt8]
    public var issuer: String
    public var deviceKey: VerificationKey
    public var notBeforeSeconds: Int
    public var notAfterSeconds: Int
    /// Nil for a pass that pays online only.
    public var voucher: Voucher?

    public init(
        passID: [UInt8],
        issuer: String,
        deviceKey: VerificationKey,
        notBeforeSeconds: Int,
        notAfterSeconds: Int,
        voucher: Voucher? = nil
    ) {
        (self.passID, self.issuer, self.deviceKey) = (passID, issuer, deviceKey)
        (self.notBeforeSeconds, self.notAfterSeconds) = (notBeforeSeconds, notAfterSeconds)
        self.voucher = voucher
    }

    public init(map: CBORMap) throws(MalformedObject) {
        var fields = ObjectFields(map)
        passID = try fields.bytes(1, count: 16)
        issuer = try fields.text(2)
        deviceKey = try Self.deviceKey(try fields.required(3))
        let limitTotal = try fields.number(6)
        notBeforeSeconds = try fields.number(9)
        notAfterSeconds = try fields.number(10)
        if limitTotal > 0 {
            voucher = Voucher(
                currency: try fields.currency(4),
                exponent: try fields.number(5, 0...18),
                limitTotal: limitTotal,
                limitPerPayment: try fields.number(7),
                maximumCount: try fields.number(8),
                startCounter: try fields.number(11),
                instrumentID: try fields.text(12, 1...128)
            )
        }
        try fields.finish()
    }

    public var map: CBORMap {
        [
            1: .bytes(passID), 2: .text(issuer), 3: deviceKeyItem, 4: voucher.map { .text($0.currency) },
            5: voucher.map { .integer($0.exponent) }, 6: .integer(voucher?.limitTotal ?? 0),
            7: voucher.map { .integer($0.limitPerPayment) }, 8: voucher.map { .integer($0.maximumCount) },
            9: .integer(notBeforeSeconds), 10: .integer(notAfterSeconds),
            11: voucher.map { .integer($0.startCounter) }, 12: voucher.map { .text($0.instrumentID) },
        ]
    }

    /// Exactly kind, curve and the two coordinates. Source: RFC 9053, section 7.1; BPP/1, rule E2.
    private static func deviceKey(_ item: CBOR) throws(MalformedObject) -> VerificationKey {
        guard case .map(let map) = item else { throw .wrongType(key: 3) }
        guard map.members.map(\.key) == [1, -1, -2, -3], map[1] == .unsigned(2), map[-1] == .unsigned(1) else {
            throw .outOfRange(key: 3)
        }
        var fields = ObjectFields(map)
        return .p256(x: try fields.bytes(-2, count: 32), y: try fields.bytes(-3, count: 32))
    }

    private var deviceKeyItem: CBOR {
        switch deviceKey {
        case .p256(let x, let y): .map([1: .unsigned(2), -1: .unsigned(1), -2: .bytes(x), -3: .bytes(y)])
        // No device key of this profile: reading it back refuses it, so it is never signed.
        case .ed25519(let key): .map([1: .unsigned(1), -1: .unsigned(6), -2: .bytes(key)])
        }
    }
}
