/// One message of a session: what it says, its number, and the number of the one it answers.
///
/// Source: BPP/1, section 10; extension W.
public struct TapMessage: Sendable, Hashable {
    /// 1, 2, 3 … in each direction of each session.
    public let number: Int
    /// The number of the message that this one answers.
    public let answers: Int?
    public let body: TapBody

    public init(number: Int, answers: Int? = nil, body: TapBody) {
        (self.number, self.answers, self.body) = (number, answers, body)
    }
}

/// What a message says.
public enum TapBody: Sendable, Hashable {
    // Terminal to phone.
    case request(Signed<PaymentRequest>)
    /// You are the payer; you may execute.
    case claim(Signed<PaymentClaim>)
    /// Another wallet is paying.
    case hold(PaymentID)
    /// The other payer failed.
    case reopen(PaymentID, attempt: Int)
    /// Somebody else has paid.
    case otherPaid(PaymentID)
    case cancelledByTerminal(PaymentID, TerminalCancelReason)
    case options(PaymentID, [WalletOption], expiresAtSeconds: Int)
    case sign(SigningOrder)
    // Phone to terminal.
    case received(ReceivedNotice)
    case accept(Signed<PaymentAcceptance>, Signed<PaymentPass>)
    case cancelledByPayer(PaymentID, PayerCancelReason)
    case keepAlive(PaymentID, KeepAliveReason)
    /// CAIP-10 names that may be used for this payment only, 1 to 16.
    case accounts(PaymentID, [String])
    case choose(PaymentID, optionID: String)
    /// In the order of the signing orders.
    case signatures(PaymentID, optionID: String, [String])
    // Both ways.
    case acknowledge(PaymentID)
    case error(PaymentID?, TapErrorCode, text: String?)
    case ping([UInt8])
    case pong([UInt8])
    /// `transactionID` is what a terminal knows from the gateway on rail 3, where no receipt exists.
    case result(PaymentID, PaymentStatus, receipt: Signed<PaymentReceipt>?, transactionID: String?)
    case bye(reason: Int)

    public enum Sender: Sendable, CaseIterable { case terminal, phone }

    /// The number that names the kind of message.
    public var type: Int {
        switch self {
        case .request: 1
        case .claim: 2
        case .hold: 3
        case .reopen: 4
        case .otherPaid: 5
        case .cancelledByTerminal: 6
        case .options: 7
        case .sign: 8
        case .received: 33
        case .accept: 34
        case .cancelledByPayer: 35
        case .keepAlive: 36
        case .accounts: 37
        case .choose: 38
        case .signatures: 39
        case .acknowledge: 64
        case .error: 65
        case .ping: 66
        case .pong: 67
        case .result: 68
        case .bye: 69
        }
    }

    /// The only side that sends it; nil for both.
    public var onlySender: Sender? {
        switch type {
        case 1...32: .terminal
        case 33...63: .phone
        default: nil
        }
    }

    /// The payment it is about, where it is about one.
    public var paymentID: PaymentID? {
        switch self {
        case .request(let request): request.payload.paymentID
        case .claim(let claim): claim.payload.paymentID
        case .accept(let accept, _): accept.payload.paymentID
        case .received(let notice): notice.paymentID
        case .sign(let order): order.paymentID
        case .hold(let id), .reopen(let id, _), .otherPaid(let id), .cancelledByTerminal(let id, _),
            .options(let id, _, _), .cancelledByPayer(let id, _), .keepAlive(let id, _), .accounts(let id, _),
            .choose(let id, _), .signatures(let id, _, _), .acknowledge(let id), .result(let id, _, _, _):
            id
        case .error(let id, _, _): id
        case .ping, .pong, .bye: nil
        }
    }
}

/// Why the merchant's side ends a payment.
public enum TerminalCancelReason: Int, Sendable, CaseIterable { case merchant = 1, error, expired }

/// Why a phone does not pay.
public enum PayerCancelReason: Int, Sendable, CaseIterable { case user = 1, noInstrument, policy, alreadyDeclined }

/// What a phone is busy with.
public enum KeepAliveReason: Int, Sendable, CaseIterable {
    case processing = 1, waitingForUser, userVerification, backend
}

/// What one side can do beyond the least. Source: BPP/1, section 10; extension W.
public struct TapCapabilities: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let tipScreen = TapCapabilities(rawValue: 1)
    /// A voucher for the request's currency.
    public static let voucher = TapCapabilities(rawValue: 2)
    public static let paymentLinks = TapCapabilities(rawValue: 4)
    public static let wantsReceipts = TapCapabilities(rawValue: 8)
    /// The phone's accounts sign typed data.
    public static let walletAccounts = TapCapabilities(rawValue: 16)
    /// The terminal asks the WalletConnect Pay gateway for the phone.
    public static let runsGateway = TapCapabilities(rawValue: 32)
}

/// A phone's first word about a request.
public struct ReceivedNotice: Sendable, Hashable {
    public enum State: Int, Sendable, CaseIterable { case prompting = 1, acceptSent, won, alreadyFinal }

    public var paymentID: PaymentID
    public var state: State
    public var capabilities: TapCapabilities
    /// The phone's clock. A hint.
    public var timeSeconds: Int
    public var isOnline: Bool

    public init(
        paymentID: PaymentID,
        state: State,
        capabilities: TapCapabilities,
        timeSeconds: Int,
        isOnline: Bool
    ) {
        (self.paymentID, self.state, self.capabilities) = (paymentID, state, capabilities)
        (self.timeSeconds, self.isOnline) = (timeSeconds, isOnline)
    }
}

/// One way in which the phone's accounts can pay. Source: extension W.
public struct WalletOption: Sendable, Hashable {
    public var id: String
    /// A whole number in the token's smallest unit, as decimal text.
    public var value: String
    public var symbol: String
    public var decimals: Int
    /// For people.
    public var network: String
    /// CAIP-10.
    public var account: String
    public var etaSeconds: Int?
    /// Where the customer first leaves what the gateway must know.
    public var collectDataURL: String?

    public init(
        id: String,
        value: String,
        symbol: String,
        decimals: Int,
        network: String,
        account: String,
        etaSeconds: Int? = nil,
        collectDataURL: String? = nil
    ) {
        (self.id, self.value, self.symbol, self.decimals) = (id, value, symbol, decimals)
        (self.network, self.account, self.etaSeconds) = (network, account, etaSeconds)
        self.collectDataURL = collectDataURL
    }
}

/// One action that a phone's account is asked to sign. Source: extension W.
public struct SigningOrder: Sendable, Hashable {
    public var paymentID: PaymentID
    public var optionID: String
    /// From 0, below `count`.
    public var index: Int
    /// 1 to 16.
    public var count: Int
    /// CAIP-2.
    public var chainID: String
    public var method: String
    /// The gateway's JSON, unchanged.
    public var parameters: String

    public init(
        paymentID: PaymentID,
        optionID: String,
        index: Int,
        count: Int,
        chainID: String,
        method: String,
        parameters: String
    ) {
        (self.paymentID, self.optionID, self.index, self.count) = (paymentID, optionID, index, count)
        (self.chainID, self.method, self.parameters) = (chainID, method, parameters)
    }
}

/// What a terminal says in its answer to the handshake. Source: BPP/1, section 7.2.
public struct TerminalOffer: Sendable, Hashable {
    public var certificate: Signed<TerminalCertificate>
    /// Nil on a link made before there is a payment: REQUEST follows as a message.
    public var request: Signed<PaymentRequest>?
    public var timeSeconds: Int
    public var capabilities: TapCapabilities?

    public init(
        certificate: Signed<TerminalCertificate>,
        request: Signed<PaymentRequest>?,
        timeSeconds: Int,
        capabilities: TapCapabilities? = nil
    ) {
        (self.certificate, self.request) = (certificate, request)
        (self.timeSeconds, self.capabilities) = (timeSeconds, capabilities)
    }

    /// Reads the payload of the handshake's answer. Takes any bytes; no signature is checked.
    public init(decoding bytes: [UInt8]) throws(MalformedObject) {
        var fields = try ObjectFields(try TapMessage.item(bytes))
        certificate = try Signed(decoding: try fields.bytes(1, 1...Framing.maximumMessageBytes))
        if let item = fields.optional(2) {
            guard case .bytes(let bytes) = item else { throw .wrongType(key: 2) }
            request = try Signed(decoding: bytes)
        }
        timeSeconds = try fields.number(3)
        capabilities = try fields.optionalNumber(4).map(TapCapabilities.init(rawValue:))
        try fields.finish()
    }

    public var encoded: [UInt8] {
        CBOR.map([
            1: .bytes(certificate.encoded), 2: request.map { .bytes($0.encoded) }, 3: .integer(timeSeconds),
            4: capabilities.map { .integer($0.rawValue) },
        ]).encoded
    }
}

/// Numbers the messages of one direction, and holds the other side to its own numbers.
public struct MessageNumbering: Sendable, Hashable {
    private var last = 0

    public init() {}

    /// The number of the next message to send.
    public mutating func next() -> Int {
        last += 1
        return last
    }

    /// True for the number that must come next. A wrong one is ERROR 0x01.
    public mutating func accepts(_ number: Int) -> Bool {
        guard number == last + 1 else { return false }
        last = number
        return true
    }
}
