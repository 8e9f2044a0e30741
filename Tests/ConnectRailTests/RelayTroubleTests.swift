import Locks
import Payments
import Sandbox
import Terminal
import Testing
import TestSupport
import WalletConnect

/// The relay refuses the terminal, is away, or is another one all of a sudden.
@Suite(.timeLimit(.minutes(10)))
struct RelayTroubleTests {
    private static let refusal = RelayFault(.connect, .refuse(401), times: 1)

    private func expectRefused(_ shift: Shift) async throws {
        try await shift.until("the relay refuses the terminal") {
            guard case .hindered(let reason) = await shift.station.status.light else { return false }
            return reason.code == "relay_refuses"
        }
    }

    private func untilReady(_ shift: Shift, within limit: Duration) async throws {
        try await shift.until("wallets can connect", within: limit) { await shift.station.status.light == .ready }
    }

    @Test func aRelayThatRefusedIsTriedAgainAfterAWhile() async throws {
        let counter = try Counter()
        try await counter.play(faults: [Self.refusal]) { relay in
            try await counter.open(relay) { shift in
                try await expectRefused(shift)
                try await untilReady(shift, within: .seconds(310))
            }
        }
    }

    @Test func aRelayThatRefusedIsTriedAtOnceWhenTheSettingsAreSaved() async throws {
        let counter = try Counter()
        try await counter.play(faults: [Self.refusal]) { relay in
            try await counter.openShop(relay) { shop in
                try await expectRefused(shop.shift)
                try await shop.switchConnect(true)
                try await untilReady(shop.shift, within: .seconds(10))
            }
        }
    }

    @Test func aRelayThatRefusedForTheClockIsTriedOnceTheClockIsSet() async throws {
        let counter = try Counter()
        try await counter.play(faults: [Self.refusal]) { relay in
            try await counter.open(relay) { shift in
                try await expectRefused(shift)
                counter.clock.setWall(by: .seconds(86_400))
                try await untilReady(shift, within: .seconds(30))
            }
        }
    }

    @Test func aCodeOnTheScreenSaysWhenTheRelayIsAwayAndForgetsItAfterwards() async throws {
        let counter = try Counter()
        let state = counter.folder + "/relay"
        let port = Mutex<UInt16>(0)
        try await withThrowingTaskGroup { group in
            group.addTask { [gateway = counter.gateway] in try await gateway.run() }
            defer { group.cancelAll() }
            try await LiveRelay.running(clock: counter.wall, state: state) { relay in
                port.withLock { $0 = relay.port }
            }
            let relay = LiveRelay(port: port.withLock { $0 })
            try await counter.open(relay) { shift in
                let id = try await shift.charge()
                let code = Mutex<String?>(nil)
                try await LiveRelay.running(clock: counter.wall, port: relay.port, state: state) { _ in
                    let uri = try await shift.pairing(of: id)
                    code.withLock { $0 = uri }
                    #expect(try await shift.snapshot(id).connect?.trouble == nil)
                }
                try await shift.until("the charge says so") {
                    try await shift.snapshot(id).connect?.trouble?.code == "relay_unreachable"
                }
                let shown = try await shift.snapshot(id)
                #expect(shown.pairingURI == code.withLock { $0 })
                #expect(shown.connect?.trouble?.action.isEmpty == false)
                try await LiveRelay.running(clock: counter.wall, port: relay.port, state: state) { _ in
                    try await shift.until("it is forgotten") {
                        try await shift.snapshot(id).connect?.trouble == nil
                    }
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func aWalletThatIsAskedOverAnotherRelayThanTheSettingsNameMakesRoomForTheNext(restarts: Bool) async throws {
        let counter = try Counter()
        try await counter.play { first in
            try await LiveRelay.running(clock: counter.wall) { second in
                let silent = try await Wallet(first, clock: counter.clock) { $0.signs = nil }
                let willing = try await Wallet(second, clock: counter.clock)
                let known = Mutex<ChargeID?>(nil)
                try await silent.online {
                    try await willing.online {
                        try await counter.openShop(first) { shop in
                            let shift = shop.shift
                            let id = try await shift.charge()
                            known.withLock { $0 = id }
                            try await silent.scan(try await shift.pairing(of: id))
                            try await shift.until("the wallet is asked") { silent.count("request") == 1 }
                            try await shop.switchConnect(true) { $0.relayURL = "ws://\(second.host)" }
                            if !restarts { try await pay(id, willing, shift) }
                        }
                        guard restarts, let id = known.withLock({ $0 }) else { return }
                        try await counter.openShop(second) { try await pay(id, willing, $0.shift) }
                    }
                }
            }
        }
    }

    private func pay(_ id: ChargeID, _ wallet: Wallet, _ shift: Shift) async throws {
        try await shift.until("another code", within: .seconds(20)) {
            try await shift.snapshot(id).pairingURI != nil
        }
        #expect(try await shift.snapshot(id).connect?.trouble?.code == "connect_relay_changed")
        try await wallet.scan(try await shift.pairing(of: id))
        try await shift.until(id, is: .succeeded)
    }
}
