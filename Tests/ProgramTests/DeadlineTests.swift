import FoundationEssentials
import Journal
import Logging
import NIOHTTP1
import Net
import Payments
import Locks
import SystemPackage
import Terminal
import Testing
import WalletConnectPay

/// Real time, which a test can stop and let jump ahead: whoever sleeps past the new time wakes.
private final class JumpingClock: Sendable {
    private let ahead = Mutex(Duration.zero)
    private let stopped = Mutex<Duration?>(nil)
    private let jumps = Mutex<[AsyncStream<Void>.Continuation]>([])
    private let started = ContinuousClock.now

    private var now: Duration {
        (stopped.withLock { $0 } ?? started.duration(to: .now)) + ahead.withLock { $0 }
    }

    /// From here on only jumps let time pass.
    func stop() { stopped.withLock { $0 = started.duration(to: .now) } }

    func jump(by duration: Duration) {
        ahead.withLock { $0 += duration }
        for jump in jumps.withLock({ $0 }) { jump.yield() }
    }

    private func sleep(_ duration: Duration) async throws {
        let end = now + duration
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        jumps.withLock { $0.append(continuation) }
        while now < end {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Task.sleep(for: end - self.now) }
                group.addTask { for await _ in stream { break } }
                try await group.next()
                group.cancelAll()
            }
            try Task.checkCancellation()
        }
        continuation.finish()
    }

    var terminalClock: TerminalClock {
        TerminalClock(elapsed: { self.now }, sleep: { try await self.sleep($0) }, wallTime: { .now })
    }
}

/// At the deadline the terminal asks the real gateway once more and says what it knows.
@Suite(.timeLimit(.minutes(2)))
struct DeadlineTests {
    /// A charge that is offered, its running question never answered; then `before`, the deadline, and what it became.
    private func atTheDeadline(
        becomes state: Charge.State,
        asksAgain: Bool = true,
        before: @Sendable @escaping (ProgramTestBed, String) async throws -> Void
    ) async throws {
        try await withTestBed(gateway: ["--settle-after", "0"]) { bed in
            // The first question is swallowed: whatever happens, the terminal does not hear of it by itself.
            try await bed.fault(["endpoint": "status", "effect": "drop", "times": "1"])
            let clock = JumpingClock()
            let transport = try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
            let desk = try await self.desk(bed, clock.terminalClock, transport)
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { try await desk.run() }
                for await snapshot in await desk.snapshots() { if case .idle = snapshot.phase { break } }
                let amount = Money(minorUnits: 1250, currency: .usDollar)
                let charge = try await desk.open(ChargeRequest(amount: amount, by: .staff(name: "Ada")))
                let link = try await reaches(.requiresAction, charge.id, desk)
                while try await bed.calls("status").isEmpty { await Task.yield() }
                clock.stop()  // However slow this machine is, the next question is the last one.
                try await before(bed, try #require(link))
                clock.jump(by: .seconds(300))
                _ = try await reaches(state, charge.id, desk)
                let questions = asksAgain ? try await bed.calls("status").count : 2
                #expect(questions == 2, "one last question, and only one")
                group.cancelAll()
            }
            try await transport.shutdown()
        }
    }

    private func desk(_ bed: ProgramTestBed, _ clock: TerminalClock, _ transport: HTTPClientTransport) async throws
        -> ChargeDesk
    {
        let folder = bed.folder.appending("desk").string
        let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
        let journal = try Journal.open(directory: folder, deviceKey: key)
        let desk = ChargeDesk(
            archive: journal,
            clock: clock,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        let merchant = try MerchantClient(
            baseURL: bed.gatewayURL,
            credentials: MerchantCredentials(merchantID: ProgramTestBed.merchantID, apiKey: Secret(ProgramTestBed.key)),
            transport: transport
        )
        let settings = MerchantSettings(
            operatorID: "op-1",
            merchantID: ProgramTestBed.merchantID,
            merchantName: "Kiosk",
            gatewayURL: bed.gatewayURL,
            currency: .usDollar
        )
        let scan = ScanRail(
            merchant: merchant,
            gatewayURL: bed.gatewayURL,
            merchantID: ProgramTestBed.merchantID,
            clock: clock,
            pace: GatewayPace(clock: clock)
        )
        await desk.use(settings, drivers: [scan])
        return desk
    }

    /// - Returns: The link, where there is one.
    private func reaches(_ state: Charge.State, _ id: ChargeID, _ desk: ChargeDesk) async throws -> String? {
        for await snapshot in await desk.snapshots() {
            guard case .charging(let charge) = snapshot.phase, charge.id == id else { continue }
            if charge.charge.state == state { return charge.link }
        }
        throw CancellationError()
    }

    private func control(_ bed: ProgramTestBed, _ what: String, _ link: String) async throws {
        let payment = try #require(link.split(separator: "=").last).description
        let answer = try await ProgramTestBed.send(
            .POST,
            bed.gatewayURL + "/control/" + what,
            headers: [("Authorization", "Bearer \(ProgramTestBed.controlToken)")],
            json: ["paymentId": payment]
        )
        #expect(answer.status == 200)
    }

    @Test func aPaymentMadeInTheLastMomentIsFound() async throws {
        try await atTheDeadline(becomes: .succeeded) { bed, link in
            let isPaid = try await bed.pay(link)
            #expect(isPaid)
        }
    }

    @Test func aPaymentWhoseTimeIsOverAtTheGatewayHasExpired() async throws {
        try await atTheDeadline(becomes: .expired) { bed, link in
            try await control(bed, "expire", link)
        }
    }

    @Test func aGatewayThatIsGoneLeavesThePaymentUnknown() async throws {
        try await atTheDeadline(becomes: .unknown, asksAgain: false) { bed, _ in
            try bed.gateway.kill()
        }
    }
}
