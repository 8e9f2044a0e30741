import FoundationEssentials
public import Packing
public import Payments
public import Screen

/// One charge as the screen, the page and the API show it: a copy, made by the desk.
public struct ChargeSnapshot: Sendable, Equatable {
    public let charge: Charge
    public let updatedAt: WallTime
    /// Whole seconds the customer still has, by the monotonic clock; nil when the charge does not wait for a customer.
    public let secondsLeft: Int?
    /// The monotonic moment the customer's time is over, on the terminal clock's `elapsed`.
    public let deadline: Duration?
    public let format: AmountFormat
    /// Whether the QR code on the screen was read back from its own pixels; nil before, and where there is no screen.
    public let isReadableOnScreen: Bool?
    /// Whole seconds for which the payment has been under way, by the monotonic clock; nil where it is not.
    public internal(set) var processingSeconds: Int?
    /// Whole seconds until staff are offered to go on without an answer; 0 where they are now, nil where they cannot.
    public internal(set) var releaseInSeconds: Int?
    /// Where the customer's own phone can follow it; nil where that is switched off or nothing can be paid there.
    public internal(set) var page: CustomerPageLink?
    /// What it shows of a wallet over the relay; nil where none can pay it.
    public let connect: ConnectView?
    /// Which wallets the code is for.
    public let codeChoice: CodeChoice
    /// Whether the journal takes what happens to the charge.
    public let recording: Recording
    /// Why its authority is not asked, or does not answer, where the terminal knows it.
    public internal(set) var hindrance: AskingHindrance?
    /// In which times of day are written for staff.
    var zone = TimeZone.current

    /// Which wallets the screen's code is for, where there is a choice.
    public enum CodeChoice: String, Sendable, Equatable {
        /// Those that open payment links.
        case payment
        /// Those that pair with the terminal.
        case pairing
        /// One code for both.
        case both
    }

    public init(
        charge: Charge,
        updatedAt: WallTime,
        secondsLeft: Int?,
        deadline: Duration?,
        format: AmountFormat,
        isReadableOnScreen: Bool? = nil,
        connect: ConnectView? = nil,
        codeChoice: CodeChoice = .both,
        page: CustomerPageLink? = nil,
        recording: Recording = .works
    ) {
        self.charge = charge
        self.recording = recording
        self.updatedAt = updatedAt
        self.secondsLeft = secondsLeft
        self.deadline = deadline
        self.format = format
        self.isReadableOnScreen = isReadableOnScreen
        self.page = page
        (self.connect, self.codeChoice) = (connect, codeChoice)
    }

    public var id: ChargeID { charge.id }
    /// What the customer pays in all.
    public var amountText: String { format.text(charge.total) }
    public var tipText: String? {
        let added = charge.total.minorUnits - charge.terms.amount.minorUnits
        let tip = Money(minorUnits: (charge.terms.tip?.minorUnits ?? 0) + added, currency: charge.total.currency)
        return charge.terms.tip == nil && added == 0 ? nil : format.text(tip)
    }
    /// What the QR carries while the customer can pay; nil at all other times, so that nothing stale is shown. A payment
    /// link, a pairing URI, one with the other in it, or a form's address.
    public var link: String? {
        guard isPayable else { return nil }
        // A wallet that has to fill in a form takes no code away from who pays otherwise.
        if paymentLink == nil, let form = connect?.formURL { return form }
        guard let uri = pairingURI else { return paymentLink }
        guard let link = paymentLink else { return uri }
        switch codeChoice {
        case .payment: return link
        case .pairing: return uri
        case .both: return ConnectCode.text(of: uri, carrying: link) ?? link
        }
    }

    /// The rails that the code is for; empty where it is a form, or where there is none.
    public var railsOfCode: Set<Rail> {
        guard isPayable, paymentLink != nil || connect?.formURL == nil else { return [] }
        switch (paymentLink, pairingURI, codeChoice) {
        case (_?, _?, .both): return [.scan, .connect]
        case (_?, nil, _), (_?, _?, .payment): return [.scan]
        case (nil, _?, _), (_?, _?, .pairing): return [.connect]
        case (nil, nil, _): return []
        }
    }

    /// Whether the customer can pay: what it takes may be shown.
    public var isPayable: Bool {
        charge.state == .requiresAction && !charge.isCancelRequested && !charge.isReleased && !charge.isClaimed
            && recording == .works
    }

    /// The gateway's link for wallets that open payment links; nil while nobody can pay by it.
    public var paymentLink: String? {
        guard isPayable else { return nil }
        return charge.attempts.lazy.filter { $0.isOpen && $0.rail == .scan }.compactMap(\.offer?.link).first
    }

    /// What a wallet pairs with this charge by, now: it is for one wallet and 300 seconds, and another one follows. Nil while
    /// none can. A key: print it nowhere.
    public var pairingURI: String? {
        guard isPayable, charge.attempts.contains(where: { $0.isOpen && $0.rail == .connect && $0.offer != nil }) else {
            return nil
        }
        return connect?.pairing
    }
}

/// When staff are offered to go on without an answer about a payment.
enum ReleaseOffer {
    /// An authority that answers does so within a few seconds: whoever goes on sooner gives an answer up that is on its way.
    static let patience = Duration.seconds(20)

    /// Whole seconds until it is offered; 0 at once, where nobody answers or nobody knows; nil where the charge cannot be let go.
    /// - Parameter processing: How long the payment has been under way; nil where that is not known.
    static func seconds(for charge: Charge, processing: Duration?) -> Int? {
        guard charge.canRelease else { return nil }
        guard charge.state == .processing, !charge.isUnresolved, let processing, processing < patience else { return 0 }
        let left = patience - max(.zero, processing)
        return Int(left.components.seconds) + (left.components.attoseconds > 0 ? 1 : 0)
    }
}

/// Whether payments can be made at the gateway, by its last answer.
public enum GatewayLight: Sendable, Hashable {
    /// Not asked yet.
    case unknown
    case ready
    /// No usable answer to the last question.
    case unreachable
    /// It does not accept the key or the merchant ID.
    case refused
    /// Its certificate is not believed, and nobody has set the clock that it was looked at by. Nothing left.
    case clock
    /// The gateway asked the terminal to wait. Nothing leaves before then, by the terminal's clock.
    case paused(until: WallTime)

    /// Stable, for programs: the case's name.
    public var word: String {
        switch self {
        case .unknown: "unknown"
        case .ready: "ready"
        case .unreachable: "unreachable"
        case .refused: "refused"
        case .clock: "clock"
        case .paused: "paused"
        }
    }

    /// Each ``word``.
    public static let words = ["unknown", "ready", "unreachable", "refused", "clock", "paused"]

    /// Why a request was not sent, in the words that mean ``clock``.
    public static let clockIsNotSet =
        "the gateway’s certificate cannot be checked, for nobody has set the terminal’s clock"
}

/// What the owner needs to take the terminal over, for its screen only.
public struct ClaimInvitation: Sendable, Equatable {
    /// What the code is for.
    public enum Purpose: Sendable, Equatable {
        /// To become the owner of a terminal that has none.
        case claim
        /// To set a new password. Charging goes on meanwhile.
        case reset
    }

    public let purpose: Purpose
    /// Opens the page for it; carries the code in its fragment, which browsers do not send.
    public let url: String
    /// The address alone, to type.
    public let address: String
    public let code: String
    /// SHA-256 of the terminal's certificate, to compare with the browser's warning.
    public let fingerprint: String

    public init(purpose: Purpose = .claim, url: String, address: String, code: String, fingerprint: String) {
        self.purpose = purpose
        (self.url, self.address, self.code, self.fingerprint) = (url, address, code, fingerprint)
    }
}

/// Money that came when nobody at the terminal waited for it. It stands there until staff have seen it.
public struct PaymentNotice: Sendable, Equatable, Identifiable {
    public typealias Kind = Charge.News

    /// The charge's.
    public let id: ChargeID
    public let kind: Kind
    public let code: ChargeCode
    public let amountText: String
    public let at: WallTime

    public init(id: ChargeID, kind: Kind, code: ChargeCode, amountText: String, at: WallTime) {
        (self.id, self.kind, self.code, self.amountText, self.at) = (id, kind, code, amountText, at)
    }
}

/// The whole terminal at one moment. Screen, page and API show this and nothing else.
public struct TerminalSnapshot: Sendable, Equatable {
    public enum Phase: Sendable, Equatable {
        /// Asking about earlier payments; new charges are refused.
        case starting(checking: Int)
        case unclaimed(ClaimInvitation)
        /// Claimed, but it does not know who is paid.
        case setup
        case idle
        /// As idle or before the set-up, with a code for the owner on the screen. A charge takes its place.
        case resetting(ClaimInvitation)
        /// A charge, until it ended and its result was shown.
        case charging(ChargeSnapshot)
    }

    public var phase: Phase
    public var gateway: GatewayLight
    /// Whether phones can pay by being held here.
    public var tap: TapStatus
    /// Whether wallets can pay over the relay.
    public var connect: ConnectStatus
    public var merchantName: String?
    /// BCP 47 tag of what the screen speaks; nil: English.
    public var language: String?
    /// Set while the terminal cannot record: what staff must know.
    public var trouble: Reason?
    /// What staff have still to see, newest first.
    public var notices: [PaymentNotice]
    /// Set while the owner is setting the terminal up.
    public var setUp: SetUpProgress?
    /// What the shop's till has put on the screen; charges and the owner's codes come first.
    public var message: ScreenMessage?
    /// The merchant's.
    public var logo: Picture?
    /// What staff do on the keypad, which has the screen while they do it; nil: nothing.
    public var keypad: Scene.Keypad?
    /// A new version of the whole system; a charge that is open comes first.
    public var update: SystemUpdate?
    /// How a backup on a stick, or one that is restored, stands; a charge that is open comes first, and goes on.
    public var backup: BackupProgress?
    /// A phone that connects the terminal to Wi-Fi; a charge that is open comes first.
    public var onboarding: Scene.Onboarding?
    /// Somebody at the terminal asks for a new owner password; a charge that is open comes first.
    public var ownerReset: OwnerReset?
    /// When the screen rests.
    public var rest: ScreenRest
    /// Counts who touched the terminal, for a screen that rests.
    public var wakes: Int
    /// Whether the end of a payment is heard, and how loud.
    public var sound: SoundSettings
    public var at: WallTime
    /// In which times of day are written for staff.
    var zone = TimeZone.current

    public init(
        phase: Phase,
        gateway: GatewayLight,
        merchantName: String?,
        language: String? = nil,
        trouble: Reason? = nil,
        notices: [PaymentNotice] = [],
        tap: TapStatus = TapStatus(),
        connect: ConnectStatus = ConnectStatus(),
        setUp: SetUpProgress? = nil,
        message: ScreenMessage? = nil,
        logo: Picture? = nil,
        keypad: Scene.Keypad? = nil,
        update: SystemUpdate? = nil,
        backup: BackupProgress? = nil,
        onboarding: Scene.Onboarding? = nil,
        ownerReset: OwnerReset? = nil,
        rest: ScreenRest = ScreenRest(),
        wakes: Int = 0,
        sound: SoundSettings = SoundSettings(),
        at: WallTime
    ) {
        (self.tap, self.message, self.setUp, self.logo) = (tap, message, setUp, logo)
        (self.keypad, self.update, self.backup) = (keypad, update, backup)
        (self.onboarding, self.ownerReset) = (onboarding, ownerReset)
        (self.rest, self.wakes, self.sound) = (rest, wakes, sound)
        self.connect = connect
        self.phase = phase
        self.gateway = gateway
        self.merchantName = merchantName
        self.language = language
        self.trouble = trouble
        self.notices = notices
        self.at = at
    }
}
