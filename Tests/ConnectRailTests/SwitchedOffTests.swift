import Payments
import Sandbox
import Terminal
import Testing

/// Payments that were begun before Connect was switched off.
@Suite(.timeLimit(.minutes(10)))
struct SwitchedOffTests {
    @Test(arguments: [false, true])
    func aPaymentThatWasLetGoIsBookedAlsoWhenConnectIsSwitchedOff(restarts: Bool) async throws {
        let bed = try ConnectTestBed { $0.settleAfter = nil }
        let known = Known()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.openConfigured(relay) { terminal in
                    let shift = terminal.shift
                    let id = try await shift.charge()
                    await known.set(id)
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("the gateway has the signature") {
                        guard bed.line.faults.count(of: "/confirm") > 0 else { return false }
                        return try await shift.charge(id).state == .processing
                    }
                    _ = try await shift.desk.release(id, by: .staff(name: "test"))
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                    try await terminal.switchConnect(false)
                    if !restarts { try await expectBooked(id, shift) }
                }
                guard restarts else { return }
                let id = try #require(await known.id)
                try await bed.openConfigured(relay) { try await expectBooked(id, $0.shift) }
            }
        }
    }

    private func expectBooked(_ id: ChargeID, _ shift: Shift) async throws {
        #expect(try await !shift.charge(id).state.isFinal)
        #expect(try await shift.bed.control("settle", "{}") == 200)
        try await shift.until(id, is: .succeeded, within: .seconds(300))
        #expect(try await shift.charge(id).isLate)
        // The next one is by the ways that are switched on.
        let next = try await shift.charge()
        try await shift.until("it can be paid") { try await shift.snapshot(next).paymentLink != nil }
        #expect(try await shift.charge(next).attempts.map(\.rail) == [.scan])
    }

    private actor Known {
        private(set) var id: ChargeID?
        func set(_ id: ChargeID) { self.id = id }
    }
}
