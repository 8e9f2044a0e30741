import Payments
import Sandbox
import Terminal
import Testing

/// The relay refuses the terminal.
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
}
