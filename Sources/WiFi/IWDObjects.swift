import DBus

/// What iwd has told of its objects: radios, networks that are heard, networks that it knows.
struct IWDObjects: Sendable {
    typealias Properties = [String: BusValue]

    static let adapter = "net.connman.iwd.Adapter"
    static let device = "net.connman.iwd.Device"
    static let station = "net.connman.iwd.Station"
    static let network = "net.connman.iwd.Network"
    static let known = "net.connman.iwd.KnownNetwork"
    private static let kept: Set<String> = [adapter, device, station, network, known]

    /// More is not kept: whoever is near can make up networks without end.
    private static let limit = 2_048

    private(set) var objects: [ObjectPath: [String: Properties]] = [:]

    subscript(path: ObjectPath, interface: String) -> Properties? { objects[path]?[interface] }

    init() {}

    /// From the answer of `GetManagedObjects`. Nil if it has another shape.
    init?(managed answer: [BusValue]) {
        guard case .dictionary(_, _, let entries)? = answer.first else { return nil }
        for entry in entries {
            guard let path = entry.key.path else { return nil }
            add(path, entry.value)
        }
    }

    private mutating func add(_ path: ObjectPath, _ interfaces: BusValue) {
        guard case .dictionary(_, _, let entries) = interfaces else { return }
        for entry in entries {
            guard let name = entry.key.text, Self.kept.contains(name), let values = entry.value.properties,
                objects.count < Self.limit || objects[path] != nil
            else { continue }
            objects[path, default: [:]][name] = values
        }
    }

    /// Takes in a signal of iwd.
    mutating func apply(_ signal: BusSignal) {
        let arguments = signal.arguments
        switch (signal.interface, signal.member) {
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesAdded"):
            guard arguments.count == 2, let path = arguments[0].path else { return }
            add(path, arguments[1])
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesRemoved"):
            guard arguments.count == 2, let path = arguments[0].path, let names = arguments[1].strings else { return }
            for name in names { objects[path]?[name] = nil }
            if objects[path]?.isEmpty == true { objects[path] = nil }
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            guard arguments.count == 3, let name = arguments[0].text, let changed = arguments[1].properties,
                let gone = arguments[2].strings, objects[signal.path]?[name] != nil
            else { return }
            objects[signal.path]?[name]?.merge(changed) { $1 }
            for key in gone { objects[signal.path]?[name]?[key] = nil }
        default: return
        }
    }

    // MARK: Asking

    /// Objects that have this interface, in an order that stays.
    func paths(with interface: String) -> [ObjectPath] {
        objects.filter { $0.value[interface] != nil }.keys.sorted()
    }

    /// The first radio that can be a station now.
    var stationPath: ObjectPath? { paths(with: Self.station).first { self[$0, Self.device] != nil } }

    /// Which network an object of this interface is. Nil for one that nothing here can name.
    func id(_ path: ObjectPath, _ interface: String) -> WiFiNetwork.ID? {
        guard let values = self[path, interface], let name = values["Name"]?.text.flatMap(WiFiName.init),
            let security = values["Type"]?.text.flatMap(WiFiSecurity.init(iwd:))
        else { return nil }
        return WiFiNetwork.ID(name, security)
    }

    /// The object of a network that this radio hears.
    func networkPath(_ id: WiFiNetwork.ID, of station: ObjectPath) -> ObjectPath? {
        paths(with: Self.network).first { $0.isWithin(station) && self.id($0, Self.network) == id }
    }

    func knownPath(_ id: WiFiNetwork.ID) -> ObjectPath? {
        paths(with: Self.known).first { self.id($0, Self.known) == id }
    }

    /// How the radio stands, where there is one.
    var state: WiFiState? {
        guard let path = stationPath, let values = self[path, Self.station] else { return nil }
        let joined = values["ConnectedNetwork"]?.path.flatMap { id($0, Self.network) }
        let link: WiFiState.Link =
            switch values["State"]?.text {
            case "connecting": .joining(joined)
            case "connected", "roaming": .joined(joined)
            default: .none
            }
        return .ready(
            WiFiState.Station(
                interface: self[path, Self.device]?["Name"]?.text ?? "",
                link: link,
                isScanning: values["Scanning"]?.boolean == true
            )
        )
    }
}
