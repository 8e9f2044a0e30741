import Ethereum
import Foundation
import Journal
import Locks
import Logging
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnect
import WalletConnectPay
import WebSocket

/// A test bed of WalletConnect: a terminal with a real journal file, the sandbox's gateway, a real relay, and customers' wallets.
final class ConnectTestBed: Sendable {
    static let plain = Result { () throws(WebSocketFailure) in try WebSocketClient(allowsPlain: true) }

    let clock = ManualClock()
    let folder: String
    let gateway: Gateway
    let line: LossyTransport
    /// What outlives the terminal's power.
    let store = MemoryStore()
    let memory = ShortRelayMemory()

    init(_ change: (inout GatewayConfiguration) -> Void = { _ in }) throws {
        folder = NSTemporaryDirectory() + "/connect-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var configuration = GatewayConfiguration(merchantID: "m1", apiKey: "wcp_test")
        configuration.settleAfter = .milliseconds(300)
        configuration.controlToken = "control"
        change(&configuration)
        let terminalClock = clock.terminalClock
        gateway = Gateway(
            GatewayState(configuration: configuration),
            clock: SandboxClock(now: terminalClock.wallTime, sleep: terminalClock.sleep)
        )
        line = LossyTransport(gateway: gateway)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var wall: SandboxClock {
        let clock = clock.terminalClock
        return SandboxClock(now: clock.wallTime, sleep: clock.sleep)
    }

    /// Runs gateway and relay while `body` does.
    func play(
        faults: [RelayFault] = [],
        _ body: @escaping @Sendable (LiveRelay) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { [gateway] in try await gateway.run() }
            defer { group.cancelAll() }
            try await LiveRelay.running(clock: wall, faults: faults) { relay in try await body(relay) }
        }
    }

    static var logger: Logger {
        var logger = Logger(label: "connect")
        logger.logLevel = ProcessInfo.processInfo.environment["CONNECT_LOG"] == nil ? .critical : .trace
        return logger
    }

    /// The gateway as the terminal asks it for wallets.
    static func wallets(_ line: LossyTransport, _ clock: ManualClock, _ pace: GatewayPace) -> (any ConnectGateway)? {
        try? ConnectGatewayClient(
            client: PayClient(
                baseURL: LossyTransport.baseURL,
                credentials: .app(id: "till", clientID: "till"),
                transport: line,
                clock: TurnedClock(clock: clock),
                retries: 0
            ),
            address: "https://gateway.example",
            pace: pace
        )
    }

    /// Opens the journal, runs desk and station while `body` does, and closes everything: as often as one likes.
    /// - Parameter fuse: Where the power goes out.
    func open(
        _ relay: LiveRelay,
        fuse: Fuse = Fuse(),
        settings change: (inout ConnectSettings) -> Void = { _ in },
        timeLimitSeconds: Int = 300,
        _ body: @escaping @Sendable (Shift) async throws -> Void
    ) async throws {
        let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
        let journal = try Journal.open(directory: folder, deviceKey: key)
        let logger = Self.logger
        let terminalClock = clock.terminalClock
        let desk = ChargeDesk(
            archive: FusedArchive(journal: journal, fuse: fuse),
            clock: terminalClock,
            logger: logger
        )
        let station = ConnectStation(
            store: FusedStore(store: store, fuse: fuse),
            memory: memory,
            sockets: try Self.plain.get(),
            clock: terminalClock,
            logger: logger
        ) { settings in
            settings.pauses = [.milliseconds(100)]
        }
        var settings = ConnectSettings()
        settings.isEnabled = true
        settings.relayURL = "ws://\(relay.host)"
        settings.projectID = "0123456789abcdef0123456789abcdef"
        change(&settings)
        await station.serve(desk)
        let (line, manual) = (line, clock)
        let pace = GatewayPace(clock: terminalClock)
        await station.use(
            ConnectStation.Setup(
                settings: settings,
                merchantName: "Coffee Shop",
                pageAddress: "https://till.local:8443"
            ) { _ in Self.wallets(line, manual, pace) }
        )
        let merchant = try MerchantClient(
            baseURL: LossyTransport.baseURL,
            credentials: MerchantCredentials(merchantID: "m1", apiKey: Secret("wcp_test")),
            transport: line
        )
        func rail(_ rail: Rail) -> ScanRail {
            ScanRail(
                merchant: merchant,
                gatewayURL: "https://gateway.example",
                merchantID: "m1",
                clock: terminalClock,
                pace: pace,
                rail: rail
            )
        }
        await desk.use(
            MerchantSettings(
                operatorID: "op1",
                merchantID: "m1",
                merchantName: "Coffee Shop",
                gatewayURL: "https://gateway.example",
                currency: .euro,
                timeLimitSeconds: timeLimitSeconds
            ),
            drivers: [rail(.scan), ConnectRail(station: station, payment: rail(.connect))]
        )
        let shift = Shift(bed: self, desk: desk, station: station, journal: journal)
        try await withThrowingTaskGroup { group in
            group.addTask { try await desk.run() }
            group.addTask { await station.run() }
            group.addTask { for await status in await station.statuses() { await desk.setConnect(status) } }
            do {
                try await shift.until("the terminal is ready") {
                    if case .starting = await desk.snapshot.phase { false } else { true }
                }
                try await body(shift)
            } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
        }
        try journal.close()
    }
}

/// The terminal while it is switched on.
struct Shift: Sendable {
    let bed: ConnectTestBed
    let desk: ChargeDesk
    let station: ConnectStation
    let journal: Journal

    func charge(_ minorUnits: Int64 = 1050) async throws -> ChargeID {
        try await desk.open(
            ChargeRequest(amount: Money(minorUnits: minorUnits, currency: .euro), by: .staff(name: "test"))
        ).id
    }

    func snapshot(_ id: ChargeID) async throws -> ChargeSnapshot { try await desk.charge(id) }
    func charge(_ id: ChargeID) async throws -> Charge { try await desk.charge(id).charge }

    struct TooLong: Error, CustomStringConvertible { let description: String }

    /// Lets time pass until something is so. Fails where it is not after that much of the clock.
    func until(
        _ what: String,
        within limit: Duration = .seconds(100),
        _ isSo: @Sendable () async throws -> Bool
    ) async throws {
        try await bed.until(what, within: limit, isSo)
    }

    func until(_ id: ChargeID, is state: Charge.State, within limit: Duration = .seconds(100)) async throws {
        try await until("the charge is \(state)", within: limit) { try await self.charge(id).state == state }
    }

    /// The pairing on the screen, once there is one; another than `old`.
    func pairing(of id: ChargeID, after old: String? = nil) async throws -> String {
        try await until("a code to pair by") {
            let uri = try await self.snapshot(id).pairingURI
            return uri != nil && uri != old
        }
        return try #require(try await snapshot(id).pairingURI)
    }

    /// Nothing of the wallet's conversation is left.
    func isQuiet() async throws -> Bool {
        let stored = try await bed.store.values(prefix: "")
        return !stored.keys.contains { $0.hasPrefix("connect/") || $0.hasPrefix("wc2/session") }
    }
}

extension ConnectTestBed {
    /// Tells the gateway what a test wants of it. - Returns: The HTTP status.
    func control(_ path: String, _ body: String) async throws -> Int? {
        let request = GatewayRequest(
            "POST",
            "/control/\(path)",
            headers: ["Authorization": "Bearer control", "Content-Type": "application/json"],
            body: Array(body.utf8)
        )
        return await gateway.answer(request)?.status
    }

    /// Payments that the gateway has booked as paid.
    func paidPayments() async throws -> Int {
        let request = GatewayRequest("GET", "/control/payments", headers: ["Authorization": "Bearer control"], body: [])
        let body = try #require(await gateway.answer(request)?.body)
        let found = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
        let payments = try #require(found["payments"] as? [[String: Any]])
        return payments.count { $0["status"] as? String == "succeeded" }
    }

    func until(
        _ what: String,
        within limit: Duration = .seconds(100),
        _ isSo: @Sendable () async throws -> Bool
    ) async throws {
        let end = clock.now + limit
        // Minutes go faster; then a slow machine may lose its connection to the relay, and makes it again.
        let step = Duration.milliseconds(limit > .seconds(150) ? 25 : 5)
        while clock.now < end {
            if try await isSo() { return }
            for _ in 0..<20 { await Task.yield() }
            // Disk, sockets and other threads take real time; the clock stands still meanwhile.
            try await Task.sleep(for: .microseconds(500))
            clock.advance(by: step)
        }
        throw Shift.TooLong(description: "not within \(limit): \(what)")
    }

    /// Lets a duration pass.
    func passes(_ duration: Duration) async throws {
        let end = clock.now + duration
        try await until("time has passed", within: duration + .seconds(1)) { self.clock.now >= end }
    }
}

/// Asks the gateway without a socket, and loses what it is told to lose.
struct LossyTransport: HTTPTransport {
    static let baseURL = "http://127.0.0.1:1"
    let gateway: Gateway
    let faults = Faults()

    final class Faults: Sendable {
        private let lost = Mutex<[String: Int]>([:])
        private let seen = Mutex<[String]>([])
        private let lies = Mutex<[(path: String, lie: @Sendable (String) -> String)]>([])
        private let pauses = Mutex<[String: Int]>([:])
        private let stopped = Mutex<Set<String>>([])
        private let hooks = Mutex<[String: @Sendable () async -> Void]>([:])

        /// Answers to lose, of calls whose path ends so; the call itself happens.
        func lose(_ count: Int, of path: String) { lost.withLock { $0[path] = count } }
        /// Changes what calls are answered whose path ends so.
        func lie(of path: String, _ lie: @escaping @Sendable (String) -> String) {
            lies.withLock { $0.append((path, lie)) }
        }
        /// The next call whose path has this in it is told to come back after so many seconds; it does not happen.
        func pause(_ path: String, seconds: Int) { pauses.withLock { $0[path] = seconds } }
        fileprivate func pauses(_ path: String) -> Int? {
            pauses.withLock { pauses in
                guard let key = pauses.keys.first(where: { path.contains($0) }) else { return nil }
                return pauses.removeValue(forKey: key)
            }
        }
        fileprivate func changed(_ body: [UInt8], of path: String) -> [UInt8] {
            var text = String(decoding: body, as: UTF8.self)
            for (_, lie) in lies.withLock({ $0.filter { path.contains($0.path) } }) { text = lie(text) }
            return Array(text.utf8)
        }
        fileprivate func loses(_ path: String) -> Bool {
            lost.withLock { lost in
                guard let key = lost.keys.first(where: { path.contains($0) }), let left = lost[key], left > 0 else {
                    return false
                }
                lost[key] = left - 1
                return true
            }
        }
        fileprivate func note(_ path: String) { seen.withLock { $0.append(path) } }
        /// Calls with this in their path do not arrive, until they are let through again.
        func stop(_ path: String) { stopped.withLock { _ = $0.insert(path) } }
        func letThrough(_ path: String) { stopped.withLock { _ = $0.remove(path) } }
        fileprivate func stops(_ path: String) -> Bool { stopped.withLock { $0.contains { path.contains($0) } } }

        /// Does something before each call with this in its path arrives.
        func before(_ path: String, _ body: @escaping @Sendable () async -> Void) { hooks.withLock { $0[path] = body } }
        fileprivate func prepare(_ path: String) async {
            for hook in hooks.withLock({ hooks in hooks.filter { path.contains($0.key) }.map(\.value) }) {
                await hook()
            }
        }

        var calls: [String] { seen.withLock { $0 } }
        func count(of path: String) -> Int { seen.withLock { $0.count { $0.contains(path) } } }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let path = String(request.url.dropFirst(Self.baseURL.count))
        faults.note(request.method.rawValue + " " + path)
        if let seconds = faults.pauses(path) {
            return HTTPResponse(status: 429, headers: [(name: "Retry-After", value: "\(seconds)")], body: [])
        }
        await faults.prepare(path)
        if faults.stops(path) { throw .noAnswer(after: request.timeout) }
        let question = GatewayRequest(
            request.method.rawValue,
            path,
            headers: Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }),
            body: request.body ?? []
        )
        let answer = await gateway.answer(question)
        guard let answer, !faults.loses(path) else { throw .noAnswer(after: request.timeout) }
        return HTTPResponse(
            status: answer.status,
            headers: answer.headers.map { (name: $0.key, value: $0.value) },
            body: faults.changed(answer.body, of: path)
        )
    }
}

/// A real relay in this process, on a real socket.
struct LiveRelay: Sendable {
    let port: UInt16
    var host: String { "127.0.0.1:\(port)" }

    static func running(
        clock: SandboxClock,
        port: UInt16? = nil,
        state: String? = nil,
        faults: [RelayFault] = [],
        _ body: @Sendable @escaping (LiveRelay) async throws -> Void
    ) async throws {
        var configuration = RelayConfiguration()
        configuration.listen.threads = 1
        configuration.faults = faults
        if let port { configuration.listen.port = port }
        let relay: Relay
        if let state {
            relay = try await Relay.remembering(configuration, in: state, clock: clock).0
        } else {
            relay = Relay(configuration, clock: clock)
        }
        let server = try await RelayServer(relay)
        try await withThrowingTaskGroup { group in
            group.addTask { try await server.run() }
            defer { group.cancelAll() }
            try await body(LiveRelay(port: server.port))
        }
    }
}

extension ConnectStatus.Light {
    var isTrouble: Bool { if case .hindered = self { true } else { false } }
}

extension ManualClock {
    /// Lets time pass while `body` works: what waits for the clock there, such as for the next try to connect, would wait
    /// for ever for who waits for `body`.
    func passing<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    try await Task.sleep(for: .microseconds(500))
                    self.advance(by: .milliseconds(5))
                }
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }
}
