/// One characteristic of the service that a peripheral holds.
public struct PeripheralCharacteristic: Sendable, Equatable {
    /// What centrals may do with it.
    public struct Uses: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let read = Uses(rawValue: 1)
        /// With a response or without.
        public static let write = Uses(rawValue: 2)
        public static let notify = Uses(rawValue: 4)

        /// Source: BlueZ 5.66 doc/gatt-api.txt, `Flags`.
        var flags: [String] {
            (contains(.read) ? ["read"] : []) + (contains(.write) ? ["write-without-response", "write"] : [])
                + (contains(.notify) ? ["notify"] : [])
        }
    }

    public let uuid: BluetoothUUID
    public let uses: Uses
    /// The last element of its object's path: letters, digits and `_`, and no other characteristic's.
    let element: String

    public init(_ uuid: BluetoothUUID, _ uses: Uses) {
        self.init(uuid, uses, element: "c" + uuid.description.filter { $0 != "-" })
    }

    init(_ uuid: BluetoothUUID, _ uses: Uses, element: String) {
        (self.uuid, self.uses, self.element) = (uuid, uses, element)
    }
}

/// What a peripheral does with centrals at any number of characteristics. Calls of one central come one after another, in its
/// order; different centrals are served at the same time.
public protocol PeripheralApplication: Sendable {
    /// A central reads from the beginning. A long value is asked for once and given out in parts.
    func read(_ characteristic: BluetoothUUID, by central: BluetoothAddress) async -> [UInt8]
    /// A central wrote one value of at most 512 bytes.
    func write(_ value: [UInt8], to characteristic: BluetoothUUID, by central: BluetoothAddress) async
    /// A central wants notifications. Send them through `channel` until it wants no more. bluetoothd has one channel for all
    /// centrals: what goes through it reaches those too that subscribed after the first, and they are not told of here.
    func subscribed(
        _ central: BluetoothAddress,
        to characteristic: BluetoothUUID,
        _ channel: NotificationChannel
    ) async
    /// The channel was closed: its centrals want no more notifications, or are gone.
    func unsubscribed(_ central: BluetoothAddress, from characteristic: BluetoothUUID) async
}

/// The three characteristics of a profile, served by a ``PeripheralService``.
struct ProfileApplication: PeripheralApplication {
    let service: any PeripheralService

    func read(_ characteristic: BluetoothUUID, by central: BluetoothAddress) async -> [UInt8] {
        await service.read(by: central)
    }

    func write(_ value: [UInt8], to characteristic: BluetoothUUID, by central: BluetoothAddress) async {
        await service.write(value, by: central)
    }

    func subscribed(
        _ central: BluetoothAddress,
        to characteristic: BluetoothUUID,
        _ channel: NotificationChannel
    ) async {
        await service.subscribed(central, channel)
    }

    func unsubscribed(_ central: BluetoothAddress, from characteristic: BluetoothUUID) async {
        await service.unsubscribed(central)
    }

    static func characteristics(of profile: LinkProfile) -> [PeripheralCharacteristic] {
        [
            PeripheralCharacteristic(profile.read, .read, element: "read"),
            PeripheralCharacteristic(profile.write, .write, element: "write"),
            PeripheralCharacteristic(profile.notify, .notify, element: "notify"),
        ]
    }
}
