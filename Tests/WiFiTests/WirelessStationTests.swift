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
        try await Air.with { iwd in
            iwd.state.withLock { state in
                state.senders = [
                    .init(name: "Far", type: "open", strength: -8_950), .init(name: "Shop", strength: -4_020),
                    .init(name: "Office", type: "8021x", strength: -6_000),
                    .init(name: "Old", type: "wep", strength: -7_000),
                    .init(name: "Secret", isHidden: true),
                ]
            }
        } _: { air in
            let networks = try await air.hear()
            #expect(networks.map(\.id.name.text) == ["Shop", "Office", "Old", "Far"])
            #expect(networks.map(\.id.security) == [.passphrase, .enterprise, .wep, .open])
            #expect(networks.map(\.strengthDBm) == [-40, -60, -70, -89])
            #expect(networks.allSatisfy { !$0.isKnown && !$0.isJoined })
            #expect(await air.station.state == .ready(.init(interface: "wlan0", link: .none, isScanning: false)))
        }
    }

    @Test func aNetworkThatGoesAwayIsNotHeardAndCannotBeJoined() async throws {
        try await Air.with { air in
            _ = try await air.hear()
            air.iwd.state.withLock { $0.senders = [] }
            try air.iwd.listen()
            while try await !air.station.networks().isEmpty { await Task.yield() }
            await #expect(throws: WiFiError.notHeard) {
                try await air.station.join(Air.shop, passphrase: Self.right)
            }
        }
    }

    @Test func aThousandNetworksOfAStrangerAreNoMoreThan64() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { $0.senders = (0..<300).map { .init(name: "n\($0)", strength: Int16(-$0 * 10)) } }
        } _: { air in
            await air.untilReady()
            try await air.station.scan()
            var networks: [WiFiNetwork] = []
            while networks.count < 64 { networks = try await air.station.networks() }
            #expect(networks.count == 64)
        }
    }

    // MARK: - Joining

    @Test func theRightPassphraseJoinsAndIsGivenForThatNetworkOnly() async throws {
        try await Air.with { air in
            _ = try await air.hear()
            try await air.station.join(Air.shop, passphrase: Self.right)
            await air.until { $0.station?.link == .joined(Air.shop) }
            #expect(try await air.station.networks().first?.isJoined == true)
            #expect(await air.station.known == [KnownWiFiNetwork(id: Air.shop, isHidden: false)])
            #expect(air.iwd.state.withLock { $0.given } == ["correct horse"])
        }
    }

    @Test func aWrongPassphraseIsSaidAsSuchAndTheRightOneJoinsAfterIt() async throws {
        try await Air.with { air in
            _ = try await air.hear()
            await #expect(throws: WiFiError.passphraseNotTaken) {
                try await air.station.join(Air.shop, passphrase: Self.wrong)
            }
            await air.until { $0.station?.link == WiFiState.Link.none }
            try await air.station.join(Air.shop, passphrase: Self.right)
            await air.until { $0.station?.link == .joined(Air.shop) }
        }
    }

    @Test func aNetworkWhosePassphraseWasChangedIsJoinedWithTheNewOne() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { $0.known = [FakeIWD.key(.init(name: "Shop")): "the old passphrase"] }
        } _: { air in
            #expect(try await air.hear().first?.isKnown == true)
            try await air.station.join(Air.shop, passphrase: Self.right)
            #expect(air.iwd.calls.filter { $0 == "Connect" }.count == 2)
        }
    }

    @Test func aNetworkThatLetsNobodyInDoesNotBlameThePassphraseThatNobodyTyped() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { $0.senders = [.init(name: "Cafe", type: "open", letsNobodyIn: true)] }
        } _: { air in
            let network = try #require(try await air.hear().first)
            await #expect(throws: WiFiError.notLetIn) { try await air.station.join(network.id, passphrase: nil) }
        }
    }

    @Test func whatItCannotJoinIsRefusedBeforeIwdIsAsked() async throws {
        try await Air.with { iwd in
            iwd.state.withLock {
                $0.senders = [
                    .init(name: "Office", type: "8021x"), .init(name: "Old", type: "wep"), .init(name: "Shop"),
                ]
            }
        } _: { air in
            for network in try await air.hear() where network.id.security != .passphrase {
                await #expect(throws: WiFiError.unsupported) {
                    try await air.station.join(network.id, passphrase: Self.right)
                }
            }
            await #expect(throws: WiFiError.passphraseNeeded) {
                try await air.station.join(Air.shop, passphrase: nil)
            }
            #expect(!air.iwd.calls.contains("Connect"))
        }
    }

    @Test func aHiddenNetworkIsJoinedByItsNameAndKnownThen() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { $0.senders.append(.init(name: "Back room", isHidden: true)) }
        } _: { air in
            _ = try await air.hear()
            let name = try #require(WiFiName("Back room"))
            try await air.station.joinHidden(name, passphrase: Self.right)
            await air.until { $0.station?.link == .joined(.init(name, .passphrase)) }
            #expect(await air.station.known == [KnownWiFiNetwork(id: .init(name, .passphrase), isHidden: true)])
            await #expect(throws: WiFiError.notHeard) {
                try await air.station.joinHidden(try #require(WiFiName("Nowhere")), passphrase: nil)
            }
            await #expect(throws: WiFiError.notHidden) {
                try await air.station.joinHidden(Air.shop.name, passphrase: Self.right)
            }
        }
    }

    /// Whoever stands nearby can give an open network any name.
    @Test func aHiddenNetworkWithoutThePassphraseThatWasGivenIsLeftAgain() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { $0.senders.append(.init(name: "Back room", type: "open", isHidden: true)) }
        } _: { air in
            _ = try await air.hear()
            let name = try #require(WiFiName("Back room"))
            await #expect(throws: WiFiError.isOpen) {
                try await air.station.joinHidden(name, passphrase: Self.right)
            }
            await air.until { $0.station?.link == WiFiState.Link.none }
            while await !air.station.known.isEmpty { await Task.yield() }
            #expect(air.iwd.state.withLock { $0.known.isEmpty && $0.given.isEmpty })
            // With it iwd would join no known network by itself any more.
            #expect(!air.iwd.calls.contains("Disconnect"))
            try await air.station.joinHidden(name, passphrase: nil)
            await air.until { $0.station?.link == .joined(.init(name, .open)) }
        }
    }

    @Test func anOpenNetworkThatIwdDoesNotSayItKeepsIsLeftAllTheSame() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { state in
                state.senders.append(.init(name: "Back room", type: "open", isHidden: true))
                state.keepsOpenNetworks = false
            }
        } _: { air in
            _ = try await air.hear()
            let name = try #require(WiFiName("Back room"))
            await #expect(throws: WiFiError.isOpen) {
                try await air.station.joinHidden(name, passphrase: Self.right)
            }
            #expect(air.iwd.state.withLock { $0.joined } == nil)
        }
    }

    @Test func oneJoiningAtATime() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await Air.with { iwd in
            iwd.state.withLock { $0.gate = gate }
        } _: { air in
            _ = try await air.hear()
            async let first: Void = air.station.join(Air.shop, passphrase: Self.right)
            await air.until { $0.station?.link == .joining(Air.shop) }
            await #expect(throws: WiFiError.busy) { try await air.station.join(Air.shop, passphrase: Self.right) }
            open.finish()
            try await first
        }
    }

    @Test func nobodyButIwdIsToldAPassphraseAndOnlyForTheNetworkThatIsJoined() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await Air.with { iwd in
            iwd.state.withLock { $0.gate = gate }
        } _: { air in
            _ = try await air.hear()
            async let first: Void = air.station.join(Air.shop, passphrase: Self.right)
            await air.until { $0.station?.link == .joining(Air.shop) }
            let (client, agent) = try #require(air.iwd.state.withLock { $0.agents.first })
            let own = FakeIWD.path(of: FakeIWD.key(.init(name: "Shop")))
            let other = FakeIWD.path(of: FakeIWD.key(.init(name: "Other")))
            let stranger = try await BusConnection.open(address: air.busAddress)
            for (bus, path) in [(stranger, own), (try #require(air.iwd.bus), other)] {
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
            await #expect(throws: BusError.self) { try await #require(air.iwd.bus).call(late) }
        }
    }

    @Test func leavingAndForgettingDoWhatTheySay() async throws {
        try await Air.with { air in
            _ = try await air.hear()
            await #expect(throws: WiFiError.notJoined) { try await air.station.leave() }
            await #expect(throws: WiFiError.notKnown) { try await air.station.forget(Air.shop) }
            try await air.station.join(Air.shop, passphrase: Self.right)
            try await air.station.leave()
            await air.until { $0.station?.link == WiFiState.Link.none }
            // iwd knows it, so nothing needs to be typed again.
            try await air.station.join(Air.shop, passphrase: nil)
            await air.until { $0.station?.link == .joined(Air.shop) }
            try await air.station.forget(Air.shop)
            await air.until { $0.station?.link == WiFiState.Link.none }
            while await !air.station.known.isEmpty { await Task.yield() }
        }
    }

    @Test func everythingIsForgottenAndWhatIsNotIsCounted() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { state in
                state.senders.append(.init(name: "Home"))
                for sender in state.senders { state.known[FakeIWD.key(sender)] = sender.passphrase }
            }
        } _: { air in
            await air.untilReady()
            #expect(await air.station.known.count == 2)
            // The next call is the test's own.
            while !air.iwd.calls.contains("RegisterAgent") { await Task.yield() }
            air.iwd.state.withLock { $0.faults = [$0.calls.count + 1: .refusal] }
            #expect(await air.station.forgetAll() == 1)
            while await air.station.known.count > 1 { await Task.yield() }
            #expect(await air.station.forgetAll() == 0)
            #expect(air.iwd.state.withLock { $0.known }.isEmpty)
        }
    }

    // MARK: - What goes away and comes back

    @Test func withoutIwdItIsSaidAndIwdThatComesLaterIsUsed() async throws {
        try await Air.with(starts: false) { air in
            await air.untilGone(.noDaemon)
            await #expect(throws: WiFiError.unavailable(.noDaemon)) { try await air.station.scan() }
            try await air.iwd.start()
            _ = try await air.hear()
        }
    }

    @Test func iwdThatIsStartedAgainIsUsedAgainAndAsksTheAgent() async throws {
        try await Air.with { air in
            _ = try await air.hear()
            air.iwd.crash()
            await air.untilGone(.noDaemon)
            try await air.iwd.start()
            _ = try await air.hear()
            try await air.station.join(Air.shop, passphrase: Self.right)
        }
    }

    @Test func iwdThatGoesInTheMiddleOfAJoiningEndsIt() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await Air.with { iwd in
            iwd.state.withLock { $0.gate = gate }
        } _: { air in
            _ = try await air.hear()
            async let joining: Void = air.station.join(Air.shop, passphrase: Self.right)
            await air.until { $0.station?.link == .joining(Air.shop) }
            air.iwd.crash()
            var fault: WiFiError?
            do { try await joining } catch { fault = error as? WiFiError }
            #expect(fault == .interrupted)
            open.finish()
            try await air.iwd.start()
            await air.untilReady()
        }
    }

    @Test func anAdapterThatIsPulledOutIsSaidAndComesBack() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { $0.hasAdapter = false }
        } _: { air in
            await air.untilGone(.noAdapter)
            await #expect(throws: WiFiError.unavailable(.noAdapter)) { try await air.station.networks() }
            try air.iwd.plugIn()
            _ = try await air.hear()
            try air.iwd.unplug()
            await air.untilGone(.noAdapter)
        }
    }

    @Test func anAdapterThatIsOffIsSwitchedOnAndOneThatIsHeldOffIsSaid() async throws {
        try await Air.with { iwd in
            iwd.state.withLock { $0.isPowered = false }
        } _: { air in
            await air.untilReady()
            #expect(air.iwd.state.withLock { $0.isPowered })
        }
        try await Air.with { iwd in
            iwd.state.withLock { ($0.isPowered, $0.isBlocked) = (false, true) }
        } _: { air in
            await air.untilGone(.blocked)
            air.iwd.state.withLock { $0.isBlocked = false }
            await air.untilReady()
        }
    }

    @Test func aLinkThatIsLostIsSaid() async throws {
        try await Air.with { air in
            _ = try await air.hear()
            try await air.station.join(Air.shop, passphrase: Self.right)
            await air.until { $0.station?.link == .joined(Air.shop) }
            air.iwd.loseLink()
            await air.until { $0.station?.link == WiFiState.Link.none }
        }
    }

    @Test func theBusDyingIsSaid() async throws {
        try await withPrivateBus { address, daemon in
            try await Air.with(on: address) { air in
                await air.untilReady()
                try daemon.kill()
                await air.until { if case .unavailable(.noBus) = $0 { true } else { false } }
            }
        }
    }

    // MARK: - Every call goes wrong once

    /// Breaks the first call, then the second, and so on to the last one of a whole story, in every way.
    @Test(arguments: FakeIWD.Fault.allCases)
    func whateverFailsNothingHangsAndItHealsByItself(fault: FakeIWD.Fault) async throws {
        for number in 1...6 {
            try await Air.with(timings: .impatient) { iwd in
                iwd.state.withLock { $0.faults = [number: fault] }
            } _: { air in
                // Some try may fail in any way; a later one works, or the test ends at its time limit.
                var isDone = false
                while !isDone {
                    await air.untilReady()
                    do throws(WiFiError) {
                        try await air.station.scan()
                        _ = try await air.station.networks()
                        try await air.station.join(Air.shop, passphrase: Self.right)
                        try await air.station.leave()
                        try await air.station.forget(Air.shop)
                        isDone = true
                    } catch {
                        await Task.yield()
                    }
                }
                #expect(air.iwd.calls.count >= number, "the fault came")
            }
        }
    }
}
