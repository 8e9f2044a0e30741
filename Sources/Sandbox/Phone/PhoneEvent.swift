public import TapProtocol

/// What happens on a phone, as its screen and its log tell it.
public enum PhoneEvent: Sendable, Equatable, CustomStringConvertible {
    /// The service that it advertises; nil: none.
    case advertising(ServiceUUID?)
    /// The prompt: everything from the certificate and the request, after all checks.
    case asked(PaymentID, merchant: String, amount: String, terminal: String, shortCode: String)
    case screenClosed
    case acceptDisabled
    case acceptEnabled
    /// Nothing was shown.
    case refused(RequestCheckNumber, TapErrorCode)
    case handshakeFailed(String)
    case accepted(PaymentID, total: String, with: String)
    case declined(PaymentID, PayerCancelReason)
    /// What the account is about to sign, read from the typed data.
    case signing(token: String, value: String, to: String)
    case signingRefused(String)
    /// The gateway wants to know something of the customer first: the form at this address is on the terminal's screen.
    case dataAsked(String)
    case sent(TapBody)
    case heard(TapBody)
    case linkEnded(String)
    case notice(PhonePayment.Notice)
    case online(Bool)
    case gateway(String)
    /// The terminal says how the wallet's payment ended; nobody has signed it.
    case reported(PaymentStatus, transaction: String?)
    case ended(PaymentID, PhoneOutcome)
    /// The storage failed: nothing leaves this phone any more.
    case broken(String)
    case died(KillPoint)

    public var description: String {
        switch self {
        case .advertising(let service): service.map { "Open      advertises \($0)" } ?? "Silent    advertises nothing"
        case .asked(_, let merchant, let amount, let terminal, let code):
            "Asked     \(merchant) asks for \(amount) (terminal \(terminal), code \(code))"
        case .screenClosed: "Screen    the request is off the screen"
        case .acceptDisabled: "Held      another wallet is paying"
        case .acceptEnabled: "Reopened  accepting is possible again"
        case .refused(let check, let code): "Refused   check P\(check.rawValue), error \(code.text)"
        case .handshakeFailed(let detail): "Refused   the handshake failed: \(detail)"
        case .accepted(_, let total, let means): "Accepted  \(total) with \(means)"
        case .declined(_, let reason): "Declined  (\(reason))"
        case .signing(let token, let value, let to): "Signing   \(value) \(token) to \(to)"
        case .signingRefused(let detail): "Refused   will not sign: \(detail)"
        case .dataAsked(let form): "Form      to be filled in first: \(form)"
        case .sent(let body): "Sent      \(body.name)"
        case .heard(let body): "Heard     \(body.name)"
        case .linkEnded(let detail): "Link      ended: \(detail)"
        case .notice(let notice): "Notice    \(notice)"
        case .online(let isOnline): isOnline ? "Online    the network is back" : "Offline   no network"
        case .gateway(let detail): "Gateway   \(detail)"
        case .reported(let status, let transaction):
            "Reported  the terminal says \(status)\(transaction.map { ", transaction \($0)" } ?? "")"
        case .ended(_, let outcome): "Ended     \(outcome.text)"
        case .broken(let detail): "Broken    \(detail): nothing leaves this phone any more"
        case .died(let point): "Died      as told, \(point.moment.rawValue) message \(point.type)"
        }
    }
}

/// How a payment ended for this phone.
public enum PhoneOutcome: Sendable, Equatable {
    case paid
    /// A voucher was given; the gateway has not settled it yet.
    case acceptedOffline
    case failed
    case declined
    /// Nothing was taken from this phone: another paid, the merchant cancelled, or time ran out.
    case notPaid
    /// It may have been charged, and nobody knows yet.
    case unknown

    public var text: String {
        switch self {
        case .paid: "paid"
        case .acceptedOffline: "paid with a voucher, settled later"
        case .failed: "not paid: the gateway declined"
        case .declined: "not paid: declined here"
        case .notPaid: "not paid"
        case .unknown: "not known yet: it may have been charged"
        }
    }
}

extension TapErrorCode {
    /// `0x14`.
    var text: String { "0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16) }
}

extension TapBody {
    /// The name of the message. Source: BPP/1, section 10; extension W.
    public var name: String {
        switch self {
        case .request: "REQUEST"
        case .claim(let claim): "CLAIM (attempt \(claim.payload.attempt), \(claim.payload.mode))"
        case .hold: "HOLD"
        case .reopen(_, let attempt): "REOPEN (attempt \(attempt))"
        case .otherPaid: "OTHER_PAID"
        case .cancelledByTerminal(_, let reason): "CANCEL_POS (\(reason))"
        case .options(_, let options, _): "OPTIONS (\(options.count))"
        case .sign(let order): "SIGN (\(order.index + 1) of \(order.count))"
        case .received(let notice): "RECEIVED (\(notice.state))"
        case .accept: "ACCEPT"
        case .cancelledByPayer(_, let reason): "CANCEL_PAY (\(reason))"
        case .keepAlive(_, let reason): "KEEPALIVE (\(reason))"
        case .accounts(_, let accounts): "ACCOUNTS (\(accounts.count))"
        case .choose(_, let option): "CHOOSE (\(option))"
        case .signatures(_, _, let signatures): "SIGNATURES (\(signatures.count))"
        case .acknowledge: "ACK"
        case .error(_, let code, let text): "ERROR \(code.text)\(text.map { " (\($0))" } ?? "")"
        case .ping: "PING"
        case .pong: "PONG"
        case .result(_, let status, let receipt, _): "RESULT (\(status)\(receipt == nil ? "" : ", receipt"))"
        case .bye(let reason): "BYE (\(reason))"
        }
    }
}

/// Amounts for people.
enum PhoneMoney {
    /// `25.50 USD`: minor units with `exponent` digits behind the point.
    static func text(_ minorUnits: Int, _ currency: String, exponent: Int) -> String {
        guard exponent > 0 else { return "\(minorUnits) \(currency)" }
        var digits = String(minorUnits)
        if digits.count <= exponent { digits = String(repeating: "0", count: exponent + 1 - digits.count) + digits }
        return "\(digits.dropLast(exponent)).\(digits.suffix(exponent)) \(currency)"
    }
}
