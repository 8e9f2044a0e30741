public import Payments

/// What a customer takes home of one charge: who was paid what, and how far that is true.
///
/// A value made from the charge as it stands. It says *paid* on the authority's word only; whatever else it says, it says
/// too that it proves no payment. Every text from outside is cleaned and shortened here, once, so that no renderer has to
/// trust any.
public struct Receipt: Sendable, Equatable {
    /// Who is paid, and what stands above and below, as the owner set it.
    public struct Shop: Sendable, Equatable {
        /// The name of this terminal, for shops that have several; nil where it has none.
        public var terminal: String?
        /// Lines below the merchant's name, such as address and tax number; ``Receipt/mostLines`` at most.
        public var header: [String]
        /// Lines at the end; ``Receipt/mostLines`` at most.
        public var footer: [String]
        /// BCP 47 tag of what the receipt speaks.
        public var language: String
        /// How amounts are written.
        public var format: AmountFormat
        /// Seconds that the shop's clocks are ahead of UTC at a moment.
        public var secondsAheadOfUTC: @Sendable (WallTime) -> Int

        public init(
            terminal: String? = nil,
            header: [String] = [],
            footer: [String] = [],
            language: String = "en",
            format: AmountFormat = .english,
            secondsAheadOfUTC: @escaping @Sendable (WallTime) -> Int = { _ in 0 }
        ) {
            (self.terminal, self.header, self.footer) = (terminal, header, footer)
            self.language = language
            (self.format, self.secondsAheadOfUTC) = (format, secondsAheadOfUTC)
        }

        public static func == (lhs: Shop, rhs: Shop) -> Bool {
            (lhs.terminal, lhs.header, lhs.footer, lhs.language, lhs.format)
                == (rhs.terminal, rhs.header, rhs.footer, rhs.language, rhs.format)
        }
    }

    /// Most lines above or below.
    public static let mostLines = 6
    /// Most characters of such a line.
    public static let longestLine = 80

    /// BCP 47 tag of what it speaks.
    public let language: String
    public let merchantName: String
    public let terminal: String?
    public let header: [String]
    public let footer: [String]
    public let standing: Standing
    /// Whether more than one payment was made for the charge and not given back.
    public let isPaidTwice: Bool
    /// Whether staff wrote down that they gave money back themselves, which no authority confirms.
    public let isRefundedByHand: Bool
    /// Whether a receipt of this charge was printed before.
    public let isCopy: Bool
    /// Without the tip; nil where there is none.
    public let amountText: String?
    public let tipText: String?
    public let totalText: String
    /// What of it staff gave back, where that is not all of it; nil where nothing was.
    public let refundedText: String?
    /// ISO 4217.
    public let currency: String
    /// When the charge was opened, and when this was written.
    public let openedAt: LocalTime
    public let issuedAt: LocalTime
    /// How it was paid; nil where it was not.
    public let way: Rail?
    /// What the customer's wallet paid, where the authority said so.
    public let paidWith: String?
    public let confirmedBy: Authority?
    public let reference: String?
    public let code: String
    public let chargeID: String
    public let merchantID: String
    public let paymentID: String?
    public let transactionID: String?

    /// The receipt of `charge` as it stands.
    /// - Parameters:
    ///   - now: When it is written: a charge can end after its receipt.
    ///   - isCopy: Whether one was printed before.
    ///   - isKnown: False where an answer about the charge is not recorded: the receipt then says that nobody knows.
    public init(of charge: Charge, shop: Shop, now: WallTime, isCopy: Bool = false, isKnown: Bool = true) {
        let terms = charge.terms
        func clean(_ text: String, _ limit: Int = 120) -> String { Receipt.clean(text, limit: limit) }
        language = shop.language
        merchantName = clean(terms.merchantName, Receipt.longestLine)
        terminal = shop.terminal.map { clean($0, 40) }.flatMap { $0.isEmpty ? nil : $0 }
        header = Receipt.lines(shop.header)
        footer = Receipt.lines(shop.footer)
        standing = isKnown ? Standing(of: charge) : .unknown
        isPaidTwice = !charge.surplusAttempts.isEmpty
        isRefundedByHand = charge.isRefundedByHand
        self.isCopy = isCopy
        let tip = Receipt.tip(of: charge)
        let base = charge.total.minorUnits.subtractingReportingOverflow(tip?.minorUnits ?? 0)
        amountText =
            tip == nil || base.overflow
            ? nil : shop.format.text(Money(minorUnits: base.partialValue, currency: charge.total.currency))
        tipText = tip.map(shop.format.text)
        totalText = shop.format.text(charge.total)
        let refunded = charge.isGivenBack ? 0 : charge.refundedMinorUnits
        refundedText =
            refunded > 0 ? shop.format.text(Money(minorUnits: refunded, currency: charge.total.currency)) : nil
        currency = charge.total.currency.code
        func local(_ time: WallTime) -> LocalTime {
            LocalTime(time, secondsAheadOfUTC: shop.secondsAheadOfUTC(time))
        }
        openedAt = local(terms.openedAt)
        issuedAt = local(now)
        let payer =
            charge.paidAttempt.flatMap(charge.attempt)
            ?? (charge.isPromised ? charge.attempts.first { $0.isOpen && $0.isPromised } : nil)
        way = payer.map(\.rail)
        paidWith = charge.evidence?.paid.map { paid in
            let network = paid.network.map { clean($0, 40) } ?? ""
            return "\(paid.plain) \(clean(paid.symbol, 20))" + (network.isEmpty ? "" : " (\(network))")
        }
        confirmedBy = charge.confirmedBy
        reference = terms.reference.map { clean($0) }.flatMap { $0.isEmpty ? nil : $0 }
        code = clean(terms.code.rawValue, 12)
        chargeID = terms.id.rawValue
        merchantID = clean(terms.merchantID, 80)
        let payment = charge.evidence?.paymentID ?? charge.attempts.lazy.compactMap(\.offer?.paymentID).first
        paymentID = payment.map { clean($0) }
        transactionID = charge.evidence?.transactionID.map { clean($0) }
    }

    /// What was added to the price, at the till or on the phone.
    private static func tip(of charge: Charge) -> Money? {
        let added = charge.total.minorUnits.subtractingReportingOverflow(charge.terms.amount.minorUnits)
        let sum = (charge.terms.tip?.minorUnits ?? 0).addingReportingOverflow(added.partialValue)
        guard !added.overflow, !sum.overflow, sum.partialValue > 0 else { return nil }
        return Money(minorUnits: sum.partialValue, currency: charge.total.currency)
    }

    private static func lines(_ texts: [String]) -> [String] {
        texts.prefix(mostLines).map { clean($0, limit: longestLine) }.filter { !$0.isEmpty }
    }
}

extension Receipt {
    /// How the charge stands, as far as a receipt goes.
    public enum Standing: String, Sendable, CaseIterable {
        /// On the authority's word.
        case paid
        /// Paid, and given back on the authority's word.
        case refunded
        /// A phone's promise that no authority has seen yet.
        case acceptedOffline
        case failed, expired, cancelled
        case notPaidYet
        case inProgress
        case unknown

        init(of charge: Charge) {
            self =
                switch charge.state {
                case .succeeded: charge.isGivenBack ? .refunded : .paid
                case .failed: .failed
                case .expired: .expired
                case .cancelled: .cancelled
                case .unknown: .unknown
                case .processing where charge.isPromised: .acceptedOffline
                case .created, .requiresAction, .processing:
                    if charge.isUnresolved { .unknown } else { charge.state == .processing ? .inProgress : .notPaidYet }
                }
        }

        /// Whether the receipt may be shown as evidence that the merchant has the money.
        public var provesPayment: Bool { self == .paid }
    }
}
