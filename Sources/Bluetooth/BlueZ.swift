import DBus
import Locks

/// One program's side of bluetoothd: the connection, what is known of its objects, the agent, and the adapter's power.
///
/// Heals by itself: a lost bus is opened again, a restarted bluetoothd is asked for everything again.
actor BlueZ {
    static let name = "org.bluez"
    static let agentPath = ObjectPath("/org/till/agent") ?? .root

    struct Setup: Sendable {
        var adapter: String?
        var busAddress: String
        var timings: BluetoothTimings
        var clock: any Clock<Duration>
        /// Whether phones that an earlier run left behind are removed.
        var sweeps: Bool
    }

    nonisolated let setup: Setup
    /// Wakes whatever looks at this actor's state.
    nonisolated let changes = Changes()
    nonisolated let states = StateHub()
    private let seen: @Sendable (BluetoothAddress, BlueZObjects.Properties) -> Void

    private(set) var objects = BlueZObjects()
    /// The adapter that is used until it is gone. Another one that comes does not take its place.
    private var chosenAdapter: ObjectPath?
    /// Rises whenever what was learnt, registered or opened before is void.
    private(set) var epoch = 0
    /// Rises with the epoch, and whenever the adapter was off or away, however shortly.
    var session: Int { epoch + lapses }
    private var lapses = 0
    private var wasReady = false
    private(set) var bus: BusConnection?
    private var owner: String?
    private var snapshotEpoch = -1
    private var agentEpoch = -1
    private var sweptEpoch = -1
    private var refusal: RadioState.Reason?
    private var busFailure: RadioState.Reason = .starting
    /// Phones to remove that could not be removed yet.
    private var leftovers: Set<ObjectPath> = []
    private var inUse: [ObjectPath: Int] = [:]
    /// The program ends: no phone is taken up any more.
    private(set) var isLeaving = false

    init(setup: Setup, seen: @escaping @Sendable (BluetoothAddress, BlueZObjects.Properties) -> Void) {
        (self.setup, self.seen) = (setup, seen)
    }

    // MARK: Running

    /// Works until the task is cancelled.
    func run() async {
        isLeaving = false
        await withDiscardingTaskGroup { group in
            group.addTask { await self.stayConnected() }
            group.addTask { await self.maintain() }
        }
        forget(.starting)
    }

    private func stayConnected() async {
        var tries = 0
        while !Task.isCancelled {
            do throws(BusError) {
                let bus = try await BusConnection.open(address: setup.busAddress)
                try await follow(bus) { tries = 0 }
                forget(.noBus("the connection ended"))
            } catch {
                forget(.noBus(error.description))
            }
            let steps = setup.timings.healing
            guard let last = steps.last else { return }
            let delay = tries < steps.count ? steps[tries] : last
            tries += 1
            try? await setup.clock.sleep(for: delay, tolerance: nil)  // Throws only when cancelled.
        }
    }

    private func forget(_ reason: RadioState.Reason) {
        bus?.close()
        bus = nil
        owner = nil
        busFailure = reason
        startAnew()
    }

    private func startAnew() {
        epoch += 1
        objects = BlueZObjects()
        refusal = nil
        inUse = [:]
        publish()
    }

    private func follow(_ bus: BusConnection, _ isUp: () -> Void) async throws(BusError) {
        // One stream for both, so that they come in the order of the bus.
        let rules = [BusConnection.ownerRule(of: Self.name), SignalRule(sender: Self.name)]
        let signals = try await bus.signals(rules, limit: 8_192)
        try bus.export([Self.agent], at: Self.agentPath)
        self.bus = bus
        try await adopt(try await bus.owner(of: Self.name))
        isUp()
        var iterator = signals.makeAsyncIterator()
        while let signal = try await iterator.next(isolation: self) {
            let adapter = adapterPath
            if signal.droppedBefore > 0 {
                // Among what was dropped may be that it is another one.
                let now = try await bus.owner(of: Self.name)
                if now == owner { try await snapshot() } else { try await adopt(now) }
            }
            if signal.sender == "org.freedesktop.DBus" {
                guard signal.arguments.count == 3, signal.arguments[0].text == Self.name else { continue }
                let new = signal.arguments[2].text ?? ""
                try await adopt(new.isEmpty ? nil : new)
            } else if signal.sender == owner {
                let event = objects.apply(signal)
                if let new = adapterPath, new != adapter {
                    // bluetoothd brings back from its disk whom it was connected to when the adapter went.
                    try await adopt(owner)
                } else {
                    take(event)
                }
            }
        }
    }

    /// bluetoothd came, went, or is another one; or the adapter is.
    private func adopt(_ owner: String?) async throws(BusError) {
        self.owner = owner
        startAnew()
        if owner != nil { try await snapshot() }
        publish()
    }

    private func snapshot() async throws(BusError) {
        guard let bus else { return }
        do throws(BusError) {
            let call = BusCall(
                to: Self.name,
                at: .root,
                "org.freedesktop.DBus.ObjectManager",
                "GetManagedObjects"
            )
            guard let objects = BlueZObjects(managed: try await bus.call(call, timeout: .seconds(10))) else {
                throw .unreadable(reason: "bluetoothd's list of objects")
            }
            self.objects = objects
            snapshotEpoch = epoch
        } catch {
            // It went while it was asked, and the bus tells so next; or nobody may ask it, and it is asked again.
            guard case .refused = error else { throw error }
            refusal = Self.reason(BluetoothError(error, at: .register))
        }
        publish()
    }

    private func take(_ event: BlueZObjects.Event) {
        if case .detail = event { return }
        if case .seen(let path, let device) = event, let adapter = adapterPath, path.isWithin(adapter),
            let address = device["Address"]?.text.flatMap(BluetoothAddress.init)
        {
            seen(address, device)
        }
        publish()
    }

    // MARK: State

    var adapterPath: ObjectPath? {
        if let chosenAdapter, objects[chosenAdapter, BlueZObjects.adapter] != nil { return chosenAdapter }
        return objects.adapterPath(named: setup.adapter)
    }

    func adapterProperty(_ name: String) -> BusValue? {
        adapterPath.flatMap { objects[$0, BlueZObjects.adapter]?[name] }
    }

    var state: RadioState {
        guard bus != nil else { return .unavailable(busFailure) }
        guard owner != nil else { return .unavailable(.noDaemon) }
        guard snapshotEpoch == epoch else { return .unavailable(refusal ?? .starting) }
        guard let path = adapterPath else { return .unavailable(.noAdapter(setup.adapter)) }
        if adapterProperty("PowerState")?.text == "off-blocked" { return .unavailable(.blocked) }
        guard adapterProperty("Powered")?.boolean == true else { return .unavailable(refusal ?? .poweredOff) }
        if let refusal { return .unavailable(refusal) }
        guard agentEpoch == epoch, sweptEpoch == epoch || !setup.sweeps else { return .unavailable(.starting) }
        return .ready(
            RadioState.Radio(
                name: path.text.split(separator: "/").last.map(String.init) ?? path.text,
                address: adapterProperty("Address")?.text.flatMap(BluetoothAddress.init)
            )
        )
    }

    private func publish() {
        chosenAdapter = adapterPath
        let state = state
        if wasReady, !state.isReady { lapses += 1 }
        wasReady = state.isReady
        states.publish(state)
        changes.bump()
    }

    // MARK: Calls

    func call(
        _ path: ObjectPath,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = [],
        timeout: Duration = .seconds(60)
    ) async throws(BusError) -> [BusValue] {
        guard let bus else { throw .disconnected(reason: busFailure.description) }
        return try await bus.call(BusCall(to: Self.name, at: path, interface, member, arguments), timeout: timeout)
    }

    /// Calls that leave in this order, without waiting for an answer in between.
    func calls(_ calls: [BusCall]) async -> [Result<[BusValue], BusError>] {
        guard let bus else { return calls.map { _ in .failure(.disconnected(reason: busFailure.description)) } }
        return await bus.calls(calls, timeout: .seconds(60))
    }

    /// A call with a time limit of its own, by this program's clock.
    nonisolated func call(
        _ path: ObjectPath,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = [],
        within limit: Duration,
        stage: BluetoothError.Stage
    ) async throws(BluetoothError) -> [BusValue] {
        try await Bluetooth.within(limit, clock: setup.clock, stage: stage) { () throws(BluetoothError) in
            do throws(BusError) {
                return try await self.call(path, interface, member, arguments)
            } catch { throw BluetoothError(error, at: stage) }
        }
    }
}

// MARK: - What has to hold while bluetoothd runs

extension BlueZ {
    /// Turns away every wish to pair or to use a service: a tap needs neither.
    ///
    /// Source: BlueZ 5.66 doc/agent-api.txt, capability NoInputNoOutput; BPP/1 section 3.
    fileprivate static let agent: ExportedInterface = {
        let reject: @Sendable (MethodCall) -> Void = {
            $0.refuse("org.bluez.Error.Rejected", "This device never pairs")
        }
        return ExportedInterface(
            "org.bluez.Agent1",
            methods: [
                "Release": ExportedMethod { $0.answer() },
                "Cancel": ExportedMethod { $0.answer() },
                "RequestPinCode": ExportedMethod(takes: "o", returns: "s", reject),
                "DisplayPinCode": ExportedMethod(takes: "os", reject),
                "RequestPasskey": ExportedMethod(takes: "o", returns: "u", reject),
                "DisplayPasskey": ExportedMethod(takes: "ouq", reject),
                "RequestConfirmation": ExportedMethod(takes: "ou", reject),
                "RequestAuthorization": ExportedMethod(takes: "o", reject),
                "AuthorizeService": ExportedMethod(takes: "os", reject),
            ]
        )
    }()

    fileprivate func maintain() async {
        var tries = 0
        while !Task.isCancelled {
            let version = changes.version
            let before = epoch
            let isDone = await mend()
            if before != epoch || isDone { tries = 0 }
            let steps = setup.timings.healing
            let delay = isDone ? nil : steps.isEmpty ? nil : steps[min(tries, steps.count - 1)]
            if !isDone { tries += 1 }
            if let delay {
                await rest(delay, in: before)
            } else {
                await changes.wait(after: version)
            }
        }
    }

    /// What failed is tried again by the clock, for a phone's every signal is a change; and at once when everything begins anew.
    private func rest(_ delay: Duration, in epoch: Int) async {
        let waited = stopwatch(setup.clock)
        while epoch == self.epoch, waited() < delay, !Task.isCancelled {
            await changes.wait(after: changes.version, atMost: delay - waited(), clock: setup.clock)
        }
    }

    /// - Returns: Whether everything is as it should be.
    private func mend() async -> Bool {
        guard bus != nil, owner != nil else { return true }  // A signal will tell.
        let now = epoch
        if snapshotEpoch != now, refusal != nil {
            do throws(BusError) { try await snapshot() } catch { return false }
            guard now == epoch, snapshotEpoch == now else { return false }
            refusal = nil
            publish()
        }
        guard let adapter = adapterPath else { return true }
        do throws(BluetoothError) {
            if agentEpoch != now { try await registerAgent(now) }
            if setup.sweeps, sweptEpoch != now { sweep(adapter, now) }
            if adapterProperty("Powered")?.boolean != true { try await powerOn(adapter, now) }
            if refusal != nil, now == epoch {
                refusal = nil
                publish()
            }
        } catch {
            if now == epoch, refusal != Self.reason(error) {
                refusal = Self.reason(error)
                publish()
            }
            return false
        }
        for path in leftovers {
            // What was looked at is void: agent and sweep come first again.
            guard now == epoch else { return false }
            guard objects[path, BlueZObjects.device] != nil else {
                leftovers.remove(path)
                continue
            }
            guard inUse[path] == nil else { continue }
            await remove(path)
        }
        return leftovers.allSatisfy { inUse[$0] != nil }
    }

    private func registerAgent(_ now: Int) async throws(BluetoothError) {
        guard let manager = ObjectPath("/org/bluez") else { return }
        let limit = setup.timings.remove
        let interface = "org.bluez.AgentManager1"
        do throws(BluetoothError) {
            _ = try await call(
                manager,
                interface,
                "RegisterAgent",
                [.objectPath(Self.agentPath), .string("NoInputNoOutput")],
                within: limit,
                stage: .register
            )
        } catch {
            guard case .refused(_, "org.bluez.Error.AlreadyExists", _) = error else { throw error }
        }
        _ = try await call(
            manager,
            interface,
            "RequestDefaultAgent",
            [.objectPath(Self.agentPath)],
            within: limit,
            stage: .register
        )
        if now == epoch { agentEpoch = now }
        publish()
    }

    /// Marks what an earlier run left: phones that are neither paired nor trusted, so nobody's keyboard or printer.
    private func sweep(_ adapter: ObjectPath, _ now: Int) {
        for path in objects.devicePaths(of: adapter) {
            guard !isSomebodys(path) else { continue }
            leftovers.insert(path)
        }
        sweptEpoch = now
        publish()
    }

    private func isSomebodys(_ path: ObjectPath) -> Bool {
        let device = objects[path, BlueZObjects.device] ?? [:]
        return device["Paired"]?.boolean == true || device["Trusted"]?.boolean == true
    }

    private func powerOn(_ adapter: ObjectPath, _ now: Int) async throws(BluetoothError) {
        _ = try await call(
            adapter,
            "org.freedesktop.DBus.Properties",
            "Set",
            [.string(BlueZObjects.adapter), .string("Powered"), .variant(.boolean(true))],
            within: setup.timings.remove,
            stage: .register
        )
    }

    private static func reason(_ error: BluetoothError) -> RadioState.Reason {
        if case .refused(_, let name, let text) = error {
            // Source: BlueZ 5.66 src/error.c, btd_error_failed(msg, "Blocked through rfkill").
            if name == "org.bluez.Error.Blocked" || text.contains("rfkill") { return .blocked }
            return .refused("\(name) \(text)")
        }
        return .refused(error.description)
    }

    // MARK: Phones that are done

    /// The phone is about to be used, so it is not removed as a leftover of before.
    func hold(_ path: ObjectPath) { inUse[path, default: 0] += 1 }

    /// Disconnects and removes a phone, now if bluetoothd lets it, else as soon as it does.
    ///
    /// BlueZ keeps every phone that was once connected, and phones change their addresses.
    /// Source: BlueZ 5.66 src/device.c, `btd_device_set_temporary` in `device_connect_le`.
    func discard(_ path: ObjectPath, of epoch: Int) async {
        leftovers.insert(path)
        guard epoch == self.epoch else { return changes.bump() }
        if objects[path, BlueZObjects.device]?["Connected"]?.boolean == true {
            await disconnect(path)
        }
        await remove(path)
        guard epoch == self.epoch else { return }
        inUse[path, default: 1] -= 1
        if inUse[path] ?? 0 <= 0 { inUse[path] = nil }
        changes.bump()
    }

    /// Lets every phone go that is in use or was left, before the connection ends.
    func leave() async {
        isLeaving = true
        let paths = leftovers.union(inUse.keys)
        await withDiscardingTaskGroup { group in
            for path in paths {
                group.addTask {
                    await self.disconnect(path)
                    await self.remove(path)
                }
            }
        }
    }

    /// Ends a connect that is still going on, too.
    func disconnect(_ path: ObjectPath) async {
        // A refusal means that there is nothing to end; silence is met by the removal.
        _ = try? await call(path, BlueZObjects.device, "Disconnect", within: setup.timings.remove, stage: .connect)
    }

    private func remove(_ path: ObjectPath) async {
        guard let adapter = adapterPath, path.isWithin(adapter) else { return }
        // Somebody's own: a bond goes with the object.
        guard !isSomebodys(path) else {
            leftovers.remove(path)
            return
        }
        do throws(BluetoothError) {
            _ = try await call(
                adapter,
                BlueZObjects.adapter,
                "RemoveDevice",
                [.objectPath(path)],
                within: setup.timings.remove,
                stage: .connect
            )
            leftovers.remove(path)
            await untilGone(path)
        } catch {
            if case .refused(_, "org.bluez.Error.DoesNotExist", _) = error { leftovers.remove(path) }
            if case .refused(_, "org.freedesktop.DBus.Error.UnknownObject", _) = error { leftovers.remove(path) }
        }
    }
}

extension BlueZ {
    /// The signal of a removal may be taken in a moment after the answer. Until then the phone seems to be there.
    fileprivate func untilGone(_ path: ObjectPath) async {
        let now = epoch
        let waited = stopwatch(setup.clock)
        while waited() < .seconds(1), objects[path, BlueZObjects.device] != nil, epoch == now, !Task.isCancelled {
            await changes.wait(after: changes.version, atMost: .milliseconds(100), clock: setup.clock)
        }
    }
}

/// The last state of the radio for whoever asks, and every change for whoever listens.
final class StateHub: Sendable {
    private struct State {
        var last = RadioState.unavailable(.starting)
        var nextID: UInt64 = 0
        var listeners: [UInt64: AsyncStream<RadioState>.Continuation] = [:]
    }

    private let state = Mutex(State())

    var last: RadioState { state.withLock { $0.last } }

    func publish(_ new: RadioState) {
        let listeners = state.withLock { state in
            guard state.last != new else { return [AsyncStream<RadioState>.Continuation]() }
            state.last = new
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(new) }
    }

    /// The state now and every later one; a slow reader gets the newest.
    func stream() -> AsyncStream<RadioState> {
        let (stream, continuation) = AsyncStream.makeStream(of: RadioState.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.nextID += 1
            state.listeners[state.nextID] = continuation
            continuation.yield(state.last)
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }
}
