import Ethereum
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing

/// What the terminal's screen is told to show of phones: their digits, and the form that one has to wait for.
struct ShowingTests {
    private static let digits: @Sendable (inout TapSettings) -> Void = { $0.shortCodeAboveMinorUnits = 1000 }

    private func digits(of id: ChargeID, _ shift: Shift) async -> [String] {
        await shift.station.status.views[id]?.shortCodes ?? []
    }

    private static func seen(by name: String, _ bed: TapTestBed) -> [String] {
        bed.heard(name).compactMap { if case .asked(_, _, _, _, let code) = $0 { code } else { nil } }
    }

    // MARK: - Digits

    @Test func theDigitsAreGoneWithThePhone() async throws {
        let bed = try TapTestBed(Self.digits)
        try bed.phone("anna", user: PhoneUser(answer: .never))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("its digits are shown") { await digits(of: id, shift).count == 1 }
            #expect(await digits(of: id, shift) == Self.seen(by: "anna", bed))
            bed.radio.refuse("anna", .failed("out of range"))
            bed.radio.cut(after: 0)
            try await shift.until("they are gone", within: .seconds(30)) { await digits(of: id, shift).isEmpty }
            #expect(await shift.station.status.phones == 0)
        }
    }

    @Test func ofSeveralPhonesAllDigitsAreShownAndThenThePayersAlone() async throws {
        let bed = try TapTestBed(Self.digits)
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(8))))
        try bed.phone("ben", user: PhoneUser(answer: .never))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("both are shown", within: .seconds(8)) { await digits(of: id, shift).count == 2 }
            #expect(
                await Set(digits(of: id, shift))
                    == Set(Self.seen(by: "anna", bed) + Self.seen(by: "ben", bed))
            )
            // The acquirer keeps the payer waiting, so that there is something to see.
            await bed.acquirer.change { ($0.lostAnswers, $0.reachesPhones) = (.max, false) }
            try await shift.until("the payer's are left") {
                await digits(of: id, shift) == Self.seen(by: "anna", bed)
            }
            await bed.acquirer.change { $0.lostAnswers = 0 }
            try await shift.until(id, is: .succeeded)
            try await shift.until("nothing is left to compare") { await digits(of: id, shift).isEmpty }
        }
    }

    @Test func belowTheAmountNothingIsCompared() async throws {
        let bed = try TapTestBed(Self.digits)
        try bed.phone("anna", user: PhoneUser(answer: .never))
        try await bed.run { shift in
            let id = try await shift.charge(999)
            try await shift.until("it is shown") { await shift.station.status.phones == 1 }
            #expect(await digits(of: id, shift).isEmpty)
        }
    }

    // MARK: - A form

    private static let formBase = "https://pay.walletconnect.com/"

    private func form(of id: ChargeID, _ shift: Shift) async -> String? {
        await shift.station.status.views[id]?.formURL
    }

    private func fillIn(_ id: ChargeID, _ shift: Shift, _ gateway: Gateway) async throws {
        let payment = try #require(
            try await shift.snapshot(id).attempts.lazy.filter { $0.rail == .scan }.compactMap(\.offer?.paymentID).first
        )
        let answer = await gateway.answer(
            GatewayRequest(
                "POST",
                "/control/collect",
                headers: ["Authorization": "Bearer control"],
                body: Array(#"{"paymentId":"\#(payment)"}"#.utf8)
            )
        )
        #expect(answer?.status == 200)
    }

    @Test func aFormIsShownWhileThePhoneWaitsAndThePaymentGoesOnByItself() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: WalletTests.user, isOnline: false, wallet: PrivateKey())
        try await WalletTests().play(bed, formBase: Self.formBase) { shift, gateway in
            let id = try await shift.charge()
            try await shift.until("the form is shown") {
                await form(of: id, shift)?.hasPrefix(Self.formBase + "collect/?pid=pay_") == true
            }
            // The customer takes their time: the phone stays, and nothing is signed.
            try await shift.passes(.seconds(20))
            #expect(await form(of: id, shift) != nil)
            #expect(!bed.heard("anna").contains { if case .signing = $0 { true } else { false } })
            try await fillIn(id, shift, gateway)
            try await shift.until(id, is: .succeeded)
            #expect(await form(of: id, shift) == nil)
            #expect(try await shift.snapshot(id).confirmedBy == .gateway)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func aFormGoesWithTheCharge() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: WalletTests.user, isOnline: false, wallet: PrivateKey())
        try await WalletTests().play(bed, formBase: Self.formBase) { shift, _ in
            let id = try await shift.charge()
            try await shift.until("the form is shown") { await form(of: id, shift) != nil }
            _ = try await shift.desk.cancel(id, by: .staff(name: "Ada"))
            try await shift.until("it is gone") { await form(of: id, shift) == nil }
            try await shift.until(id, is: .cancelled)
        }
    }

    @Test func aFormGoesWithItsPhone() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: WalletTests.user, isOnline: false, wallet: PrivateKey())
        try await WalletTests().play(bed, formBase: Self.formBase) { shift, _ in
            let id = try await shift.charge()
            try await shift.until("the form is shown") { await form(of: id, shift) != nil }
            bed.radio.cut(after: 0)
            try await shift.until("it is gone", within: .seconds(30)) { await form(of: id, shift) == nil }
        }
    }

    /// The screen sends customers to no page that the gateway's answer makes up.
    @Test(arguments: [
        "https://pay.walletconnect.com.evil.test/", "http://pay.walletconnect.com/", "https://evil.test/",
    ])
    func aFormElsewhereIsNeverShown(base: String) async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: WalletTests.user, isOnline: false, wallet: PrivateKey())
        try await WalletTests().play(bed, formBase: base) { shift, _ in
            let id = try await shift.charge()
            try await shift.until("anna has heard the options") {
                bed.heard("anna").contains { if case .heard(.options) = $0 { true } else { false } }
            }
            try await shift.passes(.seconds(5))
            #expect(await form(of: id, shift) == nil)
            #expect(!bed.heard("anna").contains { if case .dataAsked = $0 { true } else { false } })
        }
    }
}
