import Ethereum
import FoundationEssentials
import Journal
import Locks
import Logging
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import TestSupport
import WalletConnectPay

/// A simulation of one charge: a terminal with a real journal, the sandbox's gateway and the people in front of them. Time
/// passes whenever nobody has anything left to do, so that an hour of silence is over at once.
final class ChargeSimulation: Sendable {
    private static let token = "agreement"
    static let gatewayKey = "wcp_agreement"
    static let merchantID = "mrch_agreement"

    private let books: Books
    /// The till's own name for the charge.
    let key: IdempotencyKey
    /// When the play began, on the wall clock.
    private let start: WallTime
    let script: Script
    var scenario: ChargeScenario { script.scenario }
    let executor = SimulationExecutor()
    let clock = ManualClock()
    private let gateway: Gateway
    let line: DirectTransport
    let wallet: CustomerWallet
    /// Links on the screen, for the customer.
    let links = AsyncStream.makeStream(of: String.self)
    let notes = Mutex(Notes())

    struct Notes {
        var words: [Charge.State] = []
        var opened: ChargeID?
        var hasCancelled = false
        var hasReleased = false
        var isCustomerBusy = false
        var isOfficeBusy = false
        /// The office has asked for it and heard nothing.
        var mayBeRefunded = false
        var isKnownAsRefunded = false
        var isAdministered = false
        var objections: [String] = []
    }

    init(_ script: Script, _ books: Books) throws {
        (self.script, self.books) = (script, books)
        let (number, startsAfter) = try books.nextPlay()
        clock.advance(by: startsAfter)
        start = clock.terminalClock.wallTime()
        key = IdempotencyKey(key: "agreement-\(number)", requestDigest: [1])
        var configuration = GatewayConfiguration(merchantID: Self.merchantID, apiKey: Self.gatewayKey)
        configuration.controlToken = Self.token
        configuration.faults = script.faults
        configuration.settleAfter = script.scenario.settleAfter
        configuration.collectsData = script.scenario == .identified
        configuration.seed = UInt64(number)
        let terminal = clock.terminalClock
        let clockOfGateway = SandboxClock(now: terminal.wallTime, sleep: terminal.sleep)
        gateway = Gateway(GatewayState(configuration: configuration), clock: clockOfGateway)
        line = DirectTransport(gateway: gateway, clock: clock)
        wallet = CustomerWallet(
            key: PrivateKey(),
            client: try PayClient(
                baseURL: DirectTransport.baseURL,
                credentials: .app(id: "agreement", clientID: "agreement"),
                transport: line,
                clock: TurnedClock(clock: clock)
            ),
            now: terminal.wallTime
        )
    }

    /// Plays the scenario out: with the faults for as long as it takes to give up on them, then without.
    /// - Parameter check: Looks at how things stand while the faults last.
    func play(_ check: @Sendable (Ending) -> Void) async throws -> Ending {
        try await withTaskExecutorPreference(executor) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.gateway.run() }
                group.addTask { await self.serveCustomers() }
                defer { group.cancelAll() }
                let before = try await execute(script.before, until: clock.now + .seconds(1800))
                check(try await ending(before.runs, [], before.journal))
                _ = try await tellGateway("DELETE", "faults")
                let after = try await execute(script.after, until: clock.now + .seconds(7200))
                await pass(until: clock.now + .seconds(120)) { !self.notes.withLock { $0.isCustomerBusy } }
                return try await ending(before.runs, after.runs, after.journal)
            }
        }
    }

    /// Runs of the program, each started where the one before it died. The last one dies of nothing.
    private func execute(_ deaths: [Death], until end: Duration) async throws -> (runs: [ProgramRun], journal: Journal)
    {
        var runs: [ProgramRun] = []
        for death in deaths {
            let run = ProgramRun(death)
            runs.append(run)
            let journal = try books.journal()
            try await execute(run, journal, until: end)
            // It may have been over before it came there.
            guard run.isOver else { return (runs, journal) }
            await pass(until: clock.now + death.pause)
        }
        let journal = try books.journal()
        runs.append(ProgramRun(nil))
        try await execute(runs[runs.count - 1], journal, until: end)
        return (runs, journal)
    }

    /// One run of the program, until it dies, its charge has ended, or the time is over.
    private func execute(_ run: ProgramRun, _ journal: Journal, until end: Duration) async throws {
        let archive = MortalArchive(journal: journal, run: run)
        let desk = ChargeDesk(
            archive: archive,
            clock: clock.terminalClock,
            logger: Logger(label: "agreement") { _ in SwiftLogNoOpLogHandler() }
        )
        let merchant = try MerchantClient(
            baseURL: DirectTransport.baseURL,
            credentials: MerchantCredentials(merchantID: Self.merchantID, apiKey: Secret(Self.gatewayKey)),
            transport: MortalTransport(line: line, run: run)
        )
        let rail = ScanRail(
            merchant: merchant,
            gatewayURL: DirectTransport.baseURL,
            merchantID: Self.merchantID,
            clock: clock.terminalClock,
            pace: GatewayPace(clock: clock.terminalClock)
        )
        await desk.use(Self.settings, drivers: [rail])
        notes.withLock { $0.isOfficeBusy = false }
        await withTaskGroup { group in
            group.addTask { try? await desk.run() }  // Throws where the program is dead.
            group.addTask { for await snapshot in await desk.snapshots() { self.listen(to: snapshot) } }
            group.addTask { await self.work(at: desk, for: run, archive, merchant) }
            await pass(until: end) { run.isOver || self.isSettled }
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

    /// Lets time pass whenever everybody waits for it, until nobody waits for anything any more.
    private func pass(until end: Duration, or isOver: () -> Bool = { false }) async {
        while true {
            await executor.untilCalm()
            guard clock.now < end, !isOver(), let next = clock.shortestSleep else { return }
            clock.advance(by: min(next, end - clock.now))
        }
    }

    /// The terminal has said the last word, and there is nobody left who would do anything.
    private var isSettled: Bool { notes.withLock { $0.words.last?.isFinal == true && !$0.isOfficeBusy } }

    private func listen(to snapshot: TerminalSnapshot) {
        guard case .charging(let charge) = snapshot.phase else { return }
        notes.withLock { notes in
            if notes.words.last != charge.charge.state { notes.words.append(charge.charge.state) }
        }
    }

    // MARK: - What came of it

    private func ending(_ before: [ProgramRun], _ after: [ProgramRun], _ journal: Journal) async throws -> Ending {
        let runs = before + after
        let newest = try await journal.records(before: nil, limit: 1, state: nil).first?.charge
        let charge = newest.flatMap { $0.terms.openedAt >= start ? $0 : nil }
        let payments = try await truth()
        return notes.withLock { notes in
            Ending(
                scenario: scenario,
                charge: charge,
                payments: payments,
                words: notes.words,
                objections: notes.objections,
                isKnownAsRefunded: notes.isKnownAsRefunded,
                runs: runs.map(\.points),
                runsWithFaults: before.count,
                deaths: runs.filter(\.isOver).compactMap(\.points.last)
            )
        }
    }

    /// Holds a word against the gateway's own account at this moment.
    func say(_ word: Word, of payment: String, _ who: String) async {
        guard let truth = try? await truth().first(where: { $0.paymentId == payment }), word.isWrong(of: truth) else {
            return
        }
        notes.withLock { $0.objections.append("\(who) says \(word), and it is \(truth)") }
    }

    private func truth() async throws -> [Truth.Payment] {
        try JSONDecoder().decode(Truth.self, from: Data(try await tellGateway("GET", "payments"))).payments
    }

    /// Which endpoints were asked.
    func endpointsAsked() async throws -> Set<String> {
        struct Log: Decodable {
            struct Call: Decodable { var endpoint: String }
            var calls: [Call]
        }
        let log = try JSONDecoder().decode(Log.self, from: Data(try await tellGateway("GET", "log")))
        return Set(log.calls.map(\.endpoint))
    }

    private func tellGateway(_ method: String, _ word: String) async throws -> [UInt8] {
        let request = GatewayRequest(method, "/control/\(word)", headers: ["Authorization": "Bearer \(Self.token)"])
        return await gateway.answer(request)?.body ?? []
    }
}
