import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing

/// What the terminal tells the acquirer before anybody pays, and what a phone makes of it.
struct AnnouncingTests {
    /// The acquirer may take as long as it likes to answer.
    @Test func aRequestIsAnnouncedAndNobodyWaitsForTheAnswer() async throws {
        let stall = try Stall()
        await stall.bank.change { $0.keepsAnnouncementsWaiting = true }
        try stall.phone("anna")
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded, within: .seconds(20))
            #expect(await stall.bank.announced.values.map(\.payload.amount) == [1050])
            try await shift.until("anna knows") { stall.outcome("anna") == .paid }
        }
        #expect(await stall.bank.announcements == 1)
    }

    @Test func aRequestIsAnnouncedOnceAlsoOverARestart() async throws {
        let stall = try Stall()
        try stall.phone("anna", user: PhoneUser(answer: .never))
        try await stall.play {
            for _ in 0..<2 {
                try await stall.open { shift in
                    if case .idle = await shift.desk.snapshot.phase { _ = try await shift.charge() }
                    try await shift.until("a link is there") { stall.air.openLinks == 1 }
                    try await shift.passes(.seconds(2))
                }
            }
        }
        #expect(stall.timesAsked("anna") == 1)
        #expect(await stall.bank.announcements == 1)
    }

    @Test func aTerminalWithoutNetworkAnnouncesNothing() async throws {
        let stall = try Stall()
        await stall.bank.change { $0.reachesTerminal = false }
        try stall.phone("anna")
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
        }
        #expect(await stall.bank.announcements == 0)
    }

    @Test func aPhoneDoesNotShowWhatTheAcquirerHoldsOtherwise() async throws {
        let stall = try Stall()
        await stall.bank.change { $0.announcedExcess = 1 }
        try stall.phone("anna")
        try await stall.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna's phone refuses") {
                stall.heard("anna").contains(.sent(.error(nil, .requestInvalid, text: nil)))
            }
            #expect(!stall.wasAsked("anna"))
            #expect(try await shift.state(id).isFinal == false)
            // The same phone may pay as soon as both say the same.
            await stall.bank.change { $0.announcedExcess = 0 }
            try await shift.until(id, is: .succeeded)
            #expect(stall.timesAsked("anna") == 1)
        }
        #expect(await stall.bank.executions == 1)
    }
}
