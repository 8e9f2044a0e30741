public import Ethereum
public import TapProtocol

/// How a phone is set up.
public struct PhoneConfiguration: Sendable {
    /// The service that merchants configured.
    public var service: ServiceUUID
    /// What the phone has read off a terminal, if it did.
    public var tag: TerminalTag?
    public var environment: TerminalCertificate.Environment
    public var user: PhoneUser
    /// The account that signs on rail 3.
    public var wallet: PrivateKey?
    /// What is pre-authorised while the gateway can be reached.
    public var voucherWish: VoucherWish?
    /// Trusted from the start, beside those that the gateway names.
    public var keys: [TrustedGatewayKey]
    public var isOnline: Bool
    /// A phone that has no keys yet fetches them and its passes before it opens its pay screen, also where it is offline
    /// from then on: nobody carries a phone that was never online.
    public var preparesFirst: Bool
    /// The network comes back after this.
    public var backOnlineAfter: Duration?
    /// The longest message that this phone takes, 2048 to 4096.
    public var messageBytes: Int
    /// Where the power goes out, once.
    public var diesAt: KillPoint?
    /// Stop after the first payment.
    public var isOnce: Bool
    /// Online passes kept in store.
    public var passCount: Int
    public var timing: PhoneTiming

    public init(
        service: ServiceUUID = .standard,
        tag: TerminalTag? = nil,
        environment: TerminalCertificate.Environment = .test,
        user: PhoneUser = PhoneUser(),
        wallet: PrivateKey? = nil,
        voucherWish: VoucherWish? = nil,
        keys: [TrustedGatewayKey] = [],
        isOnline: Bool = true,
        preparesFirst: Bool = false,
        backOnlineAfter: Duration? = nil,
        messageBytes: Int = Framing.maximumMessageBytes,
        diesAt: KillPoint? = nil,
        isOnce: Bool = false,
        passCount: Int = 4,
        timing: PhoneTiming = PhoneTiming()
    ) {
        (self.service, self.tag, self.environment, self.user) = (service, tag, environment, user)
        (self.wallet, self.voucherWish, self.keys) = (wallet, voucherWish, keys)
        (self.isOnline, self.preparesFirst) = (isOnline, preparesFirst)
        (self.backOnlineAfter, self.messageBytes) = (backOnlineAfter, messageBytes)
        (self.diesAt, self.isOnce, self.passCount, self.timing) = (diesAt, isOnce, passCount, timing)
    }
}

/// The phone's time limits. Source: BPP/1, section 13.
public struct PhoneTiming: Sendable, Equatable {
    /// The pay screen without anybody.
    public var advertising = Duration.seconds(180)
    public var keepAlive = Duration.seconds(5)
    /// From ACCEPT to its second sending, where nothing came back.
    public var claim = Duration.seconds(2)
    public var acknowledge = Duration.seconds(1)
    /// The end stays on the screen.
    public var closing = Duration.seconds(5)
    /// Between two questions to the gateway.
    public var asking = Duration.seconds(2)
    /// How long the gateway may take to say what a terminal has announced; a terminal waits three seconds to be answered.
    public var comparing = Duration.seconds(1)

    public init() {}
}

/// A moment at which the phone loses its power, for trials: nothing is written or sent from there on.
public struct KillPoint: Sendable, Hashable {
    public enum Moment: String, Sendable, Hashable, CaseIterable {
        /// What goes before the message is on the disk; the message has not left.
        case before
        /// The message has left.
        case sent
        /// The message has come and nothing was done about it.
        case heard
    }

    public var moment: Moment
    /// The number of the kind of message, for example 34 for ACCEPT.
    public var type: Int

    public init(_ moment: Moment, _ type: Int) { (self.moment, self.type) = (moment, type) }

    /// Reads `sent:34`; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let moment = Moment(rawValue: String(parts[0])), let type = Int(parts[1]),
            1...127 ~= type
        else { return nil }
        self.init(moment, type)
    }
}
