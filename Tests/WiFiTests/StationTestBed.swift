import BusTestSupport
import Locks
import Testing

@testable import WiFi

/// A test bed of Wi-Fi: a station on a private bus with an iwd of its own, which has started unless a test wants it otherwise.
struct StationTestBed: Sendable {
    let iwd: FakeIWD
    let station: WirelessStation
    let busAddress: String

    static let shop = WiFiNetwork.ID.named("Shop")

    static func with(
        starts: Bool = true,
        timings: WirelessStation.Timings = .patient,
        prepare: (FakeIWD) -> Void = { _ in },
        _ body: (StationTestBed) async throws -> Void
    ) async throws {
        try await withPrivateBus { address, _ in
            try await with(on: address, starts: starts, timings: timings, prepare: prepare, body)
        }
    }

    /// The same, on a bus that the test has.
    static func with(
        on address: String,
        starts: Bool = true,
        timings: WirelessStation.Timings = .patient,
        prepare: (FakeIWD) -> Void = { _ in },
        _ body: (StationTestBed) async throws -> Void
    ) async throws {
        let iwd = FakeIWD(address: address)
        iwd.state.withLock { $0.senders = [FakeIWD.Sender(name: "Shop")] }
        prepare(iwd)
        if starts { try await iwd.start() }
        // A minute passes in half a second.
        let station = WirelessStation(busAddress: address, timings: timings) { try await Task.sleep(for: $0 / 120) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await iwd.run() }
            group.addTask { await station.run() }
            try await body(StationTestBed(iwd: iwd, station: station, busAddress: address))
            group.cancelAll()
        }
    }

    /// Waits for a state. A test that waits in vain ends at its time limit.
    func until(_ isSo: (WiFiState) -> Bool) async {
        for await state in station.states() where isSo(state) { return }
    }

    func untilReady() async { await until { $0.station != nil } }

    func untilGone(_ reason: WiFiState.Reason) async { await until { $0 == .unavailable(reason) } }

    /// Listens, and waits until what is around is known.
    func hear() async throws -> [WiFiNetwork] {
        await untilReady()
        try await station.scan()
        await until { $0.station?.isScanning == false }
        let expected = iwd.state.withLock { state in state.senders.filter { !$0.isHidden }.count }
        while true {
            let networks = try await station.networks()
            if networks.count >= expected { return networks }
            await Task.yield()
        }
    }
}

extension WirelessStation.Timings {
    /// For what must succeed on a busy machine too.
    static let patient: WirelessStation.Timings = {
        var timings = WirelessStation.Timings()
        (timings.answer, timings.join) = (.seconds(60), .seconds(60))
        return timings
    }()

    /// For what is never answered.
    static let impatient: WirelessStation.Timings = {
        var timings = WirelessStation.Timings()
        (timings.answer, timings.join) = (.milliseconds(400), .milliseconds(800))
        return timings
    }()
}

extension WiFiNetwork.ID {
    /// For names that a test writes down.
    static func named(_ text: String, _ security: WiFiSecurity = .passphrase) -> WiFiNetwork.ID {
        guard let name = WiFiName(text) else { preconditionFailure("no name: \(text)") }
        return WiFiNetwork.ID(name, security)
    }
}
