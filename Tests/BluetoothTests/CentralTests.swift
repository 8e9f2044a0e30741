import DBus
import Locks
import Testing

@testable import Bluetooth

@Suite(.timeLimit(.minutes(2)))
struct CentralTests {
    @Test func aPhoneIsFoundConnectedUsedAndForgotten() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            let link = try await radio.connect()
            #expect(link.maximumValueLength == 182)
            #expect(try await link.read() == Array(repeating: 7, count: 45))
            var fragments = link.fragments.makeAsyncIterator()
            for number in 0..<50 {
                let value = Array(repeating: UInt8(number), count: 1 + number * 3)
                try await link.send(value)
                #expect(try await fragments.next() == value)
            }
            await link.close()
            #expect(try await fragments.next() == nil)
            #expect(radio.known == [])
        }
    }

    /// As many customers as a busy shop has in two days, each under another address.
    @Test func aThousandLinksLeaveNoPhoneBehind() async throws {
        try await Radio.with { radio in
            await radio.untilReady()
            for number in 0..<1000 {
                let address =
                    "4F:12:00:00:0\(number >> 8):\(String(number & 0xFF | 0x100, radix: 16).suffix(2).uppercased())"
                try radio.bluez.add(FakeBlueZ.Phone(), at: address)
                let link = try await radio.connect(address)
                #expect(try await link.read().count == 45)
                await link.close()
                radio.bluez.state.withLock { $0.phones[address] = nil }
            }
            #expect(radio.known == [])
        }
    }

    @Test func scanningStopsBeforeAConnectAndGoesOnAfterIt() async throws {
        try await Radio.with { radio in
            radio.bluez.state.withLock { $0.isSlowToStop = true }
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            var sightings = radio.central.sightings(of: [testService]).makeAsyncIterator()
            let first = try await sightings.next()
            let link = try await radio.central.connect(to: #require(first?.address), testProfile)
            await radio.bluez.until { $0.isDiscovering }
            #expect(radio.bluez.state.withLock { $0.connectsBeforeStopped } == 0)
            let calls = radio.calls
            let connect = try #require(calls.firstIndex(of: "Connect"))
            #expect(calls[..<connect].filter { $0.hasSuffix("Discovery") }.last == "StopDiscovery")
            #expect(calls[connect...].filter { $0.hasSuffix("Discovery") } == ["StartDiscovery"])
            await link.close()
        }
    }

    @Test func theFilterAsksForTheServiceAndEveryAdvertisementOfIt() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            for try await _ in radio.central.sightings(of: [testService], floorDBm: -80) { break }
            let filter = radio.bluez.state.withLock { $0.filter }
            #expect(filter["UUIDs"]?.strings == [testService.description])
            #expect(filter["Transport"] == .string("le"))
            #expect(filter["DuplicateData"] == .boolean(true))
            #expect(filter["RSSI"] == .int16(-80))
        }
    }

    @Test func onlyPhonesWithTheServiceAndTheStrengthAreReported() async throws {
        try await Radio.with { radio in
            var other = FakeBlueZ.Phone()
            other.services = ["0000180f-0000-1000-8000-00805f9b34fb", "no uuid"]
            try radio.bluez.add(other, at: "4F:12:00:AA:BB:02")
            var weak = FakeBlueZ.Phone()
            weak.rssi = -90
            try radio.bluez.add(weak, at: "4F:12:00:AA:BB:03")
            await radio.untilReady()
            var sightings = radio.central.sightings(of: [testService], floorDBm: -70).makeAsyncIterator()
            await radio.bluez.until { $0.known.count == 2 }
            var near = FakeBlueZ.Phone()
            near.rssi = -50
            try radio.bluez.add(near, at: phoneAddress)
            let first = try await sightings.next()
            #expect(first?.address.description == phoneAddress)
            #expect(first?.rssiDBm == -50)
            try radio.bluez.setStrength(-44, of: phoneAddress)
            #expect(try await sightings.next()?.rssiDBm == -44)
            try radio.bluez.setStrength(127, of: phoneAddress)
            let unknown = try await sightings.next()
            #expect(unknown?.rssiDBm == nil)
        }
    }

    @Test func aScanThatIsRefusedAsInProgressIsAskedForAgain() async throws {
        try await Radio.with(timings: .quick) { radio in
            radio.bluez.state.withLock { $0.inProgress = 3 }
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            _ = try await radio.find()
            #expect(radio.calls.filter { $0 == "StartDiscovery" }.count >= 4)
        }
    }

    /// The kernel scans on for a bluetoothd that crashed, and refuses the next one for so long.
    @Test func aScanThatIsRefusedWhileTheKernelStillScansIsNoTrouble() async throws {
        var timings = BluetoothTimings.quick
        timings.scanRefusal = BluetoothTimings().scanRefusal
        #expect(timings.scanRefusal > .milliseconds(10_240) + BluetoothTimings().scanRetry)
        try await Radio.with(timings: timings) { radio in
            radio.bluez.state.withLock { $0.inProgress = 15 }
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            _ = try await radio.find()
        }
    }

    /// A controller that has died looks like a room without phones, unless somebody says so.
    @Test func aScanThatIsRefusedAgainAndAgainIsSaidAndAskedForAllTheSame() async throws {
        try await Radio.with(timings: .quick) { radio in
            radio.bluez.state.withLock { $0.inProgress = 1_000_000 }
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            for _ in 0..<2 {
                let error = await #expect(throws: BluetoothError.self) { try await radio.find() }
                let word = try #require(error).description
                #expect(
                    word.hasPrefix(
                        "bluetoothd refuses: it does not begin to look for phones: org.bluez.Error.InProgress"
                    )
                )
            }
            radio.bluez.state.withLock { $0.inProgress = 0 }
            _ = try await radio.find()
        }
    }

    @Test func aScanThatHearsNothingIsStartedAnew() async throws {
        try await Radio.with(timings: .quick) { radio in
            await radio.untilReady()
            let sightings = radio.central.sightings(of: [testService])
            await radio.bluez.until { $0.calls.filter { $0 == "StartDiscovery" }.count >= 3 }
            withExtendedLifetime(sightings) {}
        }
    }

    @Test func theScanEndsWithItsLastReader() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            _ = try await radio.find()
            await radio.bluez.until { !$0.isDiscovering }
        }
    }

    @Test func aConnectThatIsAbortedByTheOwnControllerIsTriedAgain() async throws {
        try await Radio.with(timings: .quick) { radio in
            var phone = FakeBlueZ.Phone()
            phone.refusals = 2
            try radio.bluez.add(phone, at: phoneAddress)
            let link = try await radio.connect()
            #expect(radio.calls.filter { $0 == "Connect" }.count == 3)
            await link.close()
        }
    }

    @Test func aConnectionThatBlueZNeverTellsOfIsUsedAllTheSame() async throws {
        try await Radio.with { radio in
            var phone = FakeBlueZ.Phone()
            phone.tellsConnected = false
            try radio.bluez.add(phone, at: phoneAddress)
            let link = try await radio.connect()
            #expect(try await link.read().count == 45)
            await link.close()
            #expect(radio.known == [])
        }
    }

    @Test func characteristicsThatComeLaterThanTheirServicesAreWaitedFor() async throws {
        try await Radio.with { radio in
            var phone = FakeBlueZ.Phone()
            phone.isLate = true
            try radio.bluez.add(phone, at: phoneAddress)
            let link = try await radio.connect()
            #expect(try await link.read().count == 45)
            await link.close()
        }
    }

    @Test(arguments: [FakeBlueZ.Phone.Answer.silence, .no(name: "org.bluez.Error.Failed", text: "host is down")])
    func aPhoneThatDoesNotConnectIsLetGoInTime(answer: FakeBlueZ.Phone.Answer) async throws {
        var timings = BluetoothTimings.patient
        timings.connect = .milliseconds(300)
        try await Radio.with(timings: timings) { radio in
            var phone = FakeBlueZ.Phone()
            phone.connect = answer
            try radio.bluez.add(phone, at: phoneAddress)
            await radio.untilReady()
            let address = try await radio.find()
            let start = radio.clock.now
            let error = await #expect(throws: BluetoothError.self) {
                try await radio.central.connect(to: address, testProfile)
            }
            switch answer {
            case .silence: #expect(error == .tooSlow(.connect, after: .milliseconds(300)))
            default: #expect(error == .refused(.connect, name: "org.bluez.Error.Failed", text: "host is down"))
            }
            #expect(start.duration(to: radio.clock.now) < .seconds(30))
            #expect(radio.known == [])
        }
    }

    /// The owner's own times, for a controller that is slow, or for none.
    @Test(arguments: [true, false])
    func whoeverConnectsMaySetItsTimes(connects: Bool) async throws {
        try await Radio.with { radio in
            var phone = FakeBlueZ.Phone()
            (phone.connect, phone.resolves) = (connects ? .yes : .silence, false)
            try radio.bluez.add(phone, at: phoneAddress)
            await radio.untilReady()
            let address = try await radio.find()
            let limits = (
                connect: Duration.milliseconds(300), resolve: Duration.milliseconds(400), open: Duration.seconds(30)
            )
            let late: BluetoothError =
                connects
                ? .tooSlow(.resolve, after: .milliseconds(400)) : .tooSlow(.connect, after: .milliseconds(300))
            await #expect(throws: late) {
                try await radio.central.connect(to: address, testProfile, limits: limits)
            }
        }
    }

    @Test func aPhoneThatNeverTellsItsServicesIsLetGo() async throws {
        var timings = BluetoothTimings.patient
        timings.resolve = .milliseconds(300)
        try await Radio.with(timings: timings) { radio in
            var phone = FakeBlueZ.Phone()
            phone.resolves = false
            try radio.bluez.add(phone, at: phoneAddress)
            await #expect(throws: BluetoothError.tooSlow(.resolve, after: .milliseconds(300))) {
                try await radio.connect()
            }
            #expect(radio.known == [])
        }
    }

    /// Else each would take a way to the phone and back.
    @Test func theFirstValueIsReadWithoutWaitingForTheSubscription() async throws {
        try await Radio.with { radio in
            var phone = FakeBlueZ.Phone()
            phone.answersTogether = true
            try radio.bluez.add(phone, at: phoneAddress)
            let link = try await radio.connect()
            #expect(try await link.read() == phone.hello)
            let asked = radio.calls.filter { ["AcquireNotify", "AcquireWrite", "ReadValue"].contains($0) }
            #expect(asked.count == 3)
            #expect(asked.last == "ReadValue")
            try await link.send([1, 2, 3])
            #expect(try await link.fragments.first { _ in true } == [1, 2, 3])
            await link.close()
        }
    }

    @Test func aPhoneThatTakesTooShortValuesIsLetGo() async throws {
        try await Radio.with { radio in
            var phone = FakeBlueZ.Phone()
            phone.mtu = 22
            try radio.bluez.add(phone, at: phoneAddress)
            await #expect(throws: BluetoothError.valueTooShort(maximumBytes: 19)) { try await radio.connect() }
            #expect(radio.known == [])
        }
    }

    @Test(arguments: [(23, 20), (247, 244), (517, 512), (65_535, 512)])
    func aValueIsAsLongAsTheLinkAllows(mtu: UInt16, bytes: Int) async throws {
        try await Radio.with { radio in
            var phone = FakeBlueZ.Phone()
            phone.mtu = mtu
            try radio.bluez.add(phone, at: phoneAddress)
            let link = try await radio.connect()
            #expect(link.maximumValueLength == bytes)
            await #expect(throws: BluetoothError.self) { try await link.send(Array(repeating: 0, count: bytes + 1)) }
            await link.close()
        }
    }

    @Test func thePhoneHangingUpEndsTheFragmentsAndFailsTheNextValue() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            let link = try await radio.connect()
            radio.bluez.hangUp(phoneAddress)
            for try await _ in link.fragments {}
            await #expect(throws: BluetoothError.disconnected) {
                while true { try await link.send([1]) }
            }
            await link.close()
            #expect(radio.known == [])
        }
    }

    @Test func oneConnectAtATime() async throws {
        try await Radio.with { radio in
            let addresses = (1...4).map { "4F:12:00:AA:BB:0\($0)" }
            var phone = FakeBlueZ.Phone()
            phone.connect = .held
            for address in addresses { try radio.bluez.add(phone, at: address) }
            await radio.untilReady()
            var found: Set<BluetoothAddress> = []
            for try await sighting in radio.central.sightings(of: [testService]) {
                found.insert(sighting.address)
                if found.count == addresses.count { break }
            }
            try await withThrowingTaskGroup(of: Link.self) { group in
                for address in found {
                    group.addTask { try await radio.central.connect(to: address, testProfile) }
                }
                for _ in addresses {
                    await radio.bluez.until { !$0.held.isEmpty }
                    // The others' calls would be here by now: they go over the same bus.
                    for _ in 0..<20 { _ = try await radio.bluez.bus?.owner(of: "org.bluez") }
                    radio.bluez.releaseConnect()
                }
                for try await link in group { await link.close() }
            }
            #expect(radio.bluez.state.withLock { $0.mostConnecting } == 1)
            #expect(radio.known == [])
        }
    }

    @Test func aCancelledConnectLeavesNothingBehind() async throws {
        try await Radio.with { radio in
            var phone = FakeBlueZ.Phone()
            phone.connect = .silence
            try radio.bluez.add(phone, at: phoneAddress)
            await radio.untilReady()
            let address = try await radio.find()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: BluetoothError.cancelled) {
                        try await radio.central.connect(to: address, testProfile)
                    }
                }
                await radio.bluez.until { $0.calls.contains("Connect") }
                group.cancelAll()
            }
            #expect(radio.known == [])
        }
    }

    @Test func aLinkThatNobodyClosedIsForgottenAllTheSame() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            _ = try await radio.connect()
            await radio.bluez.until { $0.known.isEmpty }
        }
    }

    @Test func aPhoneThatWasNotSeenIsUnknown() async throws {
        try await Radio.with { radio in
            await radio.untilReady()
            let address = try #require(BluetoothAddress(phoneAddress))
            await #expect(throws: BluetoothError.unknownPhone(address)) {
                try await radio.central.connect(to: address, testProfile)
            }
        }
    }
}
