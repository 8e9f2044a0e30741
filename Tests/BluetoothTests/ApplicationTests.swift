import BusTestSupport
import DBus
import Locks
import Testing

@testable import Bluetooth

/// A service of a peripheral's own, with any characteristics.
@Suite(.timeLimit(.minutes(2)))
struct ApplicationTests {
    private final class Notes: PeripheralApplication {
        let written = Mutex<[(BluetoothUUID, [UInt8])]>([])

        func read(_ characteristic: BluetoothUUID, by central: BluetoothAddress) async -> [UInt8] {
            [characteristic.bytes[15]]
        }
        func write(_ value: [UInt8], to characteristic: BluetoothUUID, by central: BluetoothAddress) async {
            written.withLock { $0.append((characteristic, value)) }
        }
        func subscribed(_: BluetoothAddress, to: BluetoothUUID, _: NotificationChannel) async {}
        func unsubscribed(_: BluetoothAddress, from: BluetoothUUID) async {}
    }

    @Test func eachCharacteristicIsItsOwn() async throws {
        try await withPrivateBus { address, _ in
            let (bluez, notes) = (FakeBlueZ(address: address), Notes())
            try await bluez.start()
            let uses: [PeripheralCharacteristic.Uses] = [[.read, .notify], [.read], .write, .notify]
            let characteristics = uses.enumerated().map {
                PeripheralCharacteristic(testService.ending(in: UInt8($0 + 1)), $1)
            }
            let peripheral = BluetoothPeripheral(
                busAddress: address,
                service: testService,
                characteristics: characteristics,
                application: notes,
                timings: .patient,
                clock: FastClock()
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await bluez.run() }
                group.addTask { await peripheral.run() }
                await peripheral.advertise(Advertisement(services: [testService], isDiscoverable: true))
                await bluez.until { $0.application != nil && $0.advertisement != nil }
                let (sender, root) = try #require(bluez.state.withLock { $0.application })
                let bus = try #require(bluez.bus)
                let manager = "org.freedesktop.DBus.ObjectManager"
                let answer = try await bus.call(BusCall(to: sender, at: root, manager, "GetManagedObjects"))
                let objects = try #require(BlueZObjects(managed: answer))
                let found = objects.objects.values.compactMap { $0[BlueZObjects.characteristic] }
                let flags = Dictionary(uniqueKeysWithValues: found.map { ($0["UUID"]?.text, $0["Flags"]?.strings) })
                let expected = [["read", "notify"], ["read"], ["write-without-response", "write"], ["notify"]]
                for (one, wanted) in zip(characteristics, expected) {
                    #expect(flags[one.uuid.description] == wanted)
                }
                #expect(found.count == 4)
                let device = try #require(ObjectPath("/org/bluez/hci0/dev_00_AA_01_00_00_01"))
                let options = BusValue.properties(["device": .objectPath(device)])
                for (number, one) in characteristics.enumerated() where one.uses.contains(.read) {
                    let path = try #require(root.appending("service")?.appending(one.element))
                    let call = BusCall(to: sender, at: path, BlueZObjects.characteristic, "ReadValue", [options])
                    #expect(try await bus.call(call).first?.bytes == [UInt8(number + 1)])
                }
                let path = try #require(root.appending("service")?.appending(characteristics[2].element))
                let write = BusCall(
                    to: sender,
                    at: path,
                    BlueZObjects.characteristic,
                    "WriteValue",
                    [.bytes([7, 8]), options]
                )
                try await bus.call(write)
                while notes.written.withLock({ $0.isEmpty }) { await Task.yield() }
                #expect(notes.written.withLock { $0[0].0 == characteristics[2].uuid && $0[0].1 == [7, 8] })
                let (owner, place) = try #require(bluez.state.withLock { $0.advertisement })
                let arguments = [BusValue.string("org.bluez.LEAdvertisement1")]
                let get = BusCall(to: owner, at: place, "org.freedesktop.DBus.Properties", "GetAll", arguments)
                #expect(try await bus.call(get).first?.properties?["Discoverable"]?.boolean == true)
                group.cancelAll()
            }
        }
    }
}
