import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TestSupport
import TerminalTestSupport
import Testing

/// Paying over the air: a real journal, the simulated phone, one acquirer.
struct PayingTests {
    /// Over links of MTU 23, 185, 247 and 517.
    @Test(arguments: [20, 182, 244, 512])
    func aPhonePaysWithAnInstrument(maximumValueLength: Int) async throws {
        let bed = try TapTestBed(maximumValueLength: maximumValueLength)
        try bed.phone("anna")
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            let charge = try await shift.snapshot(id)
            #expect(charge.evidence?.transactionID == "tx1")
            try await shift.until("the phone knows") { bed.outcome("anna") == .paid }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.paid == 1050)
        #expect(await bed.acquirer.executions == 1)
    }

    /// What the radio takes leaves at once, and the rest of a message before everything that is said later.
    @Test(arguments: [1, 3, 1000], [20, 512])
    func aPhonePaysHoweverMuchTheRadioTakesAtOnce(values: Int, maximumValueLength: Int) async throws {
        let bed = try TapTestBed(maximumValueLength: maximumValueLength)
        bed.radio.makeRoom(for: values)
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(4))))
        try bed.phone("ben", user: PhoneUser(answer: .never))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("both are asked") { bed.wasAsked("ben") && bed.wasAsked("anna") }
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
            try await shift.until("ben hears it") { bed.heardOtherPaid("ben") }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 1)
        #expect(!bed.heard("anna").contains { if case .refused = $0 { true } else { false } })
    }

    /// What is on the disk is said at once; the charge's own note of it is nothing that a customer waits for.
    @Test(arguments: [TapMessageType.claim, .result])
    func aPhoneDoesNotWaitForTheChargesNote(of message: TapMessageType) async throws {
        let (bed, fuse) = (try TapTestBed(), Fuse())
        try bed.phone("anna")
        fuse.slowness.withLock { $0.applies = { $0.isReport(after: message) } }
        try await bed.run(fuse: fuse) { shift in
            let id = try await shift.charge()
            try await shift.until("anna hears it", within: .seconds(20)) {
                bed.heard("anna").contains {
                    if case .heard(let body) = $0 { message.isSaid(by: body) } else { false }
                }
            }
            fuse.slowness.withLock { $0.isOver }.open()
            try await shift.until(id, is: .succeeded)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    /// A customer who buys once more, or whose sum was mistyped, has the same phone in hand while its first link still ends.
    @Test func aPhoneThatHasPaidIsAskedAtOnceForTheNextCharge() async throws {
        let bed = try TapTestBed()
        bed.radio.endLinks(after: .seconds(2))
        try bed.phone("anna")
        try await bed.run { shift in
            let first = try await shift.charge()
            try await shift.until(first, is: .succeeded)
            let next = try await shift.charge()
            try await shift.until(next, is: .succeeded, within: .seconds(6))
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 2)
    }

    @Test(arguments: [-600, 600])
    func aPhoneWhoseClockIsOffByTenMinutesPaysNothing(seconds: Int) async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", clockIsOffBy: .seconds(seconds))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna's phone refuses") {
                bed.heard("anna").contains {
                    // To a fast clock the request is over, to a slow one it is not made yet.
                    $0 == .refused(.p10, seconds > 0 ? .expired : .clockSkew)
                }
            }
            #expect(try await shift.state(id).isFinal == false)
        }
        #expect(!bed.wasAsked("anna"))
        #expect(await bed.acquirer.executions == 0)
    }
}

enum TapMessageType: Sendable {
    case claim, result

    func isSaid(by body: TapBody) -> Bool {
        switch (self, body) {
        case (.claim, .claim), (.result, .result): true
        default: false
        }
    }
}

extension Charge.Event {
    /// Whether this is the charge's note of what a phone hears with `message`.
    fileprivate func isReport(after message: TapMessageType) -> Bool {
        switch (self, message) {
        case (.reported(_, .processing), .claim), (.reported(_, .succeeded), .result): true
        default: false
        }
    }
}
