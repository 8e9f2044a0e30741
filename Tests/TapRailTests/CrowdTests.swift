import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

/// Many phones at once, none of which means well.
struct CrowdTests {
    private static let offer = Offer(paymentID: "pay_1", link: "https://pay.example/1", expiresAt: nil)

    /// Each misbehaves in a way of its own, and all are stronger than an honest customer.
    private func crowd(of count: Int, around bed: TapTestBed) {
        for number in 0..<count {
            let trick = Trick.allCases[number % Trick.allCases.count]
            bed.radio.add("mallory\(number)", HostilePhone(trick), rssi: -30, service: .standard)
        }
    }

    @Test func amidFiftyAdvertisersTheQRCodeIsPaidAndNothingElse() async throws {
        let bed = try TapTestBed()
        let scan = ScriptedRail(.scan)
        crowd(of: 50, around: bed)
        try await bed.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(.offered(attempt: 1, offer: Self.offer))
            try await shift.until("many have been asked") { Set(bed.radio.connects).count >= 10 }
            #expect(try await shift.state(id).isFinal == false)
            let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
            await scan.link(id)?.record(.reported(attempt: 1, report: .succeeded(evidence)))
            #expect(try await shift.state(id) == .succeeded)
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
            let charge = try await shift.snapshot(id)
            let paid = charge.attempts.filter { if case .succeeded = $0.ending { true } else { false } }
            #expect(paid.map(\.rail) == [.scan])
            #expect(charge.surplusAttempts.isEmpty)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func amidFiftyAdvertisersTheNextChargeIsOpenedAndCancelledAsEver() async throws {
        let bed = try TapTestBed()
        crowd(of: 50, around: bed)
        try await bed.run { shift in
            for _ in 0..<2 {
                let id = try await shift.charge()
                let before = bed.radio.connects.count
                try await shift.until("some are asked") { bed.radio.connects.count >= before + 5 }
                _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
                try await shift.until(id, is: .cancelled, within: .seconds(20))
                try await shift.until("no link stays") { bed.radio.openLinks == 0 }
            }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func aNearPhoneThatCouldNotBeReachedOnceIsTriedAgainBeforeFarOnes() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", rssi: -40)
        bed.radio.refuse("anna", .failed("the link was not made"))
        for number in 0..<12 {
            bed.radio.add("far\(number)", HostilePhone(.neverAnswersRead), rssi: -75, service: .standard)
        }
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna was tried once") { bed.radio.connects.contains("anna") }
            bed.radio.refuse("anna", nil)
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            let between = bed.radio.connects.drop { $0 != "anna" }.dropFirst().prefix { $0 != "anna" }
            #expect(between.count <= 1)
        }
        #expect(await bed.acquirer.paid == 1050)
    }

    /// Of phones that arrive alike nobody knows who is nearer: whoever has failed waits until the others had their turn.
    @Test func ofPhonesThatArriveAlikeOneThatFailsLetsTheOthersGoFirst() async throws {
        let bed = try TapTestBed()
        for number in 0..<5 {
            bed.radio.add("mallory\(number)", HostilePhone(.emptyHello), rssi: -50, service: .standard)
        }
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("two have failed") { bed.radio.connects.count >= 2 }
            try bed.phone("anna", rssi: -54)
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            let tries = Dictionary(grouping: bed.radio.connects.prefix { $0 != "anna" }) { $0 }.mapValues(\.count)
            #expect(tries.values.allSatisfy { $0 == 1 })
        }
    }

    /// The radio is the phone's that shows its prompt; one that agrees at once has its claim before anybody else is sought.
    @Test func whileAPhoneIsAskedNobodyElseIsLookedForYet() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(20))))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            let asked = bed.clock.now
            let before = bed.radio.scans.count
            try bed.phone("berta")
            try await shift.until("berta is found all the same") { bed.radio.connects.contains("berta") }
            let next = try #require(bed.radio.scans.dropFirst(before).first)
            #expect(next >= asked + .milliseconds(300))
            #expect(next <= asked + .seconds(2))
            try await shift.until(id, is: .succeeded, within: .seconds(60))
        }
        #expect(await bed.acquirer.executions == 1)
    }

    /// Phones that are found, linked and gone, under a new address each time.
    @Test func aFloodOfLinksUnderNewAddressesKeepsNobodyFromPaying() async throws {
        let bed = try TapTestBed()
        let scan = ScriptedRail(.scan, withdraws: true)
        let flood = Flood()
        for number in 0..<60 { bed.radio.add("flood\(number)", flood, rssi: -30, service: .standard) }
        try await bed.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(.offered(attempt: 1, offer: Self.offer))
            try await shift.until("the flood is there") { bed.radio.connects.count >= 20 }
            #expect(try await shift.state(id).isFinal == false)
            // The strongest is asked first: a customer who holds a phone to the terminal is stronger than a crowd.
            try bed.phone("anna", rssi: -20)
            try await shift.until(id, is: .succeeded)
            #expect(bed.outcome("anna") == .paid || bed.outcome("anna") == nil)
            try await shift.until("no link stays") { bed.radio.openLinks <= 1 }
        }
        #expect(await bed.acquirer.paid == 1050)
        #expect(await bed.acquirer.executions == 1)
        #expect(flood.hellos > 0)
    }
}

/// Says hello to whoever reads, and hangs up at once.
private final class Flood: Peripheral {
    private let count = Mutex(0)

    var hellos: Int { count.withLock { $0 } }

    func read(by central: String) async -> [UInt8] {
        count.withLock { $0 += 1 }
        guard let hello = Hello(sessionID: (0..<8).map { _ in UInt8.random(in: 0...255) }) else { return [] }
        return PhoneHandshake(hello: hello, prologue: Prologue(service: .standard)).firstMessage
    }

    func write(_ fragment: [UInt8], by central: String) async {
        // Closing, in clear: the terminal ends the link.
        await state.withLock({ $0[central] })?([0xC0, 0, 0, 5])
    }

    func subscribe(
        central: String,
        maximumValueLength: Int,
        notify: @escaping @Sendable ([UInt8]) async -> Void
    ) async { state.withLock { $0[central] = notify } }

    func unsubscribe(central: String) async { state.withLock { $0[central] = nil } }

    private let state = Mutex<[String: @Sendable ([UInt8]) async -> Void]>([:])
}
