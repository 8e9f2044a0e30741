import Ethereum
import FoundationEssentials
import Journal
import Logging
import Payments
import Sandbox
import Synchronization
import Terminal
import WalletConnectPay

/// What the people at the counter do with one charge.
enum Story: String, CaseIterable, Sendable {
    /// The customer pays.
    case paid
    /// Nobody pays.
    case left
    /// The cashier takes the charge back.
    case cancelled
    /// The cashier takes it back while the customer pays.
    case both
    /// The cashier goes on as soon as the terminal lets them; the customer pays.
    case released
}

/// A terminal with a real journal, the sandbox's gateway and the people in front of them. Time passes whenever nobody has
/// anything left to do, so that an hour of silence is over at once.
final class Counter: Sendable {
    struct Ending: Sendable {
        /// The charge as the journal has it.
        var charge: Charge?
        /// What the gateway has under the charge's reference.
        var payments: [Truth.Payment]
        /// Every word that the terminal said of the charge, in order and without repetition.
        var words: [Charge.State]
        /// Steps of the first life.
        var steps: Int
        var firstLifeEnded: Bool
    }

    /// The gateway's own account of things. Source: the sandbox's control interface.
    struct Truth: Decodable, Sendable {
        struct Payment: Decodable, Sendable {
            var paymentId: String
            var referenceId: String
            var status: String
        }
        var payments: [Payment]
    }

    private static let token = "agreement"
    private static let gatewayKey = "wcp_agreement"
    private static let merchantID = "mrch_agreement"

    private let folder: String
    private let story: Story
    private let clock = ManualClock()
    private let work = Work()
    private let gateway: Gateway
    private let wallet: CustomerWallet
    private let notes = Mutex(Notes())

    private struct Notes {
        var words: [Charge.State] = []
        var opened: ChargeID?
        /// The program that runs now has asked about everything that was left open.
        var isReady = false
        var hasPaid = false
        var hasCancelled = false
        var hasReleased = false
    }

    /// - Parameter folder: Where the journal is made.
    init(_ story: Story, faults: [Fault], in folder: String) throws {
        (self.story, self.folder) = (story, folder)
        var configuration = GatewayConfiguration(merchantID: Self.merchantID, apiKey: Self.gatewayKey)
        configuration.controlToken = Self.token
        configuration.faults = faults
        configuration.seed = 1
        let terminal = clock.terminalClock
        let clockOfGateway = SandboxClock(now: terminal.wallTime, sleep: work.noting(terminal.sleep))
        gateway = Gateway(GatewayState(configuration: configuration), clock: clockOfGateway)
        wallet = CustomerWallet(
            key: PrivateKey(),
            client: try PayClient(
                baseURL: DirectTransport.baseURL,
                credentials: .app(id: "agreement", clientID: "agreement"),
                transport: DirectTransport(gateway: gateway, clock: clock, work: work),
                clock: TurnedClock(clock: clock)
            ),
            now: terminal.wallTime
        )
    }

    /// Plays the story out: with the faults for as long as it takes to give up on them, then without.
    /// - Parameters:
    ///   - diesAt: The step at which the program dies and is started again.
    ///   - check: Looks at how things stand while the faults last, and at the end.
    func play(diesAt: Int?, _ check: @Sendable (Ending) -> Void) async throws -> Ending {
        let first = Life(diesAt: diesAt)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.gateway.run() }
            defer { group.cancelAll() }
            let faulty = clock.now + .seconds(1800)
            var journal = try open()
            try await live(first, journal, until: faulty)
            let died = first.isOver
            if died {
                try journal.close()
                journal = try open()
                try await live(Life(diesAt: nil), journal, until: faulty)
            }
            check(try await ending(first, journal))
            _ = try await tellGateway("DELETE", "faults")
            try await live(Life(diesAt: nil), journal, until: clock.now + .seconds(7200))
            let ending = try await ending(first, journal)
            try journal.close()
            return ending
        }
    }

    private func open() throws -> Journal {
        try Journal.open(directory: folder, deviceKey: DeviceKey.loadOrCreate(at: folder + "/device.key"))
    }

    /// One run of the program, until it dies, its charge has ended, or the time is over.
    private func live(_ life: Life, _ journal: Journal, until end: Duration) async throws {
        let desk = ChargeDesk(
            archive: MortalArchive(journal: journal, life: life),
            clock: clock.terminalClock,
            logger: Logger(label: "agreement") { _ in SwiftLogNoOpLogHandler() }
        )
        let merchant = try MerchantClient(
            baseURL: DirectTransport.baseURL,
            credentials: MerchantCredentials(merchantID: Self.merchantID, apiKey: Secret(Self.gatewayKey)),
            transport: MortalTransport(line: DirectTransport(gateway: gateway, clock: clock, work: work), life: life)
        )
        let rail = ScanRail(
            merchant: merchant,
            gatewayURL: DirectTransport.baseURL,
            merchantID: Self.merchantID,
            clock: clock.terminalClock,
            pace: GatewayPace(clock: clock.terminalClock)
        )
        await desk.use(Self.settings, drivers: [rail])
        notes.withLock { $0.isReady = false }
        await withTaskGroup { group in
            group.addTask { try? await desk.run() }  // Throws where the program is dead.
            group.addTask { for await snapshot in await desk.snapshots() { self.listen(to: snapshot) } }
            group.addTask { await self.work(at: desk, for: life) }
            await hurry(life, until: end)
            group.cancelAll()
        }
    }

    private static let settings = MerchantSettings(
        operatorID: "op-1",
        merchantID: merchantID,
        merchantName: "Kiosk",
        gatewayURL: DirectTransport.baseURL,
        currency: .euro
    )

    /// Lets time pass whenever everybody waits for it.
    private func hurry(_ life: Life, until end: Duration) async {
        var stillness = 0
        while clock.now < end, !life.isOver, !isSettled {
            await untilCalm(life, for: 50)
            // A long wait may only be the first to be waited for: look again before so much time is gone.
            if clock.shortestSleep.map({ $0 > .seconds(1) }) ?? true { await untilCalm(life, for: 500) }
            if let next = clock.shortestSleep {
                clock.advance(by: min(next, end - clock.now))
                stillness = 0
            } else {
                // Nobody is going to do anything any more, or somebody has only begun.
                stillness += 1
                if stillness > 10, notes.withLock({ $0.opened != nil && $0.isReady }) { return }
            }
        }
    }

    /// Returns when nobody has done anything while everybody had so many turns.
    private func untilCalm(_ life: Life, for turns: Int) async {
        var before: (sleeps: Int, steps: Int)
        var isBusy: Bool
        repeat {
            before = (clock.sleeps, life.steps)
            for _ in 0..<turns { await Task.yield() }
            let held = await gateway.openPolls
            isBusy = life.isWriting || work.isUnderWay(held: held)
        } while isBusy || before != (clock.sleeps, life.steps)
    }

    /// The terminal has said the last word, and there is nobody left who would do anything.
    private var isSettled: Bool { notes.withLock { $0.words.last?.isFinal == true } }

    private func listen(to snapshot: TerminalSnapshot) {
        notes.withLock { notes in
            if case .starting = snapshot.phase { return }
            notes.isReady = true
            guard case .charging(let charge) = snapshot.phase else { return }
            if notes.words.last != charge.charge.state { notes.words.append(charge.charge.state) }
        }
    }

    // MARK: - The people

    private func work(at desk: ChargeDesk, for life: Life) async {
        await withDiscardingTaskGroup { group in
            for await snapshot in await desk.snapshots() {
                if life.isOver { break }
                await attend(snapshot, desk)
                if case .charging(let charge) = snapshot.phase, let link = charge.link, pays {
                    group.addTask { await self.pay(link) }
                }
            }
            group.cancelAll()
        }
    }

    /// What the cashier does at this sight.
    private func attend(_ snapshot: TerminalSnapshot, _ desk: ChargeDesk) async {
        switch snapshot.phase {
        case .idle where notes.withLock({ $0.opened == nil }):
            let request = ChargeRequest(
                amount: Money(minorUnits: 1250, currency: .euro),
                key: IdempotencyKey(key: "agreement", requestDigest: [1]),
                by: .staff(name: "Ada")
            )
            // Refused or dead: the cashier asks again under the same key.
            if let charge = try? await desk.open(request) { notes.withLock { $0.opened = charge.id } }
        case .charging(let charge):
            let id = charge.id
            notes.withLock { $0.opened = id }
            let cancels = story == .cancelled || story == .both
            if cancels, charge.link != nil, notes.withLock({ !$0.hasCancelled }) {
                let isDone = (try? await desk.cancel(id, by: .staff(name: "Ada"))) != nil
                notes.withLock { $0.hasCancelled = isDone }
            }
            if story == .released, charge.charge.canRelease, notes.withLock({ !$0.hasReleased }) {
                let isDone = (try? await desk.release(id, by: .staff(name: "Ada"))) != nil
                notes.withLock { $0.hasReleased = isDone }
            }
        default: break
        }
    }

    /// True once: there is one customer.
    private var pays: Bool {
        guard story == .paid || story == .both || story == .released else { return false }
        return notes.withLock { notes in
            defer { notes.hasPaid = true }
            return !notes.hasPaid
        }
    }

    private func pay(_ link: String) async {
        do {
            var wishes = CustomerWallet.Wishes()
            wishes.chainID = 8453
            let signed = try await wallet.sign(try await wallet.look(at: link, wishes))
            _ = try await wallet.confirm(signed, waitingUpTo: .seconds(60))
        } catch {
            // Their wallet says that it did not work, or that nobody knows. They leave.
        }
    }

    // MARK: - How it ended

    private func ending(_ first: Life, _ journal: Journal) async throws -> Ending {
        let charges = try await journal.records(before: nil, limit: 10, state: nil)
        let truth = try JSONDecoder().decode(Truth.self, from: Data(try await tellGateway("GET", "payments")))
        return Ending(
            charge: charges.first?.charge,
            payments: truth.payments,
            words: notes.withLock { $0.words },
            steps: first.steps,
            firstLifeEnded: first.isOver
        )
    }

    private func tellGateway(_ method: String, _ what: String) async throws -> [UInt8] {
        let request = GatewayRequest(method, "/control/\(what)", headers: ["Authorization": "Bearer \(Self.token)"])
        guard let answer = await gateway.answer(request) else { throw CancellationError() }
        return answer.body
    }
}
