import DBus

/// What bluetoothd has told of its objects: adapters, phones, services, characteristics.
struct BlueZObjects: Sendable {
    typealias Properties = [String: BusValue]

    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let service = "org.bluez.GattService1"
    static let characteristic = "org.bluez.GattCharacteristic1"
    private static let kept: Set<String> = [adapter, device, service, characteristic]

    /// More is not kept: a hostile phone may offer services without end.
    private static let limit = 4_096

    private(set) var objects: [ObjectPath: [String: Properties]] = [:]
    /// Kept apart: with every signal the radio's own state is looked at.
    private var adapters: [ObjectPath] = []

    /// What a signal meant.
    enum Event: Sendable {
        /// A phone was heard.
        case seen(ObjectPath, Properties)
        /// Something changed that somebody may wait for.
        case changed
        /// Nobody waits for it. A connect brings dozens of these: the parts of a phone that has not said yet that they are all
        /// there, and what is not kept.
        case detail
    }

    subscript(path: ObjectPath, interface: String) -> Properties? { objects[path]?[interface] }

    /// From the answer of `GetManagedObjects`. `nil` if it has another shape.
    init?(managed answer: [BusValue]) {
        guard case .dictionary(_, _, let entries)? = answer.first else { return nil }
        for entry in entries {
            guard let path = entry.key.path else { return nil }
            add(path, entry.value)
        }
    }

    init() {}

    private mutating func add(_ path: ObjectPath, _ interfaces: BusValue) {
        guard case .dictionary(_, _, let entries) = interfaces, objects.count < Self.limit || objects[path] != nil
        else { return }
        for entry in entries {
            guard let name = entry.key.text, Self.kept.contains(name), let values = entry.value.properties else {
                continue
            }
            objects[path, default: [:]][name] = values
            if name == Self.adapter, !adapters.contains(path) { adapters = (adapters + [path]).sorted() }
        }
    }

    /// Takes in a signal of bluetoothd.
    mutating func apply(_ signal: BusSignal) -> Event {
        switch (signal.interface, signal.member) {
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesAdded"): grow(signal)
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesRemoved"): shrink(signal)
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"): change(signal)
        default: .detail
        }
    }

    private mutating func grow(_ signal: BusSignal) -> Event {
        guard signal.arguments.count == 2, let path = signal.arguments[0].path,
            case .dictionary(_, _, let entries) = signal.arguments[1]
        else { return .detail }
        add(path, signal.arguments[1])
        let names = entries.compactMap(\.key.text)
        if names.contains(Self.device), let device = self[path, Self.device] { return .seen(path, device) }
        if names.contains(Self.adapter) { return .changed }
        return names.contains(where: Self.kept.contains) && isResolved(path) ? .changed : .detail
    }

    /// Whether the phone that this is a part of has said that its services are all there.
    private func isResolved(_ part: ObjectPath) -> Bool {
        let service = self[part, Self.characteristic]?["Service"]?.path ?? part
        let device = self[service, Self.service]?["Device"]?.path
        return device.flatMap { self[$0, Self.device]?["ServicesResolved"]?.boolean } ?? true
    }

    private mutating func shrink(_ signal: BusSignal) -> Event {
        guard signal.arguments.count == 2, let path = signal.arguments[0].path,
            let names = signal.arguments[1].strings
        else { return .detail }
        for name in names { objects[path]?[name] = nil }
        if names.contains(Self.adapter) { adapters.removeAll { $0 == path } }
        if objects[path]?.isEmpty == true { objects[path] = nil }
        return names.contains(Self.device) || names.contains(Self.adapter) ? .changed : .detail
    }

    private mutating func change(_ signal: BusSignal) -> Event {
        guard signal.arguments.count == 3, let name = signal.arguments[0].text,
            let changed = signal.arguments[1].properties, let gone = signal.arguments[2].strings,
            objects[signal.path]?[name] != nil
        else { return .detail }
        objects[signal.path]?[name]?.merge(changed) { $1 }
        for key in gone { objects[signal.path]?[name]?[key] = nil }
        if name == Self.adapter { return .changed }
        guard name == Self.device else { return .detail }
        guard changed["RSSI"] != nil || changed["ServiceData"] != nil || changed["TxPower"] != nil,
            let device = self[signal.path, Self.device]
        else { return .changed }
        return .seen(signal.path, device)
    }

    // MARK: Asking

    /// The adapter of this name, or the first one.
    func adapterPath(named name: String?) -> ObjectPath? {
        adapters.first { name == nil || $0.text.hasSuffix("/" + (name ?? "")) }
    }

    func devicePaths(of adapter: ObjectPath) -> [ObjectPath] {
        objects.filter { $0.value[Self.device] != nil && $0.key.isWithin(adapter) }.keys.sorted()
    }

    func devicePath(of adapter: ObjectPath, address: BluetoothAddress) -> ObjectPath? {
        devicePaths(of: adapter).first {
            self[$0, Self.device]?["Address"]?.text.flatMap(BluetoothAddress.init) == address
        }
    }

    /// The characteristics of a phone's service, once all of them are there.
    func characteristics(of device: ObjectPath, in profile: LinkProfile) -> LinkPaths? {
        let services = objects.filter { path, interfaces in
            path.isWithin(device)
                && interfaces[Self.service]?["UUID"]?.text.flatMap(BluetoothUUID.init) == profile.service
        }.keys.sorted()
        for service in services {
            func path(_ uuid: BluetoothUUID) -> ObjectPath? {
                objects.filter { path, interfaces in
                    path.isWithin(service)
                        && interfaces[Self.characteristic]?["UUID"]?.text.flatMap(BluetoothUUID.init) == uuid
                }.keys.min()
            }
            if let read = path(profile.read), let write = path(profile.write), let notify = path(profile.notify) {
                return LinkPaths(read: read, write: write, notify: notify)
            }
        }
        return nil
    }
}

/// Where the three characteristics of a phone are.
struct LinkPaths: Sendable {
    let read: ObjectPath
    let write: ObjectPath
    let notify: ObjectPath
}

/// What to look for on a phone: one service with a characteristic to read, one to write without response, and one that
/// notifies.
///
/// Source: BPP/1 section 3.
public struct LinkProfile: Sendable, Equatable {
    public let service: BluetoothUUID
    public let read: BluetoothUUID
    public let write: BluetoothUUID
    public let notify: BluetoothUUID

    public init(service: BluetoothUUID, read: BluetoothUUID, write: BluetoothUUID, notify: BluetoothUUID) {
        (self.service, self.read, self.write, self.notify) = (service, read, write, notify)
    }

    /// The service's first 32 bits and 1 more for writing, 2 for notifying, 3 for reading.
    ///
    /// Source: BPP/1 section 3.
    public init(service: BluetoothUUID) {
        self.init(
            service: service,
            read: service.offset(by: 3),
            write: service.offset(by: 1),
            notify: service.offset(by: 2)
        )
    }
}
