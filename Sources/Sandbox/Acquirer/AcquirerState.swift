import Acquirer
public import Payments
import StrictJSON
public import TapProtocol

/// The acquirer as a value: payments, passes, held money, books. It decides everything and touches nothing.
///
/// Time comes in with each call; first everything that was due by then happens.
public struct AcquirerState: Sendable {
    var configuration: AcquirerConfiguration
    var keyring: AcquirerKeyring
    var books: AcquirerBooks
    var payments: [AcquirerPayment.Key: AcquirerPayment] = [:]
    /// In the order in which they were first heard of.
    var order: [AcquirerPayment.Key] = []
    var passes: [[UInt8]: Pass] = [:]
    /// By name.
    var holds: [String: Hold] = [:]
    var holdOrder: [String] = []
    /// Devices that spent money twice, since when.
    var blockedDevices: [VerificationKey: WallTime] = [:]
    /// Customers whose device spent money twice. A fresh key makes no other device of it.
    var blockedCustomers: Set<String> = []
    var deniedTerminals: [String: WallTime] = [:]
    var deniedCertificates: [ObjectHash: WallTime] = [:]
    /// Sessions that were ended, and tokens of delegated logins that were redeemed.
    var spentTokens: Set<String> = []
    /// The pre-authorisation that was made under a customer's key, and for what.
    var remembered: [String: (order: String, hold: String)] = [:]
    var faults = FaultPlan<AcquirerEndpoint>()
    var log = AcquirerLog()
    var random = Randomness()
    /// How far the acquirer's clock is ahead of the machine's.
    var skewSeconds: Int
    private var agenda = Agenda<Due>()
    /// Below: for records.
    var isRecording = false
    var records: [String] = []
    var knownSettings: ExactJSON?

    /// What one issued pass may still do.
    struct Pass: Sendable {
        let pass: Signed<PaymentPass>
        let customer: String
        /// The payment that an online pass was used for.
        var usedFor: AcquirerPayment.Key?
        /// The pre-authorisation behind a voucher.
        var hold: String?
        /// Every spend that was handed in, settled or not.
        var spends: [Signed<PaymentAcceptance>] = []
    }

    /// Money that a customer's phone may spend without anybody online.
    struct Hold: Sendable {
        let id: String
        let customer: String
        let pass: Signed<PaymentPass>
        var status = PreAuthorisation.Status.available
        var voidedAt: WallTime?
        /// Minor units that spends took.
        var spent = 0

        /// Issued passes of this kind always have one.
        var voucher: PaymentPass.Voucher? { pass.payload.voucher }
    }

    enum Due: Sendable {
        case settlement(AcquirerPayment.Key, ObjectHash)
        /// A voucher's time is over.
        case expiry(String)
        /// Nothing can be settled from this hold any more.
        case release(String)
    }

    public init(configuration: AcquirerConfiguration) {
        self.configuration = configuration
        var chance = Randomness()
        keyring = AcquirerKeyring(issuer: configuration.issuer, seed: configuration.seed ?? chance.bytes(32))
        books = AcquirerBooks(faucetMinorUnits: configuration.faucetMinorUnits)
        skewSeconds = configuration.skewSeconds
        for fault in configuration.faults { faults.set(fault) }
    }

    /// What terminals and phones trust, as `GET /keys` tells it.
    public var trustedKeys: GatewayKeys { keyring.trusted }

    /// When ``advance(to:)`` should be called at the latest.
    public var nextDue: WallTime? { agenda.next }

    /// Does what was due up to `now`.
    public mutating func advance(to now: WallTime) {
        while let (moment, due) = agenda.takeDue(at: now) {
            switch due {
            case .settlement(let key, let hash): settle(key, hash, at: moment)
            case .expiry(let id): if holds[id]?.status == .available { holds[id]?.status = .expired }
            case .release(let id): release(id, at: moment)
            }
        }
    }

    mutating func schedule(_ due: Due, at time: WallTime) { agenda.add(due, at: time) }

    /// Gives what is left of a hold back to its instrument.
    mutating func release(_ id: String, at now: WallTime) {
        guard let hold = holds[id], let voucher = hold.voucher else { return }
        books.move(
            "release",
            books.balance(.hold(id), voucher.currency),
            voucher.currency,
            from: .hold(id),
            to: .instrument(voucher.instrumentID),
            at: now.millisecondsSince1970
        )
    }

    // MARK: - Payments

    /// Changes a payment, or makes its entry.
    mutating func update(
        _ key: AcquirerPayment.Key,
        at now: WallTime,
        _ change: (inout AcquirerPayment) -> Void
    ) {
        var payment = payments[key] ?? AcquirerPayment(key: key, updatedAt: now)
        if payments[key] == nil { order.append(key) }
        change(&payment)
        payment.updatedAt = now
        payments[key] = payment
    }

    /// Payments of this name, of whichever merchant.
    func keys(named id: TapProtocol.PaymentID) -> [AcquirerPayment.Key] {
        configuration.merchants.map { AcquirerPayment.Key(merchant: $0.id, id: id) }.filter { payments[$0] != nil }
    }

    func customer(_ id: String) -> AcquirerConfiguration.Customer? {
        configuration.customers.first { $0.id.utf8.elementsEqual(id.utf8) }
    }

    func merchant(_ id: String) -> AcquirerConfiguration.Merchant? {
        configuration.merchants.first { $0.id.utf8.elementsEqual(id.utf8) }
    }
}
