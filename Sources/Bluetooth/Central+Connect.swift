import DBus

extension BluetoothCentral {
    /// Connects to a phone that was seen, finds the characteristics of `profile`, and opens both pipes.
    ///
    /// One connect at a time: others wait for their turn. Scanning rests meanwhile. Each stage has its own time limit,
    /// so a slow or hostile phone holds the radio for the sum of them at most. Whatever fails, and when the task is
    /// cancelled, the phone is disconnected and removed before this throws.
    /// - Parameter limits: The stages' limits, in place of the central's own.
    public func connect(
        to address: BluetoothAddress,
        _ profile: LinkProfile,
        limits: (connect: Duration, resolve: Duration, open: Duration)? = nil
    ) async throws(BluetoothError) -> Link {
        let limits = limits ?? (timings.connect, timings.resolve, timings.open)
        try await turn.enter()
        connects += 1
        bluez.changes.bump()
        defer {
            connects -= 1
            bluez.changes.bump()
            turn.leave()
        }
        if case .unavailable(let reason) = await bluez.state { throw .unavailable(reason) }
        var times = Link.Times()
        var watch = stopwatch(clock)
        try await untilScanRests()
        times.stopScanning = watch()
        if await bluez.isLeaving { throw .cancelled }
        guard let phone = await bluez.hold(address) else { throw .unknownPhone(address) }
        do throws(BluetoothError) {
            watch = stopwatch(clock)
            try await connect(phone, within: limits.connect)
            times.connect = watch()
            watch = stopwatch(clock)
            let paths = try await resolve(phone, profile, within: limits.resolve)
            times.resolve = watch()
            watch = stopwatch(clock)
            let pipes = try await open(paths, within: limits.open)
            times.open = watch()
            return Link(pipes, phone, read: paths.read, times: times, central: self)
        } catch {
            let bluez = bluez
            // A task of its own, awaited: what undoes things must not be cancelled with what did them.
            await Task {
                await bluez.disconnect(phone.path)
                await bluez.discard(phone.path, of: phone.epoch)
            }.value
            throw error
        }
    }

    /// A link went without being closed.
    nonisolated func abandon(_ phone: HeldPhone) {
        let bluez = bluez
        // The last reference is gone, so nobody is left to wait for it. It ends within the time limits of a removal.
        Task { await bluez.discard(phone.path, of: phone.epoch) }
    }

    private func untilScanRests() async throws(BluetoothError) {
        let changes = bluez.changes
        try await within(timings.stopScanning * 2, clock: clock, stage: .stopScanning) { () throws(BluetoothError) in
            while true {
                let version = changes.version
                guard await self.isScanBusy else { return }
                await changes.wait(after: version)
                if Task.isCancelled { throw .cancelled }
            }
        }
    }

    private func connect(_ phone: HeldPhone, within limit: Duration) async throws(BluetoothError) {
        let (bluez, timings, clock) = (bluez, timings, clock)
        try await Bluetooth.within(limit, clock: clock, stage: .connect) { () throws(BluetoothError) in
            var tries = 0
            while true {
                do throws(BusError) {
                    _ = try await bluez.call(phone.path, BlueZObjects.device, "Connect")
                    return
                } catch {
                    guard Self.isPassing(error), tries < timings.connectRetries.count else {
                        throw BluetoothError(error, at: .connect)
                    }
                }
                try? await clock.sleep(for: timings.connectRetries[tries], tolerance: nil)
                if Task.isCancelled { throw .cancelled }
                tries += 1
            }
        }
    }

    /// Refusals that another try soon may not meet.
    ///
    /// Source: BlueZ 5.66 src/error.h, `ERR_LE_CONN_ABORT_BY_LOCAL` and its neighbours.
    private static func isPassing(_ error: BusError) -> Bool {
        guard case .refused(let name, let text) = error else { return false }
        return name == "org.bluez.Error.InProgress" || text.contains("abort-by-local") || text.contains("in progress")
            || text.contains("connection-busy") || text.contains("concurrent-connection")
    }

    /// Waits for the services and for the objects of the characteristics, which can come later.
    ///
    /// Source: BPP/1 section 5, step 2.
    private func resolve(
        _ phone: HeldPhone,
        _ profile: LinkProfile,
        within limit: Duration
    ) async throws(BluetoothError) -> LinkPaths {
        let bluez = bluez
        return try await Bluetooth.within(limit, clock: clock, stage: .resolve) { () throws(BluetoothError) in
            var wasConnected = false
            while true {
                let version = bluez.changes.version
                let look = await bluez.look(at: phone, for: profile)
                switch look {
                case .found(let paths): return paths
                case .gone(let error): throw error
                case .notYet(let isConnected):
                    if wasConnected, !isConnected { throw .disconnected }
                    wasConnected = isConnected
                }
                await bluez.changes.wait(after: version)
                if Task.isCancelled { throw .cancelled }
            }
        }
    }

    /// Opens both pipes and reads, without waiting for the phone's answer in between. The phone hears of the subscription before
    /// the reading: bluetoothd asks it one thing after the other.
    private func open(_ paths: LinkPaths, within time: Duration) async throws(BluetoothError) -> OpenedPipes {
        let (bluez, limit) = (bluez, valueLimit)
        return try await Bluetooth.within(time, clock: clock, stage: .open) { () throws(BluetoothError) in
            let calls = [("AcquireNotify", paths.notify), ("AcquireWrite", paths.write), ("ReadValue", paths.read)]
            let answers = await bluez.calls(
                calls.map { BusCall(to: BlueZ.name, at: $1, BlueZObjects.characteristic, $0, [.properties([:])]) }
            )
            if Task.isCancelled { throw .cancelled }
            let (incoming, outgoing) = (try BlueZ.pipe(answers[0]), try BlueZ.pipe(answers[1]))
            let bytes = min(incoming.bytes, outgoing.bytes, limit)
            guard bytes >= 20 else { throw .valueTooShort(maximumBytes: bytes) }
            return OpenedPipes(
                incoming: incoming.pipe,
                outgoing: outgoing.pipe,
                maximumValueLength: bytes,
                firstValue: BlueZ.value(answers[2])
            )
        }
    }
}

extension BlueZ {
    enum Look: Sendable {
        case found(LinkPaths)
        case notYet(isConnected: Bool)
        case gone(BluetoothError)
    }

    /// Finds a phone that was seen and keeps it from being removed as a leftover.
    func hold(_ address: BluetoothAddress) -> HeldPhone? {
        guard let adapter = adapterPath, let path = objects.devicePath(of: adapter, address: address) else {
            return nil
        }
        hold(path)
        return HeldPhone(address: address, path: path, epoch: epoch)
    }

    func look(at phone: HeldPhone, for profile: LinkProfile) -> Look {
        guard epoch == phone.epoch else {
            if case .unavailable(let reason) = state { return .gone(.unavailable(reason)) }
            return .gone(.disconnected)
        }
        guard let device = objects[phone.path, BlueZObjects.device] else { return .gone(.disconnected) }
        let isConnected = device["Connected"]?.boolean == true
        // Not `isConnected` too: after a restart BlueZ 5.66 was seen to tell of the services and never of the connection.
        guard device["ServicesResolved"]?.boolean == true,
            let paths = objects.characteristics(of: phone.path, in: profile)
        else { return .notYet(isConnected: isConnected) }
        return .found(paths)
    }

    /// The pipe, and the bytes that one value may have.
    ///
    /// Source: BlueZ 5.66 doc/gatt-api.txt: the answer is a descriptor and the ATT MTU. BPP/1 section 5, step 4.
    static func pipe(
        _ answer: Result<[BusValue], BusError>
    ) throws(BluetoothError) -> (pipe: PacketPipe, bytes: Int) {
        let values: [BusValue]
        do throws(BusError) { values = try answer.get() } catch { throw BluetoothError(error, at: .open) }
        guard values.count == 2, let pipe = values[0].descriptor.flatMap({ PacketPipe($0) }),
            let mtu = values[1].integer
        else { throw .refused(.open, name: "", text: "bluetoothd gave no descriptor") }
        return (pipe, min(mtu - 3, 512))
    }

    /// What a phone gave to read.
    static func value(_ answer: Result<[BusValue], BusError>) -> Result<[UInt8], BluetoothError> {
        answer.mapError { BluetoothError($0, at: .read) }.flatMap { values in
            values.first?.bytes.map { .success($0) }
                ?? .failure(.refused(.read, name: "", text: "bluetoothd gave no bytes"))
        }
    }

    /// Reads a characteristic from its beginning.
    nonisolated func read(_ path: ObjectPath) async throws(BluetoothError) -> [UInt8] {
        let answer = try await call(
            path,
            BlueZObjects.characteristic,
            "ReadValue",
            [.properties([:])],
            within: setup.timings.open,
            stage: .read
        )
        return try Self.value(.success(answer)).get()
    }
}
