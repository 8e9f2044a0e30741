import Bluetooth
public import Improv
import Synchronization

/// By which phones reach the terminal that connect it to Wi-Fi. For one time of being found.
public protocol OnboardingRadio: Sendable {
    /// Works until cancelled. Then nobody finds the service any more.
    func run() async
    /// What everybody around hears; nil: nothing.
    func advertise(_ serviceData: [UInt8]?) async
    /// Tells those who want to be told.
    func tell(_ characteristic: ImprovMachine.Characteristic, _ value: [UInt8]) async
    /// Ends the link to a phone.
    func dismiss(_ phone: ImprovPhone) async
}

/// The machine's Bluetooth as that radio: the service of Improv, in the open as Improv has it.
///
/// Source: improv-wifi.com/ble.
public struct BluetoothOnboarding: OnboardingRadio {
    private static let service = BluetoothUUID("00467768-6228-2272-4663-277478268000")
    private static let serviceData = BluetoothUUID("4677")

    private let peripheral: BluetoothPeripheral
    private let door: Door
    private let service: BluetoothUUID
    private let serviceData: BluetoothUUID

    /// - Parameters:
    ///   - adapter: Such as `hci0`; nil takes the first there is.
    ///   - busAddress: Nil for the machine's own bus.
    ///   - desk: Hears what phones do.
    public init?(adapter: String?, busAddress: String? = nil, desk: OnboardingDesk) {
        guard let service = Self.service, let serviceData = Self.serviceData else { return nil }
        (self.service, self.serviceData) = (service, serviceData)
        door = Door(desk: desk, service: service)
        peripheral = BluetoothPeripheral(
            adapter: adapter,
            busAddress: busAddress,
            service: service,
            characteristics: ImprovMachine.Characteristic.allCases.map {
                PeripheralCharacteristic(Door.uuid(of: $0, in: service), $0.uses)
            },
            application: door,
            // A phone writes a command in a few values.
            backlog: 64
        )
    }

    public func run() async { await peripheral.run() }

    public func advertise(_ serviceData: [UInt8]?) async {
        let data = self.serviceData
        // Flags, the service and its data: 3, 18 and 10 of 31 bytes.
        await peripheral.advertise(
            serviceData.map { Advertisement(services: [service], serviceData: [data: $0], isDiscoverable: true) }
        )
    }

    public func tell(_ characteristic: ImprovMachine.Characteristic, _ value: [UInt8]) async {
        await door.tell(characteristic, value)
    }

    public func dismiss(_ phone: ImprovPhone) async {
        if let address = BluetoothAddress(phone.address) { await peripheral.dismiss(address) }
    }
}

extension ImprovMachine.Characteristic {
    /// Source: improv-wifi.com/ble, "GATT Services".
    fileprivate var uses: PeripheralCharacteristic.Uses {
        switch self {
        case .state, .error, .result: [.read, .notify]
        case .command: .write
        case .capabilities: .read
        }
    }

    /// By how much its UUID is more than the service's.
    fileprivate var number: UInt8 {
        switch self {
        case .state: 1
        case .error: 2
        case .command: 3
        case .result: 4
        case .capabilities: 5
        }
    }
}

/// Where phones come in.
private final class Door: PeripheralApplication {
    private typealias Characteristic = ImprovMachine.Characteristic

    private struct State {
        /// bluetoothd has one for all phones.
        var channels: [Characteristic: (central: BluetoothAddress, channel: NotificationChannel)] = [:]
        var wants: [BluetoothAddress: Set<Characteristic>] = [:]
    }

    private let desk: OnboardingDesk
    private let characteristics: [BluetoothUUID: Characteristic]
    private let state = Mutex(State())

    init(desk: OnboardingDesk, service: BluetoothUUID) {
        self.desk = desk
        let pairs = Characteristic.allCases.map { (Self.uuid(of: $0, in: service), $0) }
        characteristics = Dictionary(pairs) { first, _ in first }
    }

    static func uuid(of characteristic: ImprovMachine.Characteristic, in service: BluetoothUUID) -> BluetoothUUID {
        service.ending(in: characteristic.number)
    }

    func read(_ characteristic: BluetoothUUID, by central: BluetoothAddress) async -> [UInt8] {
        guard let which = characteristics[characteristic] else { return [] }
        return await desk.read(which, by: ImprovPhone(central.description))
    }

    func write(_ value: [UInt8], to characteristic: BluetoothUUID, by central: BluetoothAddress) async {
        guard characteristics[characteristic] == .command else { return }
        await desk.wrote(value, by: ImprovPhone(central.description))
    }

    func subscribed(
        _ central: BluetoothAddress,
        to characteristic: BluetoothUUID,
        _ channel: NotificationChannel
    ) async {
        guard let which = characteristics[characteristic] else { return }
        state.withLock { state in
            state.channels[which] = (central, channel)
            state.wants[central, default: []].insert(which)
        }
        await desk.came(ImprovPhone(central.description))
    }

    func unsubscribed(_ central: BluetoothAddress, from characteristic: BluetoothUUID) async {
        guard let which = characteristics[characteristic] else { return }
        let wantsNothing = state.withLock { state in
            if state.channels[which]?.central == central { state.channels[which] = nil }
            state.wants[central]?.remove(which)
            guard state.wants[central]?.isEmpty == true else { return false }
            state.wants[central] = nil
            return true
        }
        if wantsNothing { await desk.left(ImprovPhone(central.description)) }
    }

    func tell(_ characteristic: ImprovMachine.Characteristic, _ value: [UInt8]) async {
        guard let channel = state.withLock({ $0.channels[characteristic]?.channel }) else { return }
        var value = value
        // A link that takes less gets the result without its texts: a part of it would be no result. It can be read whole.
        if value.count > channel.maximumValueLength, characteristic == .result, let command = value.first {
            value = ImprovPacket.result(of: command, [])
        }
        try? await channel.notify(value)  // Whoever is gone reads it when back.
    }
}
