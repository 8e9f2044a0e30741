import DBus
import Glibc
import Locks

@testable import Bluetooth

extension FakeBlueZ {
    var agentManager: ExportedInterface {
        ExportedInterface(
            "org.bluez.AgentManager1",
            methods: [
                "RegisterAgent": method(takes: "os") { fake, call in
                    let isNew = fake.state.withLock { state in
                        let isNew = state.agentOwners.insert(call.sender).inserted
                        if isNew { state.agents += 1 }
                        return isNew
                    }
                    if isNew { call.answer() } else { call.refuse("org.bluez.Error.AlreadyExists") }
                },
                "RequestDefaultAgent": method(takes: "o") { _, call in call.answer() },
            ]
        )
    }

    var adapterMethods: [String: ExportedMethod] {
        [
            "SetDiscoveryFilter": method(takes: "a{sv}") { fake, call in
                fake.state.withLock { $0.filter = call.arguments.first?.properties ?? [:] }
                call.answer()
            },
            "StartDiscovery": method { fake, call in
                let phones: [String]? = fake.state.withLock { state in
                    if state.inProgress > 0 || state.isDiscovering {
                        state.inProgress -= 1
                        return nil
                    }
                    state.isDiscovering = true
                    return Array(state.phones.keys)
                }
                guard let phones else {
                    return call.refuse("org.bluez.Error.InProgress", "Operation already in progress")
                }
                call.answer()
                for address in phones { try? fake.show(address) }
            },
            "StopDiscovery": method { fake, call in
                let was = fake.state.withLock { state in
                    defer { state.isDiscovering = false }
                    return state.isDiscovering
                }
                guard was else { return call.refuse("org.bluez.Error.Failed", "No discovery started") }
                guard fake.state.withLock({ $0.isSlowToStop }) else { return call.answer() }
                fake.state.withLock { $0.isStopping = true }
                fake.later {
                    for _ in 0..<50 { _ = try? await fake.bus?.owner(of: "org.bluez") }
                    fake.state.withLock { $0.isStopping = false }
                    call.answer()
                }
            },
            "RemoveDevice": method(takes: "o") { fake, call in
                let path = call.arguments.first?.path
                let address = fake.state.withLock { state in
                    let address = state.known.keys.first { fake.path(of: $0) == path }
                    if let address { state.known[address] = nil }
                    return address
                }
                guard let address, let path else { return call.refuse("org.bluez.Error.DoesNotExist") }
                fake.hangUp(address)
                fake.unexportServices(of: address)
                try? fake.bus?.unexport(path)
                call.answer()
            },
        ]
    }

    func deviceMethods(_ address: String) -> [String: ExportedMethod] {
        [
            "Connect": method { fake, call in fake.connect(address, call) },
            "Disconnect": method { fake, call in
                let waiting = fake.state.withLock { state in
                    let waiting = state.kept.filter { $0.member == "Connect" }
                    state.kept.removeAll { $0.member == "Connect" }
                    state.connecting -= waiting.count
                    return waiting
                }
                for connect in waiting { connect.refuse("org.bluez.Error.Failed", "br-connection-canceled") }
                fake.hangUp(address)
                call.answer()
            },
        ]
    }

    private func connect(_ address: String, _ call: FakeCall) {
        let phone: Phone = state.withLock { state in
            state.known[address] = true  // From here on BlueZ keeps it.
            state.connecting += 1
            if state.isStopping || state.isDiscovering { state.connectsBeforeStopped += 1 }
            state.mostConnecting = max(state.mostConnecting, state.connecting)
            var phone = state.phones[address] ?? Phone()
            if phone.refusals > 0 {
                state.phones[address]?.refusals -= 1
                phone.connect = .no(name: "org.bluez.Error.Failed", text: "le-connection-abort-by-local")
            }
            return phone
        }
        switch phone.connect {
        case .silence: state.withLock { $0.kept.append(call) }
        case .no(let name, let text):
            state.withLock { $0.connecting -= 1 }
            call.refuse(name, text)
        case .held: state.withLock { $0.held.append((address, call)) }
        case .yes: connected(address, phone, call)
        }
    }

    /// Lets the connect that has waited longest go on.
    func releaseConnect() {
        let next = state.withLock { state in state.held.isEmpty ? nil : state.held.removeFirst() }
        guard let next else { return }
        connected(next.address, state.withLock { $0.phones[next.address] ?? Phone() }, next.call)
    }

    private func connected(_ address: String, _ phone: Phone, _ call: FakeCall) {
        state.withLock { $0.connecting -= 1 }
        if phone.tellsConnected { set(address, ["Connected": .boolean(true)]) }
        call.answer()
        guard phone.resolves else { return }
        if !phone.isLate { exportServices(of: address, phone) }
        set(address, ["ServicesResolved": .boolean(true)])
        if phone.isLate { exportServices(of: address, phone) }
    }

    private func set(_ address: String, _ changes: [String: BusValue?]) {
        try? bus?.set(changes, of: "org.bluez.Device1", at: path(of: address))
    }

    private func servicePaths(of address: String) -> [ObjectPath] {
        ["service0010", "service0010/char0011", "service0010/char0013", "service0010/char0015"].compactMap {
            ObjectPath(path(of: address).text + "/" + $0)
        }
    }

    func unexportServices(of address: String) {
        for path in servicePaths(of: address) { try? bus?.unexport(path) }
    }

    private func exportServices(of address: String, _ phone: Phone) {
        let paths = servicePaths(of: address)
        let profile = LinkProfile(service: testService)
        let service: [String: BusValue] = [
            "UUID": .string(profile.service.description), "Primary": .boolean(true),
            "Device": .objectPath(path(of: address)),
        ]
        try? bus?.export([ExportedInterface("org.bluez.GattService1", properties: service)], at: paths[0])
        let methods = characteristicMethods(address, phone)
        for (path, uuid) in zip(paths.dropFirst(), [profile.read, profile.write, profile.notify]) {
            let properties: [String: BusValue] = ["UUID": .string(uuid.description), "Service": .objectPath(paths[0])]
            let characteristic = ExportedInterface(
                "org.bluez.GattCharacteristic1",
                methods: methods,
                properties: properties
            )
            try? bus?.export([characteristic], at: path)
        }
    }

    private func characteristicMethods(_ address: String, _ phone: Phone) -> [String: ExportedMethod] {
        [
            "ReadValue": method(takes: "a{sv}", returns: "ay") { fake, call in
                if phone.isRelayed { return fake.relay(call, "read", address, phone.mtu) }
                fake.together(call, phone) { call.answer([.bytes(phone.hello)]) }
            },
            "AcquireWrite": method(takes: "a{sv}", returns: "hq") { fake, call in
                if phone.isRelayed { return fake.relayWrites(call, address, phone.mtu) }
                fake.pipe(call, address, phone.mtu)
            },
            "AcquireNotify": method(takes: "a{sv}", returns: "hq") { fake, call in
                if phone.isRelayed { return fake.relay(call, "notify", address, phone.mtu) }
                fake.together(call, phone) { fake.pipe(call, address, phone.mtu) }
            },
        ]
    }

    /// Does `action`; with a phone that is slow to answer only when the other of both calls is there, too.
    private func together(_ call: FakeCall, _ phone: Phone, _ action: @escaping @Sendable () -> Void) {
        guard phone.answersTogether else { return action() }
        let actions = state.withLock { state in
            state.gathered[call.member] = action
            return state.gathered.count == 2 ? Array(state.gathered.values) : []
        }
        for action in actions { action() }
    }

    /// Answers with one end of a new pipe and keeps the other.
    private func newPipe(_ call: FakeCall, _ address: String, _ mtu: UInt16) -> PacketPipe? {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0, let ours = PacketPipe(BusDescriptor(owning: ends[0]))
        else {
            call.refuse("org.bluez.Error.Failed")
            return nil
        }
        state.withLock { $0.pipes[address, default: []].append(ours) }
        call.answer([.fileDescriptor(BusDescriptor(owning: ends[1])), .uint16(mtu)])
        return ours
    }

    /// The phone says back what comes through its pipe for writing, through the one that notifies.
    private func pipe(_ call: FakeCall, _ address: String, _ mtu: UInt16) {
        guard let ours = newPipe(call, address, mtu) else { return }
        guard call.member == "AcquireWrite" else { return state.withLock { $0.notifiers[address] = ours } }
        later {
            do {
                for try await packet in ours.packets {
                    try await self.state.withLock { $0.notifiers[address] }?.send(packet)
                }
            } catch {}
        }
    }

    // MARK: The other side

    var gattManager: ExportedInterface {
        ExportedInterface(
            "org.bluez.GattManager1",
            methods: [
                "RegisterApplication": method(takes: "oa{sv}") { fake, call in
                    guard let path = call.arguments.first?.path else { return }
                    fake.state.withLock { $0.application = (call.sender, path) }
                    call.answer()
                }
            ]
        )
    }

    var advertisingManager: ExportedInterface {
        ExportedInterface(
            "org.bluez.LEAdvertisingManager1",
            methods: [
                "RegisterAdvertisement": method(takes: "oa{sv}") { fake, call in
                    guard let path = call.arguments.first?.path else { return }
                    fake.state.withLock { $0.advertisement = (call.sender, path) }
                    call.answer()
                },
                "UnregisterAdvertisement": method(takes: "o") { fake, call in
                    let was = fake.state.withLock { state in
                        defer { state.advertisement = nil }
                        return state.advertisement
                    }
                    if was == nil { call.refuse("org.bluez.Error.DoesNotExist") } else { call.answer() }
                },
            ]
        )
    }

    /// Hands a call on to the application that a program registered, as bluetoothd at the other end would.
    private func relay(_ call: FakeCall, _ name: String, _ address: String, _ mtu: UInt16) {
        guard let (sender, root) = state.withLock({ $0.application }), let bus,
            let path = ObjectPath(root.text + "/service/" + name), let device = ObjectPath("/org/bluez/hci1/dev_00_AA")
        else { return call.refuse("org.bluez.Error.Failed", "no application") }
        let options = Self.options(device, mtu)
        later {
            do {
                let request = BusCall(
                    to: sender,
                    at: path,
                    "org.bluez.GattCharacteristic1",
                    call.member,
                    [.properties(options)]
                )
                call.answer(try await bus.call(request, timeout: .seconds(20)))
            } catch { call.refuse("org.bluez.Error.Failed", "\(error)") }
        }
    }

    /// What comes through the terminal's pipe goes to the program value by value, as bluetoothd does it without a pipe there.
    private func relayWrites(_ call: FakeCall, _ address: String, _ mtu: UInt16) {
        guard let (sender, root) = state.withLock({ $0.application }), let bus,
            let path = ObjectPath(root.text + "/service/write"), let device = ObjectPath("/org/bluez/hci1/dev_00_AA"),
            let ours = newPipe(call, address, mtu)
        else { return }
        let options = Self.options(device, mtu)
        later {
            do {
                for try await packet in ours.packets {
                    let arguments = [BusValue.bytes(packet), .properties(options)]
                    try await bus.call(
                        BusCall(to: sender, at: path, "org.bluez.GattCharacteristic1", "WriteValue", arguments),
                        timeout: .seconds(20)
                    )
                }
            } catch {}
        }
    }

    private static func options(_ device: ObjectPath, _ mtu: UInt16) -> [String: BusValue] {
        [
            "device": .objectPath(ObjectPath(device.text + "_01_00_00_00") ?? device), "mtu": .uint16(mtu),
            "link": .string("LE"),
        ]
    }
}
