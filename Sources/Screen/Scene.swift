public import Packing

/// What the terminal's screen says, as one value. Amounts, codes and names arrive ready to read; the fixed words
/// come from `ScreenText`. Texts may be hostile: control and direction characters are dropped and lengths bounded
/// here, and what does not fit is shrunk, wrapped or cut with an ellipsis. Only `setup`, `charge` and `message` can carry a QR
/// code, and a message's page says that it is no payment.
public enum Scene: Sendable, Equatable {
    /// After power-on, while earlier payments are asked about. 0 means nothing was open.
    case starting(checkingPayments: Int)
    case idle(Idle)
    case setup(Setup)
    case charge(ChargeView)
    case processing(Processing)
    case paid(Paid)
    case promised(Promised)
    case notPaid(NotPaid)
    case unknown(Unknown)
    case offline(Offline)
    case message(Message)
    case keypad(Keypad)
    case update(Update)
    case backup(Backup)
    case onboarding(Onboarding)
    case ownerReset(OwnerReset)

    /// Waiting for the next customer. Carries no link on purpose.
    public struct Idle: Sendable, Equatable {
        public var merchantName: String
        /// One light per way to pay that is switched on, each with words beside its colour.
        public var lights: [Light]
        /// For example `14:05`, already formatted. A new text redraws the clock only.
        public var clockText: String?
        /// Where staff reach the terminal's page, as text to read and never as a QR code: `https://till.local`.
        public var webAddressText: String?
        /// What staff have still to see, the most important first. One is shown; the others are counted.
        public var notices: [Notice]
        /// Set while the owner is setting the terminal up.
        public var progress: Progress?
        /// The merchant's, above the name.
        public var logo: Picture?
        /// Set while nobody is expected: little light, or none.
        public var rest: Rest?

        /// How a screen rests.
        public enum Rest: Sendable, Equatable, CaseIterable {
            /// The name alone, in grey on black.
            case dim
            /// Black, and switched off where the device can be.
            case dark
        }

        public init(
            merchantName: String,
            logo: Picture? = nil,
            lights: [Light] = [],
            clockText: String? = nil,
            webAddressText: String? = nil,
            notices: [Notice] = [],
            progress: Progress? = nil,
            rest: Rest? = nil
        ) {
            (self.progress, self.rest) = (progress, rest)
            self.logo = logo
            self.merchantName = merchantName
            self.lights = lights
            self.clockText = clockText
            self.webAddressText = webAddressText
            self.notices = notices
        }
    }

    /// How far the set-up has come.
    public struct Progress: Sendable, Equatable {
        /// From 1.
        public var step: Int
        public var count: Int

        public init(step: Int, count: Int) { (self.step, self.count) = (step, count) }
    }

    /// A payment that came when nobody waited for it.
    public struct Notice: Sendable, Equatable {
        public enum Kind: Sendable, Equatable, CaseIterable { case late, paidTwice }

        public var kind: Kind
        /// Amount and currency, ready to read.
        public var amountText: String
        public var chargeCode: String

        public init(_ kind: Kind, amountText: String, chargeCode: String) {
            (self.kind, self.amountText, self.chargeCode) = (kind, amountText, chargeCode)
        }
    }

    /// Whether one way to pay can be used now.
    public struct Light: Sendable, Equatable {
        public var way: WayToPay
        public var readiness: Readiness

        public enum Readiness: Sendable, Equatable, CaseIterable { case ready, connecting, unavailable }

        public init(_ way: WayToPay, _ readiness: Readiness) { (self.way, self.readiness) = (way, readiness) }
    }

    /// The three ways a customer can pay.
    public enum WayToPay: Sendable, Equatable, CaseIterable { case scan, tap, connect }

    /// Not claimed or not set up yet: how the owner takes the terminal over.
    public struct Setup: Sendable, Equatable {
        /// What the code is for.
        public enum Purpose: Sendable, Equatable { case claim, reset }

        public var purpose: Purpose
        /// Drawn as a QR code, byte for byte. The caller checked it against its list of allowed hosts.
        public var claimAddress: String
        /// The same address for people to type.
        public var addressText: String
        public var claimCode: String
        /// Beginning of the fingerprint of the page's certificate, to compare with what the browser shows: `3F9A 12C4 …`.
        public var fingerprintText: String

        public init(
            purpose: Purpose = .claim,
            claimAddress: String,
            addressText: String,
            claimCode: String,
            fingerprintText: String
        ) {
            self.purpose = purpose
            self.claimAddress = claimAddress
            self.addressText = addressText
            self.claimCode = claimCode
            self.fingerprintText = fingerprintText
        }
    }

    /// A charge the customer can pay now.
    public struct ChargeView: Sendable, Equatable {
        public var merchantName: String
        /// Amount and currency, ready to read: `€12.50`.
        public var amountText: String
        /// The tip that is part of the amount, ready to read; nil when there is none.
        public var tipText: String?
        /// Drawn as a QR code, byte for byte. The caller checked it against its list of allowed hosts. Nil where only a
        /// phone held near can pay.
        public var link: String?
        /// Whether `link` is a page for any phone's camera, and not for a wallet. The page has the ways to pay.
        public var opensPage: Bool
        /// Whether `link` is the form of a wallet that has connected: while it is asked for, nothing else is the customer's to
        /// scan there.
        public var opensForm: Bool
        /// What phones read to find this terminal, where they must: a second code beside `link`'s, or the only one. Left
        /// out where both would be too small to be read; `link` is then shown alone.
        public var tag: String?
        /// The form in which a customer gives details first. Its code takes the place of the tag's, and never of `link`'s: a
        /// phone nearby takes nothing away from who scans. Where both would be too small they take turns.
        public var form: Form?
        /// Whose turn it is where a form and `link` have no room beside each other.
        public var turn: Turn
        /// Four digits of each phone that is asked, for customers to compare.
        public var shortCodes: [String]
        public var waysToPay: [WayToPay]
        /// Shown as `M:SS`; nil when the authority set no deadline. Negative counts as 0.
        public var secondsLeft: Int?
        /// Short code that also stands in the wallet and the receipt, so that a sticker over the QR is noticed.
        public var chargeCode: String
        public var note: Note?
        /// The merchant's, above the name.
        public var logo: Picture?

        /// A form to be filled in first.
        public struct Form: Sendable, Equatable {
            /// Drawn as a QR code, byte for byte. The caller checked it against its list of allowed hosts.
            public var link: String
            /// Who is asked for it: `tap` a phone held near, `connect` a wallet that has connected.
            public var way: WayToPay

            public init(link: String, way: WayToPay) { (self.link, self.way) = (link, way) }
        }

        /// Which of two codes has the page.
        public enum Turn: Sendable, Equatable, CaseIterable { case form, payment }

        public enum Note: Sendable, Equatable {
            /// The gateway does not answer: whether the customer paid is not known yet.
            case gatewaySilent
            /// A wallet has connected and asks its owner; its own name.
            case walletAsks(String)
            /// The code is a form's, to be filled in first.
            case form
            /// Why the last wallet did not pay, ready to read.
            case wallet(String)
        }

        public init(
            merchantName: String,
            amountText: String,
            tipText: String? = nil,
            link: String?,
            opensPage: Bool = false,
            opensForm: Bool = false,
            tag: String? = nil,
            form: Form? = nil,
            turn: Turn = .form,
            waysToPay: [WayToPay] = [.scan],
            shortCodes: [String] = [],
            secondsLeft: Int? = nil,
            chargeCode: String,
            note: Note? = nil,
            logo: Picture? = nil
        ) {
            self.logo = logo
            self.merchantName = merchantName
            (self.amountText, self.tipText) = (amountText, tipText)
            (self.link, self.opensPage, self.opensForm) = (link, opensPage, opensForm)
            (self.tag, self.form, self.turn) = (tag, form, turn)
            self.shortCodes = shortCodes
            self.waysToPay = waysToPay
            self.secondsLeft = secondsLeft
            self.chargeCode = chargeCode
            self.note = note
        }
    }

    /// The customer approved; money may be moving.
    public struct Processing: Sendable, Equatable {
        public var merchantName: String
        public var amountText: String
        /// The tip that is part of the amount, ready to read; nil when there is none.
        public var tipText: String?
        public var chargeCode: String
        /// Four digits that the paying phone shows too; nil where none are compared.
        public var shortCode: String?

        public init(
            merchantName: String,
            amountText: String,
            tipText: String? = nil,
            chargeCode: String,
            shortCode: String? = nil
        ) {
            self.merchantName = merchantName
            (self.amountText, self.tipText) = (amountText, tipText)
            (self.chargeCode, self.shortCode) = (chargeCode, shortCode)
        }
    }

    /// Who may say how a payment ended.
    public enum Authority: Sendable, Equatable, CaseIterable { case gateway, acquirer }

    /// The authority said the money is the merchant's.
    public struct Paid: Sendable, Equatable {
        public var merchantName: String
        public var amountText: String
        /// The tip that is part of the amount, ready to read; nil when there was none.
        public var tipText: String?
        public var chargeCode: String
        /// True when it arrived after the terminal had stopped waiting for it.
        public var arrivedLate: Bool
        /// Who has confirmed it.
        public var confirmedBy: Authority?

        public init(
            merchantName: String,
            amountText: String,
            tipText: String? = nil,
            chargeCode: String,
            arrivedLate: Bool = false,
            confirmedBy: Authority? = nil
        ) {
            self.merchantName = merchantName
            self.amountText = amountText
            self.tipText = tipText
            self.chargeCode = chargeCode
            (self.arrivedLate, self.confirmedBy) = (arrivedLate, confirmedBy)
        }
    }

    /// The customer's phone has promised the money while nobody could be asked. Not paid yet, and nothing to wait for.
    public struct Promised: Sendable, Equatable {
        public var merchantName: String
        public var amountText: String
        /// The tip that is part of the amount, ready to read; nil when there was none.
        public var tipText: String?
        public var chargeCode: String

        public init(merchantName: String, amountText: String, tipText: String? = nil, chargeCode: String) {
            (self.merchantName, self.amountText) = (merchantName, amountText)
            (self.tipText, self.chargeCode) = (tipText, chargeCode)
        }
    }

    /// The authority said no money moved. The page speaks to the customer, in the screen's own words: a reason is for staff.
    public struct NotPaid: Sendable, Equatable {
        public enum Kind: Sendable, Equatable, CaseIterable { case failed, expired, cancelled, refused }

        public var kind: Kind
        public var amountText: String?
        public var chargeCode: String?

        public init(kind: Kind, amountText: String? = nil, chargeCode: String? = nil) {
            (self.kind, self.amountText, self.chargeCode) = (kind, amountText, chargeCode)
        }
    }

    /// Nobody with authority has said how the payment ended. Not a failure.
    public struct Unknown: Sendable, Equatable {
        public var amountText: String?
        public var chargeCode: String?

        public init(amountText: String? = nil, chargeCode: String? = nil) {
            (self.amountText, self.chargeCode) = (amountText, chargeCode)
        }
    }

    /// No way to pay works at present.
    public struct Offline: Sendable, Equatable {
        public var merchantName: String
        /// A sentence for staff about the cause; nil shows the usual one.
        public var detail: String?
        /// Set where nothing can be written down; then this is said, in the screen's own words, and not `detail`.
        public var storage: Storage?
        /// The day that the clock says, where nobody has set it and it is the cause: then that is said, and not `detail`.
        public var clockText: String?
        /// The time of day until which the gateway asked to be left alone, where that is the cause: then that is said, and
        /// not `detail`.
        public var pausedUntilText: String?

        /// Why nothing can be written down.
        public enum Storage: Sendable, Equatable, CaseIterable { case full, readOnly, damaged, newer, inUse, failed }

        public init(
            merchantName: String,
            detail: String? = nil,
            storage: Storage? = nil,
            clockText: String? = nil,
            pausedUntilText: String? = nil
        ) {
            (self.merchantName, self.detail, self.storage) = (merchantName, detail, storage)
            (self.clockText, self.pausedUntilText) = (clockText, pausedUntilText)
        }
    }

    /// What the shop's own till has to say while nobody pays. Its page has a ground of its own and says that it is no payment.
    public struct Message: Sendable, Equatable {
        public var title: String
        public var text: String
        /// Drawn as a QR code, byte for byte. The caller has made sure that nothing can be paid by it.
        public var code: String?
        /// What the customer chooses from, by telling staff. Numbered in this order.
        public var options: [String]

        public init(title: String, text: String = "", code: String? = nil, options: [String] = []) {
            (self.title, self.text, self.code, self.options) = (title, text, code, options)
        }
    }

    /// What staff do on the keypad beside the screen.
    public struct Keypad: Sendable, Equatable {
        /// What stands there, and with it what the keys do.
        public enum Kind: Sendable, Equatable, CaseIterable {
            /// An amount while it is typed.
            case typing
            /// The same, where a key was not taken or the sum could be read in two ways: Enter charges nothing.
            case notAnAmount
            /// The same, charged with the next Enter.
            case confirming
            /// Whether to take a charge back.
            case cancel
            /// Whether to go on without an answer about a payment.
            case release
            /// Money may be moving.
            case tooLate
            case notCharged
            /// Everything is about to be erased: asks for the code that stands there.
            case erase
            /// Payments without a final answer.
            case cannotErase
            /// Erasing failed, or nobody knows whether payments are open.
            case notErased
            case erasing
        }

        public var kind: Kind
        /// Ready to read; of a sum the whole of it.
        public var amountText: String?
        /// The amounts of a sum so far: how many, and what is typed of the next one.
        public var sum: Sum?
        public var chargeCode: String?
        /// Of `erase`: what is to be typed, and what was.
        public var code: String?
        public var typed: String
        /// Of `cannotErase`.
        public var openPayments: Int
        /// A sentence about why nothing was charged; nil shows the usual one.
        public var whatHappened: String?
        public var whatToDo: String?

        /// Amounts that are added up.
        public struct Sum: Sendable, Equatable {
            public var count: Int
            /// What is typed of the newest one, ready to read.
            public var newestText: String

            public init(count: Int, newestText: String) { (self.count, self.newestText) = (count, newestText) }
        }

        public init(
            _ kind: Kind,
            amountText: String? = nil,
            sum: Sum? = nil,
            chargeCode: String? = nil,
            code: String? = nil,
            typed: String = "",
            openPayments: Int = 0,
            whatHappened: String? = nil,
            whatToDo: String? = nil
        ) {
            (self.kind, self.amountText, self.sum, self.chargeCode) = (kind, amountText, sum, chargeCode)
            (self.code, self.typed, self.openPayments) = (code, typed, openPayments)
            (self.whatHappened, self.whatToDo) = (whatHappened, whatToDo)
        }
    }

    /// A new version of the system, on its way in or tried.
    public struct Update: Sendable, Equatable {
        /// What stands there.
        public enum Kind: Sendable, Equatable, CaseIterable {
            /// It is being written. Nobody may charge, or switch off.
            case installing
            /// It is written, and the machine starts anew.
            case restarting
            /// The machine has started with it, and it has to show that it works.
            case trying
            /// It works.
            case updated
            /// It was not started, or left: the version before runs.
            case notUpdated
            /// It is not installed: nobody who may has signed it, half of it is missing, it is for other machines, nobody may
            /// sign for this one, it is not newer, or it could not be written.
            case signature, notWhole, otherMachine, nobodyMaySign, notNewer, notInstalled
        }

        public var kind: Kind
        /// Of `installing`, 0 to 100.
        public var percent: Int?
        /// Which one it is, ready to read.
        public var version: String?

        public init(_ kind: Kind, percent: Int? = nil, version: String? = nil) {
            (self.kind, self.percent, self.version) = (kind, percent, version)
        }
    }

    /// The text of the QR code this scene carries; of two, the one that money goes by.
    public var qrText: String? {
        switch self {
        case .setup(let setup): setup.claimAddress
        case .charge(let charge): charge.link ?? charge.form?.link ?? charge.tag
        case .message(let message): message.code
        default: nil
        }
    }

    /// Whether nothing at all is to be seen.
    var isDark: Bool {
        if case .idle(let idle) = self { return idle.rest == .dark }
        return false
    }
}
