import BusTestSupport
import DBus
import Locks
import Testing

@testable import Bluetooth

@Suite(.timeLimit(.minutes(2)))
struct PeripheralTests {
    @Test func theServiceAndTheAdvertisementAreAsThePaymentProfileWantsThem() async throws {
        try await Phone.with { phone in
            var advertisement = Advertisement(services: [testService], includesTxPower: true)
            advertisement.serviceData = [testService: [1, 0, 0xF6, 0xAC]]
            await phone.peripheral.advertise(advertisement)
            await phone.bluez.until { $0.application != nil && $0.advertisement != nil }
            let application = try #require(phone.bluez.state.withLock { $0.application })
            let bus = try #require(phone.bluez.bus)
            let manager = "org.freedesktop.DBus.ObjectManager"
            let answer = try await bus.call(
                BusCall(to: application.sender, at: application.path, manager, "GetManagedObjects")
            )
            let objects = try #require(BlueZObjects(managed: answer))
            let paths = try #require(objects.characteristics(of: application.path, in: testProfile))
            let characteristic = BlueZObjects.characteristic
            #expect(objects[paths.read, characteristic]?["Flags"]?.strings == ["read"])
            #expect(objects[paths.write, characteristic]?["Flags"]?.strings?.first == "write-without-response")
            #expect(objects[paths.notify, characteristic]?["Flags"]?.strings == ["notify"])
            // bluetoothd would lose the first value of a link: see `BluetoothPeripheral`.
            #expect(objects[paths.write, characteristic]?["WriteAcquired"] == nil)
            #expect(objects[paths.notify, characteristic]?["NotifyAcquired"]?.boolean == false)
            let properties = try await phone.advertised()
            #expect(properties["ServiceUUIDs"]?.strings == [testService.description])
            #expect(properties["LocalName"] == nil)
            #expect(properties["Includes"]?.strings == ["tx-power"])
            #expect(properties["ServiceData"]?.properties == [testService.description: .bytes([1, 0, 0xF6, 0xAC])])
        }
    }

    @Test func whatIsAdvertisedCanChangeAndStop() async throws {
        try await Phone.with { phone in
            await phone.peripheral.advertise(Advertisement(services: [testService]))
            await phone.bluez.until { $0.advertisement != nil }
            let other = testService.offset(by: 77)
            await phone.peripheral.advertise(Advertisement(services: [other]))
            await phone.bluez.until { $0.calls.filter { $0 == "RegisterAdvertisement" }.count == 2 }
            let properties = try await phone.advertised()
            #expect(properties["ServiceUUIDs"]?.strings == [other.description])
            await phone.peripheral.advertise(nil)
            await phone.bluez.until { $0.advertisement == nil }
        }
    }

    @Test func aRestartedDaemonIsToldEverythingAgain() async throws {
        try await Phone.with { phone in
            await phone.peripheral.advertise(Advertisement(services: [testService]))
            await phone.bluez.until { $0.application != nil && $0.advertisement != nil }
            phone.bluez.crash()
            try await phone.bluez.start()
            await phone.bluez.until { $0.application != nil && $0.advertisement != nil }
        }
    }

    @Test func anAdvertisementThatWasTakenOffTheAirIsPutBack() async throws {
        try await Phone.with { phone in
            await phone.peripheral.advertise(Advertisement(services: [testService]))
            await phone.bluez.until { $0.advertisement != nil }
            let (sender, path) = try #require(phone.bluez.state.withLock { $0.advertisement })
            phone.bluez.state.withLock { $0.advertisement = nil }
            let release = BusCall(to: sender, at: path, "org.bluez.LEAdvertisement1", "Release")
            try await phone.bluez.bus?.call(release)
            await phone.bluez.until { $0.advertisement != nil }
        }
    }

    @Test func anAdapterThatWasPulledOutIsToldEverythingAgain() async throws {
        try await Phone.with { phone in
            await phone.peripheral.advertise(Advertisement(services: [testService]))
            await phone.bluez.until { $0.application != nil && $0.advertisement != nil }
            try await phone.bluez.unplug()
            phone.bluez.state.withLock { ($0.application, $0.advertisement) = (nil, nil) }
            for await state in phone.peripheral.states where state == .unavailable(.noAdapter(nil)) { break }
            try phone.bluez.plugIn()
            await phone.bluez.until { $0.application != nil && $0.advertisement != nil }
        }
    }

    @Test func aLongReadGivesTheRestOfTheSameBytes() async throws {
        try await Phone.with { phone in
            await phone.bluez.until { $0.application != nil }
            let first = try await phone.read(offset: 0)
            #expect(first.count == 45)
            #expect(try await phone.read(offset: 22) == Array(first[22...]))
            #expect(try await phone.read(offset: 45) == [])
            await #expect(throws: BusError.self) { try await phone.read(offset: 46) }
            #expect(try await phone.read(offset: 0) != first)
            // Another central's read is another session.
            #expect(try await phone.read(offset: 0, by: "dev_00_AA_01_00_00_02")[0] == 3)
            #expect(try await phone.read(offset: 1)[0] == 1)
        }
    }

    /// The fake bluetoothd joins both ends of this library: what one side hands out, the other gets.
    @Test func aTerminalAndAPhoneUnderstandEachOther() async throws {
        try await Phone.with { phone in
            await phone.bluez.until { $0.application != nil }
            var relayed = FakeBlueZ.Phone()
            relayed.isRelayed = true
            relayed.mtu = 517
            try phone.bluez.add(relayed, at: phoneAddress)
            let central = BluetoothCentral(adapter: "hci0", busAddress: phone.busAddress, timings: .patient)
            let radio = Radio(bluez: phone.bluez, central: central, clock: FastClock(), busAddress: phone.busAddress)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await central.run() }
                let link = try await radio.connect()
                #expect(link.maximumValueLength == 512)
                #expect(try await link.read().count == 45)
                var fragments = link.fragments.makeAsyncIterator()
                for number in 0..<200 {
                    let value = Array(repeating: UInt8(number), count: 1 + number * 2)
                    try await link.send(value)
                    #expect(try await fragments.next() == value)
                }
                await link.close()
                await phone.service.untilUnsubscribed()
                group.cancelAll()
            }
        }
    }
}

/// A peripheral on a private bus with a bluetoothd of its own.
private struct Phone: Sendable {
    let bluez: FakeBlueZ
    let peripheral: BluetoothPeripheral
    let service: Echo
    let busAddress: String

    static func with(_ body: (Phone) async throws -> Void) async throws {
        try await withPrivateBus { address, _ in
            let (bluez, service) = (FakeBlueZ(address: address), Echo())
            try await bluez.start()
            let peripheral = BluetoothPeripheral(
                busAddress: address,
                profile: testProfile,
                service: service,
                timings: .patient,
                clock: FastClock()
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await bluez.run() }
                group.addTask { await peripheral.run() }
                try await body(Phone(bluez: bluez, peripheral: peripheral, service: service, busAddress: address))
                group.cancelAll()
            }
        }
    }

    func advertised() async throws -> [String: BusValue] {
        let (sender, path) = try #require(bluez.state.withLock { $0.advertisement })
        let arguments = [BusValue.string("org.bluez.LEAdvertisement1")]
        let call = BusCall(to: sender, at: path, "org.freedesktop.DBus.Properties", "GetAll", arguments)
        return try #require(try await bluez.bus?.call(call).first?.properties)
    }

    func read(offset: UInt16, by central: String = "dev_00_AA_01_00_00_01") async throws -> [UInt8] {
        let (sender, root) = try #require(bluez.state.withLock { $0.application })
        let path = try #require(ObjectPath(root.text + "/service/read"))
        let device = try #require(ObjectPath("/org/bluez/hci1/" + central))
        let options: [String: BusValue] = ["offset": .uint16(offset), "device": .objectPath(device)]
        let call = BusCall(to: sender, at: path, BlueZObjects.characteristic, "ReadValue", [.properties(options)])
        return try #require(try await bluez.bus?.call(call).first?.bytes)
    }
}

/// Says back what it is told.
private final class Echo: PeripheralService {
    private let state = Mutex<(reads: UInt8, channel: NotificationChannel?)>((0, nil))
    private let changes = Changes()

    func read(by central: BluetoothAddress) async -> [UInt8] {
        let count = state.withLock { state in
            state.reads += 1
            return state.reads
        }
        return [count] + (1..<45).map { UInt8($0) }
    }

    func write(_ value: [UInt8], by central: BluetoothAddress) async {
        try? await state.withLock({ $0.channel })?.notify(value)
    }

    func subscribed(_ central: BluetoothAddress, _ channel: NotificationChannel) async {
        state.withLock { $0.channel = channel }
    }

    func unsubscribed(_ central: BluetoothAddress) async {
        state.withLock { $0.channel = nil }
        changes.bump()
    }

    func untilUnsubscribed() async {
        while !Task.isCancelled {
            let version = changes.version
            if state.withLock({ $0.channel == nil }) { return }
            await changes.wait(after: version)
        }
    }
}
