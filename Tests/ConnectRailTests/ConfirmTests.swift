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
        let counter = try Counter()
        counter.line.faults.stop("/confirm")
        let known = Mutex<ChargeID?>(nil)
        try await counter.play { relay in
            let wallet = try await Wallet(relay, clock: counter.clock)
            try await wallet.online {
                try await counter.openShop(relay) { shop in
                    let shift = shop.shift
                    let id = try await shift.charge()
                    known.withLock { $0 = id }
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("it is to be confirmed") { counter.line.faults.count(of: "/confirm") > 0 }
                    try await shop.switchConnect(false)
                    guard !restarts else { return }
                    counter.line.faults.letThrough("/confirm")
                    try await shift.until(id, is: .succeeded)
                }
                guard restarts, let id = known.withLock({ $0 }) else { return }
                counter.line.faults.letThrough("/confirm")
                try await counter.openShop(relay) { try await $0.shift.until(id, is: .succeeded) }
            }
        }
    }

    @Test func aConfirmationThatTheGatewayHasIsNotRepeated() async throws {
        let counter = try Counter { $0.settleAfter = nil }
        try await counter.play { relay in
            let wallet = try await Wallet(relay, clock: counter.clock)
            try await wallet.online {
                try await counter.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until(id, is: .processing)
                    try await counter.passes(.seconds(140))
                    #expect(counter.line.faults.count(of: "/confirm") == 1)
                    #expect(try await counter.control("settle", "{}") == 200)
                    try await shift.until(id, is: .succeeded)
                }
            }
        }
    }

    @Test func aRefusedSignatureLeavesTheChargeToOthersAlsoWhereTheJournalTakesNothingAtFirst() async throws {
        let counter = try Counter()
        let fuse = Fuse()
        try await counter.play { relay in
            let forger = try await Wallet(relay, clock: counter.clock) {
                $0.answer = "0x" + String(repeating: "11", count: 96)
            }
            let honest = try await Wallet(relay, clock: counter.clock)
            try await forger.online {
                try await honest.online {
                    try await counter.open(relay, fuse: fuse) { shift in
                        let id = try await shift.charge()
                        let code = try await shift.pairing(of: id)
                        counter.line.faults.before("/confirm") {
                            if counter.line.faults.count(of: "/confirm") == 1 {
                                fuse.refusesCharges.withLock { $0 = true }
                            }
                        }
                        try await forger.scan(code)
                        try await shift.until("it is to be confirmed") { counter.line.faults.count(of: "/confirm") > 0 }
                        try await counter.passes(.seconds(5))
                        fuse.refusesCharges.withLock { $0 = false }
                        try await honest.scan(try await shift.pairing(of: id, after: code))
                        try await shift.until(id, is: .succeeded)
                    }
                }
            }
        }
    }
}
