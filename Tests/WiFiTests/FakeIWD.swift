import DBus
import Locks

@testable import WiFi

/// iwd's place on a private bus, with networks around that do what a test says.
final class FakeIWD: Sendable {
    /// One network in reach.
    struct Sender: Sendable {
        var name: String
        /// As iwd says it: open, psk, wep, 8021x.
        var type = "psk"
        var passphrase = "correct horse"
        /// In hundredths of a dBm.
        var strength: Int16 = -5_000
        var isHidden = false
        /// It ends every joining, whatever the passphrase.
        var letsNobodyIn = false
    }

    /// How a call goes wrong.
    enum Fault: Sendable, CaseIterable {
        case refusal
        /// Nothing happens, and nobody answers.
        case silence
        /// It happens, and nobody answers.
        case lostAnswer
        /// iwd dies over it, and comes back.
        case crash
    }

    struct State {
        var bus: BusConnection?
        var hasAdapter = true
        var isPowered = true
        var isBlocked = false
        var senders: [Sender] = []
        /// Network objects by the sender's key.
        var heard: Set<String> = []
        /// Passphrases that are kept, by the sender's key; empty for an open network.
        var known: [String: String] = [:]
        /// An open network that was joined is known from then on.
        var keepsOpenNetworks = true
        /// What failed with the passphrase that was kept.
        var asksAgain: Set<String> = []
        var joined: String?
        var agents: [String: ObjectPath] = [:]
        /// What agents answered.
        var given: [String] = []
        var calls: [String] = []
        var faults: [Int: Fault] = [:]
        var kept: [MethodCall] = []
        /// A joining waits until it is finished.
        var gate: AsyncStream<Void>?
    }

    let state = Mutex(State())
    private let address: String
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let newJob: AsyncStream<@Sendable () async -> Void>.Continuation

    static let root = ObjectPath("/net/connman/iwd") ?? .root
    static let adapter = ObjectPath("/net/connman/iwd/0") ?? .root
    static let device = ObjectPath("/net/connman/iwd/0/1") ?? .root

    init(address: String) {
        self.address = address
        (jobs, newJob) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
        }
    }

    // MARK: - What a test does

    func start() async throws {
        let bus = try await BusConnection.open(address: address)
        let known = state.withLock { state in
            state.bus = bus
            (state.heard, state.joined, state.agents) = ([], nil, [:])
            return Array(state.known.keys)
        }
        try bus.exportObjectManager(at: .root)
        try bus.export([agentManager], at: Self.root)
        for key in known { try showKnown(key) }
        if state.withLock({ $0.hasAdapter }) { try showRadio() }
        // The bus may not have seen yet that the one before is gone.
        while try await bus.owner(of: "net.connman.iwd") != nil {}
        try await bus.own("net.connman.iwd")
    }

    func crash() {
        let bus = state.withLock { state in
            defer { (state.bus, state.kept) = (nil, []) }
            return state.bus
        }
        bus?.close()
    }

    func plugIn() throws {
        state.withLock { $0.hasAdapter = true }
        try showRadio()
    }

    func unplug() throws {
        let heard = state.withLock { state in
            (state.hasAdapter, state.joined) = (false, nil)
            defer { state.heard = [] }
            return state.heard
        }
        for key in heard { try bus?.unexport(Self.path(of: key)) }
        try bus?.unexport(Self.device)
        try bus?.unexport(Self.adapter)
    }

    /// What is around now is heard.
    func listen() throws {
        let (senders, gone) = state.withLock { state in
            let senders = state.senders.filter { !$0.isHidden || state.known[Self.key($0)] != nil }
            let gone = state.heard.subtracting(senders.map(Self.key))
            state.heard.subtract(gone)
            return (senders, gone)
        }
        for key in gone { try bus?.unexport(Self.path(of: key)) }
        for sender in senders { try show(sender) }
    }

    /// The network ends it.
    func loseLink() {
        guard let key = state.withLock({ $0.joined }) else { return }
        left(key)
    }

    var calls: [String] { state.withLock { $0.calls } }

    // MARK: - Objects

    var bus: BusConnection? { state.withLock { $0.bus } }

    static func key(_ sender: Sender) -> String {
        sender.name.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "_" + sender.type
    }

    static func path(of key: String) -> ObjectPath { device.appending(key) ?? .root }
    static func knownPath(of key: String) -> ObjectPath { root.appending(key) ?? .root }

    private func sender(_ key: String) -> Sender? {
        state.withLock { $0.senders.first { Self.key($0) == key } }
    }

    private func showRadio() throws {
        let isPowered = state.withLock { $0.isPowered }
        let adapter = ExportedInterface(
            IWDObjects.adapter,
            properties: ["Powered": .boolean(isPowered), "Name": .string("phy0")]
        ) { [weak self] name, value in self?.setPower(name, value) ?? .taken }
        try bus?.export([adapter], at: Self.adapter)
        try showDevice()
    }

    private func showDevice() throws {
        let isPowered = state.withLock { $0.isPowered }
        let device = ExportedInterface(
            IWDObjects.device,
            properties: [
                "Powered": .boolean(isPowered), "Name": .string("wlan0"), "Mode": .string("station"),
                "Adapter": .objectPath(Self.adapter),
            ]
        )
        let station = ExportedInterface(
            IWDObjects.station,
            methods: stationMethods,
            properties: ["State": .string("disconnected"), "Scanning": .boolean(false)]
        )
        try bus?.export(isPowered ? [device, station] : [device], at: Self.device)
    }

    private func setPower(_ name: String, _ value: BusValue) -> ExportedInterface.WriteAnswer {
        let isBlocked = state.withLock { state in
            state.calls.append("Set " + name)
            if !state.isBlocked { state.isPowered = value.boolean ?? false }
            return state.isBlocked
        }
        if isBlocked { return .refused(name: "net.connman.iwd.NotAvailable", text: "Operation not available") }
        newJob.yield {
            try? self.bus?.unexport(Self.device)
            try? self.showDevice()
        }
        return .taken
    }

    private func show(_ sender: Sender) throws {
        let key = Self.key(sender)
        let isKnown = state.withLock { state in
            state.heard.insert(key)
            return state.known[key] != nil
        }
        var properties: [String: BusValue] = [
            "Name": .string(sender.name), "Type": .string(sender.type), "Device": .objectPath(Self.device),
            "Connected": .boolean(state.withLock { $0.joined == key }),
        ]
        if isKnown { properties["KnownNetwork"] = .objectPath(Self.knownPath(of: key)) }
        let network = ExportedInterface(
            IWDObjects.network,
            methods: ["Connect": method { fake, call, isMute in fake.join(key, call, isMute) }],
            properties: properties
        )
        try bus?.export([network], at: Self.path(of: key))
    }

    private func showKnown(_ key: String) throws {
        guard let sender = sender(key) else { return }
        let known = ExportedInterface(
            IWDObjects.known,
            methods: [
                "Forget": method { fake, call, isMute in
                    fake.state.withLock { $0.known[key] = nil }
                    if fake.state.withLock({ $0.joined == key }) { fake.left(key) }
                    try? fake.bus?.set(["KnownNetwork": nil], of: IWDObjects.network, at: Self.path(of: key))
                    try? fake.bus?.unexport(Self.knownPath(of: key))
                    if !isMute { call.answer() }
                }
            ],
            properties: [
                "Name": .string(sender.name), "Type": .string(sender.type), "Hidden": .boolean(sender.isHidden),
                "AutoConnect": .boolean(true),
            ]
        )
        try bus?.export([known], at: Self.knownPath(of: key))
    }

    private var agentManager: ExportedInterface {
        ExportedInterface(
            "net.connman.iwd.AgentManager",
            methods: [
                "RegisterAgent": method(takes: "o") { fake, call, isMute in
                    let isNew = fake.state.withLock { state in
                        state.agents.updateValue(call.arguments[0].path ?? .root, forKey: call.sender) == nil
                    }
                    guard !isMute else { return }
                    isNew ? call.answer() : call.refuse("net.connman.iwd.AlreadyExists")
                }
            ]
        )
    }

    private var stationMethods: [String: ExportedMethod] {
        [
            "Scan": method { fake, call, isMute in
                if !isMute { call.answer() }
                fake.set(["Scanning": .boolean(true)])
                try? fake.listen()
                fake.set(["Scanning": .boolean(false)])
            },
            "GetOrderedNetworks": method(returns: "a(on)") { fake, call, isMute in
                let rows = fake.state.withLock { state in
                    state.senders.filter { state.heard.contains(Self.key($0)) }.sorted { $0.strength > $1.strength }
                }
                .map { BusValue.structure([.objectPath(Self.path(of: Self.key($0))), .int16($0.strength)]) }
                if !isMute { call.answer([.array(of: .structure([.objectPath, .int16]), rows)]) }
            },
            "Disconnect": method { fake, call, isMute in
                guard let key = fake.state.withLock({ $0.joined }) else {
                    return call.refuse("net.connman.iwd.NotConnected")
                }
                fake.left(key)
                if !isMute { call.answer() }
            },
            "ConnectHiddenNetwork": method(takes: "s") { fake, call, isMute in
                let name = call.arguments[0].text
                let found = fake.state.withLock { $0.senders.first { $0.name == name } }
                guard let found else { return call.refuse("net.connman.iwd.NotFound") }
                guard found.isHidden else { return call.refuse("net.connman.iwd.NotHidden") }
                try? fake.show(found)
                fake.join(Self.key(found), call, isMute)
            },
        ]
    }

    private func set(_ changes: [String: BusValue?]) { try? bus?.set(changes, of: IWDObjects.station, at: Self.device) }

    // MARK: - Joining

    private func join(_ key: String, _ call: MethodCall, _ isMute: Bool) {
        let source = call.sender
        newJob.yield {
            let refusal = await self.tryToJoin(key, for: source)
            guard !isMute else { return }
            if let refusal { call.refuse("net.connman.iwd." + refusal) } else { call.answer() }
        }
    }

    private func tryToJoin(_ key: String, for source: String) async -> String? {
        guard let sender = sender(key) else { return "NotFound" }
        var passphrase = ""
        if sender.type == "psk" {
            let (stored, asksAgain) = state.withLock { ($0.known[key], $0.asksAgain.contains(key)) }
            if let stored, !asksAgain {
                passphrase = stored
            } else {
                guard let agent = state.withLock({ $0.agents[source] }) else { return "NoAgent" }
                let ask = BusCall(
                    to: source,
                    at: agent,
                    "net.connman.iwd.Agent",
                    "RequestPassphrase",
                    [.objectPath(Self.path(of: key))]
                )
                guard let text = try? await bus?.call(ask).first?.text else { return "Aborted" }
                passphrase = text
                state.withLock { $0.given.append(text) }
            }
        } else if sender.type != "open" {
            return "NotConfigured"
        }
        if let before = state.withLock({ $0.joined }), before != key { left(before) }
        set(["State": .string("connecting"), "ConnectedNetwork": .objectPath(Self.path(of: key))])
        if let gate = state.withLock({ $0.gate }) { for await _ in gate {} }
        guard passphrase == (sender.type == "psk" ? sender.passphrase : ""), !sender.letsNobodyIn else {
            state.withLock { _ = $0.asksAgain.insert(key) }
            set(["State": .string("disconnected"), "ConnectedNetwork": nil])
            return "Failed"
        }
        state.withLock { state in
            state.joined = key
            state.asksAgain.remove(key)
        }
        if sender.type != "open" { keep(key, passphrase) }
        try? bus?.set(["Connected": .boolean(true)], of: IWDObjects.network, at: Self.path(of: key))
        set(["State": .string("connected"), "ConnectedNetwork": .objectPath(Self.path(of: key))])
        // iwd says so when it has seen its own file, which may be after the answer. Source: iwd 2.3, src/network.c.
        if sender.type == "open", state.withLock({ $0.keepsOpenNetworks }) { newJob.yield { self.keep(key, "") } }
        return nil
    }

    private func keep(_ key: String, _ passphrase: String) {
        state.withLock { $0.known[key] = passphrase }
        try? showKnown(key)
        let known: [String: BusValue?] = ["KnownNetwork": .objectPath(Self.knownPath(of: key))]
        try? bus?.set(known, of: IWDObjects.network, at: Self.path(of: key))
    }

    private func left(_ key: String) {
        state.withLock { $0.joined = nil }
        try? bus?.set(["Connected": .boolean(false)], of: IWDObjects.network, at: Self.path(of: key))
        set(["State": .string("disconnected"), "ConnectedNetwork": nil])
    }

    // MARK: - Calls that go wrong

    private func method(
        takes: String = "",
        returns: String = "",
        _ action: @escaping @Sendable (FakeIWD, MethodCall, _ isMute: Bool) -> Void
    ) -> ExportedMethod {
        ExportedMethod(takes: takes, returns: returns) { [weak self] call in
            guard let self else { return }
            let fault = self.state.withLock { state in
                state.calls.append(call.member)
                return state.faults[state.calls.count]
            }
            switch fault {
            case nil: action(self, call, false)
            case .refusal: call.refuse("net.connman.iwd.Failed", "a fault that was asked for")
            case .silence: self.state.withLock { $0.kept.append(call) }
            case .lostAnswer:
                self.state.withLock { $0.kept.append(call) }
                action(self, call, true)
            case .crash:
                self.crash()
                self.newJob.yield { try? await self.start() }
            }
        }
    }
}
