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
        let bed = try ConnectTestBed()
        try await bed.play(faults: [Self.refusal]) { relay in
            try await bed.open(relay) { shift in
                try await expectRefused(shift)
                try await untilReady(shift, within: .seconds(310))
            }
        }
    }

    @Test func aRelayThatRefusedIsTriedAtOnceWhenTheSettingsAreSaved() async throws {
        let bed = try ConnectTestBed()
        try await bed.play(faults: [Self.refusal]) { relay in
            try await bed.openConfigured(relay) { terminal in
                try await expectRefused(terminal.shift)
                try await terminal.switchConnect(true)
                try await untilReady(terminal.shift, within: .seconds(10))
            }
        }
    }

    @Test func aRelayThatRefusedForTheClockIsTriedOnceTheClockIsSet() async throws {
        let bed = try ConnectTestBed()
        try await bed.play(faults: [Self.refusal]) { relay in
            try await bed.open(relay) { shift in
                try await expectRefused(shift)
                bed.clock.setWall(by: .seconds(86_400))
                try await untilReady(shift, within: .seconds(30))
            }
        }
    }

    @Test func aCodeOnTheScreenSaysWhenTheRelayIsAwayAndForgetsItAfterwards() async throws {
        let bed = try ConnectTestBed()
        let state = bed.folder + "/relay"
        let port = Mutex<UInt16>(0)
        try await withThrowingTaskGroup { group in
            group.addTask { [gateway = bed.gateway] in try await gateway.run() }
            defer { group.cancelAll() }
            try await LiveRelay.running(clock: bed.wall, state: state) { relay in
                port.withLock { $0 = relay.port }
            }
            let relay = LiveRelay(port: port.withLock { $0 })
            try await bed.open(relay) { shift in
                let id = try await shift.charge()
                let code = Mutex<String?>(nil)
                try await LiveRelay.running(clock: bed.wall, port: relay.port, state: state) { _ in
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
                try await LiveRelay.running(clock: bed.wall, port: relay.port, state: state) { _ in
                    try await shift.until("it is forgotten") {
                        try await shift.snapshot(id).connect?.trouble == nil
                    }
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func aWalletThatIsAskedOverAnotherRelayThanTheSettingsNameMakesRoomForTheNext(restarts: Bool) async throws {
        let bed = try ConnectTestBed()
        try await bed.play { first in
            try await LiveRelay.running(clock: bed.wall) { second in
                let silent = try await Wallet(first, clock: bed.clock) { $0.signs = nil }
                let willing = try await Wallet(second, clock: bed.clock)
                let known = Mutex<ChargeID?>(nil)
                try await silent.online {
                    try await willing.online {
                        try await bed.openConfigured(first) { terminal in
                            let shift = terminal.shift
                            let id = try await shift.charge()
                            known.withLock { $0 = id }
                            try await silent.scan(try await shift.pairing(of: id))
                            try await shift.until("the wallet is asked") { silent.count("request") == 1 }
                            try await terminal.switchConnect(true) { $0.relayURL = "ws://\(second.host)" }
                            if !restarts { try await pay(id, willing, shift) }
                        }
                        guard restarts, let id = known.withLock({ $0 }) else { return }
                        try await bed.openConfigured(second) { try await pay(id, willing, $0.shift) }
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
