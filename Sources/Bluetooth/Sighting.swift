import DBus
import Locks

/// A phone was heard once.
public struct Sighting: Sendable, Equatable {
    public let address: BluetoothAddress
    /// Everything it advertises or is known to have.
    public let services: Set<BluetoothUUID>
    /// Strength, -127 to 20. `nil` if the controller does not tell.
    public let rssiDBm: Int?
    /// What it says to send with. `nil` if it does not, as no iPhone does.
    public let txPowerDBm: Int?
    public let serviceData: [BluetoothUUID: [UInt8]]
    /// When it was taken in, for how fresh it is.
    public let at: ContinuousClock.Instant

    init(_ address: BluetoothAddress, _ device: BlueZObjects.Properties) {
        self.address = address
        services = Set((device["UUIDs"]?.strings ?? []).prefix(64).compactMap(BluetoothUUID.init))
        // Source: Bluetooth Core 5.4, Vol 4, Part E, 7.7.65.2: 127 means that the strength is not available.
        rssiDBm = device["RSSI"]?.integer.flatMap { (-127...20).contains($0) ? $0 : nil }
        txPowerDBm = device["TxPower"]?.integer.flatMap { (-127...20).contains($0) ? $0 : nil }
        var data: [BluetoothUUID: [UInt8]] = [:]
        for (key, value) in device["ServiceData"]?.properties ?? [:] {
            if let uuid = BluetoothUUID(key), let bytes = value.bytes { data[uuid] = bytes }
        }
        serviceData = data
        at = .now
    }
}

/// Time since it was made, by any clock.
func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
}

/// Who reads sightings, and of what.
final class ScanHub: Sendable {
    private struct Reader {
        let services: Set<BluetoothUUID>
        let floorDBm: Int?
        let continuation: AsyncThrowingStream<Sighting, any Error>.Continuation
    }

    private struct State {
        var nextID: UInt64 = 0
        var readers: [UInt64: Reader] = [:]
        var sinceHeard: (@Sendable () -> Duration)?
        var wasHeard = false
    }

    private let state = Mutex(State())

    func stream(
        of services: Set<BluetoothUUID>,
        floorDBm: Int?,
        ended: @escaping @Sendable () -> Void
    ) -> AsyncThrowingStream<Sighting, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Sighting.self,
            bufferingPolicy: .bufferingNewest(256)
        )
        let id = state.withLock { state in
            state.nextID += 1
            state.readers[state.nextID] = Reader(services: services, floorDBm: floorDBm, continuation: continuation)
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.readers.removeValue(forKey: id) }
            ended()
        }
        return stream
    }

    func end(_ error: BluetoothError) {
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.continuation.finish(throwing: error) }
    }

    /// Bluetoothd merges the filters of all programs, so what it tells is looked at again here.
    func publish(_ address: BluetoothAddress, _ device: BlueZObjects.Properties) {
        let readers = state.withLock { Array($0.readers.values) }
        guard !readers.isEmpty else { return }
        let sighting = Sighting(address, device)
        for reader in readers where !reader.services.isDisjoint(with: sighting.services) {
            if let floor = reader.floorDBm, let rssi = sighting.rssiDBm, rssi < floor { continue }
            reader.continuation.yield(sighting)
            state.withLock { $0.wasHeard = true }
        }
    }

    /// What to scan for, for all readers together. Without a floor if one of them wants none.
    var wanted: (services: Set<BluetoothUUID>, floorDBm: Int?) {
        state.withLock { state in
            let readers = state.readers.values
            let floors = readers.map(\.floorDBm)
            return (
                readers.reduce(into: []) { $0.formUnion($1.services) },
                floors.contains(nil) ? nil : floors.compactMap(\.self).min()
            )
        }
    }

    func startQuietTime(on clock: any Clock<Duration>) {
        let watch = stopwatch(clock)
        state.withLock { ($0.sinceHeard, $0.wasHeard) = (watch, false) }
    }

    /// How long no wanted phone was heard.
    func quietTime(on clock: any Clock<Duration>) -> Duration {
        if state.withLock({ $0.wasHeard }) { startQuietTime(on: clock) }
        return state.withLock(\.sinceHeard)?() ?? .zero
    }
}
