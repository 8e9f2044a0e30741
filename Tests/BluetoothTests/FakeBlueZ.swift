import DBus
import Glibc
import Locks

@testable import Bluetooth

/// bluetoothd's place on a private bus, with phones that do what a test says.
final class FakeBlueZ: Sendable {
    /// What one phone does.
    struct Phone: Sendable {
        enum Answer: Sendable {
            case yes, silence, no(name: String, text: String)
            /// Yes, when the test lets it.
            case held
        }

        var services = [testService.description]
        var rssi: Int16 = 127
        var connect = Answer.yes
        /// Refusals before the first connect that goes as `connect` says.
        var refusals = 0
        var resolves = true
        /// Whether bluetoothd tells that it is connected.
        var tellsConnected = true
        /// The characteristics come this much later than `ServicesResolved`.
        var isLate = false
        var mtu: UInt16 = 185
        var hello = [UInt8](repeating: 7, count: 45)
        /// Reads and pipes are those of the application that a program registered.
        var isRelayed = false
        /// Subscription and reading are answered when both are asked for, and not before.
        var answersTogether = false
    }

    /// How a call goes wrong.
    enum Fault: Sendable, CaseIterable {
        case refusal
        /// Nothing happens, and nobody answers.
        case silence
        /// It happens, and nobody answers.
        case lostAnswer
        /// bluetoothd dies over it, and comes back.
        case crash
    }

    struct State {
        var bus: BusConnection?
        var phones: [String: Phone] = [:]
        /// Phones that have an object now; true if BlueZ keeps it, across restarts too.
        var known: [String: Bool] = [:]
        /// Phones that it keeps of an adapter that is away.
        var stored: [String: Bool] = [:]
        var paired: Set<String> = []
        var isDiscovering = false
        var isPowered = true
        var powerRefusal: String?
        var hasAdapter = true
        var calls: [String] = []
        var faults: [Int: Fault] = [:]
        var inProgress = 0
        /// The answer to `StopDiscovery` takes a while.
        var isSlowToStop = false
        var connectsBeforeStopped = 0
        var isStopping = false
        var filter: [String: BusValue] = [:]
        var kept: [FakeCall] = []
        var held: [(address: String, call: FakeCall)] = []
        var connecting = 0
        var mostConnecting = 0
        var pipes: [String: [PacketPipe]] = [:]
        var notifiers: [String: PacketPipe] = [:]
        /// What waits until all of it can be done, by the call.
        var gathered: [String: @Sendable () -> Void] = [:]
        var agents = 0
        var agentOwners: Set<String> = []
        var application: (sender: String, path: ObjectPath)?
        var advertisement: (sender: String, path: ObjectPath)?
    }

    let state = Mutex(State())
    let changes = Changes()
    private let address: String
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let newJob: AsyncStream<@Sendable () async -> Void>.Continuation

    static let adapterPath = ObjectPath("/org/bluez/hci0") ?? .root

    init(address: String) {
        self.address = address
        (jobs, newJob) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
        }
    }

    func later(_ job: @escaping @Sendable () async -> Void) { newJob.yield(job) }

    // MARK: What a test does

    /// bluetoothd starts, and knows again the phones that it kept.
    func start() async throws {
        let bus = try await BusConnection.open(address: address)
        state.withLock { state in
            state.bus = bus
            state.known = state.known.filter(\.value)
            state.isDiscovering = false
            state.connecting = 0
            (state.application, state.advertisement, state.agentOwners) = (nil, nil, [])
        }
        try bus.exportObjectManager(at: .root)
        try bus.export([agentManager], at: ObjectPath("/org/bluez") ?? .root)
        if state.withLock({ $0.hasAdapter }) { try plugIn() }
        for address in state.withLock({ Array($0.known.keys) }) { try show(address) }
        // The bus may not have seen yet that the one before is gone.
        while try await bus.owner(of: "org.bluez") != nil {}
        try await bus.own("org.bluez")
    }

    func crash() {
        let (bus, pipes) = state.withLock { state in
            defer { (state.bus, state.kept, state.pipes) = (nil, [], [:]) }
            return (state.bus, state.pipes)
        }
        for pipe in pipes.values.joined() { pipe.close() }
        bus?.close()
        changes.bump()
    }

    func plugIn() throws {
        let (isPowered, stored) = state.withLock { state in
            state.hasAdapter = true
            defer { (state.known, state.stored) = (state.known.merging(state.stored) { old, _ in old }, [:]) }
            return (state.isPowered, Array(state.stored.keys))
        }
        // Whoever hears of the adapter and asks for everything is told of its phones, too.
        for address in stored { try show(address) }
        let properties: [String: BusValue] = [
            "Address": .string("00:AA:01:00:00:00"), "Powered": .boolean(isPowered), "Discovering": .boolean(false),
        ]
        let adapter = ExportedInterface(
            "org.bluez.Adapter1",
            methods: adapterMethods,
            properties: properties
        ) { [weak self] name, value in
            guard let self else { return .taken }
            defer { self.changes.bump() }
            return self.state.withLock { state in
                state.calls.append("Set " + name)
                if let text = state.powerRefusal { return .refused(name: "org.bluez.Error.Failed", text: text) }
                state.isPowered = value.boolean ?? false
                return .taken
            }
        }
        try bus?.export([adapter, gattManager, advertisingManager], at: Self.adapterPath)
    }

    /// The adapter goes, after its phones; `between` is done when only they have gone. bluetoothd keeps on its disk whom it
    /// was once connected to.
    ///
    /// Source: BlueZ 5.66 src/adapter.c, `adapter_remove` and `load_devices`.
    func unplug(between: () async throws -> Void = {}) async throws {
        let known = state.withLock { state in
            defer { (state.known, state.stored) = ([:], state.known.filter(\.value)) }
            return Array(state.known.keys)
        }
        for address in known {
            for pipe in state.withLock({ $0.pipes.removeValue(forKey: address) }) ?? [] { pipe.close() }
            unexportServices(of: address)
            try bus?.unexport(path(of: address))
        }
        try await between()
        state.withLock { $0.hasAdapter = false }
        try bus?.unexport(Self.adapterPath)
    }

    func setPower(_ isOn: Bool) throws {
        state.withLock { $0.isPowered = isOn }
        try bus?.set(["Powered": .boolean(isOn)], of: "org.bluez.Adapter1", at: Self.adapterPath)
    }

    /// A phone comes into reach.
    func add(_ phone: Phone, at address: String) throws {
        let isHeard = state.withLock { state in
            state.phones[address] = phone
            return state.isDiscovering
        }
        if isHeard { try show(address) }
    }

    func setStrength(_ rssi: Int16, of address: String) throws {
        try bus?.set(["RSSI": .int16(rssi)], of: "org.bluez.Device1", at: path(of: address))
    }

    /// The phone ends the link.
    func hangUp(_ address: String) {
        for pipe in state.withLock({ $0.pipes.removeValue(forKey: address) }) ?? [] { pipe.close() }
        try? bus?.set(
            ["Connected": .boolean(false), "ServicesResolved": .boolean(false)],
            of: "org.bluez.Device1",
            at: path(of: address)
        )
    }

    /// Waits until `isSo`. A test that waits in vain ends at its time limit.
    func until(_ isSo: @Sendable (borrowing State) -> Bool) async {
        while true {
            let version = changes.version
            if state.withLock({ isSo($0) }) || Task.isCancelled { return }
            await changes.wait(after: version)
        }
    }

    // MARK: Inside

    var bus: BusConnection? { state.withLock { $0.bus } }

    func path(of address: String) -> ObjectPath {
        Self.adapterPath.appending("dev_" + String(address.map { $0 == ":" ? "_" : $0 })) ?? .root
    }

    func show(_ address: String) throws {
        let (phone, isPaired) = state.withLock { state in
            if state.known[address] == nil { state.known[address] = false }
            return (state.phones[address] ?? Phone(), state.paired.contains(address))
        }
        let device = ExportedInterface(
            "org.bluez.Device1",
            methods: deviceMethods(address),
            properties: [
                "Address": .string(address), "UUIDs": .strings(phone.services), "RSSI": .int16(phone.rssi),
                "Connected": .boolean(false), "ServicesResolved": .boolean(false), "Paired": .boolean(isPaired),
                "Adapter": .objectPath(Self.adapterPath),
            ]
        )
        try bus?.export([device], at: path(of: address))
    }

    /// Carries a call out, or lets it go wrong as the test says.
    func serve(_ call: MethodCall, _ action: (FakeCall) -> Void) {
        let fault = state.withLock { state in
            state.calls.append(call.member)
            return state.faults[state.calls.count]
        }
        defer { changes.bump() }
        switch fault {
        case nil: action(FakeCall(call, isMute: false))
        case .refusal: call.refuse("org.bluez.Error.Failed", "a fault that was asked for")
        case .silence: state.withLock { $0.kept.append(FakeCall(call, isMute: true)) }
        case .lostAnswer:
            state.withLock { $0.kept.append(FakeCall(call, isMute: true)) }
            action(FakeCall(call, isMute: true))
        case .crash:
            crash()
            later { try? await self.start() }
        }
    }

    func method(
        takes: String = "",
        returns: String = "",
        _ action: @escaping @Sendable (FakeBlueZ, FakeCall) -> Void
    ) -> ExportedMethod {
        ExportedMethod(takes: takes, returns: returns) { [weak self] call in
            guard let self else { return }
            self.serve(call) { action(self, $0) }
        }
    }
}

/// A call whose answer may be lost on the way.
struct FakeCall: Sendable {
    let call: MethodCall
    let isMute: Bool

    init(_ call: MethodCall, isMute: Bool) { (self.call, self.isMute) = (call, isMute) }

    var member: String { call.member }
    var sender: String { call.sender }
    var arguments: [BusValue] { call.arguments }

    func answer(_ values: [BusValue] = []) { if !isMute { call.answer(values) } }
    func refuse(_ name: String, _ text: String = "") { if !isMute { call.refuse(name, text) } }
}
