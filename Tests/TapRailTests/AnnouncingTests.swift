import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing

/// What the terminal tells the acquirer before anybody pays, and what a phone makes of it.
struct AnnouncingTests {
    /// The acquirer may take as long as it likes to answer.
    @Test func aRequestIsAnnouncedAndNobodyWaitsForTheAnswer() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change { $0.keepsAnnouncementsWaiting = true }
        try bed.phone("anna")
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded, within: .seconds(20))
            #expect(await bed.acquirer.announced.values.map(\.payload.amount) == [1050])
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
        }
        #expect(await bed.acquirer.announcements == 1)
    }

    @Test func aRequestIsAnnouncedOnceAlsoOverARestart() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: PhoneUser(answer: .never))
        try await bed.play {
            for _ in 0..<2 {
                try await bed.open { shift in
                    if case .idle = await shift.desk.snapshot.phase { _ = try await shift.charge() }
                    try await shift.until("a link is there") { bed.radio.openLinks == 1 }
                    try await shift.passes(.seconds(2))
                }
            }
        }
        #expect(bed.timesAsked("anna") == 1)
        #expect(await bed.acquirer.announcements == 1)
    }

    @Test func aTerminalWithoutNetworkAnnouncesNothing() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change { $0.reachesTerminal = false }
        try bed.phone("anna")
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
        }
        #expect(await bed.acquirer.announcements == 0)
    }

    @Test func aPhoneDoesNotShowWhatTheAcquirerHoldsOtherwise() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change { $0.announcedExcess = 1 }
        try bed.phone("anna")
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna's phone refuses") {
                bed.heard("anna").contains(.sent(.error(nil, .requestInvalid, text: nil)))
            }
            #expect(!bed.wasAsked("anna"))
            #expect(try await shift.state(id).isFinal == false)
            // The same phone may pay as soon as both say the same.
            await bed.acquirer.change { $0.announcedExcess = 0 }
            try await shift.until(id, is: .succeeded)
            #expect(bed.timesAsked("anna") == 1)
        }
        #expect(await bed.acquirer.executions == 1)
    }
}
