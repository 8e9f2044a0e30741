import Testing

@testable import Bluetooth
@testable import DBus

/// What of bluetoothd's many words is worth to wake somebody for.
struct ObjectsTests {
    private let adapter = ObjectPath("/org/bluez/hci0") ?? .root
    private let phone = ObjectPath("/org/bluez/hci0/dev_4F_12") ?? .root
    private let service = ObjectPath("/org/bluez/hci0/dev_4F_12/service0010") ?? .root
    private let part = ObjectPath("/org/bluez/hci0/dev_4F_12/service0010/char0011") ?? .root

    @Test func thePartsOfAPhoneWakeNobodyBeforeItSaysThatTheyAreAllThere() {
        var objects = BlueZObjects()
        #expect(isChange(objects.apply(added(adapter, BlueZObjects.adapter, [:]))))
        guard case .seen = objects.apply(added(phone, BlueZObjects.device, ["ServicesResolved": .boolean(false)]))
        else {
            Issue.record("a phone that comes is seen")
            return
        }
        #expect(!isChange(objects.apply(added(service, BlueZObjects.service, ["Device": .objectPath(phone)]))))
        #expect(!isChange(objects.apply(added(part, BlueZObjects.characteristic, ["Service": .objectPath(service)]))))
        #expect(!isChange(objects.apply(added(part, "org.bluez.GattDescriptor1", [:]))))
        #expect(!isChange(objects.apply(changed(part, BlueZObjects.characteristic, ["MTU": .uint16(517)]))))
        #expect(objects[part, BlueZObjects.characteristic]?["MTU"] == .uint16(517))
        #expect(isChange(objects.apply(changed(phone, BlueZObjects.device, ["ServicesResolved": .boolean(true)]))))
        // What comes later is what somebody waits for.
        #expect(isChange(objects.apply(added(part, BlueZObjects.characteristic, ["Service": .objectPath(service)]))))
        #expect(!isChange(objects.apply(removed(part, BlueZObjects.characteristic))))
        #expect(isChange(objects.apply(removed(phone, BlueZObjects.device))))
        #expect(isChange(objects.apply(changed(adapter, BlueZObjects.adapter, ["Powered": .boolean(false)]))))
    }

    private func isChange(_ event: BlueZObjects.Event) -> Bool { if case .changed = event { true } else { false } }

    private func added(_ path: ObjectPath, _ interface: String, _ properties: [String: BusValue]) -> BusSignal {
        let interfaces = BusValue.dictionary(
            key: .string,
            value: .dictionary(key: .string, value: .variant),
            [.init(.string(interface), .properties(properties))]
        )
        return manager("InterfacesAdded", [.objectPath(path), interfaces])
    }

    private func removed(_ path: ObjectPath, _ interface: String) -> BusSignal {
        manager("InterfacesRemoved", [.objectPath(path), .strings([interface])])
    }

    private func manager(_ member: String, _ arguments: [BusValue]) -> BusSignal {
        BusSignal(
            sender: ":1.4",
            path: .root,
            interface: "org.freedesktop.DBus.ObjectManager",
            member: member,
            arguments: arguments
        )
    }

    private func changed(_ path: ObjectPath, _ interface: String, _ properties: [String: BusValue]) -> BusSignal {
        BusSignal(
            sender: ":1.4",
            path: path,
            interface: "org.freedesktop.DBus.Properties",
            member: "PropertiesChanged",
            arguments: [.string(interface), .properties(properties), .strings([])]
        )
    }
}
