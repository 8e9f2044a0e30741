import BusTestSupport
import DBus
import Locks
import Testing

@testable import Bluetooth

@Suite(.timeLimit(.minutes(2)))
struct HealingTests {
    @Test func anAbsentDaemonIsSaidAndItsComingIsNoticed() async throws {
        try await Radio.with(starts: false) { radio in
            await radio.until { $0 == .unavailable(.noDaemon) }
            try await radio.bluez.start()
            await radio.untilReady()
        }
    }

    @Test func aMissingBusIsSaidInPlainWords() async throws {
        let central = BluetoothCentral(busAddress: "unix:path=/nonexistent", clock: FastClock())
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await central.run() }
            for await state in central.states {
                guard case .unavailable(.noBus(let reason)) = state else { continue }
                #expect(reason.contains("No such file"))
                break
            }
            group.cancelAll()
        }
    }

    @Test func aRestartedDaemonIsToldEverythingAgain() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            _ = try await radio.find()
            let agents = radio.bluez.state.withLock { $0.agents }
            let sightings = radio.central.sightings(of: [testService])
            radio.bluez.crash()
            await #expect(throws: BluetoothError.unavailable(.noDaemon)) { for try await _ in sightings {} }
            await radio.until { $0 == .unavailable(.noDaemon) }
            try await radio.bluez.start()
            await radio.untilReady()
            _ = try await radio.find()
            #expect(radio.bluez.state.withLock { $0.agents } == agents + 1)
        }
    }

    @Test func aLinkEndsWithTheDaemonAndItsPhoneIsForgottenByTheNextOne() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            let link = try await radio.connect()
            radio.bluez.crash()
            for try await _ in link.fragments {}
            await link.close()
            #expect(radio.known == [phoneAddress])
            try await radio.bluez.start()
            await radio.bluez.until { $0.known.isEmpty }
            await radio.untilReady()
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.useOnce()
        }
    }

    @Test func theBusDyingIsSaidAndANewOneIsUsed() async throws {
        try await withPrivateBus { address, daemon in
            try await Radio.with(on: address) { radio in
                await radio.untilReady()
                let sightings = radio.central.sightings(of: [testService])
                try daemon.kill()
                await #expect(throws: BluetoothError.self) { for try await _ in sightings {} }
                await radio.until { if case .unavailable(.noBus) = $0 { true } else { false } }
            }
        }
    }

    @Test func phonesOfAnEarlierRunAreRemovedAndPairedOnesAreNot() async throws {
        let paired = "4F:12:00:AA:BB:02"
        try await Radio.with { bluez in
            bluez.state.withLock { state in
                state.known = [phoneAddress: true, paired: true]
                state.paired = [paired]
            }
        } _: { radio in
            await radio.untilReady()
            await radio.bluez.until { $0.known.count == 1 }
            #expect(radio.known == [paired])
        }
    }

    /// The owner's own phone may be paired with the machine: to pay with it does not end that.
    @Test func aPairedPhoneThatPaysStaysPaired() async throws {
        try await Radio.with { bluez in
            bluez.state.withLock { $0.paired = [phoneAddress] }
        } _: { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            let link = try await radio.connect()
            await link.close()
            #expect(radio.calls.contains("Disconnect") && !radio.calls.contains("RemoveDevice"))
            #expect(radio.known == [phoneAddress])
        }
    }

    @Test func aBluetoothdThatNobodyMayAskIsSaidAndAskedAgain() async throws {
        try await Radio.with(starts: false) { radio in
            let bus = try await BusConnection.open(address: radio.busAddress)
            try await bus.own("org.bluez")
            await radio.until { if case .unavailable(.refused) = $0 { true } else { false } }
            try bus.exportObjectManager(at: .root)
            await radio.until { $0 == .unavailable(.noAdapter("hci0")) }
            bus.close()
        }
    }

    @Test func anAdapterThatIsPulledOutEndsTheScanAndComesBack() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.untilReady()
            let sightings = radio.central.sightings(of: [testService])
            try await radio.bluez.unplug()
            await #expect(throws: BluetoothError.unavailable(.noAdapter("hci0"))) { for try await _ in sightings {} }
            try radio.bluez.plugIn()
            await radio.untilReady()
            radio.bluez.state.withLock { $0.isDiscovering = false }
            _ = try await radio.find()
        }
    }

    /// bluetoothd takes an adapter's phones away first, and brings them back with it: what was removed in between was not.
    @Test func aPhoneWhoseAdapterWentInTheMiddleIsForgottenWhenItIsBack() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            let link = try await radio.connect()
            try await radio.bluez.unplug { await link.close() }
            await radio.until { $0 == .unavailable(.noAdapter("hci0")) }
            radio.bluez.state.withLock { $0.isDiscovering = false }
            try radio.bluez.plugIn()
            await radio.untilReady()
            await radio.bluez.until { $0.known.isEmpty }
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            await radio.useOnce()
        }
    }

    @Test func aSecondAdapterDoesNotTakeThePlaceOfTheOneInUse() async throws {
        try await Radio.with(adapter: nil) { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            let link = try await radio.connect()
            let other = ExportedInterface("org.bluez.Adapter1", properties: ["Powered": .boolean(true)])
            // First by its name.
            try radio.bluez.bus?.export([other], at: try #require(ObjectPath("/org/bluez/hci")))
            _ = try await link.read()
            await link.close()
            await radio.bluez.until { $0.known.isEmpty }
            try radio.bluez.bus?.unexport(try #require(ObjectPath("/org/bluez/hci")))
            await radio.useOnce()
        }
    }

    @Test func anAdapterThatIsOffIsSwitchedOn() async throws {
        try await Radio.with { bluez in
            bluez.state.withLock { $0.isPowered = false }
        } _: { radio in
            await radio.untilReady()
            #expect(radio.bluez.state.withLock { $0.isPowered })
            try radio.bluez.setPower(false)
            await radio.bluez.until { $0.isPowered }
            await radio.untilReady()
        }
    }

    @Test func aBlockedRadioIsSaidAndUsedWhenItIsFree() async throws {
        try await Radio.with { bluez in
            bluez.state.withLock { ($0.isPowered, $0.powerRefusal) = (false, "Blocked through rfkill") }
        } _: { radio in
            await radio.until { $0 == .unavailable(.blocked) }
            await #expect(throws: BluetoothError.unavailable(.blocked)) {
                for try await _ in radio.central.sightings(of: [testService]) {}
            }
            radio.bluez.state.withLock { $0.powerRefusal = nil }
            await radio.untilReady()
        }
    }

    @Test(arguments: [
        "RequestConfirmation", "RequestPasskey", "AuthorizeService", "RequestAuthorization", "RequestPinCode",
    ])
    func everyWishToPairIsTurnedAway(member: String) async throws {
        try await Radio.with { radio in
            await radio.untilReady()
            #expect(radio.calls.prefix(2) == ["RegisterAgent", "RequestDefaultAgent"])
            let bus = try #require(radio.bluez.bus)
            let central = try #require(await radio.central.bluez.bus?.uniqueName)
            let device = BusValue.objectPath(radio.bluez.path(of: phoneAddress))
            let arguments: [String: [BusValue]] = [
                "RequestConfirmation": [device, .uint32(1)], "AuthorizeService": [device, .string("x")],
            ]
            let call = BusCall(
                to: central,
                at: BlueZ.agentPath,
                "org.bluez.Agent1",
                member,
                arguments[member] ?? [device]
            )
            let error = await #expect(throws: BusError.self) { try await bus.call(call) }
            #expect(error?.refusal == "org.bluez.Error.Rejected")
        }
    }

    @Test func aProgramThatEndsLetsItsPhonesGo() async throws {
        try await withPrivateBus { address, _ in
            let bluez = FakeBlueZ(address: address)
            try bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            try await bluez.start()
            let central = BluetoothCentral(busAddress: address, clock: FastClock())
            let radio = Radio(bluez: bluez, central: central, clock: FastClock(), busAddress: address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await bluez.run() }
                try await withThrowingTaskGroup(of: Void.self) { inner in
                    inner.addTask { await central.run() }
                    let link = try await radio.connect()
                    inner.cancelAll()
                    try await inner.waitForAll()
                    #expect(radio.known == [])
                    await link.close()
                }
                group.cancelAll()
            }
        }
    }

    /// The self-test and the doctor look at the radio beside a terminal.
    @Test func whoeverOnlyLooksLeavesThePhoneThatPays() async throws {
        try await Radio.with { radio in
            try radio.bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            let link = try await radio.connect()
            let other = BluetoothCentral(sweeps: false, busAddress: radio.busAddress, clock: radio.clock)
            await withTaskGroup { group in
                group.addTask { await other.run() }
                for await state in other.states where state.isReady { break }
                group.cancelAll()
            }
            #expect(radio.known == [phoneAddress] && !radio.calls.contains("RemoveDevice"))
            _ = try await link.read()
            await link.close()
        }
    }

    /// Breaks the first call, then the second, and so on to the last one that a whole payment makes, in every way.
    @Test(arguments: FakeBlueZ.Fault.allCases)
    func whateverFailsNothingIsLeftBehindAndNothingHangs(fault: FakeBlueZ.Fault) async throws {
        for number in 1...20 {
            try await Radio.with(speed: 10, timings: BluetoothTimings()) { bluez in
                bluez.state.withLock { $0.faults = [number: fault] }
                try bluez.add(FakeBlueZ.Phone(), at: phoneAddress)
            } _: { radio in
                let start = radio.clock.now
                // The first try may fail in any way; some later one works.
                for _ in 1...8 {
                    await radio.untilReady()
                    do {
                        let link = try await radio.connect()
                        _ = try await link.read()
                        try await link.send([1, 2, 3])
                        for try await value in link.fragments {
                            #expect(value == [1, 2, 3])
                            break
                        }
                        await link.close()
                        break
                    } catch {
                        #expect(error is BluetoothError, "\(error)")
                    }
                }
                await radio.bluez.until { $0.known.isEmpty && $0.bus != nil }
                // All time limits together, and room for a busy machine.
                #expect(start.duration(to: radio.clock.now) < .seconds(120), "call \(number)")
            }
        }
    }
}

extension Radio {
    fileprivate func useOnce() async {
        await #expect(throws: Never.self) {
            let link = try await connect()
            _ = try await link.read()
            await link.close()
        }
    }
}
