import BusTestSupport
import DBus
import Locks
import Testing

@testable import Bluetooth

/// Source: BPP/1 section 3, `bleServiceUUID`.
let testService = BluetoothUUID(
    bytes: [0x7D, 0x2B, 0, 1, 0x5C, 0x1E, 0x4F, 0x0A, 0x9B, 0x6D, 0x3A, 0x8E, 0x41, 0xF7, 0xC2, 0xD9]
)
let testProfile = LinkProfile(service: testService)
let phoneAddress = "4F:12:00:AA:BB:01"

/// A central on a private bus with a bluetoothd of its own, which has started unless a test wants it otherwise.
struct Radio: Sendable {
    let bluez: FakeBlueZ
    let central: BluetoothCentral
    let clock: FastClock
    let busAddress: String

    static func with(
        adapter: String? = "hci0",
        starts: Bool = true,
        speed: Int = 1,
        timings: BluetoothTimings = .patient,
        prepare: (FakeBlueZ) async throws -> Void = { _ in },
        _ body: (Radio) async throws -> Void
    ) async throws {
        try await withPrivateBus { address, _ in
            try await with(
                on: address,
                adapter: adapter,
                starts: starts,
                speed: speed,
                timings: timings,
                prepare: prepare,
                body
            )
        }
    }

    /// The same, on a bus that the test has.
    static func with(
        on address: String,
        adapter: String? = "hci0",
        starts: Bool = true,
        speed: Int = 1,
        timings: BluetoothTimings = .patient,
        prepare: (FakeBlueZ) async throws -> Void = { _ in },
        _ body: (Radio) async throws -> Void
    ) async throws {
        let bluez = FakeBlueZ(address: address)
        try await prepare(bluez)
        if starts { try await bluez.start() }
        let clock = FastClock(speed: speed)
        let central = BluetoothCentral(adapter: adapter, busAddress: address, timings: timings, clock: clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await bluez.run() }
            group.addTask { await central.run() }
            try await body(Radio(bluez: bluez, central: central, clock: clock, busAddress: address))
            group.cancelAll()
        }
    }

    func until(_ isSo: @Sendable (RadioState) -> Bool) async {
        for await state in central.states where isSo(state) { return }
    }

    func untilReady() async { await until(\.isReady) }

    /// Scans until the phone is heard.
    func find(_ address: String = phoneAddress) async throws -> BluetoothAddress {
        for try await sighting in central.sightings(of: [testService]) where sighting.address.description == address {
            return sighting.address
        }
        throw CancellationError()
    }

    func connect(_ address: String = phoneAddress) async throws -> Link {
        await untilReady()
        return try await central.connect(to: try await find(address), testProfile)
    }

    var known: [String] { bluez.state.withLock { $0.known.keys.sorted() } }
    var calls: [String] { bluez.state.withLock { $0.calls } }
}

extension BluetoothTimings {
    /// For what must succeed on a busy machine too.
    static let patient: BluetoothTimings = {
        var timings = BluetoothTimings()
        (timings.connect, timings.resolve, timings.open) = (.seconds(60), .seconds(60), .seconds(60))
        (timings.send, timings.stopScanning, timings.remove) = (.seconds(60), .seconds(60), .seconds(60))
        return timings
    }()

    /// Tries again soon. What may take long may take as long as ever.
    static let quick: BluetoothTimings = {
        var timings = patient
        timings.scanRetry = .milliseconds(50)
        timings.scanRefusal = .milliseconds(400)
        timings.scanRestart = .milliseconds(200)
        timings.connectRetries = [.milliseconds(20), .milliseconds(50), .milliseconds(100)]
        return timings
    }()
}
