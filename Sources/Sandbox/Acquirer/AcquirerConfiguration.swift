import Acquirer
import Payments
public import TapProtocol

/// How a sandbox acquirer behaves. Everything has a default that suits a first try.
public struct AcquirerConfiguration: Sendable {
    /// A merchant whose terminals it certifies and whose payments it executes.
    public struct Merchant: Sendable, Equatable {
        public var id: String
        /// What phones show.
        public var name: String
        /// With `password`, how its terminals log in.
        public var email: String
        public var password: String
        public var operatorIDs: [String]
        public var currencies: [String]
        /// Largest total of one payment, in minor units of each currency.
        public var maximumAmount: Int
        /// ISO 18245.
        public var category: Int
        /// ISO 3166-1 alpha-2.
        public var country: String

        public init(
            id: String = "merchant-demo",
            name: String = "Sandbox Shop",
            email: String = "shop@example.com",
            password: String = "shop-password"
        ) {
            (self.id, self.name, self.email, self.password) = (id, name, email, password)
            (operatorIDs, currencies) = (["operator-1"], ["EUR", "USD", "GBP", "JPY"])
            (maximumAmount, category, country) = (1_000_000, 5814, "DE")
        }
    }

    /// Somebody who pays. Each has a card, a bank account and a mobile-money account.
    public struct Customer: Sendable, Equatable {
        public var id: String
        public var name: String
        /// An e-mail address or a telephone number; with `password`, how their phone logs in.
        public var identifier: String
        public var password: String

        public init(
            id: String = "customer-demo",
            name: String = "Demo Customer",
            identifier: String = "customer@example.com",
            password: String = "customer-password"
        ) {
            (self.id, self.name, self.identifier, self.password) = (id, name, identifier, password)
        }

        /// The card's alias, which accepts name.
        public var cardID: String { "card-\(id)" }
    }

    /// Chooses the set of keys that certificates and passes are trusted under.
    public var issuer = "till-sandbox"
    public var environment = TerminalCertificate.Environment.test
    public var merchants = [Merchant()]
    public var customers = [Customer()]
    /// What integrators' back ends carry in `Api-Key` when they ask for tokens of delegated logins. Nil: nobody may.
    public var partnerKey: String?
    /// 32 bytes from which all keys follow. Nil: new ones, or those of the state file.
    public var seed: [UInt8]?
    /// Minor units that each instrument has of each currency when it is first seen.
    public var faucetMinorUnits = 1_000_000
    /// How long after its claim a bundle may be handed in. Source: BPP/1, section 13.
    public var bundleWindow = Duration.seconds(600)
    /// After this, what is synchronised is late; the profile's longest time without the acquirer.
    public var promptSync = Duration.seconds(86_400)
    /// After this it is not settled any more.
    public var settlementWindow = Duration.seconds(7 * 86_400)
    /// From the bundle to the end; nil: until the control API says so.
    public var settleAfter: Duration? = .zero
    /// How far its clock is ahead of the machine's, in seconds.
    public var skewSeconds = 0
    /// Opens the control API to who sends it. Nil closes it.
    public var controlToken: String?
    public var faults: [AcquirerFault] = []

    public init() {}

    /// Reads a ``seed`` from 64 hexadecimal digits. Nil for anything else.
    public static func seed(hexadecimal text: String) -> [UInt8]? {
        bytes(hex: text).flatMap { $0.count == 32 ? $0 : nil }
    }

    // Source: BPP/1, section 7.3 and rule V4.
    static let certificateLifeSeconds = 7 * 86_400
    static let passLifeSeconds = 86_400
    static let voucherLifeSeconds = 3 * 86_400
    static let voucherLimitTotal = 100_00
    static let voucherLimitPerPayment = 50_00
    static let voucherCount = 10
    /// The API names no limit: as long as shops are closed at most.
    static let sessionLifeSeconds = 30 * 86_400
    static let initTokenLifeSeconds = 300
    /// How old a proof of a terminal's key may be.
    static let proofAgeSeconds = 600
}
