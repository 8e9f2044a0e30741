import Ethereum
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TestSupport
import Testing

/// Rail 3 where something comes between the signatures and the end: the link, the power, the staff, or silence.
extension WalletTests {
    private func signed(_ bed: TapTestBed) -> Int {
        bed.heard("anna").count { if case .sent(.signatures) = $0 { true } else { false } }
    }

    private func holdsClaim(_ bed: TapTestBed) -> Bool {
        bed.heard("anna").contains { if case .heard(.claim) = $0 { true } else { false } }
    }

    private func hasHeard(_ status: TapProtocol.PaymentStatus, _ bed: TapTestBed) -> Bool {
        bed.heard("anna").contains { if case .reported(status, _) = $0 { true } else { false } }
    }

    /// The link falls once so many values have passed after anna's signatures began to leave.
    private func cut(_ bed: TapTestBed, after values: Int) {
        let isCut = Mutex(false)
        let radio = bed.radio
        bed.whenever.withLock { hook in
            hook.act = { _, event in
                guard case .sent(.signatures) = event, !isCut.withLock({ $0 }) else { return }
                isCut.withLock { $0 = true }
                radio.cut(after: values)
            }
        }
    }

    /// The signatures are two values, and so is the claim.
    @Test(arguments: [0, 1, 2, 3])
    func aWalletWhoseLinkFallsAfterItsSignaturesPaysOnce(values: Int) async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        cut(bed, after: values)
        try await play(bed) { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .scan)
            #expect(charge.surplusAttempts.isEmpty)
            try await shift.until("anna hears that she has paid", within: .seconds(20)) { hasHeard(.completed, bed) }
        }
        // The link fell after her signatures had begun to leave, and before the claim was with her.
        let heard = bed.heard("anna")
        let leaving = heard.firstIndex { if case .sent(.signatures) = $0 { true } else { false } }
        let fall = heard.firstIndex { if case .linkEnded = $0 { true } else { false } }
        let claim = heard.firstIndex { if case .heard(.claim) = $0 { true } else { false } }
        #expect(try #require(leaving) < #require(fall))
        #expect(try #require(fall) < claim ?? heard.count)
    }

    /// The power goes between the claim and the gateway, whether or not the phone still hears of the claim.
    @Test(arguments: [true, false], [true, false])
    func aTerminalWithoutPowerBeforeTheGatewayHasTheSignaturesHandsThemInLater(
        hearsOfIt: Bool,
        knowsTheGateway: Bool
    ) async throws {
        let bed = try TapTestBed()
        let desk = DeskLine()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        if !hearsOfIt { cut(bed, after: 2) }
        let charge = Mutex<ChargeID?>(nil)
        try await playing(bed, swallowing: desk) { open, _ in
            try await bed.play {
                try await open { shift in
                    let id = try await shift.charge()
                    charge.withLock { $0 = id }
                    try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
                    if hearsOfIt { try await shift.until("anna holds the claim") { holdsClaim(bed) } }
                }
                #expect(holdsClaim(bed) == hearsOfIt)
                desk.fate.withLock { $0 = .passedOn }
                // The network is there a while after the terminal, or the settings that say where the gateway is.
                desk.isDown.withLock { $0 = knowsTheGateway }
                desk.isLate.withLock { $0 = !knowsTheGateway }
                try await open { shift in
                    let id = try #require(charge.withLock { $0 })
                    try await shift.passes(.seconds(5))
                    desk.isDown.withLock { $0 = false }
                    if !knowsTheGateway {
                        await shift.station.use(try await bed.setup(wallet: desk.wallet.withLock { $0 }))
                    }
                    try await shift.until(id, is: .succeeded, within: .seconds(60))
                    #expect(try await shift.snapshot(id).surplusAttempts.isEmpty)
                    try await shift.until("anna knows", within: .seconds(20)) { hasHeard(.completed, bed) }
                }
            }
        }
    }

    @Test func signaturesThatNobodyHasTakenAreHandedInAgain() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine(.unheard)
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed, swallowing: desk) { shift in
            let id = try await shift.charge()
            try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
            try await shift.passes(.seconds(5))
            #expect(try await shift.snapshot(id).holdsTerminal && !hasHeard(.failed, bed))
            desk.fate.withLock { $0 = .passedOn }
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            try await shift.until("anna knows", within: .seconds(20)) { hasHeard(.completed, bed) }
        }
    }

    /// By the gateway itself, which has a bad moment or is asked too much.
    @Test(arguments: [502, 429]) func signaturesThatTheGatewayDoesNotTakeAreHandedInAgain(status: Int) async throws {
        let bed = try TapTestBed()
        let desk = DeskLine(.passedOn)
        desk.confirms.withLock { $0 = status }
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed, swallowing: desk) { shift in
            let id = try await shift.charge()
            try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
            try await shift.passes(.seconds(5))
            #expect(try await shift.snapshot(id).holdsTerminal && !hasHeard(.failed, bed))
            desk.confirms.withLock { $0 = nil }
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            try await shift.until("anna knows", within: .seconds(20)) { hasHeard(.completed, bed) }
        }
    }

    /// The gateway was asked too much to take what anna signed, and then somebody else has paid the code, or is paying it.
    @Test(arguments: [true, false]) func aWalletWhoseSignaturesNobodyHasHearsThatAnotherHasPaid(isOver: Bool)
        async throws
    {
        let bed = try TapTestBed()
        let desk = DeskLine(.tooMany)
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed, swallowing: desk) { shift in
            let id = try await shift.charge()
            try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
            try await shift.passes(.seconds(1))
            if !isOver {
                await desk.report(.processing)
                try await shift.until("anna hears that another pays") { hasHeardOfAnother(bed) }
            }
            await desk.report(.succeeded(Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)))
            try await shift.until(id, is: .succeeded, within: .seconds(30))
            try await shift.until("anna hears that another has paid") { hasHeardOfAnother(bed) }
            try await shift.passes(.seconds(5))
            #expect(!hasHeard(.completed, bed) && !hasHeard(.failed, bed))
            #expect(try await shift.snapshot(id).attempts.allSatisfy { !$0.isOpen })
        }
    }

    private func hasHeardOfAnother(_ bed: TapTestBed) -> Bool {
        bed.heard("anna").contains { if case .heard(.otherPaid) = $0 { true } else { false } }
    }

    /// Somebody who read the code was faster by a moment.
    @Test func aWalletThatWasBeatenToTheCodeHearsThatAnotherHasPaid() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine(.beaten)
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed, swallowing: desk) { shift in
            let id = try await shift.charge()
            try await shift.until("anna hears that another pays") { hasHeardOfAnother(bed) }
            await desk.report(.succeeded(Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)))
            try await shift.until(id, is: .succeeded, within: .seconds(30))
            try await shift.passes(.seconds(5))
            #expect(!hasHeard(.completed, bed) && !hasHeard(.failed, bed))
            #expect(try await shift.snapshot(id).attempts.allSatisfy { !$0.isOpen })
        }
    }

    /// Staff have said that nobody is to pay: what the gateway does not have yet it does not get any more.
    @Test func signaturesOfACancelledChargeAreNotHandedInAfterAStart() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        let charge = Mutex<ChargeID?>(nil)
        try await playing(bed, swallowing: desk) { open, _ in
            try await bed.play {
                try await open { shift in
                    let id = try await shift.charge()
                    charge.withLock { $0 = id }
                    try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
                    desk.isDown.withLock { $0 = true }
                    _ = try await shift.desk.cancel(id, by: .staff(name: "Ada"))
                }
                desk.fate.withLock { $0 = .passedOn }
                desk.isDown.withLock { $0 = false }
                desk.isSigned.withLock { $0 = false }
                try await open { shift in
                    let id = try #require(charge.withLock { $0 })
                    try await shift.until(id, is: .cancelled, within: .seconds(60))
                    try await shift.until("nothing of it is open", within: .seconds(20)) {
                        try await shift.snapshot(id).attempts.allSatisfy { !$0.isOpen }
                    }
                    #expect(!desk.isSigned.withLock { $0 })
                }
            }
        }
    }

    @Test func aCancelThatCrossesAWalletsPaymentLeavesNothingOpen() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine(.kept)
        desk.isTooLate.withLock { $0 = true }
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed, swallowing: desk) { shift in
            let id = try await shift.charge()
            try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
            _ = try await shift.desk.cancel(id, by: .staff(name: "Ada"))
            try await shift.passes(.seconds(1))
            desk.fate.withLock { $0 = .passedOn }
            desk.isLetGo.open()
            try await shift.until(id, is: .succeeded, within: .seconds(30))
            try await shift.until("nothing of it is open", within: .seconds(20)) {
                try await shift.snapshot(id).attempts.allSatisfy { !$0.isOpen }
            }
            #expect(try await shift.snapshot(id).surplusAttempts.isEmpty)
            try await shift.until("anna hears that she has paid") { hasHeard(.completed, bed) }
        }
    }

    /// A wallet has signed for the charge before, and nobody says what became of it.
    @Test func aNewCustomersPhoneIsAskedForTheNewChargeAlone() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed, swallowing: desk) { shift in
            let former = try await shift.charge()
            try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
            await desk.report(.processing)
            _ = try await shift.desk.release(former, by: .staff(name: "Ada"))
            let id = try await shift.charge(2000)
            try bed.phone("ben", user: PhoneUser(answer: .decline(after: .milliseconds(300))))
            try await shift.until("ben declines") { bed.outcome("ben") == .declined }
            // He is nearby still, and nobody asks him for the other charge.
            try await shift.passes(.seconds(15))
            let payment = try await shift.payment(id)
            for case .asked(let asked, _, _, _, _) in bed.heard("ben") { #expect(asked == payment) }
            #expect(bed.timesAsked("ben") == 1)
        }
    }

    @Test func whereTheGatewayFallsSilentAfterTheSignaturesTheTerminalGoesOnAtTheDeadline() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed, swallowing: desk) { shift in
            let id = try await shift.charge()
            try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
            desk.isDown.withLock { $0 = true }
            try await shift.until(id, is: .unknown, within: .seconds(180), by: .milliseconds(50))
            #expect(try await !shift.snapshot(id).holdsTerminal)
            // Nobody has said that nothing was paid.
            #expect(!hasHeard(.failed, bed))
            desk.isDown.withLock { $0 = false }
            await desk.report(.succeeded(Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)))
            try await shift.until("nothing of it is open", within: .seconds(60)) {
                try await shift.snapshot(id).attempts.allSatisfy { !$0.isOpen }
            }
            #expect(try await shift.state(id) == .succeeded)
        }
    }
}
