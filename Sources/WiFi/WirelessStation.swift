public import DBus
import Locks

/// This machine in Wi-Fi networks, through iwd.
///
/// Let ``run()`` run for as long as Wi-Fi is used. It switches the radio on, and comes back by itself when iwd, the bus or the
/// adapter does. iwd keeps passphrases and joins known networks by itself; an address is the business of whoever asks for
/// one by DHCP.
///
/// Source: iwd 2.3, doc/*-api.txt.
public actor WirelessStation {
    /// How long things take.
    public struct Timings: Sendable {
        /// Between looks whether what was refused can be had now.
        public var look = Duration.seconds(10)
        /// Until a lost bus is opened again, one after the other; the last stays.
        public var healing: [Duration] = [.seconds(1), .seconds(5), .seconds(30)]
        /// Of one call that iwd answers at once.
        public var answer = Duration.seconds(10)
        /// Until a network is joined or has refused.
        public var join = Duration.seconds(60)

        public init() {}
    }

    private let busAddress: String
    private let timings: Timings
    private let sleep: @Sendable (Duration) async throws -> Void
    private let agent = PassphraseAgent()
    private let hub = WiFiStates()

    private var bus: BusConnection?
    /// iwd's own name on the bus; nil while it does not run.
    private var owner: String?
    private var objects = IWDObjects()
    /// Rises whenever what was learnt before is void.
    private var epoch = 0
    private var knownEpoch = -1
    private var agentEpoch = -1
    private var absence = WiFiState.Reason.starting
    private var refusal: WiFiState.Reason?
    private var isJoining = false

    static let name = "net.connman.iwd"
    private static let manager = ObjectPath("/net/connman/iwd") ?? .root

    /// - Parameter sleep: Waits; throws only where the task is cancelled.
    public init(
        busAddress: String = BusConnection.systemAddress,
        timings: Timings = Timings(),
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        (self.busAddress, self.timings, self.sleep) = (busAddress, timings, sleep)
    }

    // MARK: - Running

    /// Works until the task is cancelled.
    public func run() async {
        var tries = 0
        while !Task.isCancelled {
            do throws(BusError) {
                let bus = try await BusConnection.open(address: busAddress)
                // With the connection the agent goes.
                defer { bus.close() }
                try await follow(bus) { tries = 0 }
            } catch {
                forget(.noBus(error.description))
            }
            let pause = timings.healing.isEmpty ? .seconds(30) : timings.healing[min(tries, timings.healing.count - 1)]
            tries += 1
            do { try await sleep(pause) } catch { break }
        }
        forget(.starting)
    }

    private enum Event: Sendable {
        case signal(BusSignal)
        case look
        case ended(BusError)
    }

    private func follow(_ bus: BusConnection, _ isUp: () -> Void) async throws(BusError) {
        let rules = [BusConnection.ownerRule(of: Self.name), SignalRule(sender: Self.name)]
        let signals = try await bus.signals(rules, limit: 4_096)
        try bus.export([agent.exported], at: PassphraseAgent.path)
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let (sleep, look) = (sleep, timings.look)
        let failure: BusError? = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do throws(BusError) {
                    var iterator = signals.makeAsyncIterator()
                    while let signal = try await iterator.next() { continuation.yield(.signal(signal)) }
                    continuation.yield(.ended(.disconnected(reason: "the bus tells nothing more")))
                } catch { continuation.yield(.ended(error)) }
            }
            group.addTask {
                while true {
                    do { try await sleep(look) } catch { return continuation.finish() }
                    continuation.yield(.look)
                }
            }
            defer { group.cancelAll() }
            do throws(BusError) {
                self.bus = bus
                try await adopt(try await bus.owner(of: Self.name))
                isUp()
                for await event in events {
                    switch event {
                    case .signal(let signal): try await take(signal)
                    case .look: try await mend()
                    case .ended(let error): throw error
                    }
                }
                return nil
            } catch { return error }
        }
        forget(.noBus("the connection ended"))
        if let failure { throw failure }
    }

    private func forget(_ reason: WiFiState.Reason) {
        (bus, owner, absence) = (nil, nil, reason)
        startAnew()
    }

    private func startAnew() {
        epoch += 1
        objects = IWDObjects()
        refusal = nil
        agent.serve(owner)
        publish()
    }

    /// iwd came, went, or is another one.
    private func adopt(_ owner: String?) async throws(BusError) {
        self.owner = owner
        startAnew()
        guard owner != nil else { return }
        try await mend()
    }

    private func take(_ signal: BusSignal) async throws(BusError) {
        if signal.sender == "org.freedesktop.DBus" {
            guard signal.arguments.count == 3, signal.arguments[0].text == Self.name else { return }
            let new = signal.arguments[2].text ?? ""
            return try await adopt(new.isEmpty ? nil : new)
        }
        guard signal.sender == owner else { return }
        if signal.droppedBefore > 0 { knownEpoch = -1 }
        objects.apply(signal)
        publish()
        let comes = signal.member == "InterfacesAdded" && signal.arguments.last?.has(IWDObjects.device) == true
        if signal.droppedBefore > 0 || comes { try await mend() }
    }

    /// Learns and registers what is missing, and switches a radio on that is off. What iwd refuses is tried again at the next look.
    private func mend() async throws(BusError) {
        guard let bus, owner != nil else { return }
        let now = epoch
        if knownEpoch != now {
            let call = BusCall(to: Self.name, at: .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
            guard case .success(let values) = try await answer(to: call, on: bus), now == epoch,
                let found = IWDObjects(managed: values)
            else { return }
            (objects, knownEpoch) = (found, now)
            publish()
        }
        if agentEpoch != now {
            let register = BusCall(
                to: Self.name,
                at: Self.manager,
                "net.connman.iwd.AgentManager",
                "RegisterAgent",
                [.objectPath(PassphraseAgent.path)]
            )
            let said = try await answer(to: register, on: bus)
            guard now == epoch else { return }
            // There already: an answer of before was lost.
            if said.refusal == nil || said.refusal == Self.name + ".AlreadyExists" { agentEpoch = now }
        }
        guard objects.stationPath == nil else { return note(nil) }
        for interface in [IWDObjects.adapter, IWDObjects.device] {
            for path in objects.paths(with: interface)
            where objects[path, interface]?["Powered"]?.boolean == false {
                let on: [BusValue] = [.string(interface), .string("Powered"), .variant(.boolean(true))]
                let call = BusCall(to: Self.name, at: path, "org.freedesktop.DBus.Properties", "Set", on)
                let said = try await answer(to: call, on: bus)
                guard now == epoch else { return }
                switch said {
                case .success: break
                // Source: iwd 2.3, src/wiphy.c, `wiphy_property_set_powered`.
                case .failure(Self.name + ".NotAvailable", _): return note(.blocked)
                case .failure(let name, let text): return note(.refused("\(name) \(text)"))
                }
            }
        }
        note(nil)
    }

    private func note(_ refusal: WiFiState.Reason?) {
        self.refusal = refusal
        publish()
    }

    private enum Answer {
        case success([BusValue])
        case failure(name: String, text: String)

        var refusal: String? { if case .failure(let name, _) = self { name } else { nil } }
    }

    /// - Throws: Where the connection is of no use any more. That iwd says no, or nothing, is an answer.
    private func answer(to call: BusCall, on bus: BusConnection) async throws(BusError) -> Answer {
        do throws(BusError) { return .success(try await bus.call(call, timeout: timings.answer)) } catch {
            switch error {
            case .refused(let name, let text): return .failure(name: name, text: String(text.prefix(200)))
            case .noAnswer: return .failure(name: "", text: error.description)
            case .notSent, .disconnected, .unreadable, .cancelled: throw error
            }
        }
    }

    // MARK: - State

    /// Whether Wi-Fi can be used, and what it does.
    public var state: WiFiState {
        guard bus != nil else { return .unavailable(absence) }
        guard owner != nil else { return .unavailable(.noDaemon) }
        guard knownEpoch == epoch else { return .unavailable(.starting) }
        if let state = objects.state { return state }
        let radios = objects.paths(with: IWDObjects.device) + objects.paths(with: IWDObjects.adapter)
        if radios.isEmpty { return .unavailable(.noAdapter) }
        if let refusal { return .unavailable(refusal) }
        let isOff = [IWDObjects.adapter, IWDObjects.device].contains { interface in
            radios.contains { objects[$0, interface]?["Powered"]?.boolean == false }
        }
        // A radio that is on and no station serves somebody else.
        return .unavailable(isOff ? .poweredOff : .noAdapter)
    }

    /// The state now and each one after it. Slow readers miss what lies between.
    public nonisolated func states() -> AsyncStream<WiFiState> { hub.stream() }

    private func publish() { hub.publish(state) }

    /// Networks that iwd knows, in an order that stays.
    public var known: [KnownWiFiNetwork] {
        objects.paths(with: IWDObjects.known).compactMap { path in
            objects.id(path, IWDObjects.known).map {
                KnownWiFiNetwork(id: $0, isHidden: objects[path, IWDObjects.known]?["Hidden"]?.boolean == true)
            }
        }
    }

    // MARK: - What it is asked for

    /// Begins to listen for networks; some seconds later ``networks()`` has them.
    public func scan() async throws(WiFiError) {
        let (bus, station) = try ready()
        do throws(BusError) {
            try await bus.call(BusCall(to: Self.name, at: station, IWDObjects.station, "Scan"), timeout: timings.answer)
        } catch {
            // It listens already, which is what was wanted.
            if Self.word(of: error) == "InProgress" || Self.word(of: error) == "Busy" { return }
            throw Self.fault(error)
        }
    }

    /// The networks of the last listening that have a name, the one that is joined first, then those that are known, then the
    /// strongest. 64 at most.
    public func networks() async throws(WiFiError) -> [WiFiNetwork] {
        let (bus, station) = try ready()
        let call = BusCall(to: Self.name, at: station, IWDObjects.station, "GetOrderedNetworks")
        let values: [BusValue]
        do throws(BusError) { values = try await bus.call(call, timeout: timings.answer) } catch {
            throw Self.fault(error)
        }
        guard case .array(_, let rows)? = values.first else {
            throw .refused("GetOrderedNetworks answered something else")
        }
        return rows.prefix(256).compactMap { row -> WiFiNetwork? in
            guard case .structure(let parts) = row, parts.count == 2, let path = parts[0].path,
                let strength = parts[1].integer, let id = objects.id(path, IWDObjects.network)
            else { return nil }
            return WiFiNetwork(
                id: id,
                // In hundredths of a dBm.
                strengthDBm: max(-120, min(0, strength / 100)),
                isKnown: objects[path, IWDObjects.network]?["KnownNetwork"]?.path != nil,
                isJoined: objects[path, IWDObjects.network]?["Connected"]?.boolean == true
            )
        }
        .prefix(64).map(\.self)
    }

    /// Joins a network that is heard, and leaves the one before for it.
    /// - Parameter passphrase: Not needed where iwd knows the network.
    public func join(_ id: WiFiNetwork.ID, passphrase: Passphrase?) async throws(WiFiError) {
        let (bus, station) = try ready()
        guard id.security.isSupported else { throw .unsupported }
        guard let path = objects.networkPath(id, of: station) else { throw .notHeard }
        let isKnown = objects[path, IWDObjects.network]?["KnownNetwork"]?.path != nil
        guard id.security == .open || isKnown || passphrase != nil else { throw .passphraseNeeded }
        let call = BusCall(to: Self.name, at: path, IWDObjects.network, "Connect")
        try await join(.network(path), passphrase, by: call, on: bus)
    }

    /// Joins a network that does not say its name. iwd knows it from then on. With a passphrase it is never an open one: iwd joins
    /// whichever of that name is there, and such a one is forgotten again.
    public func joinHidden(_ name: WiFiName, passphrase: Passphrase?) async throws(WiFiError) {
        let (bus, station) = try ready()
        let before = Set(objects.paths(with: IWDObjects.network))
        let call = BusCall(
            to: Self.name,
            at: station,
            IWDObjects.station,
            "ConnectHiddenNetwork",
            [.string(name.text)]
        )
        let wasAsked = try await join(.hidden(of: station, before: before), passphrase, by: call, on: bus)
        guard passphrase != nil, !wasAsked else { return }
        try await drop(WiFiNetwork.ID(name, .open))
        throw .isOpen
    }

    /// Has iwd forget a network that it just joined, with which it leaves it and goes on to join others by itself.
    private func drop(_ id: WiFiNetwork.ID) async throws(WiFiError) {
        // iwd says what it keeps some moments after it has joined: when it has seen its own file.
        let pause = Duration.milliseconds(250)
        for _ in 0..<Int(timings.answer / pause) where objects.knownPath(id) == nil {
            do { try await sleep(pause) } catch { break }  // Cancelled.
        }
        do throws(WiFiError) {
            if objects.knownPath(id) == nil { try await leave() } else { try await forget(id) }
        } catch {
            // It went by itself meanwhile.
            guard error == .notJoined || error == .notKnown else { throw error }
        }
    }

    /// - Returns: Whether iwd was given the passphrase.
    @discardableResult
    private func join(
        _ target: PassphraseAgent.Target,
        _ passphrase: Passphrase?,
        by call: BusCall,
        on bus: BusConnection
    ) async throws(WiFiError) -> Bool {
        guard !isJoining else { throw .busy }
        isJoining = true
        agent.begin(target, passphrase)
        defer {
            isJoining = false
            agent.end()
        }
        var isLast = false
        while true {
            do throws(BusError) {
                try await bus.call(call, timeout: timings.join)
                return agent.wasAsked
            } catch {
                let wasAsked = agent.wasAsked
                // With the passphrase that iwd kept it fails first; then iwd asks for another.
                guard !isLast, passphrase != nil, !wasAsked, Self.word(of: error) == "Failed" else {
                    throw Self.joinFault(error, gavePassphrase: wasAsked, hadPassphrase: passphrase != nil)
                }
                isLast = true
            }
        }
    }

    /// Leaves the network it is in. iwd joins none by itself until it is asked to, or starts again.
    public func leave() async throws(WiFiError) {
        let (bus, station) = try ready()
        do throws(BusError) {
            let call = BusCall(to: Self.name, at: station, IWDObjects.station, "Disconnect")
            try await bus.call(call, timeout: timings.answer)
        } catch { throw Self.fault(error) }
    }

    /// Has iwd forget a network and its passphrase, and leave it.
    public func forget(_ id: WiFiNetwork.ID) async throws(WiFiError) {
        guard let bus, owner != nil else { throw .unavailable(unavailability) }
        guard let path = objects.knownPath(id) else { throw .notKnown }
        do throws(BusError) {
            let call = BusCall(to: Self.name, at: path, IWDObjects.known, "Forget")
            try await bus.call(call, timeout: timings.answer)
        } catch { throw Self.fault(error) }
    }

    /// Has iwd forget every network, for a terminal that goes into other hands. What iwd does not forget it keeps.
    /// - Returns: How many are known yet.
    public func forgetAll() async -> Int {
        var left = 0
        for network in known {
            do throws(WiFiError) { try await forget(network.id) } catch { left += 1 }
        }
        return left
    }

    private var unavailability: WiFiState.Reason {
        if case .unavailable(let reason) = state { reason } else { .noAdapter }
    }

    private func ready() throws(WiFiError) -> (BusConnection, ObjectPath) {
        guard let bus, owner != nil, knownEpoch == epoch, let station = objects.stationPath else {
            throw .unavailable(unavailability)
        }
        return (bus, station)
    }
}

// MARK: - iwd's refusals

extension WirelessStation {
    /// The last part of a refusal's name, such as `Failed`.
    private static func word(of error: BusError) -> String? {
        guard let name = error.refusal, name.hasPrefix(Self.name + ".") else { return nil }
        return name.split(separator: ".").last.map(String.init)
    }

    /// What a refusal to join means. Source: iwd 2.3, src/dbus.c, src/network.c, src/station.c.
    private static func joinFault(_ error: BusError, gavePassphrase: Bool, hadPassphrase: Bool) -> WiFiError {
        switch word(of: error) {
        case "Failed": gavePassphrase ? .passphraseNotTaken : .notLetIn
        case "InvalidFormat": .passphraseNotTaken
        // Nobody to ask, or the agent had nothing to say.
        case "NoAgent" where !hadPassphrase, "Aborted" where !hadPassphrase: .passphraseNeeded
        case "Aborted": .aborted
        case "NotHidden", "AlreadyProvisioned": .notHidden
        case "NotSupported", "NotConfigured", "ServiceSetOverlap": .unsupported
        default: fault(error)
        }
    }

    private static func fault(_ error: BusError) -> WiFiError {
        switch error {
        case .noAnswer(let after): .tooSlow(after: after)
        case .disconnected, .cancelled: .interrupted
        case .notSent(let reason), .unreadable(let reason): .refused(reason)
        case .refused(let name, let text):
            switch word(of: error) {
            case "NotFound", "NotAvailable": .notHeard
            case "Busy", "InProgress": .busy
            case "NotConnected": .notJoined
            default:
                gone.contains(name)
                    ? .notHeard
                    : silent.contains(name) ? .interrupted : .refused(String("\(name) \(text)".prefix(200)))
            }
        }
    }

    /// The object went before the call came.
    private static let gone: Set<String> = [
        "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod",
        "org.freedesktop.DBus.Error.UnknownInterface",
    ]
    /// The bus says so in the place of iwd that went.
    private static let silent: Set<String> = [
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected",
        "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
    ]
}

extension BusValue {
    /// Whether it is a dictionary with this key.
    fileprivate func has(_ key: String) -> Bool {
        guard case .dictionary(_, _, let entries) = self else { return false }
        return entries.contains { $0.key.text == key }
    }
}

/// The last state, and who wants to hear of the next.
final class WiFiStates: Sendable {
    private struct State {
        var last = WiFiState.unavailable(.starting)
        var watchers: [AsyncStream<WiFiState>.Continuation] = []
    }

    private let state = Mutex(State())

    func publish(_ new: WiFiState) {
        state.withLock { state in
            guard state.last != new else { return }
            state.last = new
            state.watchers.removeAll { if case .terminated = $0.yield(new) { true } else { false } }
        }
    }

    func stream() -> AsyncStream<WiFiState> {
        let (stream, continuation) = AsyncStream.makeStream(of: WiFiState.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            continuation.yield(state.last)
            state.watchers.append(continuation)
        }
        return stream
    }
}
