import Payments
import Screen

/// What a customer's own phone is told of a charge, in the words of the screen.
///
/// Made from the same scene that the screen shows, so that the two cannot disagree. It holds nothing of the shop but what
/// stands on the screen: no reference, no operator, no reason meant for staff.
public struct CustomerView: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        /// Nothing to pay with yet.
        case opening
        /// The customer can pay.
        case waiting
        case processing, promised, paid, notPaid, unknown
        /// Paid, and all of it is refunded: by the acquirer, or by staff, who wrote it down.
        case givenBack
    }

    public let kind: Kind
    /// Empty while the customer can pay: then the ways to pay say it.
    public let title: String
    public let details: [String]
    public let merchantName: String
    public let amountText: String
    /// Stands on the screen too, to compare.
    public let code: String
    /// Whole seconds the customer still has; nil where no time runs.
    public let secondsLeft: Int?
    /// The payment's own link; nil unless it can be paid now.
    public let paymentLink: String?
    /// What connects any wallet, with the payment's link in it where one code serves both; nil unless that is possible now.
    public let pairing: String?
    /// A form that the customer has to fill in first, `https://…`.
    public let form: String?
    /// What the screen's code would say without this page, for another device.
    public let scannable: String?
    /// True once the payment has ended. A payment can still come late, and money can go back.
    public let isOver: Bool
    /// The words around it.
    public let words: Words

    public struct Words: Sendable, Equatable {
        /// BCP 47.
        public let language: String
        public let readsRightToLeft: Bool
        public let timeLeft: String
        public let code: String
    }

    init(
        of snapshot: ChargeSnapshot,
        trouble: Reason?,
        at now: Duration,
        text: ScreenText = .english
    ) {
        let charge = snapshot.charge
        let (kind, title, details) =
            charge.isGivenBack
            ? (
                .givenBack, text.givenBackTitle,
                [charge.isRefundedByHand ? text.refundRecordedDetail : text.givenBackDetail]
            )
            : Self.said(ScreenDirector.scene(of: snapshot, trouble: trouble, at: now).said(in: text), text)
        (self.kind, self.title, self.details) = (kind, title, details)
        merchantName = charge.terms.merchantName
        amountText = snapshot.amountText
        code = charge.terms.code.rawValue
        secondsLeft = kind == .waiting ? snapshot.secondsLeft : nil
        let isWaiting = kind == .waiting
        form = isWaiting ? snapshot.connect?.formURL : nil
        scannable = isWaiting ? snapshot.link : nil
        let link = isWaiting ? snapshot.paymentLink : nil
        paymentLink = link
        pairing =
            isWaiting
            ? snapshot.pairingURI.map { uri in
                guard let link, snapshot.codeChoice == .both else { return uri }
                return ConnectCode.text(of: uri, carrying: link) ?? uri
            } : nil
        isOver = charge.state.isFinal
        words = Words(
            language: text.languageTag,
            readsRightToLeft: text.readsRightToLeft,
            timeLeft: text.timeLeft,
            code: text.chargeCode
        )
    }

    private static func said(_ scene: Scene, _ text: ScreenText) -> (Kind, title: String, details: [String]) {
        switch scene {
        case .charge(let view): return (.waiting, "", tip(view.tipText, text) + words(of: view.note, text))
        case .processing(let processing):
            return (.processing, text.processingTitle, tip(processing.tipText, text) + [text.processingDetail])
        case .promised(let promised):
            return (.promised, text.promisedTitle, tip(promised.tipText, text) + [text.promisedDetail])
        case .paid(let paid):
            return (.paid, text.paidTitle, tip(paid.tipText, text) + (paid.arrivedLate ? [text.arrivedLate] : []))
        case .notPaid(let notPaid):
            // The usual words: what the screen says beyond them is meant for staff.
            let kind = notPaid.kind
            return (
                .notPaid, text.notPaidTitles(kind), [text.notPaidWhatHappened(kind), text.notPaidWhatToDo(kind)]
            )
        case .unknown: return (.unknown, text.unknownTitle, [text.unknownWarning, text.unknownWhatToDo])
        case .offline: return (.opening, text.offlineTitle, [text.offlineDetail])
        case .starting, .idle, .setup, .message, .keypad, .update, .backup, .onboarding, .ownerReset:
            return (.opening, text.startingTitle, [text.startingDetail])
        }
    }

    private static func words(of note: Scene.ChargeView.Note?, _ text: ScreenText) -> [String] {
        switch note {
        case nil: []
        case .gatewaySilent: [text.gatewaySilent]
        case .walletAsks(let name): [text.walletAsks(name)]
        case .form: []  // The page has the form's own button.
        case .wallet(let words): [words]
        }
    }

    private static func tip(_ tipText: String?, _ text: ScreenText) -> [String] {
        tipText.map { ["\(text.tip) \($0)"] } ?? []
    }
}

/// A QR code as an SVG path; see `Screen.QRPicture`.
public struct CodePicture: Sendable, Equatable {
    /// Units per side, the quiet zone included.
    public let side: Int
    /// The `d` of an SVG path.
    public let path: String

    /// Nil for an empty text and for one that is too long for a code.
    public init?(_ text: String) {
        guard let picture = QRPicture(text) else { return nil }
        (side, path) = (picture.side, picture.path)
    }
}
