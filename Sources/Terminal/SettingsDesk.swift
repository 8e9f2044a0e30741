import FoundationEssentials
public import Journal
public import Logging
public import Payments
import Screen
public import WalletConnectPay

/// The settings in force, with who set them.
public struct StoredSettings: Sendable, Equatable {
    public let settings: MerchantSettings
    public let version: Int
    public let changedAt: WallTime
    public let changedBy: Actor
    /// Whether a gateway key is stored. The key itself never leaves the terminal.
    public let gatewayKeySet: Bool
}

/// Why settings were not saved. What was in force before still is.
public enum SettingsError: Error, Sendable, Equatable {
    case invalid(FormErrors)
    /// Somebody else saved at the same moment.
    case conflict
    case journal(JournalError)
}

/// What a question to the gateway showed. No payment is made by it.
public struct ConnectionTest: Sendable, Equatable {
    public let isOK: Bool
    public let reason: Reason
    public let duration: Duration
}

/// Payments at gateways that have not ended, by where they were made.
public struct OpenPayments: Sendable, Equatable {
    /// At the gateway and for the merchant of the settings in force.
    public var here = 0
    /// Elsewhere, and followed with the key that they were made with.
    public var followed = 0
    /// Elsewhere, and nobody can ask about them: the terminal has no key for that gateway and merchant.
    public var stranded = 0
}

/// Keeps what the merchant set, checks what a form says, and gives the charge desk its rails.
public actor SettingsDesk {
    /// Makes a client of the gateway that settings name, with the key.
    public typealias Connect = @Sendable (MerchantSettings, Secret) throws -> MerchantClient

    private let journal: Journal
    private let desk: ChargeDesk
    private let gateways: GatewayPolicy
    private let clock: TerminalClock
    private let logger: Logger
    private let connect: Connect
    /// The rails beside the one that scans, as they are at the moment.
    private let otherRails: @Sendable () async -> [any RailDriver]
    /// Where wallets pair with the terminal; nil on one without the Connect rail.
    private let wallets: ConnectStation?
    /// Whether somebody who knows the time has set the machine's clock.
    private let clockIsSet: @Sendable () -> Bool
    private let fonts = ScreenFonts()
    private static let document = "settings"
    private static let keyName = "gateway-key"

    public private(set) var current: StoredSettings?
    private var merchant: MerchantClient?
    private var scan: ScanRail?
    private let earlierGateways: EarlierGateways
    /// Clients of the places that earlier settings named, where payments may still need a question.
    private var earlier: [PaymentPlace: MerchantClient] = [:]
    /// How often a gateway has come into force.
    private var gatewayChanges = 0
    /// Wakes ``watchGateway()`` where it sleeps.
    private var gatewayChange: AsyncStream<Never>.Continuation?
    /// What gateways asked of all who ask them. Outlives every change of settings.
    let pace: GatewayPace

    public init(
        journal: Journal,
        desk: ChargeDesk,
        gateways: GatewayPolicy,
        clock: TerminalClock,
        logger: Logger,
        otherRails: @escaping @Sendable () async -> [any RailDriver] = { [] },
        wallets: ConnectStation? = nil,
        pace: GatewayPace? = nil,
        clockIsSet: @escaping @Sendable () -> Bool = { true },
        connect: @escaping Connect
    ) {
        (self.wallets, self.clockIsSet) = (wallets, clockIsSet)
        self.journal = journal
        self.desk = desk
        self.gateways = gateways
        self.clock = clock
        self.logger = logger
        self.connect = connect
        earlierGateways = EarlierGateways(journal: journal, clock: clock, logger: logger, connect: connect)
        self.otherRails = otherRails
        self.pace = pace ?? GatewayPace(clock: clock)
    }

    /// One save at a time: else an earlier one could come into force after a later one.
    private let turn = Turnstile()

    /// Reads what was set earlier and puts it into force. Call once, before charges are taken.
    public func load() async throws(JournalError) {
        guard let stored = try await journal.document(Self.document) else {
            await desk.use(nil, drivers: [])
            return
        }
        let settings: MerchantSettings
        do { settings = try JSONDecoder().decode(MerchantSettings.self, from: Data(stored.bytes)) } catch {
            throw .corrupt(detail: "the settings cannot be read: \(error)")
        }
        let key = try await storedKey()
        earlier = try await earlierGateways.connections(without: settings.place)
        current = StoredSettings(
            settings: settings,
            version: stored.version,
            changedAt: stored.changedAt,
            changedBy: stored.changedBy,
            gatewayKeySet: key != nil
        )
        await putIntoForce(settings, key: key)
    }

    /// The gateway key; nil where there is none that can be opened, so that it is asked for again.
    private func storedKey() async throws(JournalError) -> Secret? {
        do throws(JournalError) {
            return try await journal.secret(Self.keyName).map { Secret(String(decoding: $0, as: UTF8.self)) }
        } catch {
            guard case .corrupt(let detail) = error else { throw error }
            logger.error(
                "the gateway key cannot be read; no charges until it is entered again",
                metadata: ["error": "\(detail)"]
            )
            return nil
        }
    }

    /// Whether a key is stored for this gateway. Sent to another address it would be given away.
    private func hasKey(for gatewayURL: String) -> Bool {
        guard let current, current.gatewayKeySet, let stored = current.settings.place else { return false }
        return GatewayAddress(gatewayURL) == stored.gateway
    }

    /// Whether a form would make payments elsewhere than the settings in force do: at another gateway, or for another
    /// merchant. Another spelling of the same address is no other gateway.
    public func movesPayments(_ form: SettingsForm) -> Bool {
        guard let current else { return false }
        let place = PaymentPlace(gatewayURL: form.gatewayURL, merchantID: form.merchantID)
        return place == nil || place != current.settings.place
    }

    /// The payments at gateways that have not ended.
    /// - Throws: ``JournalError``: nobody can say now.
    public func openPayments() async throws(JournalError) -> OpenPayments {
        var payments = OpenPayments()
        for charge in try await journal.openCharges() {
            // What never left, and what the acquirer books, is no gateway's.
            let isAtGateway = charge.attempts.contains { $0.isOpen && $0.rail.authority == .gateway && $0.mayHoldMoney }
            guard isAtGateway else { continue }
            let made = charge.terms.place
            if made != nil, made == current?.settings.place {
                payments.here += 1
            } else if let made, earlier[made] != nil {
                payments.followed += 1
            } else {
                payments.stranded += 1
            }
        }
        return payments
    }

    /// The characters of a name that the screen shows as boxes, separated by spaces; empty where it can draw all of it. Such a
    /// name can be saved: it is the shop's, and another machine may have its letters.
    public func undrawable(in name: String) async -> String {
        await fonts.missing(in: name).map(String.init).joined(separator: " ")
    }

    /// What is wrong with a form, by field; empty where it could be saved.
    public func validate(_ form: SettingsForm) -> [String: Reason] {
        form.errors(hasKey: hasKey(for: form.gatewayURL), gateways: gateways)
    }

    /// Checks and stores a form, and puts it into force at once. Charges under way keep what they were opened with.
    /// - Parameter version: Of the settings that the form was made from; nil: there were none. Whatever was decided about
    ///   the form was decided about these.
    /// - Throws: ``SettingsError``: settings and key are as they were, both.
    public func save(
        _ form: SettingsForm,
        replacing version: Int?,
        by actor: Actor
    ) async throws(SettingsError) -> StoredSettings {
        await turn.enter()
        defer { turn.leave() }
        guard version == current?.version else { throw .conflict }
        var form = form
        form.timeZone = form.timeZone ?? current?.settings.timeZone
        form.language = form.language ?? current?.settings.language
        let settings: MerchantSettings
        do throws(FormErrors) {
            settings = try form.checked(hasKey: hasKey(for: form.gatewayURL), gateways: gateways)
        } catch { throw .invalid(error) }
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try Self.encoder.encode(settings)) } catch {
                throw JournalError.unavailable(detail: "the settings cannot be written: \(error)")
            }
            if let left = current?.settings, left.place != settings.place, let key = try await storedKey() {
                // First: what is open there is followed with what it was made with.
                try await earlierGateways.keep(left, key, by: actor)
            }
            let typed = form.gatewayKey.flatMap { $0.isEmpty ? nil : $0 }
            let change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: version,
                with: typed.map { SecretChange(name: Self.keyName, bytes: Array($0.utf8)) },
                by: actor,
                at: clock.wallTime()
            )
            if case .stored = change {
                try await load()
                if let current { return current }
            }
        } catch { throw .journal(error) }
        throw .conflict
    }

    /// Asks the gateway that a form names for one payment of the past: shows whether address, merchant and key work.
    ///
    /// Fields that have nothing to do with the connection may be empty still.
    /// - Throws: `SettingsError.invalid`; nothing was asked.
    public func testConnection(_ form: SettingsForm) async throws(SettingsError) -> ConnectionTest {
        let started = clock.elapsed()
        func result(_ isOK: Bool, _ reason: Reason) -> ConnectionTest {
            ConnectionTest(isOK: isOK, reason: reason, duration: clock.elapsed() - started)
        }
        var trial = form
        if trial.operatorID.isEmpty { trial.operatorID = "test" }
        if trial.merchantName.isEmpty { trial.merchantName = "test" }
        if trial.currency.isEmpty { trial.currency = Currency.euro.code }
        let settings: MerchantSettings
        do throws(FormErrors) {
            settings = try trial.checked(hasKey: current?.gatewayKeySet == true, gateways: gateways)
        } catch { throw .invalid(error) }
        do {
            // The stored key belongs to the stored gateway. Sending it to another address would give it away.
            let key: Secret
            if let typed = form.gatewayKey, !typed.isEmpty {
                key = Secret(typed)
            } else if hasKey(for: settings.gatewayURL), let stored = try await storedKey() {
                key = stored
            } else {
                return result(
                    false,
                    Reason(
                        code: "key_needed",
                        message: "The stored key belongs to another gateway address.",
                        action: "Enter the key for this gateway to test it."
                    )
                )
            }
            _ = try await connect(settings, key).payments(PaymentQuery(limit: 1))
            return result(
                true,
                Reason(code: "connected", message: "The gateway answers and accepts the key.", action: "")
            )
        } catch let error as MerchantError {
            return result(false, error.connectionReason)
        } catch let error as JournalError {
            return result(false, error.reason)
        } catch {
            return result(
                false,
                Reason(
                    code: "invalid_address",
                    message: "This address cannot be used.",
                    action: "Check the gateway address."
                )
            )
        }
    }

    /// Keeps the gateway's light true while no charge does: asks once a minute unless a charge has heard of it in that minute, at
    /// once when another gateway or key comes into force, and at once when the clock that its certificate was not believed by
    /// has been set.
    ///
    /// Runs until cancelled. Costs one timer and at most one question a minute.
    public func watchGateway() async {
        while !Task.isCancelled {
            let asked = gatewayChanges
            if let (merchant, settings) = connection, await desk.mustAskGateway(after: Self.lightLasts),
                await pace.remaining(settings.gatewayURL) == .zero
            {
                do throws(MerchantError) {
                    _ = try await merchant.payments(PaymentQuery(limit: 1))
                    await desk.setGateway(.ready)
                } catch {
                    if case .rateLimited(let pause?) = error { await pace.pause(settings.gatewayURL, for: pause) }
                    await desk.setGateway(error.light(at: clock.wallTime()))
                }
            }
            do {
                var pause = Self.lightLasts
                // A pause of the gateway's is over to the second: charges wait for it.
                if case .paused = await desk.snapshot.gateway, let url = current?.settings.gatewayURL {
                    pause = min(pause, max(await pace.remaining(url), .seconds(1)))
                }
                while pause > .zero {
                    let waitsForClock = await desk.snapshot.gateway == .clock
                    if waitsForClock, pause < Self.lightLasts, clockIsSet() { break }
                    let part = waitsForClock ? .seconds(2) : pause
                    if try await sleep(part, unlessChangedSince: asked) { break }
                    pause -= part
                }
            } catch { return }  // The terminal stops.
        }
    }

    /// How long the gateway's light is believed after it was last heard of.
    private static let lightLasts = Duration.seconds(60)

    /// Sleeps until the time is over or another gateway comes into force; true for the latter.
    private func sleep(_ duration: Duration, unlessChangedSince asked: Int) async throws -> Bool {
        guard gatewayChanges == asked else { return true }
        let (changes, change) = AsyncStream<Never>.makeStream()
        gatewayChange = change
        defer { gatewayChange = nil }
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { [clock] in
                try await clock.sleep(duration)
                return false
            }
            group.addTask {
                for await _ in changes {}
                return true
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    /// The gateway's merchant side as the settings in force name it; nil where there are none that can be used.
    var connection: (merchant: MerchantClient, settings: MerchantSettings)? {
        guard let merchant, let current else { return nil }
        return (merchant, current.settings)
    }

    private func putIntoForce(_ settings: MerchantSettings, key: Secret?) async {
        guard let key, let merchant = try? connect(settings, key) else {
            // Stored settings that name no usable gateway: charges are refused as "not set up" until they are mended.
            self.merchant = nil
            await desk.use(nil, drivers: [])
            return
        }
        self.merchant = merchant
        let scan = rail(.scan, merchant, settings)
        self.scan = scan
        let others = await rails(beside: merchant, settings)
        await desk.use(settings, drivers: [scan] + others.offered, followers: others.followed)
        gatewayChanges += 1
        gatewayChange?.finish()
    }

    /// Puts the other rails into force as they are now.
    public func railsChanged() async {
        guard let scan, let merchant, let current else { return }
        let others = await rails(beside: merchant, current.settings)
        await desk.use(
            current.settings,
            drivers: [scan] + others.offered,
            followers: others.followed,
            keepsLight: true
        )
    }

    /// The rails beside Scan: those that charges are offered on, and those that only follow what they began.
    private func rails(
        beside merchant: MerchantClient,
        _ settings: MerchantSettings
    ) async -> (offered: [any RailDriver], followed: [any RailDriver]) {
        let rails = await otherRails()
        guard let wallets else { return (rails, []) }
        await wallets.setMerchantName(settings.merchantName)
        let connect = ConnectRail(station: wallets, payment: rail(.connect, merchant, settings))
        // A payment that nobody knows the end of may be asked about for a day after its sale is over.
        return await wallets.isEnabled ? (rails + [connect], []) : (rails, [connect])
    }

    private func rail(_ rail: Rail, _ merchant: MerchantClient, _ settings: MerchantSettings) -> ScanRail {
        ScanRail(
            merchant: merchant,
            gatewayURL: settings.gatewayURL,
            merchantID: settings.merchantID,
            earlier: earlier,
            clock: clock,
            pace: pace,
            rail: rail
        )
    }

    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
}

extension Reason {
    /// What ``GatewayLight/clock`` means, and what to do.
    public static let gatewayClock = Reason(
        code: "gateway_clock",
        message:
            "The gateway’s certificate cannot be checked, for nobody has set the terminal’s clock. Nothing was charged.",
        action:
            "Let the terminal reach a time server (NTP, UDP port 123). It goes on by itself as soon as its clock is set."
    )
}

extension MerchantError {
    /// The gateway's light after a question that failed now.
    func light(at now: WallTime) -> GatewayLight {
        switch self {
        case .refused(let refusal): ChargeDesk.isAboutCredentials(refusal.code) ? .refused : .ready
        case .rateLimited(let pause?): .paused(until: now.advanced(by: min(pause, GatewayPace.longest)))
        case .rateLimited(nil): .ready
        case .notSent(GatewayLight.clockIsNotSet): .clock
        case .invalid, .notSent, .noAnswer, .unclear, .strange: .unreachable
        }
    }
}
