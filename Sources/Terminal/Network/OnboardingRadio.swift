import Bluetooth
public import Improv
import Locks

/// By which phones reach the terminal that connect it to Wi-Fi. For one time of being found.
public protocol OnboardingRadio: Sendable {
    /// Works until cancelled. Then nobody finds the service any more.
    func run() async
    /// What everybody around hears; nil: nothing.
    func advertise(_ serviceData: [UInt8]?) async
    /// Tells every phone that wants to be told, the one that is served or not.
    func tell(_ characteristic: ImprovMachine.Characteristic, _ value: [UInt8]) async
    /// Ends the link to a phone.
    func dismiss(_ phone: ImprovPhone) async
}

/// The machine's Bluetooth as that radio: the service of Improv, in the open as Improv has it.
///
/// Source: improv-wifi.com/ble.
public struct BluetoothOnboarding: OnboardingRadio {
    private static let service = BluetoothUUID(0x0046_7768_6228_2272, 0x4663_2774_7826_8000)
    private static let serviceData = BluetoothUUID(short: 0x4677)

    private let peripheral: BluetoothPeripheral
    private let door: Door

    /// - Parameters:
    ///   - adapter: Such as `hci0`; nil takes the first there is.
    ///   - busAddress: Nil for the machine's own bus.
    ///   - desk: Hears what phones do.
    public init(adapter: String?, busAddress: String? = nil, desk: OnboardingDesk) {
        let service = Self.service
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
        // Flags, the service and its data: 3, 18 and 10 of 31 bytes.
        await peripheral.advertise(
            serviceData.map { data in
                Advertisement(services: [Self.service], serviceData: [Self.serviceData: data], isDiscoverable: true)
            }
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

    private let desk: OnboardingDesk
    private let characteristics: [BluetoothUUID: Characteristic]
    /// bluetoothd has one for all phones: it opens it for the first that wants to be told, whose address it says, and closes it
    /// when the last wants no more.
    private let channels = Mutex<[Characteristic: (central: BluetoothAddress, channel: NotificationChannel)]>([:])

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
        channels.withLock { $0[which] = (central, channel) }
        await desk.came(ImprovPhone(central.description))
    }

    func unsubscribed(_ central: BluetoothAddress, from characteristic: BluetoothUUID) async {
        guard let which = characteristics[characteristic] else { return }
        let isLast = channels.withLock { channels in
            guard channels[which]?.central == central else { return false }
            channels[which] = nil
            return channels.isEmpty
        }
        if isLast { await desk.allLeft() }
    }

    func tell(_ characteristic: ImprovMachine.Characteristic, _ value: [UInt8]) async {
        guard let channel = channels.withLock({ $0[characteristic]?.channel }) else { return }
        var value = value
        // A link that takes less gets the result without its texts: a part of it would be no result. It can be read whole.
        if value.count > channel.maximumValueLength, characteristic == .result, let command = value.first {
            value = ImprovPacket.result(of: command, [])
        }
        try? await channel.notify(value)  // Whoever is gone reads it when back.
    }
}
