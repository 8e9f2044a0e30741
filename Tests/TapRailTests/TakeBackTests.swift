import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing

/// Giving a paid tap back, and tags.
struct TakeBackTests {
    @Test func aPaidTapIsGivenBackOnce() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna")
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.desk.takeBack(id, by: shift.station)
            #expect(try await shift.snapshot(id).isGivenBack)
            #expect(try await shift.snapshot(id).reason?.code == "given_back")
            try await shift.desk.takeBack(id, by: shift.station)
        }
        #expect(await bed.acquirer.paid == 0)
        #expect(await bed.acquirer.voided.count == 1)
    }

    @Test func whatWasNotPaidIsNotGivenBack() async throws {
        let bed = try TapTestBed()
        try await bed.run { shift in
            let id = try await shift.charge()
            await #expect(throws: TakeBackRefusal.nothingPaid) {
                try await shift.desk.takeBack(id, by: shift.station)
            }
        }
        #expect(await bed.acquirer.voided.isEmpty)
    }

    @Test func withoutAnAnswerNobodySaysThatItWasGivenBack() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna")
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            await bed.acquirer.change { $0.lostAnswers = 1 }
            await #expect(throws: TakeBackRefusal.unclear) { try await shift.desk.takeBack(id, by: shift.station) }
            #expect(try await shift.snapshot(id).isGivenBack == false)
            try await shift.desk.takeBack(id, by: shift.station)
            #expect(try await shift.snapshot(id).isGivenBack)
        }
    }

    /// - Parameter isOfCharge: Which of the two writes fails: of the charge, or of what happened over BLE.
    @Test(arguments: [true, false])
    func moneyThatWentBackAndIsNotWrittenDownIsSaidSoAndGoesBackOnce(isOfCharge: Bool) async throws {
        let bed = try TapTestBed()
        let fuse = Fuse()
        try bed.phone("anna")
        try await bed.run(fuse: fuse) { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            fuse.refusesCharges.withLock { $0 = isOfCharge }
            fuse.refusedKinds.withLock { $0 = isOfCharge ? [] : ["given-back"] }
            await #expect(throws: TakeBackRefusal.unrecorded(isOfCharge ? nil : .diskFull)) {
                try await shift.desk.takeBack(id, by: shift.station)
            }
            #expect(try await shift.snapshot(id).isGivenBack == false)
            fuse.refusesCharges.withLock { $0 = false }
            fuse.refusedKinds.withLock { $0 = [] }
            try await shift.desk.takeBack(id, by: shift.station)
            #expect(try await shift.snapshot(id).isGivenBack)
        }
        #expect(await bed.acquirer.paid == 0)
        #expect(await bed.acquirer.voided.count == 1)
    }

    @Test func aPaymentThatWasVoidedElsewhereIsBookedAsPaidAndGivenBack() async throws {
        let bed = try TapTestBed()
        let phone = try bed.phone("anna")
        // The execution's answer is lost, and so are those of the next questions; meanwhile somebody voids it.
        await bed.acquirer.change { $0.lostAnswers = 3 }
        try await bed.run { shift in
            try await shift.until("anna has passes") { await bed.acquirer.passes >= 4 }
            try await shift.passes(.milliseconds(200))
            // Without network: else the phone brings the receipt before the void.
            await phone.setOnline(false)
            let id = try await shift.charge()
            try await shift.until("it is executed") { await bed.acquirer.executions == 1 }
            if let payment = await bed.acquirer.receipts.keys.first { _ = await bed.acquirer.void(payment) }
            try await shift.until(id, is: .succeeded)
            try await shift.until("it is given back") { try await shift.snapshot(id).isGivenBack }
        }
        #expect(await bed.acquirer.paid == 0)
    }

    /// Its phone hears of it first, and tells the terminal while it is still near.
    @Test func aPaidPaymentThatTheAcquirerVoidsIsShownAsGivenBack() async throws {
        let bed = try TapTestBed()
        let phone = HostilePhone { [acquirer = bed.acquirer] phone, request in
            await RecoveryTests.accept(request, of: acquirer, by: phone)
        }
        bed.radio.add("anna", phone, service: .standard)
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            let payment = try await shift.payment(id)
            _ = await bed.acquirer.void(payment)
            let receipt = await bed.acquirer.receipts[payment]
            #expect(receipt?.payload.status == .cancelled)
            await phone.say(.result(payment, .cancelled, receipt: receipt, transactionID: nil))
            try await shift.until("the charge says so", within: .seconds(5)) {
                try await shift.snapshot(id).isGivenBack
            }
            #expect(try await shift.state(id) == .succeeded)
            #expect(try await shift.snapshot(id).reason?.code == "given_back")
            // Staff who give it back now hear that it is done, and not that nothing was paid.
            try await shift.desk.takeBack(id, by: shift.station)
        }
        #expect(await bed.acquirer.paid == 0)
        #expect(await phone.errors.isEmpty)
    }

    /// A "no" after the money came says nothing of its way back: it can still be given back.
    @Test func aPaidPaymentCanBeGivenBackWhateverWasSaidOfItAfter() async throws {
        let bed = try TapTestBed()
        let phone = HostilePhone { [acquirer = bed.acquirer] phone, request in
            await RecoveryTests.accept(request, of: acquirer, by: phone)
        }
        bed.radio.add("anna", phone, service: .standard)
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            let payment = try await shift.payment(id)
            var failed = try #require(await bed.acquirer.receipts[payment]).payload
            (failed.status, failed.transactionID) = (.failed, nil)
            let receipt = try Signed(signing: failed, with: bed.acquirer.signer)
            await phone.say(.result(payment, .failed, receipt: receipt, transactionID: nil))
            try await shift.until("the phone is answered", within: .seconds(5)) {
                await phone.heard.contains { if case .acknowledge = $0 { true } else { false } }
            }
            #expect(try await shift.snapshot(id).isGivenBack == false)
            try await shift.desk.takeBack(id, by: shift.station)
            #expect(try await shift.snapshot(id).isGivenBack)
        }
        #expect(await bed.acquirer.paid == 0)
    }

    @Test func aPhoneThatReadTheTagIsFoundByItAndOthersAreNotAsked() async throws {
        let bed = try TapTestBed { $0.mode = .tagged }
        try bed.phone("stranger")
        try bed.phone("anna", tag: bed.tag)
        try await bed.run { shift in
            let id = try await shift.charge()
            #expect(await shift.station.status.tagURI == bed.tag?.uri)
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
        }
        #expect(bed.timesAsked("stranger") == 0)
        #expect(Set(bed.radio.connects) == ["anna"])
    }

    /// Who photographs the screen's code meets no later charge by it.
    @Test func theScreensCodeLeadsToItsOwnChargeAlone() async throws {
        let bed = try TapTestBed {
            $0.mode = .tagged
            $0.appLink = "https://pay.example/tap"
        }
        try await bed.run { shift in
            let first = try await shift.charge()
            let old = try await shown(first, shift)
            try bed.phone("anna", tag: old)
            try await shift.until(first, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
            let second = try await shift.charge()
            let new = try await shown(second, shift)
            #expect(new.tagID != old.tagID && new.tagID != bed.tag?.tagID)
            bed.radio.forgetThePast()
            try bed.phone("ben", tag: old)
            try await shift.passes(.seconds(10))
            #expect(bed.radio.connects.isEmpty && bed.timesAsked("ben") == 0)
            try bed.phone("clara", tag: new)
            try await shift.until(second, is: .succeeded)
            // The sticker's own is good for every charge.
            #expect(await shift.station.status.tagURI == bed.tag?.uri(opening: "https://pay.example/tap"))
            try bed.phone("dora", tag: bed.tag)
            try await shift.until(try await shift.charge(), is: .succeeded)
        }
        #expect(await bed.acquirer.executions == 3)
    }

    private func shown(_ id: ChargeID, _ shift: Shift) async throws -> TerminalTag {
        try await shift.until("the code is there") { try await shift.snapshot(id).attempts.first?.offer?.link != nil }
        let link = try #require(try await shift.snapshot(id).attempts.first?.offer?.link)
        #expect(link.hasPrefix("https://pay.example/tap#bpp:1?"))
        return try #require(TerminalTag(uri: link))
    }

    @Test func bothScreensShowTheSameCodeAboveTheSetAmount() async throws {
        let bed = try TapTestBed { $0.shortCodeAboveMinorUnits = 1000 }
        try bed.phone("anna", user: PhoneUser(answer: .never))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            try await shift.until("the terminal has heard it") { await shift.station.status.phones == 1 }
            let shown = await shift.station.status.views[id]?.shortCodes
            let seen = bed.heard("anna").compactMap { event -> String? in
                if case .asked(_, _, _, _, let code) = event { code } else { nil }
            }
            #expect(seen.count == 1 && shown == seen)
        }
    }

    /// Without a charge nobody scans, and nobody would find out that the radio works again.
    @Test func theLightGoesByTheRadiosOwnWordOnceNobodyScans() async throws {
        let bed = try TapTestBed()
        bed.radio.failScans(true)
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("the light says so") { await shift.station.status.light != .ready }
            _ = try await shift.desk.cancel(id, by: .staff(name: "Ada"))
            try await shift.until("the light is back", within: .seconds(30)) {
                await shift.station.status.light == .ready
            }
        }
    }

    /// A dead controller takes longer to say so than one look for phones lasts.
    @Test func theLightStaysWhileNoScanBegins() async throws {
        let bed = try TapTestBed()
        bed.radio.failScans(every: .seconds(5))
        try await bed.run { shift in
            _ = try await shift.charge()
            try await shift.until("the light says so", within: .seconds(30)) {
                await shift.station.status.light != .ready
            }
            for _ in 0..<40 {
                try await shift.passes(.milliseconds(500))
                #expect(await shift.station.status.light != .ready)
            }
            bed.radio.failScans(every: nil)
            try await shift.until("the light is back", within: .seconds(60)) {
                await shift.station.status.light == .ready
            }
        }
    }

    @Test func theLightComesBackOnceTheRadioScansAgain() async throws {
        let bed = try TapTestBed()
        bed.radio.failScans(true)
        try await bed.run { shift in
            _ = try await shift.charge()
            try await shift.until("the light says so") { await shift.station.status.light != .ready }
            bed.radio.failScans(false)
            try await shift.until("the light is back", within: .seconds(30)) {
                await shift.station.status.light == .ready
            }
        }
    }

    @Test func withoutARadioTheLightSaysWhyAndTheCodeIsStillPaid() async throws {
        let bed = try TapTestBed()
        let scan = ScriptedRail(.scan)
        try await bed.run(scan: scan) { shift in
            bed.radio.healthChange.yield(.gone(reason: "there is no Bluetooth adapter"))
            try await shift.until("the light says so") {
                if case .hindered(let reason) = await shift.station.status.light {
                    reason.message.contains("there is no Bluetooth adapter")
                } else {
                    false
                }
            }
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(
                .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: "https://pay.example/1", expiresAt: nil))
            )
            let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
            await scan.link(id)?.record(.reported(attempt: 1, report: .succeeded(evidence)))
            #expect(try await shift.state(id) == .succeeded)
        }
    }
}
