import Foundation
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

struct HostileTests {
    @Test func aPhoneThatTakesEachPieceSlowlyHoldsTheRadioNoLonger() async throws {
        let stall = try Stall()
        stall.air.add("slow", SlowTaker(clock: stall.clock.terminalClock), rssi: -30, service: .standard)
        try await stall.run { shift in
            _ = try await shift.charge()
            try await shift.until("it is connected") { stall.air.connects.contains("slow") }
            try stall.phone("anna", user: PhoneUser(answer: .never))
            try await shift.until("anna has her turn", within: .seconds(6)) { stall.wasAsked("anna") }
        }
    }

    @Test(arguments: Trick.allCases)
    func aHostilePhoneNeitherEndsTheChargeNorKeepsOthersFromPaying(trick: Trick) async throws {
        let stall = try Stall()
        let scan = ScriptedRail(.scan)
        stall.air.add("mallory", HostilePhone(trick), rssi: -30, service: .standard)
        try await stall.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.passes(.seconds(6))
            #expect(try await shift.state(id).isFinal == false)
            #expect(await stall.bank.executions == 0)
            #expect(stall.air.connects.contains("mallory"))
            try stall.phone("anna")
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            #expect(stall.outcome("anna") == .paid || stall.outcome("anna") == nil)
        }
        #expect(await stall.bank.paid == 1050)
    }

    @Test(arguments: [Trick.neverAnswersRead, .keepsAliveForEver, .acceptOfNobody, .endless])
    func theQRCodeStillPaysBesideAHostilePhone(trick: Trick) async throws {
        let stall = try Stall()
        let scan = ScriptedRail(.scan)
        for number in 0..<6 { stall.air.add("mallory\(number)", HostilePhone(trick), rssi: -30, service: .standard) }
        try await stall.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(
                .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: "https://pay.example/1", expiresAt: nil))
            )
            try await shift.passes(.seconds(10))
            let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
            await scan.link(id)?.record(.reported(attempt: 1, report: .succeeded(evidence)))
            #expect(try await shift.state(id) == .succeeded)
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.executions == 0)
    }

    @Test func aPhoneThatCannotBeReachedIsTriedThreeTimesMore() async throws {
        let stall = try Stall()
        stall.air.add("far", HostilePhone(.control), rssi: -30, service: .standard)
        stall.air.refuse("far", .timedOut("no answer"))
        try await stall.run { shift in
            _ = try await shift.charge()
            try await shift.passes(.seconds(30))
        }
        #expect(stall.air.connects.count == 4)
    }

    /// Fifty that advertise and do no more than take a link, and one that pays from nearer.
    @Test(arguments: [Trick.silentAfterRead, .neverAnswersRead, .emptyHello, .control])
    func aCrowdOfHostilePhonesDoesNotKeepANearerOneFromPaying(trick: Trick) async throws {
        let stall = try Stall()
        for number in 0..<50 { stall.air.add("mallory\(number)", HostilePhone(trick), rssi: -70, service: .standard) }
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until("all links are taken, or phones come and go") { stall.air.connects.count >= 4 }
            try stall.phone("anna", rssi: -40)
            try await shift.until(id, is: .succeeded, within: .seconds(30)) { stall.air.openLinks <= 4 }
            #expect(stall.outcome("anna") == .paid || stall.outcome("anna") == nil)
        }
        #expect(await stall.bank.paid == 1050)
        #expect(await stall.bank.executions == 1)
    }

    /// A phone that changes its address each time it is let go: three tries of each name would never end.
    @Test func aFloodOfAddressesTakesNoMoreLinksThanThereAre() async throws {
        let stall = try Stall()
        for number in 0..<400 { stall.air.add("m\(number)", HostilePhone(.control), rssi: -70, service: .standard) }
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.passes(.seconds(3))
            try stall.phone("anna", rssi: -40)
            try await shift.until(id, is: .succeeded, within: .seconds(30)) { stall.air.openLinks <= 4 }
        }
        #expect(await stall.bank.paid == 1050)
    }

    /// Every trick again and again, from ever new addresses, four phones at a time as the radio takes them.
    /// `TILL_HOSTILE_SECONDS=60`, with this test alone, goes on for so long and bounds what grows.
    @Test func hostilePhonesLeaveNothingBehindInMemory() async throws {
        let seconds = ProcessInfo.processInfo.environment["TILL_HOSTILE_SECONDS"].flatMap { Int($0) } ?? 1
        let stall = try Stall()
        let memory = MemoryReadings()
        let start = ContinuousClock.now
        try await stall.run { shift in
            var (visits, rounds) = (0, 0)
            while rounds < 2 || start.duration(to: .now) < .seconds(seconds) {
                for first in stride(from: 0, to: Trick.allCases.count, by: TapStation.maximumLinks) {
                    let tricks = Trick.allCases.dropFirst(first).prefix(TapStation.maximumLinks)
                    let names = tricks.map { "\($0) \(rounds)" }
                    for (name, trick) in zip(names, tricks) {
                        stall.air.add(name, HostilePhone(trick), rssi: -30, service: .standard)
                    }
                    let id = try await shift.charge()
                    try await shift.until("all were there", by: .milliseconds(20)) {
                        Set(names).isSubset(of: stall.air.connects)
                    }
                    // Longer than any of them may keep its link.
                    for _ in 0..<20 { try await shift.skips(.seconds(1)) }
                    #expect(try await shift.state(id).isFinal == false)
                    _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
                    try await shift.until("it is over", by: .milliseconds(100)) {
                        try await shift.state(id).isFinal && stall.air.openLinks == 0
                    }
                    for name in names { stall.forget(name) }
                    stall.air.forgetThePast()
                    await stall.bank.putBooksAway()
                    visits += names.count
                    // What the terminal keeps for a phone that comes back is let go after a minute.
                    for _ in 0..<40 { try await shift.skips(.seconds(2)) }
                }
                rounds += 1
                memory.note(after: visits, "visits of hostile phones")
            }
        }
        #expect(await stall.bank.executions == 0)
        guard let growth = memory.growth(where: "TILL_HOSTILE_SECONDS") else { return }
        print("a visit leaves \(growth.heapBytes) bytes of heap, \(growth.residentBytes) resident")
        // Unpaid charges are asked about for a day, the database's cache may still fill, and the test library notes each thrown
        // error: 3.1 kB a visit were measured, and 0.7 kB without the latter two.
        #expect(growth.heapBytes < 8192 && growth.residentBytes < 16_384)
    }

    @Test func aSpotFullOfPhonesIsAskedFourAtATime() async throws {
        let stall = try Stall()
        for number in 0..<6 { try stall.phone("p\(number)", user: PhoneUser(answer: .never)) }
        try await stall.run { shift in
            _ = try await shift.charge()
            try await shift.passes(.seconds(5))
            #expect(stall.air.openLinks == 4)
        }
    }
}
