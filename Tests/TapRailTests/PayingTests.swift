import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing

/// Paying over the air: a real journal, the simulated phone, one bank.
struct PayingTests {
    /// Over links of MTU 23, 185, 247 and 517.
    @Test(arguments: [20, 182, 244, 512])
    func aPhonePaysWithAnInstrument(maximumValueLength: Int) async throws {
        let stall = try Stall(maximumValueLength: maximumValueLength)
        try stall.phone("anna")
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            let charge = try await shift.snapshot(id)
            #expect(charge.evidence?.transactionID == "tx1")
            try await shift.until("the phone knows") { stall.outcome("anna") == .paid }
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.paid == 1050)
        #expect(await stall.bank.executions == 1)
    }

    /// What the radio takes leaves at once, and the rest of a message before everything that is said later.
    @Test(arguments: [1, 3, 1000], [20, 512])
    func aPhonePaysHoweverMuchTheRadioTakesAtOnce(values: Int, maximumValueLength: Int) async throws {
        let stall = try Stall(maximumValueLength: maximumValueLength)
        stall.air.makeRoom(for: values)
        try stall.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(4))))
        try stall.phone("ben", user: PhoneUser(answer: .never))
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until("both are asked") { stall.wasAsked("ben") && stall.wasAsked("anna") }
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { stall.outcome("anna") == .paid }
            try await shift.until("ben hears it") { stall.heardOtherPaid("ben") }
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.executions == 1)
        #expect(!stall.heard("anna").contains { if case .refused = $0 { true } else { false } })
    }

    /// What is on the disk is said at once; the charge's own note of it is nothing that a customer waits for.
    @Test(arguments: [TapMessageType.claim, .result])
    func aPhoneDoesNotWaitForTheChargesNote(of message: TapMessageType) async throws {
        let (stall, fuse) = (try Stall(), Fuse())
        try stall.phone("anna")
        fuse.slowness.withLock { $0.applies = { $0.isReport(after: message) } }
        try await stall.run(fuse: fuse) { shift in
            let id = try await shift.charge()
            try await shift.until("anna hears it", within: .seconds(20)) {
                stall.heard("anna").contains {
                    if case .heard(let body) = $0 { message.isSaid(by: body) } else { false }
                }
            }
            fuse.slowness.withLock { $0.applies = { _ in false } }
            try await shift.until(id, is: .succeeded)
        }
        #expect(await stall.bank.executions == 1)
    }

    /// A customer who buys once more, or whose sum was mistyped, has the same phone in hand while its first link still ends.
    @Test func aPhoneThatHasPaidIsAskedAtOnceForTheNextCharge() async throws {
        let stall = try Stall()
        stall.air.endLinks(after: .seconds(2))
        try stall.phone("anna")
        try await stall.run { shift in
            let first = try await shift.charge()
            try await shift.until(first, is: .succeeded)
            let next = try await shift.charge()
            try await shift.until(next, is: .succeeded, within: .seconds(6))
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.executions == 2)
    }

    @Test(arguments: [-600, 600])
    func aPhoneWhoseClockIsOffByTenMinutesPaysNothing(seconds: Int) async throws {
        let stall = try Stall()
        try stall.phone("anna", clockIsOffBy: .seconds(seconds))
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna's phone refuses") {
                stall.heard("anna").contains {
                    // To a fast clock the request is over, to a slow one it is not made yet.
                    $0 == .refused(.p10, seconds > 0 ? .expired : .clockSkew)
                }
            }
            #expect(try await shift.state(id).isFinal == false)
        }
        #expect(!stall.wasAsked("anna"))
        #expect(await stall.bank.executions == 0)
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
