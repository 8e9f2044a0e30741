import Locks
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import Testing

/// What is signed is confirmed: as long as it takes, and no more often than it has to be.
@Suite(.timeLimit(.minutes(10)))
struct ConfirmTests {
    @Test(arguments: [false, true])
    func aSignatureThatHasWonIsConfirmedAlsoWhereConnectIsSwitchedOff(restarts: Bool) async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.stop("/confirm")
        let known = Mutex<ChargeID?>(nil)
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.openConfigured(relay) { terminal in
                    let shift = terminal.shift
                    let id = try await shift.charge()
                    known.withLock { $0 = id }
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("it is to be confirmed") { bed.line.faults.count(of: "/confirm") > 0 }
                    try await terminal.switchConnect(false)
                    guard !restarts else { return }
                    bed.line.faults.letThrough("/confirm")
                    try await shift.until(id, is: .succeeded)
                }
                guard restarts, let id = known.withLock({ $0 }) else { return }
                bed.line.faults.letThrough("/confirm")
                try await bed.openConfigured(relay) { try await $0.shift.until(id, is: .succeeded) }
            }
        }
    }

    @Test func aConfirmationThatTheGatewayHasIsNotRepeated() async throws {
        let bed = try ConnectTestBed { $0.settleAfter = nil }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until(id, is: .processing)
                    try await bed.passes(.seconds(140))
                    #expect(bed.line.faults.count(of: "/confirm") == 1)
                    #expect(try await bed.control("settle", "{}") == 200)
                    try await shift.until(id, is: .succeeded)
                }
            }
        }
    }

    @Test func aRefusedSignatureLeavesTheChargeToOthersAlsoWhereTheJournalTakesNothingAtFirst() async throws {
        let bed = try ConnectTestBed()
        let fuse = Fuse()
        try await bed.play { relay in
            let forger = try await Wallet(relay, clock: bed.clock) {
                $0.answer = "0x" + String(repeating: "11", count: 96)
            }
            let honest = try await Wallet(relay, clock: bed.clock)
            try await forger.online {
                try await honest.online {
                    try await bed.open(relay, fuse: fuse) { shift in
                        let id = try await shift.charge()
                        let code = try await shift.pairing(of: id)
                        bed.line.faults.before("/confirm") {
                            if bed.line.faults.count(of: "/confirm") == 1 {
                                fuse.refusesCharges.withLock { $0 = true }
                            }
                        }
                        try await forger.scan(code)
                        try await shift.until("it is to be confirmed") { bed.line.faults.count(of: "/confirm") > 0 }
                        try await bed.passes(.seconds(5))
                        fuse.refusesCharges.withLock { $0 = false }
                        try await honest.scan(try await shift.pairing(of: id, after: code))
                        try await shift.until(id, is: .succeeded)
                    }
                }
            }
        }
    }
}
