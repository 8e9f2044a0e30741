import BusTestSupport
import DBus
import Locks
import Testing

@testable import WiFi

/// The machine in Wi-Fi networks, with a real bus and an iwd that does what a test says.
@Suite(.timeLimit(.minutes(3)))
struct WirelessStationTests {
    private static let right = Passphrase("correct horse")
    private static let wrong = Passphrase("battery staple")

    // MARK: - What is around

    @Test func networksAreHeardTheStrongestFirstWithWhatLetsThemIn() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { state in
                state.senders = [
                    .init(name: "Far", type: "open", strength: -8_950), .init(name: "Shop", strength: -4_020),
                    .init(name: "Office", type: "8021x", strength: -6_000),
                    .init(name: "Old", type: "wep", strength: -7_000),
                    .init(name: "Secret", isHidden: true),
                ]
            }
        } _: { bed in
            let networks = try await bed.hear()
            #expect(networks.map(\.id.name.text) == ["Shop", "Office", "Old", "Far"])
            #expect(networks.map(\.id.security) == [.passphrase, .enterprise, .wep, .open])
            #expect(networks.map(\.strengthDBm) == [-40, -60, -70, -89])
            #expect(networks.allSatisfy { !$0.isKnown && !$0.isJoined })
            #expect(await bed.station.state == .ready(.init(interface: "wlan0", link: .none, isScanning: false)))
        }
    }

    @Test func aNetworkThatGoesAwayIsNotHeardAndCannotBeJoined() async throws {
        try await StationTestBed.with { bed in
            _ = try await bed.hear()
            bed.iwd.state.withLock { $0.senders = [] }
            try bed.iwd.listen()
            while try await !bed.station.networks().isEmpty { await Task.yield() }
            await #expect(throws: WiFiError.notHeard) {
                try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
            }
        }
    }

    @Test func aThousandNetworksOfAStrangerAreNoMoreThan64() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.senders = (0..<300).map { .init(name: "n\($0)", strength: Int16(-$0 * 10)) } }
        } _: { bed in
            await bed.untilReady()
            try await bed.station.scan()
            var networks: [WiFiNetwork] = []
            while networks.count < 64 { networks = try await bed.station.networks() }
            #expect(networks.count == 64)
        }
    }

    // MARK: - Joining

    @Test func theRightPassphraseJoinsAndIsGivenForThatNetworkOnly() async throws {
        try await StationTestBed.with { bed in
            _ = try await bed.hear()
            try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
            await bed.until { $0.station?.link == .joined(StationTestBed.shop) }
            #expect(try await bed.station.networks().first?.isJoined == true)
            #expect(await bed.station.known == [KnownWiFiNetwork(id: StationTestBed.shop, isHidden: false)])
            #expect(bed.iwd.state.withLock { $0.given } == ["correct horse"])
        }
    }

    @Test func aWrongPassphraseIsSaidAsSuchAndTheRightOneJoinsAfterIt() async throws {
        try await StationTestBed.with { bed in
            _ = try await bed.hear()
            await #expect(throws: WiFiError.passphraseNotTaken) {
                try await bed.station.join(StationTestBed.shop, passphrase: Self.wrong)
            }
            await bed.until { $0.station?.link == WiFiState.Link.none }
            try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
            await bed.until { $0.station?.link == .joined(StationTestBed.shop) }
        }
    }

    @Test func aNetworkWhosePassphraseWasChangedIsJoinedWithTheNewOne() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.known = [FakeIWD.key(.init(name: "Shop")): "the old passphrase"] }
        } _: { bed in
            #expect(try await bed.hear().first?.isKnown == true)
            try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
            #expect(bed.iwd.calls.filter { $0 == "Connect" }.count == 2)
        }
    }

    @Test func aNetworkThatLetsNobodyInDoesNotBlameThePassphraseThatNobodyTyped() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.senders = [.init(name: "Cafe", type: "open", letsNobodyIn: true)] }
        } _: { bed in
            let network = try #require(try await bed.hear().first)
            await #expect(throws: WiFiError.notLetIn) { try await bed.station.join(network.id, passphrase: nil) }
        }
    }

    @Test func whatItCannotJoinIsRefusedBeforeIwdIsAsked() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock {
                $0.senders = [
                    .init(name: "Office", type: "8021x"), .init(name: "Old", type: "wep"), .init(name: "Shop"),
                ]
            }
        } _: { bed in
            for network in try await bed.hear() where network.id.security != .passphrase {
                await #expect(throws: WiFiError.unsupported) {
                    try await bed.station.join(network.id, passphrase: Self.right)
                }
            }
            await #expect(throws: WiFiError.passphraseNeeded) {
                try await bed.station.join(StationTestBed.shop, passphrase: nil)
            }
            #expect(!bed.iwd.calls.contains("Connect"))
        }
    }

    @Test func aHiddenNetworkIsJoinedByItsNameAndKnownThen() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.senders.append(.init(name: "Back room", isHidden: true)) }
        } _: { bed in
            _ = try await bed.hear()
            let name = try #require(WiFiName("Back room"))
            try await bed.station.joinHidden(name, passphrase: Self.right)
            await bed.until { $0.station?.link == .joined(.init(name, .passphrase)) }
            #expect(await bed.station.known == [KnownWiFiNetwork(id: .init(name, .passphrase), isHidden: true)])
            await #expect(throws: WiFiError.notHeard) {
                try await bed.station.joinHidden(try #require(WiFiName("Nowhere")), passphrase: nil)
            }
            await #expect(throws: WiFiError.notHidden) {
                try await bed.station.joinHidden(StationTestBed.shop.name, passphrase: Self.right)
            }
        }
    }

    /// Whoever stands nearby can give an open network any name.
    @Test func aHiddenNetworkWithoutThePassphraseThatWasGivenIsLeftAgain() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.senders.append(.init(name: "Back room", type: "open", isHidden: true)) }
        } _: { bed in
            _ = try await bed.hear()
            let name = try #require(WiFiName("Back room"))
            await #expect(throws: WiFiError.isOpen) {
                try await bed.station.joinHidden(name, passphrase: Self.right)
            }
            await bed.until { $0.station?.link == WiFiState.Link.none }
            while await !bed.station.known.isEmpty { await Task.yield() }
            #expect(bed.iwd.state.withLock { $0.known.isEmpty && $0.given.isEmpty })
            // With it iwd would join no known network by itself any more.
            #expect(!bed.iwd.calls.contains("Disconnect"))
            try await bed.station.joinHidden(name, passphrase: nil)
            await bed.until { $0.station?.link == .joined(.init(name, .open)) }
        }
    }

    @Test func anOpenNetworkThatIwdDoesNotSayItKeepsIsLeftAllTheSame() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { state in
                state.senders.append(.init(name: "Back room", type: "open", isHidden: true))
                state.keepsOpenNetworks = false
            }
        } _: { bed in
            _ = try await bed.hear()
            let name = try #require(WiFiName("Back room"))
            await #expect(throws: WiFiError.isOpen) {
                try await bed.station.joinHidden(name, passphrase: Self.right)
            }
            #expect(bed.iwd.state.withLock { $0.joined } == nil)
        }
    }

    @Test func oneJoiningAtATime() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.gate = gate }
        } _: { bed in
            _ = try await bed.hear()
            async let first: Void = bed.station.join(StationTestBed.shop, passphrase: Self.right)
            await bed.until { $0.station?.link == .joining(StationTestBed.shop) }
            await #expect(throws: WiFiError.busy) {
                try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
            }
            open.finish()
            try await first
        }
    }

    @Test func nobodyButIwdIsToldAPassphraseAndOnlyForTheNetworkThatIsJoined() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.gate = gate }
        } _: { bed in
            _ = try await bed.hear()
            async let first: Void = bed.station.join(StationTestBed.shop, passphrase: Self.right)
            await bed.until { $0.station?.link == .joining(StationTestBed.shop) }
            let (client, agent) = try #require(bed.iwd.state.withLock { $0.agents.first })
            let own = FakeIWD.path(of: FakeIWD.key(.init(name: "Shop")))
            let other = FakeIWD.path(of: FakeIWD.key(.init(name: "Other")))
            let stranger = try await BusConnection.open(address: bed.busAddress)
            for (bus, path) in [(stranger, own), (try #require(bed.iwd.bus), other)] {
                let call = BusCall(
                    to: client,
                    at: agent,
                    "net.connman.iwd.Agent",
                    "RequestPassphrase",
                    [.objectPath(path)]
                )
                let error = await #expect(throws: BusError.self) { try await bus.call(call) }
                #expect(error?.refusal == "net.connman.iwd.Agent.Error.Canceled")
            }
            stranger.close()
            open.finish()
            try await first
            // Done with, it is forgotten.
            let late = BusCall(to: client, at: agent, "net.connman.iwd.Agent", "RequestPassphrase", [.objectPath(own)])
            await #expect(throws: BusError.self) { try await #require(bed.iwd.bus).call(late) }
        }
    }

    @Test func leavingAndForgettingDoWhatTheySay() async throws {
        try await StationTestBed.with { bed in
            _ = try await bed.hear()
            await #expect(throws: WiFiError.notJoined) { try await bed.station.leave() }
            await #expect(throws: WiFiError.notKnown) { try await bed.station.forget(StationTestBed.shop) }
            try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
            try await bed.station.leave()
            await bed.until { $0.station?.link == WiFiState.Link.none }
            // iwd knows it, so nothing needs to be typed again.
            try await bed.station.join(StationTestBed.shop, passphrase: nil)
            await bed.until { $0.station?.link == .joined(StationTestBed.shop) }
            try await bed.station.forget(StationTestBed.shop)
            await bed.until { $0.station?.link == WiFiState.Link.none }
            while await !bed.station.known.isEmpty { await Task.yield() }
        }
    }

    @Test func everythingIsForgottenAndWhatIsNotIsCounted() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { state in
                state.senders.append(.init(name: "Home"))
                for sender in state.senders { state.known[FakeIWD.key(sender)] = sender.passphrase }
            }
        } _: { bed in
            await bed.untilReady()
            #expect(await bed.station.known.count == 2)
            // The next call is the test's own.
            while !bed.iwd.calls.contains("RegisterAgent") { await Task.yield() }
            bed.iwd.state.withLock { $0.faults = [$0.calls.count + 1: .refusal] }
            #expect(await bed.station.forgetAll() == 1)
            while await bed.station.known.count > 1 { await Task.yield() }
            #expect(await bed.station.forgetAll() == 0)
            #expect(bed.iwd.state.withLock { $0.known }.isEmpty)
        }
    }

    // MARK: - What goes away and comes back

    @Test func withoutIwdItIsSaidAndIwdThatComesLaterIsUsed() async throws {
        try await StationTestBed.with(starts: false) { bed in
            await bed.untilGone(.noDaemon)
            await #expect(throws: WiFiError.unavailable(.noDaemon)) { try await bed.station.scan() }
            try await bed.iwd.start()
            _ = try await bed.hear()
        }
    }

    @Test func iwdThatIsStartedAgainIsUsedAgainAndAsksTheAgent() async throws {
        try await StationTestBed.with { bed in
            _ = try await bed.hear()
            bed.iwd.crash()
            await bed.untilGone(.noDaemon)
            try await bed.iwd.start()
            _ = try await bed.hear()
            try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
        }
    }

    @Test func iwdThatGoesInTheMiddleOfAJoiningEndsIt() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.gate = gate }
        } _: { bed in
            _ = try await bed.hear()
            async let joining: Void = bed.station.join(StationTestBed.shop, passphrase: Self.right)
            await bed.until { $0.station?.link == .joining(StationTestBed.shop) }
            bed.iwd.crash()
            var fault: WiFiError?
            do { try await joining } catch { fault = error as? WiFiError }
            #expect(fault == .interrupted)
            open.finish()
            try await bed.iwd.start()
            await bed.untilReady()
        }
    }

    @Test func anAdapterThatIsPulledOutIsSaidAndComesBack() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.hasAdapter = false }
        } _: { bed in
            await bed.untilGone(.noAdapter)
            await #expect(throws: WiFiError.unavailable(.noAdapter)) { try await bed.station.networks() }
            try bed.iwd.plugIn()
            _ = try await bed.hear()
            try bed.iwd.unplug()
            await bed.untilGone(.noAdapter)
        }
    }

    @Test func anAdapterThatIsOffIsSwitchedOnAndOneThatIsHeldOffIsSaid() async throws {
        try await StationTestBed.with { iwd in
            iwd.state.withLock { $0.isPowered = false }
        } _: { bed in
            await bed.untilReady()
            #expect(bed.iwd.state.withLock { $0.isPowered })
        }
        try await StationTestBed.with { iwd in
            iwd.state.withLock { ($0.isPowered, $0.isBlocked) = (false, true) }
        } _: { bed in
            await bed.untilGone(.blocked)
            bed.iwd.state.withLock { $0.isBlocked = false }
            await bed.untilReady()
        }
    }

    @Test func aLinkThatIsLostIsSaid() async throws {
        try await StationTestBed.with { bed in
            _ = try await bed.hear()
            try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
            await bed.until { $0.station?.link == .joined(StationTestBed.shop) }
            bed.iwd.loseLink()
            await bed.until { $0.station?.link == WiFiState.Link.none }
        }
    }

    @Test func theBusDyingIsSaid() async throws {
        try await withPrivateBus { address, daemon in
            try await StationTestBed.with(on: address) { bed in
                await bed.untilReady()
                try daemon.kill()
                await bed.until { if case .unavailable(.noBus) = $0 { true } else { false } }
            }
        }
    }

    // MARK: - Every call goes wrong once

    /// Breaks the first call, then the second, and so on to the last one of a whole story, in every way.
    @Test(arguments: FakeIWD.Fault.allCases)
    func whateverFailsNothingHangsAndItHealsByItself(fault: FakeIWD.Fault) async throws {
        for number in 1...6 {
            try await StationTestBed.with(timings: .impatient) { iwd in
                iwd.state.withLock { $0.faults = [number: fault] }
            } _: { bed in
                // Some try may fail in any way; a later one works, or the test ends at its time limit.
                var isDone = false
                while !isDone {
                    await bed.untilReady()
                    do throws(WiFiError) {
                        try await bed.station.scan()
                        _ = try await bed.station.networks()
                        try await bed.station.join(StationTestBed.shop, passphrase: Self.right)
                        try await bed.station.leave()
                        try await bed.station.forget(StationTestBed.shop)
                        isDone = true
                    } catch {
                        await Task.yield()
                    }
                }
                #expect(bed.iwd.calls.count >= number, "the fault came")
            }
        }
    }
}
