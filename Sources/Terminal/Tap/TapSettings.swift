public import TapProtocol

/// What the merchant set about Tap.
///
/// Read leniently: a field that is missing has its default, and one that is not understood too, and is named in
/// ``notUnderstood``, so that settings of another version never keep the terminal from starting.
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

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            try container.read(.mode, into: &mode)
            try container.read(.maximumPercent, into: &maximumPercent)
            try container.read(.presetsPercent, into: &presetsPercent)
        }
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

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            try container.read(.isAllowed, into: &isAllowed)
            try container.read(.floorMinorUnits, into: &floorMinorUnits)
            try container.read(.totalMinorUnits, into: &totalMinorUnits)
            try container.read(.maximumHours, into: &maximumHours)
        }
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
    /// The payment app's own link, which opens it from a tag: https, without a fragment. Empty: tags have the scheme `bpp`.
    public var appLink = ""
    /// The project at WalletConnect under which the terminal asks the gateway for wallets without network. Empty: it does
    /// not.
    public var walletProjectID = ""
    /// From this amount on both screens show four digits to compare. Nil: never. Minor units.
    public var shortCodeAboveMinorUnits: Int64?
    public var timers = TapTimers()
    /// Names of stored fields that this version does not understand. While there are any, no payment is offered to phones.
    public internal(set) var notUnderstood: [String] = []

    public init() {}

    /// The service's name as text.
    public var serviceText: String { characteristics.service.description }
    /// The names of its characteristics; empty where one follows from the service.
    public var writeText: String { characteristics.ownWrite?.description ?? "" }
    public var statusText: String { characteristics.ownStatus?.description ?? "" }
    public var readText: String { characteristics.ownRead?.description ?? "" }

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

extension TapSettings {
    private enum CodingKeys: String, CodingKey {
        case isEnabled, mode, thresholds, acceptsUnknownSignal, tips, offline, acquirerURL, terminalID, acquirerLogin
        case characteristics, appLink, walletProjectID, shortCodeAboveMinorUnits, timers
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        var unknown: [String] = []
        func take<Value: Decodable>(_ key: CodingKeys, _ value: inout Value) {
            do { try container.read(key, into: &value) } catch { unknown.append(key.stringValue) }
        }
        take(.isEnabled, &isEnabled)
        take(.mode, &mode)
        take(.thresholds, &thresholds)
        take(.acceptsUnknownSignal, &acceptsUnknownSignal)
        take(.tips, &tips)
        take(.offline, &offline)
        take(.acquirerURL, &acquirerURL)
        take(.terminalID, &terminalID)
        take(.acquirerLogin, &acquirerLogin)
        take(.characteristics, &characteristics)
        take(.appLink, &appLink)
        take(.walletProjectID, &walletProjectID)
        take(.shortCodeAboveMinorUnits, &shortCodeAboveMinorUnits)
        take(.timers, &timers)
        notUnderstood = unknown
    }
}

extension KeyedDecodingContainer {
    /// Leaves `value` as it is where nothing is stored.
    func read<Value: Decodable>(_ key: Key, into value: inout Value) throws {
        if let stored = try decodeIfPresent(Value.self, forKey: key) { value = stored }
    }
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
