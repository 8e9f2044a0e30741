import DBus
import Locks

/// This machine as a BLE central: it scans for phones and connects to them, through bluetoothd.
///
/// Let ``run()`` run for as long as the radio is used. It switches the adapter on, turns every pairing away, removes
/// phones that are done, and comes back by itself when bluetoothd or the bus does.
public actor BluetoothCentral {
    let bluez: BlueZ
    nonisolated let scans = ScanHub()
    nonisolated let turn = Turnstile()
    let valueLimit: Int
    /// Connects going on, during which nothing is scanned: with a scan a connect takes ten seconds and not a tenth.
    var connects = 0
    private(set) var isScanning = false
    /// A start or stop of the scan is asked for and not answered.
    private(set) var isArranging = false
    private var scanSession = -1
    private var scannedServices: Set<BluetoothUUID> = []
    private var scanFloor: Int?
    /// For how long every start of a scan has come to nothing.
    private var refusedFor: (@Sendable () -> Duration)?

    nonisolated var timings: BluetoothTimings { bluez.setup.timings }
    nonisolated var clock: any Clock<Duration> { bluez.setup.clock }

    /// - Parameters:
    ///   - adapter: Such as `hci0`; `nil` takes the first there is.
    ///   - sweeps: Whether this program alone uses the adapter: unpaired phones that BlueZ knows on it are removed then.
    ///   - busAddress: `nil` for the machine's own bus.
    ///   - valueLimit: No value is longer, 20 to 512 bytes. A phone played by BlueZ takes no more than 510.
    public init(
        adapter: String? = nil,
        sweeps: Bool = true,
        busAddress: String? = nil,
        valueLimit: Int = 512,
        timings: BluetoothTimings = BluetoothTimings(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        let scans = scans
        self.valueLimit = min(512, max(20, valueLimit))
        bluez = BlueZ(
            setup: BlueZ.Setup(
                adapter: adapter,
                busAddress: busAddress ?? BusConnection.systemAddress,
                timings: timings,
                clock: clock,
                sweeps: sweeps
            )
        ) { address, device in scans.publish(address, device) }
    }

    /// Works until the task is cancelled; then lets go of every phone, for which bluetoothd may take some seconds.
    public func run() async {
        // A task of its own, awaited: after the cancelling it is still needed, to let the phones go.
        let work = Task { await self.work() }
        await Changes().wait(after: 0)  // Nothing changes these: until cancelled.
        let bluez = bluez
        await Task { await bluez.leave() }.value
        work.cancel()
        await work.value
    }

    private func work() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.bluez.run() }
            group.addTask { await self.keepScanning() }
            group.addTask { await self.endScansWithTheRadio() }
        }
        scans.end(.unavailable(.starting))
    }

    var isScanBusy: Bool { isScanning || isArranging }

    /// Whether the radio can be used: now, and every change. Any number may listen.
    public nonisolated var states: AsyncStream<RadioState> { bluez.states.stream() }

    /// Phones of BlueZ that are known on this adapter, for tests and self-checks: none when nothing goes on.
    public func knownPhones() async -> Int {
        guard let adapter = await bluez.adapterPath else { return 0 }
        return await bluez.objects.devicePaths(of: adapter).count
    }
}

// MARK: - Scanning

extension BluetoothCentral {
    /// Phones that advertise one of `services`, each time that one is heard. The radio scans while somebody reads.
    ///
    /// Ends with ``BluetoothError/unavailable(_:)`` when the radio is off or gone, at once if it is so already.
    /// - Parameter floorDBm: Weaker phones are left out; those without a known strength never are.
    public nonisolated func sightings(
        of services: Set<BluetoothUUID>,
        floorDBm: Int? = nil
    ) -> AsyncThrowingStream<Sighting, any Error> {
        let changes = bluez.changes
        let stream = scans.stream(of: services, floorDBm: floorDBm) { changes.bump() }
        if case .unavailable(let reason) = bluez.states.last, reason != .starting {
            scans.end(.unavailable(reason))
        }
        changes.bump()
        return stream
    }

    private func endScansWithTheRadio() async {
        for await state in states {
            if case .unavailable(let reason) = state, reason != .starting { scans.end(.unavailable(reason)) }
        }
    }

    private func keepScanning() async {
        while !Task.isCancelled {
            let version = bluez.changes.version
            let delay = await arrangeScan()
            await bluez.changes.wait(after: version, atMost: delay, clock: clock)
        }
    }

    /// Starts, stops or renews the scan as it is wanted now.
    ///
    /// - Returns: When to look again, if nothing changes before.
    private func arrangeScan() async -> Duration? {
        let session = await bluez.session
        if session != scanSession { (isScanning, scanSession, refusedFor) = (false, session, nil) }
        guard case .ready = await bluez.state, let adapter = await bluez.adapterPath else {
            isScanning = false
            return nil
        }
        let (services, floor) = scans.wanted
        let isWanted = connects == 0 && !services.isEmpty
        if isScanning {
            let isSame = services == scannedServices && floor == scanFloor
            let isStale = scans.quietTime(on: clock) >= timings.scanRestart
            if isWanted, isSame, !isStale { return timings.scanRestart - scans.quietTime(on: clock) }
            await stopScan()
        }
        guard isWanted else { return nil }
        do throws(BluetoothError) {
            try await startScan(adapter, services, floor)
            (isScanning, scannedServices, scanFloor) = (true, services, floor)
            refusedFor = nil
            scans.startQuietTime(on: clock)
            return timings.scanRestart
        } catch {
            // InProgress among others: for some seconds the kernel may still scan for a bluetoothd that crashed.
            // Never taken for success.
            await stopScan()
            let refused = refusedFor ?? stopwatch(clock)
            refusedFor = refused
            if refused() >= timings.scanRefusal { scans.end(.unavailable(.refused(Self.words(error)))) }
            // Whatever else changes, a refused scan is asked for again by the clock alone.
            try? await clock.sleep(for: timings.scanRetry, tolerance: nil)  // Throws only when cancelled.
            return .zero
        }
    }

    private static func words(_ error: BluetoothError) -> String {
        let detail = if case .refused(_, let name, let text) = error { "\(name) \(text)" } else { "no answer" }
        return "it does not begin to look for phones: \(detail)"
    }

    private func startScan(
        _ adapter: ObjectPath,
        _ services: Set<BluetoothUUID>,
        _ floorDBm: Int?
    ) async throws(BluetoothError) {
        var filter: [String: BusValue] = [
            "UUIDs": .strings(services.map(\.description).sorted()),
            "Transport": .string("le"),
            "DuplicateData": .boolean(true),
        ]
        if let floorDBm { filter["RSSI"] = .int16(Int16(clamping: max(-127, min(20, floorDBm)))) }
        isArranging = true
        defer { isArranging = false }
        for (member, arguments) in [("SetDiscoveryFilter", [BusValue.properties(filter)]), ("StartDiscovery", [])] {
            _ = try await bluez.call(
                adapter,
                BlueZObjects.adapter,
                member,
                arguments,
                within: timings.stopScanning,
                stage: .stopScanning
            )
        }
    }

    /// A refusal means that no scan of this program goes on.
    private func stopScan() async {
        isArranging = true
        defer {
            (isScanning, isArranging) = (false, false)
            bluez.changes.bump()
        }
        guard let adapter = await bluez.adapterPath else { return }
        _ = try? await bluez.call(
            adapter,
            BlueZObjects.adapter,
            "StopDiscovery",
            within: timings.stopScanning,
            stage: .stopScanning
        )
    }
}
