import DBus
import Locks
import Testing

@testable import Bluetooth

@Suite(.timeLimit(.minutes(2)))
struct CrowdTests {
    private static let addresses = (0..<50).map { number in
        "4F:12:00:AA:01:" + (number < 16 ? "0" : "") + String(number, radix: 16, uppercase: true)
    }

    /// What one of fifty does: linked well, or in one of the ways in which a link comes to nothing.
    private func phone(_ number: Int) -> FakeBlueZ.Phone {
        var phone = FakeBlueZ.Phone()
        switch number % 5 {
        case 0: phone.connect = .silence
        case 1: phone.connect = .no(name: "org.bluez.Error.Failed", text: "host is down")
        case 2: phone.resolves = false
        case 3: phone.mtu = 22
        default: break
        }
        return phone
    }

    @Test func fiftyAdvertisersAreLinkedOneAtATimeAndLeaveNoDeviceObject() async throws {
        var timings = BluetoothTimings.patient
        (timings.connect, timings.resolve) = (.milliseconds(100), .milliseconds(100))
        try await Radio.with(timings: timings) { radio in
            for (number, address) in Self.addresses.enumerated() { try radio.bluez.add(phone(number), at: address) }
            await radio.untilReady()
            var found: Set<BluetoothAddress> = []
            for try await sighting in radio.central.sightings(of: [testService]) {
                found.insert(sighting.address)
                if found.count == Self.addresses.count { break }
            }
            // All at once, as nobody should.
            let linked = await withTaskGroup(of: Bool.self) { group in
                for address in found {
                    group.addTask {
                        guard let link = try? await radio.central.connect(to: address, testProfile) else {
                            return false
                        }
                        await link.close()
                        return true
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(linked == 10)
            #expect(radio.bluez.state.withLock { $0.mostConnecting } == 1)
            await radio.bluez.until { $0.known.isEmpty }
            #expect(radio.calls.filter { $0 == "RemoveDevice" }.count >= Self.addresses.count)
        }
    }

    @Test func aPhoneThatFloodsWithItsLeavingLeavesNoDeviceObject() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            for _ in 0..<30 {
                let link = try await radio.connect()
                radio.bluez.hangUp(phoneAddress)
                for try await _ in link.fragments {}
                await link.close()
            }
            #expect(radio.known == [])
        }
    }
}
