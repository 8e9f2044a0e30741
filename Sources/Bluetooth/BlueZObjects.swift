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

    /// What became of a phone.
    enum Event: Sendable {
        case seen(ObjectPath, Properties)
        case other
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
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesAdded"):
            guard signal.arguments.count == 2, let path = signal.arguments[0].path else { return .other }
            add(path, signal.arguments[1])
            guard case .dictionary(_, _, let entries) = signal.arguments[1],
                entries.contains(where: { $0.key.text == Self.device }), let device = self[path, Self.device]
            else { return .other }
            return .seen(path, device)
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesRemoved"):
            guard signal.arguments.count == 2, let path = signal.arguments[0].path,
                let names = signal.arguments[1].strings
            else { return .other }
            for name in names { objects[path]?[name] = nil }
            if names.contains(Self.adapter) { adapters.removeAll { $0 == path } }
            if objects[path]?.isEmpty == true { objects[path] = nil }
            return .other
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            return change(signal)
        default: return .other
        }
    }

    private mutating func change(_ signal: BusSignal) -> Event {
        guard signal.arguments.count == 3, let name = signal.arguments[0].text,
            let changed = signal.arguments[1].properties, let gone = signal.arguments[2].strings,
            objects[signal.path]?[name] != nil
        else { return .other }
        objects[signal.path]?[name]?.merge(changed) { $1 }
        for key in gone { objects[signal.path]?[name]?[key] = nil }
        guard name == Self.device, changed["RSSI"] != nil || changed["ServiceData"] != nil || changed["TxPower"] != nil,
            let device = self[signal.path, Self.device]
        else { return .other }
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
