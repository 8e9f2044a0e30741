import Journal
import Locks
import Logging
import Payments
import TerminalTestSupport
import Testing
import TestSupport
import WiFi

@testable import Terminal

/// What may be done to the machine's network, and when.
@Suite(.timeLimit(.minutes(1)))
struct NetworkDeskTests {
    private static let shop = named("Shop", .passphrase)
    private static let cafe = named("Cafe", .open)

    private static func named(_ text: String, _ security: WiFiSecurity) -> WiFiNetwork.ID {
        guard let name = WiFiName(text) else { preconditionFailure("no name") }
        return WiFiNetwork.ID(name, security)
    }

    private static let changes: [NetworkRules.Change] = [.scan, .join, .leave, .forget(shop), .forget(cafe)]
    private static let links: [WiFiState.Link] = [.none, .joining(nil), .joining(shop), .joined(nil), .joined(shop)]

    /// The whole space: whatever would end the network that an open charge goes by is refused, and nothing else.
    @Test(arguments: changes, links)
    func anOpenChargeKeepsItsNetwork(change: NetworkRules.Change, link: WiFiState.Link) {
        func refusal(working: Bool, charge: Bool) -> NetworkRefusal? {
            NetworkRules.refusal(change, link: link, isWorking: working, isChargeOpen: charge)
        }
        #expect(refusal(working: true, charge: true) == .working && refusal(working: true, charge: false) == .working)
        #expect(refusal(working: false, charge: false) == nil)
        let isElsewhere = change == .forget(Self.cafe) && (link == .joined(Self.shop) || link == .joining(Self.shop))
        #expect(refusal(working: false, charge: true) == (link == .none || isElsewhere ? nil : .chargeOpen))
    }

    @Test func barsFollowTheStrength() {
        #expect(
            [-30, -55, -56, -67, -68, -75, -76, -85, -86, -120].map(NetworkRules.bars) == [
                4, 4, 3, 3, 2, 2, 1, 1, 0, 0,
            ]
        )
    }

    private final class Radio: Wireless {
        let link: Mutex<WiFiState.Link>
        let joins = AsyncStream.makeStream(of: String.self)

        init(_ link: WiFiState.Link) { self.link = Mutex(link) }

        var state: WiFiState {
            get async {
                await Task.yield()
                return .ready(.init(interface: "wlan0", link: link.withLock { $0 }, isScanning: false))
            }
        }
        var known: [KnownWiFiNetwork] { get async { [] } }
        func scan() async throws(WiFiError) { await Task.yield() }
        func networks() async throws(WiFiError) -> [WiFiNetwork] {
            await Task.yield()
            return []
        }
        func join(_ id: WiFiNetwork.ID, passphrase: Passphrase?) async throws(WiFiError) {
            await Task.yield()
            joins.continuation.yield(id.name.text)
        }
        func joinHidden(_ name: WiFiName, passphrase: Passphrase?) async throws(WiFiError) {}
        func leave() async throws(WiFiError) {}
        func forget(_ id: WiFiNetwork.ID) async throws(WiFiError) {}
    }

    private func with(
        _ link: WiFiState.Link,
        _ body: (NetworkDesk, Radio, ManualClock) async throws -> Void
    ) async throws {
        let (radio, clock) = (Radio(link), ManualClock())
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let desk = NetworkDesk(
            radio: radio,
            desk: ChargeDesk(archive: MemoryArchive(), clock: clock.terminalClock, logger: logger),
            clock: clock.terminalClock,
            logger: logger,
            addresses: { _ in [] },
            audit: { _ in }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await desk.run() }
            try await body(desk, radio, clock)
            group.cancelAll()
        }
    }

    @Test func theAnswerIsOnItsWayBeforeTheNetworkIsLeftForAnother() async throws {
        try await with(.joined(Self.shop)) { desk, radio, clock in
            try await desk.join(.heard(Self.cafe), passphrase: nil, by: .staff(name: "owner"))
            while !clock.hasSleeper(for: NetworkDesk.grace) { await Task.yield() }
            #expect(await desk.view().attempt?.stage == .joining)
            clock.advance(by: NetworkDesk.grace)
            for await name in radio.joins.stream {
                #expect(name == "Cafe")
                break
            }
        }
    }

    @Test func withoutANetworkNothingIsWaitedFor() async throws {
        try await with(.none) { desk, radio, clock in
            try await desk.join(.heard(Self.cafe), passphrase: nil, by: .staff(name: "owner"))
            for await _ in radio.joins.stream { break }
            #expect(clock.sleeps == 0)
        }
    }
}
