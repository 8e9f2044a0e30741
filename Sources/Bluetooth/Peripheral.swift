import DBus
import Glibc
import Locks

/// What a peripheral with three characteristics does with its centrals. Calls of one central come one after another, in
/// its order; different centrals are served at the same time.
public protocol PeripheralService: Sendable {
    /// A central reads from the beginning. A long value is asked for once and given out in parts.
    func read(by central: BluetoothAddress) async -> [UInt8]
    /// A central wrote one value, without a response.
    func write(_ value: [UInt8], by central: BluetoothAddress) async
    /// A central wants notifications. Send them through `channel` until ``unsubscribed(_:)``.
    func subscribed(_ central: BluetoothAddress, _ channel: NotificationChannel) async
    /// A central wants no more notifications, or is gone.
    func unsubscribed(_ central: BluetoothAddress) async
}

/// Sends notifications to a central.
public struct NotificationChannel: Sendable {
    /// Bytes of one notification, up to 512.
    public let maximumValueLength: Int
    let pipe: PacketPipe

    /// Sends one value, after those before it. Waits while bluetoothd takes no more; cancel it to stop waiting.
    public func notify(_ value: [UInt8]) async throws(BluetoothError) {
        guard !value.isEmpty, value.count <= maximumValueLength else {
            throw .refused(.send, name: "", text: "\(value.count) bytes in a value of 1 to \(maximumValueLength)")
        }
        try await pipe.send(value)
    }

    public var isOpen: Bool { pipe.isOpen }
}

/// What to advertise. Nothing of it should be the same for long: it can be followed.
public struct Advertisement: Sendable, Equatable {
    public var services: [BluetoothUUID]
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// Whether the strength of sending is told.
    public var includesTxPower: Bool
    /// Whether it says that anybody may find it, which some phones want of what a person chooses from a list; nil leaves it to the
    /// adapter. Takes 3 of the 31 bytes.
    public var isDiscoverable: Bool?

    public init(
        services: [BluetoothUUID],
        serviceData: [BluetoothUUID: [UInt8]] = [:],
        includesTxPower: Bool = false,
        isDiscoverable: Bool? = nil
    ) {
        (self.services, self.serviceData, self.includesTxPower) = (services, serviceData, includesTxPower)
        self.isDiscoverable = isDiscoverable
    }

    /// Source: BlueZ 5.66 doc/advertising-api.txt. No local name: BPP/1 section 4.1.
    ///
    /// - Parameter released: bluetoothd has taken it off the air.
    func exported(_ released: @escaping @Sendable () -> Void) -> ExportedInterface {
        var properties: [String: BusValue] = [
            "Type": .string("peripheral"),
            "ServiceUUIDs": .strings(services.map(\.description)),
        ]
        if !serviceData.isEmpty {
            properties["ServiceData"] = .properties(
                Dictionary(uniqueKeysWithValues: serviceData.map { ($0.key.description, .bytes($0.value)) })
            )
        }
        if includesTxPower { properties["Includes"] = .strings(["tx-power"]) }
        if let isDiscoverable { properties["Discoverable"] = .boolean(isDiscoverable) }
        return ExportedInterface(
            "org.bluez.LEAdvertisement1",
            methods: [
                "Release": ExportedMethod { call in
                    call.answer()
                    released()
                }
            ],
            properties: properties
        )
    }
}

/// Something that happened on another thread.
final class Flag: Sendable {
    private let value = Atomic(false)

    func set() { value.store(true, ordering: .releasing) }

    /// Whether it happened since it was last asked.
    func take() -> Bool { value.exchange(false, ordering: .acquiringAndReleasing) }
}

/// This machine as a BLE peripheral, as a customer's phone is one: it advertises and holds one service with characteristics.
///
/// Let ``run()`` run for as long as it is used. It registers itself again when bluetoothd or the bus comes back.
public actor BluetoothPeripheral {
    let bluez: BlueZ
    private let service: BluetoothUUID
    private let characteristics: [PeripheralCharacteristic]
    private let application: any PeripheralApplication
    private let arrivals: Arrivals
    private var wanted: Advertisement?
    private var advertised: Advertisement?
    private var advertisedEpoch = -1
    private var applicationEpoch = -1
    private var exportedEpoch = -1
    /// Set on the connection's thread.
    private let isReleased = Flag()

    private static let root = ObjectPath("/org/till/peripheral") ?? .root
    private static let advertisementPath = ObjectPath("/org/till/advertisement") ?? .root

    private nonisolated var limit: Duration { bluez.setup.timings.connect }

    /// With a characteristic to read, one to write, and one that notifies.
    ///
    /// - Parameters:
    ///   - adapter: Such as `hci1`; `nil` takes the first there is.
    ///   - busAddress: `nil` for the machine's own bus.
    public init(
        adapter: String? = nil,
        busAddress: String? = nil,
        profile: LinkProfile,
        service: any PeripheralService,
        timings: BluetoothTimings = BluetoothTimings(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(
            adapter: adapter,
            busAddress: busAddress,
            service: profile.service,
            characteristics: ProfileApplication.characteristics(of: profile),
            application: ProfileApplication(service: service),
            timings: timings,
            clock: clock
        )
    }

    /// - Parameters:
    ///   - adapter: Such as `hci1`; `nil` takes the first there is.
    ///   - busAddress: `nil` for the machine's own bus.
    ///   - characteristics: Each with a UUID of its own.
    ///   - backlog: What one central did and the application has not taken yet: values beyond it are lost.
    public init(
        adapter: String? = nil,
        busAddress: String? = nil,
        service: BluetoothUUID,
        characteristics: [PeripheralCharacteristic],
        application: any PeripheralApplication,
        backlog: Int = 4_096,
        timings: BluetoothTimings = BluetoothTimings(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.service, self.characteristics, self.application) = (service, characteristics, application)
        arrivals = Arrivals(backlog: backlog)
        bluez = BlueZ(
            setup: BlueZ.Setup(
                adapter: adapter,
                busAddress: busAddress ?? BusConnection.systemAddress,
                timings: timings,
                clock: clock,
                sweeps: false
            )
        ) { _, _ in }
    }

    /// Works until the task is cancelled. bluetoothd takes the service and the advertisement away with the connection.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.bluez.run() }
            group.addTask { await self.stayRegistered() }
            group.addTask { await self.serve() }
        }
    }

    /// Whether the radio can be used: now, and every change.
    public nonisolated var states: AsyncStream<RadioState> { bluez.states.stream() }

    /// Advertises, or falls silent with `nil`. Held across restarts of bluetoothd.
    public func advertise(_ advertisement: Advertisement?) {
        wanted = advertisement
        bluez.changes.bump()
    }

    /// Ends the link to a central, and has bluetoothd forget it. Returns when that is done, or cannot be done yet and is noted for
    /// later.
    public func dismiss(_ central: BluetoothAddress) async {
        let element = "dev_" + central.description.map { $0 == ":" ? "_" : String($0) }.joined()
        guard let path = await bluez.adapterPath?.appending(element) else { return }
        await bluez.discard(path, of: await bluez.epoch)
    }

    /// Whether the service can be found and the wanted advertisement is on the air.
    public func isRegistered() async -> Bool {
        let epoch = await bluez.session
        return applicationEpoch == epoch && wanted == advertised && (wanted == nil || advertisedEpoch == epoch)
    }

    // MARK: Registering

    private func stayRegistered() async {
        var tries = 0
        let (changes, steps) = (bluez.changes, bluez.setup.timings.healing)
        while !Task.isCancelled {
            let version = changes.version
            do throws(BluetoothError) {
                try await register()
                tries = 0
                await changes.wait(after: version)
            } catch {
                // Refused or not answered: asked for again, by the clock alone.
                let delay = steps.isEmpty ? .seconds(1) : steps[min(tries, steps.count - 1)]
                tries += 1
                try? await bluez.setup.clock.sleep(for: delay, tolerance: nil)  // Throws only when cancelled.
            }
        }
    }

    private func register() async throws(BluetoothError) {
        guard case .ready = await bluez.state, let bus = await bluez.bus, let adapter = await bluez.adapterPath else {
            return
        }
        // An adapter that was off or away has forgotten everything.
        let epoch = await bluez.session
        if exportedEpoch != epoch {
            do throws(BusError) { try export(on: bus) } catch { throw BluetoothError(error, at: .register) }
            exportedEpoch = epoch
        }
        if applicationEpoch != epoch {
            let arguments = [BusValue.objectPath(Self.root), .properties([:])]
            try await ask(adapter, "org.bluez.GattManager1", "RegisterApplication", arguments)
            applicationEpoch = epoch
        }
        if isReleased.take() { advertisedEpoch = -1 }
        let wanted = wanted
        if advertisedEpoch == epoch, advertised == wanted { return }
        let manager = "org.bluez.LEAdvertisingManager1"
        // Also if it should be gone: what is left of it would stand in the way.
        try await ask(adapter, manager, "UnregisterAdvertisement", [.objectPath(Self.advertisementPath)])
        advertised = nil
        if let wanted {
            do throws(BusError) {
                try bus.unexport(Self.advertisementPath)
                let (isReleased, changes) = (isReleased, bluez.changes)
                let exported = wanted.exported {
                    isReleased.set()
                    changes.bump()
                }
                try bus.export([exported], at: Self.advertisementPath)
            } catch { throw BluetoothError(error, at: .register) }
            let arguments = [BusValue.objectPath(Self.advertisementPath), .properties([:])]
            try await ask(adapter, manager, "RegisterAdvertisement", arguments)
        }
        (advertised, advertisedEpoch) = (wanted, epoch)
    }

    private func ask(
        _ adapter: ObjectPath,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue]
    ) async throws(BluetoothError) {
        do throws(BluetoothError) {
            _ = try await bluez.call(adapter, interface, member, arguments, within: limit, stage: .register)
        } catch {
            // What is registered or gone already is as it was wanted.
            guard case .refused(_, let name, _) = error,
                name == "org.bluez.Error.AlreadyExists" || name == "org.bluez.Error.DoesNotExist"
            else { throw error }
        }
    }

    // MARK: The objects

    private func export(on bus: BusConnection) throws(BusError) {
        guard let path = Self.root.appending("service") else { return }
        try bus.exportObjectManager(at: Self.root)
        let primary: [String: BusValue] = ["UUID": .string(service.description), "Primary": .boolean(true)]
        try bus.export([ExportedInterface(BlueZObjects.service, properties: primary)], at: path)
        for characteristic in characteristics {
            guard let own = path.appending(characteristic.element) else { continue }
            try bus.export([exported(characteristic, path)], at: own)
        }
    }

    /// Source: BlueZ 5.66 doc/gatt-api.txt; that the property `acquired` exists makes bluetoothd hand over descriptors.
    private func exported(_ characteristic: PeripheralCharacteristic, _ service: ObjectPath) -> ExportedInterface {
        let (uuid, uses) = (characteristic.uuid, characteristic.uses)
        var properties: [String: BusValue] = [
            "UUID": .string(uuid.description), "Service": .objectPath(service), "Flags": .strings(uses.flags),
        ]
        var methods: [String: ExportedMethod] = [:]
        if uses.contains(.read) { methods["ReadValue"] = Self.reading(uuid, arrivals) }
        if uses.contains(.write) { methods["WriteValue"] = Self.writing(uuid, arrivals) }
        if uses.contains(.notify) {
            methods["AcquireNotify"] = Self.notifying(uuid, arrivals)
            properties["NotifyAcquired"] = .boolean(false)
        }
        return ExportedInterface(BlueZObjects.characteristic, methods: methods, properties: properties)
    }

    private static func reading(_ uuid: BluetoothUUID, _ arrivals: Arrivals) -> ExportedMethod {
        ExportedMethod(takes: "a{sv}", returns: "ay") { call in
            guard let central = central(of: call) else { return call.refuse("org.bluez.Error.NotPermitted") }
            let offset = call.arguments.first?.properties?["offset"]?.integer ?? 0
            arrivals.add(.read(uuid, call, offset: offset), from: central)
        }
    }

    /// No descriptor for these: while bluetoothd waits for one it keeps a value's place and not its bytes, so that the next
    /// value overwrites it, and the first message of a link is broken. It also has one descriptor for all centrals.
    ///
    /// Source: BlueZ 5.66 src/gatt-database.c, `pending_write_new`, `acquire_write_reply`.
    private static func writing(_ uuid: BluetoothUUID, _ arrivals: Arrivals) -> ExportedMethod {
        ExportedMethod(takes: "aya{sv}") { call in
            guard let central = central(of: call), let value = call.arguments.first?.bytes, value.count <= 512 else {
                return call.refuse("org.bluez.Error.NotPermitted")
            }
            arrivals.add(.write(uuid, value), from: central)
            call.answer()
        }
    }

    private static func notifying(_ uuid: BluetoothUUID, _ arrivals: Arrivals) -> ExportedMethod {
        ExportedMethod(takes: "a{sv}", returns: "hq") { call in
            guard let central = central(of: call), let pipe = pipe(for: call) else { return }
            let channel = NotificationChannel(maximumValueLength: min(pipe.mtu - 3, 512), pipe: pipe.ours)
            call.answer([.fileDescriptor(pipe.theirs), .uint16(UInt16(clamping: pipe.mtu))])
            arrivals.add(.subscribe(uuid, channel), from: central)
        }
    }

    /// Who calls through bluetoothd: the last element of `device`, such as `dev_00_AA_01_00_00_23`.
    private static func central(of call: MethodCall) -> BluetoothAddress? {
        let options = call.arguments.last?.properties
        let name = options?["device"]?.path?.text.split(separator: "/").last
        return name.flatMap { BluetoothAddress(String($0.dropFirst(4).map { $0 == "_" ? ":" : $0 })) }
    }

    /// Two ends of a new socket. Refuses the call when there is none.
    private static func pipe(for call: MethodCall) -> (ours: PacketPipe, theirs: BusDescriptor, mtu: Int)? {
        let mtu = call.arguments.last?.properties?["mtu"]?.integer ?? 23
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard mtu >= 23, unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            call.refuse("org.bluez.Error.Failed", "no socket")
            return nil
        }
        guard let ours = PacketPipe(BusDescriptor(owning: ends[0])) else { return nil }
        return (ours, BusDescriptor(owning: ends[1]), mtu)
    }

    // MARK: Serving

    private func serve() async {
        let (arrivals, application) = (arrivals, application)
        await withDiscardingTaskGroup { group in
            for await visitor in arrivals.visitors {
                group.addTask { await visitor.serve(with: application) }
            }
        }
    }
}
