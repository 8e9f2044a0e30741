public import TapProtocol

/// What the merchant set about Tap.
public struct TapSettings: Sendable, Hashable, Codable {
    /// What customers may add at their phone.
    public struct Tips: Sendable, Hashable, Codable {
        public enum Mode: String, Sendable, Hashable, Codable, CaseIterable {
            case none, allowed
            /// The customer must choose; nothing is a choice too.
            case ask
        }
        public var mode = Mode.none
        /// Percent of the amount, 1 to 100.
        public var maximumPercent = 50
        /// Offered as buttons, percent of the amount, at most 8.
        public var presetsPercent = [5, 10, 15]

        public init() {}
    }

    /// What the terminal risks where nobody reaches the acquirer.
    public struct Offline: Sendable, Hashable, Codable {
        public var isAllowed = false
        /// Minor units of one payment.
        public var floorMinorUnits: Int64 = 2_000
        /// Minor units of everything that the acquirer has not seen yet.
        public var totalMinorUnits: Int64 = 20_000
        /// How long the terminal may have been without the acquirer, in hours, 1 to 72.
        public var maximumHours = 24

        public init() {}
    }

    public var isEnabled = false
    public var mode = TapMode.near
    public var thresholds = TapThresholds()
    /// For radios that know no signal strength. Phones then count as near without one.
    public var acceptsUnknownSignal = false
    public var tips = Tips()
    public var offline = Offline()
    /// Where instruments are charged.
    public var acquirerURL = ""
    /// The terminal's name at the acquirer.
    public var terminalID = ""
    /// Who logs in there for the merchant. The password is kept apart, sealed.
    public var acquirerLogin = ""
    public var characteristics = TapCharacteristics()
    /// The project at WalletConnect under which the terminal asks the gateway for wallets without network. Empty: it does
    /// not.
    public var walletProjectID = ""
    /// From this amount on both screens show four digits to compare. Nil: never. Minor units.
    public var shortCodeAboveMinorUnits: Int64?

    public init() {}

    /// The service's name as text.
    public var serviceText: String { characteristics.service.description }

    /// What a request says about tips.
    func tipTerms(for amount: Int) -> TipTerms {
        let mode: TipTerms.Mode =
            switch tips.mode {
            case .none: .none
            case .allowed: .allowed
            case .ask: .ask
            }
        guard mode != .none, let maximum = TipTerms.tip(on: amount, basisPoints: tips.maximumPercent * 100) else {
            return .none
        }
        return TipTerms(
            mode: mode,
            maximum: maximum,
            presetBasisPoints: tips.presetsPercent.filter { $0 <= tips.maximumPercent }.map { $0 * 100 }
        )
    }
}

/// How long the rail waits for what. Source: BPP/1, section 13.
public struct TapTimers: Sendable, Hashable {
    public var connect = Duration.seconds(10)
    public var hello = Duration.seconds(2)
    /// From the handshake's answer to RECEIVED; also for a write that the radio does not take.
    public var received = Duration.seconds(3)
    public var keepAlive = Duration.seconds(15)
    public var acknowledge = Duration.seconds(1)
    public var execute = Duration.seconds(30)
    /// Where only the phone reaches the acquirer.
    public var executeByPhone = Duration.seconds(45)
    public var recover = Duration.seconds(60)
    /// How long one scan lasts before it is begun anew: some radios report each phone once a scan.
    public var scan = Duration.seconds(2)
    /// In a crowd: how long phones are heard before the nearest of them is chosen.
    public var listen = Duration.milliseconds(300)
    /// How long the acquirer takes a bundle after its claim.
    public var submission = Duration.seconds(600)

    public init() {}
}

/// The terminal's own keys, made here and never shown.
public struct TapTerminalKeys: Sendable {
    public let agreement: AgreementKey
    public let signer: Ed25519Signer

    public init(agreement: AgreementKey, signer: Ed25519Signer) { (self.agreement, self.signer) = (agreement, signer) }
}

/// What the terminal shows phones, and whom it believes.
public struct TapCredentials: Sendable {
    public let keys: TapTerminalKeys
    public let certificate: Signed<TerminalCertificate>
    public let trusted: GatewayKeys

    public init(keys: TapTerminalKeys, certificate: Signed<TerminalCertificate>, trusted: GatewayKeys) {
        (self.keys, self.certificate, self.trusted) = (keys, certificate, trusted)
    }
}
