import Payments
import Terminal
import Testing

/// A wallet that knows nothing of payment links pays at the terminal.
@Suite(.timeLimit(.minutes(10)))
struct PayingTests {
    @Test func aWalletPairsSignsAndPays() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until(id, is: .succeeded)
                    #expect(wallet.count("from https://till.local:8443") == 1, "it is told whose terminal asks")
                    let charge = try await shift.charge(id)
                    #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .connect)
                    #expect(charge.surplusAttempts.isEmpty)
                    #expect(charge.attempts.first { $0.rail == .scan }?.ending == .cancelled)
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                    try await shift.until("nothing is left of it") { try await shift.isQuiet() }
                }
            }
        }
    }
}
