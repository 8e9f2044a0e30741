import Ethereum
import Foundation
import Journal
import Locks
import Logging
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

/// A test bed of payments over BLE: a terminal with a real journal file, simulated phones around it, and the acquirer of both.
final class TapTestBed: Sendable {
    static let acceptsQuickly = PhoneUser(answer: .accept(after: .milliseconds(300)))

    let clock: ManualClock
    /// Runs terminal, phones and acquirer: it knows when all of them wait for the clock.
    let executor = SimulationExecutor()
    let acquirer: SimulatedAcquirer
    let radio: RadioSimulation
    let folder: String
    let keys: TapTerminalKeys
    let tag: TerminalTag?
    private let events = Mutex<[String: [PhoneEvent]]>([:])
    private let arrivals = AsyncStream.makeStream(of: (String, TapPhone).self)
    /// What happens at once when something has happened on a phone.
    let whenever = Mutex(Reaction())
    /// A structure: each look at a closure that stands in a lock by itself wraps it once more, and the wraps stay.
    struct Reaction: Sendable {
        var act: @Sendable (String, PhoneEvent) -> Void = { _, _ in }
    }
    var settings: TapSettings { stored.withLock { $0 } }
    private let stored: Mutex<TapSettings>
    /// Whether the machine's clock was set by somebody who knows the time.
    let machineClock = Mutex(true)

    init(
        _ change: (inout TapSettings) -> Void = { _ in },
        folder: String? = nil,
        maximumValueLength: Int = 182
    ) throws {
        let clock = ManualClock()
        self.clock = clock
        acquirer = try SimulatedAcquirer { Int(clock.terminalClock.wallTime().millisecondsSince1970) }
        radio = RadioSimulation(clock: clock.terminalClock, executor: executor, maximumValueLength: maximumValueLength)
        self.folder = folder ?? NSTemporaryDirectory() + "/tap-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        keys = TapTerminalKeys(
            agreement: try AgreementKey(bytes: [UInt8](repeating: 5, count: 32)),
            signer: try Ed25519Signer(seed: [UInt8](repeating: 6, count: 32))
        )
        tag = TerminalTag(
            tagID: [UInt8](repeating: 3, count: 16),
            terminalKey: keys.agreement.publicKey,
            name: "Coffee Shop"
        )
        var settings = TapSettings()
        settings.isEnabled = true
        settings.mode = .open
        settings.acquirerURL = acquirer.url
        change(&settings)
        stored = Mutex(settings)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var wall: SandboxClock { wall(offBy: .zero) }

    private func wall(offBy offset: Duration) -> SandboxClock {
        let clock = clock.terminalClock
        return SandboxClock(now: { clock.wallTime().advanced(by: offset) }, sleep: clock.sleep)
    }

    /// Opens the journal, runs desk and station while `body` does, and closes everything: as often as one likes.
    /// - Parameter fuse: Where the power goes out.
    func open(
        scan: (any RailDriver)? = nil,
        wallet: (any TapWalletGateway)? = nil,
        fuse: Fuse = Fuse(),
        uploadLimit: Int = 16,
        _ body: @escaping @Sendable (Shift) async throws -> Void
    ) async throws {
        let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
        let journal = try Journal.open(directory: folder, deviceKey: key)
        var logger = Logger(label: "tap")
        logger.logLevel = ProcessInfo.processInfo.environment["TAP_LOG"] == nil ? .critical : .trace
        let desk = ChargeDesk(
            archive: FusedArchive(journal: journal, fuse: fuse, executor: executor),
            clock: clock.terminalClock,
            logger: logger
        )
        let station = TapStation(
            radio: radio,
            journal: FusedTapJournal(journal: journal, fuse: fuse, executor: executor),
            clock: clock.terminalClock,
            logger: logger,
            // Desk and station keep each other: a strong reference would keep this bed, and its folder, for ever.
            isClockSet: { [weak self] in self?.machineClock.withLock { $0 } ?? true },
            uploadLimit: uploadLimit
        )
        await station.serve(desk)
        await station.use(try await setup(wallet: wallet))
        if await acquirer.reachesTerminal { await station.note(online: true) }
        let merchant = MerchantSettings(
            operatorID: "op1",
            merchantID: "m1",
            merchantName: "Coffee Shop",
            gatewayURL: "https://gateway.example",
            currency: .euro,
            timeLimitSeconds: 120
        )
        let rails: [any RailDriver] = [TapRail(station: station)] + (scan.map { [$0] } ?? [])
        await desk.use(merchant, drivers: rails)
        let shift = Shift(bed: self, desk: desk, station: station, journal: journal)
        try await withThrowingTaskGroup { group in
            group.addTask { try await desk.run() }
            group.addTask { await station.run() }
            try await shift.until("the terminal is ready") {
                if case .idle = await desk.snapshot.phase { true } else { await desk.snapshot.isCharging }
            }
            do { try await body(shift) } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
        }
        try journal.close()
    }

    /// What settings and certificate make of the terminal.
    func setup(wallet: (any TapWalletGateway)?) async throws -> TapStation.Setup {
        TapStation.Setup(
            settings: settings,
            credentials: TapCredentials(
                keys: keys,
                certificate: try await acquirer.certify(keys),
                trusted: acquirer.trusted
            ),
            acquirer: acquirer,
            tag: tag,
            wallet: wallet
        )
    }

    @discardableResult
    func phone(
        _ name: String,
        user: PhoneUser = TapTestBed.acceptsQuickly,
        isOnline: Bool = true,
        rssi: Int? = -50,
        tag: TerminalTag? = nil,
        voucher: Int? = nil,
        wallet: PrivateKey? = nil,
        linkWallet: LinkWallet? = nil,
        acquirer: (any PhoneAcquirer)? = nil,
        characteristics: TapCharacteristics = TapCharacteristics(),
        clock: SandboxClock? = nil,
        clockIsOffBy offset: Duration = .zero,
        storage: (any PhoneStorage)? = nil,
        diesAt: KillPoint? = nil
    ) throws -> TapPhone {
        var configuration = PhoneConfiguration(
            service: characteristics.service,
            tag: tag,
            user: user,
            isOnline: isOnline
        )
        configuration.keys = [
            TrustedGatewayKey(
                issuer: self.acquirer.issuer,
                keyID: Array("bank1".utf8),
                publicKey: self.acquirer.publicKey
            )
        ]
        configuration.wallet = wallet
        configuration.diesAt = diesAt
        configuration.voucherWish = voucher.map {
            VoucherWish(instrumentID: "card", currency: "EUR", exponent: 2, limitTotal: $0)
        }
        // The phones are in this bed's radio: a strong reference would keep it, and its folder, for ever.
        let record: @Sendable (PhoneEvent) -> Void = { [weak self] event in
            guard let self else { return }
            events.withLock { $0[name, default: []].append(event) }
            whenever.withLock { $0.act }(name, event)
        }
        let phone = try TapPhone(
            configuration,
            acquirer: acquirer ?? self.acquirer,
            linkWallet: linkWallet,
            clock: clock ?? wall(offBy: offset),
            storage: storage,
            executor: executor.forActors,
            log: record
        )
        radio.add(name, phone, rssi: rssi, characteristics: characteristics)
        arrivals.continuation.yield((name, phone))
        return phone
    }

    /// Phones live while `body` runs, also while the terminal is off.
    func play(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withTaskExecutorPreference(executor) {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    await withDiscardingTaskGroup { phones in
                        for await (name, phone) in self.arrivals.stream {
                            phones.addTask { await self.live(name, phone) }
                        }
                        phones.cancelAll()
                    }
                }
                defer { group.cancelAll() }
                try await body()
            }
        }
    }

    /// One shift with its phones.
    func run(
        scan: (any RailDriver)? = nil,
        wallet: (any TapWalletGateway)? = nil,
        fuse: Fuse = Fuse(),
        uploadLimit: Int = 16,
        _ body: @escaping @Sendable (Shift) async throws -> Void
    ) async throws {
        try await play {
            try await self.open(scan: scan, wallet: wallet, fuse: fuse, uploadLimit: uploadLimit, body)
        }
    }

    private func live(_ name: String, _ phone: TapPhone) async {
        await withDiscardingTaskGroup { group in
            group.addTask { for await service in phone.advertisement { self.radio.advertise(name, service) } }
            await phone.run()
            group.cancelAll()
        }
    }

    /// Returns when all wait for the clock. To be called while the bed plays.
    func settle() async {
        await executor.untilCalm()
        // What the terminal does in tasks of their own, such as closing a link, runs on other threads for a moment.
        await Task.detached {}.value
        await executor.untilCalm()
    }

    /// A customer has left for good.
    func forget(_ name: String) {
        radio.remove(name)
        events.withLock { $0[name] = nil }
    }

    func heard(_ name: String) -> [PhoneEvent] { events.withLock { $0[name] ?? [] } }
    func timesAsked(_ name: String) -> Int {
        heard(name).count { if case .asked = $0 { true } else { false } }
    }
    func wasAsked(_ name: String) -> Bool { timesAsked(name) > 0 }
    func heardOtherPaid(_ name: String) -> Bool {
        heard(name).contains { if case .heard(.otherPaid) = $0 { true } else { false } }
    }
    func outcome(_ name: String) -> PhoneOutcome? {
        heard(name).reversed().lazy.compactMap { event -> PhoneOutcome? in
            if case .ended(_, let outcome) = event { outcome } else { nil }
        }.first
    }
}

/// What a phone of the bed keeps over its restarts.
final class PhoneDrawer: PhoneStorage {
    private let text = Mutex<String?>(nil)

    func save(_ text: String) { self.text.withLock { $0 = text } }
    func load() -> String? { text.withLock { $0 } }
}

/// The terminal while it is switched on.
struct Shift: Sendable {
    let bed: TapTestBed
    let desk: ChargeDesk
    let station: TapStation
    let journal: Journal

    func charge(_ minorUnits: Int64 = 1050) async throws -> ChargeID {
        try await desk.open(
            ChargeRequest(amount: Money(minorUnits: minorUnits, currency: .euro), by: .staff(name: "test"))
        ).id
    }

    func state(_ id: ChargeID) async throws -> Charge.State { try await desk.charge(id).charge.state }
    /// The name of the charge's payment over BLE. Waits for a terminal that is starting.
    func payment(_ id: ChargeID) async throws -> TapProtocol.PaymentID {
        try await until("it has loaded its charges") { try await snapshot(id).id == id }
        let offer = try await snapshot(id).attempts.first { $0.rail == .tap }?.offer
        return try #require(offer.flatMap { PaymentID($0.paymentID) })
    }
    func snapshot(_ id: ChargeID) async throws -> Charge { try await desk.charge(id).charge }

    /// A charge from its beginning until nothing of its customer is left.
    func isPaid(by name: String) async throws {
        let phone = try bed.phone(name)
        let id = try await charge()
        try await until(id, is: .succeeded)
        try await until("the customer knows") { bed.outcome(name) == .paid }
        await phone.end()
        // What the terminal keeps for a phone that comes back is let go after a minute.
        for _ in 0..<10 { try await skips(.seconds(2)) }
        bed.forget(name)
    }

    struct TooLong: Error, CustomStringConvertible {
        let description: String
    }

    /// Lets time pass until something is so, and everybody run before each look. Fails where it is not after that much of the clock.
    /// A terminal that is starting has not said anything yet.
    /// - Parameter step: How far the clock goes at once: long ones where nothing but a long pause is waited for.
    func until(
        _ what: String,
        within limit: Duration = .seconds(200),
        by step: Duration = .milliseconds(5),
        _ isSo: @Sendable () async throws -> Bool
    ) async throws {
        let end = bed.clock.now + limit
        while bed.clock.now < end {
            do { if try await isSo() { return } } catch ChargeRefusal.starting {}
            await bed.settle()
            bed.clock.advance(by: step)
        }
        throw TooLong(description: "not within \(limit): \(what)")
    }

    /// Lets time pass.
    func passes(_ duration: Duration) async throws {
        let end = bed.clock.now + duration
        try await until("time has passed") { bed.clock.now >= end }
    }

    /// Lets time pass in one step: who sleeps wakes late.
    func skips(_ duration: Duration) async throws {
        bed.clock.advance(by: duration)
        await bed.settle()
    }

    /// - Parameter holds: What must be so all the time.
    func until(
        _ id: ChargeID,
        is state: Charge.State,
        within limit: Duration = .seconds(200),
        by step: Duration = .milliseconds(5),
        _ holds: @Sendable () -> Bool = { true }
    ) async throws {
        try await until("the charge is \(state)", within: limit, by: step) {
            guard holds() else { throw TooLong(description: "something else was so before the charge was \(state)") }
            return try await self.state(id) == state
        }
    }
}

extension TerminalSnapshot {
    var isCharging: Bool { if case .charging = phase { true } else { false } }
}
