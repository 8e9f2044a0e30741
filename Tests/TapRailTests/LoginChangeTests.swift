import Acquirer
import Foundation
import Journal
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing
import TestSupport
import WalletConnectPay

/// Two merchants at one acquirer: whose login is set is paid, and what was paid as the other stays the other's.
extension TapDeskTests {
    private static let first = "shop@example.com"
    private static let second = "other@example.com"

    private func twoShops(losing losses: Int = 0) throws -> Parts {
        let bed = try TapTestBed()
        var configuration = AcquirerConfiguration()
        configuration.merchants.append(
            AcquirerConfiguration.Merchant(
                id: "merchant-other",
                name: "Other Shop",
                email: Self.second,
                password: "other-password"
            )
        )
        // What is handed in is executed, and the terminal does not hear of it.
        if losses > 0 {
            configuration.faults = [AcquirerFault(endpoint: .execute, effect: .drop, times: losses)]
        }
        let state = AcquirerState(configuration: configuration)
        return Parts(bed: bed, acquirer: SandboxAcquirer(state, clock: bed.wall))
    }

    private static func form(_ login: String) -> TapForm {
        var form = Self.form
        form.acquirerLogin = login
        form.acquirerPassword = login == second ? "other-password" : "shop-password"
        return form
    }

    private static func save(_ login: String, _ taps: TapDesk) async throws {
        let version = await taps.current?.version ?? 0
        _ = try await taps.save(Self.form(login), replacing: version, by: .staff(name: "test"))
    }

    /// Saves a login and waits for its certificate.
    private static func enter(_ login: String, _ shift: Shift, _ taps: TapDesk) async throws {
        try await save(login, taps)
        try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
    }

    /// How the acquirer tells a merchant of a payment; nil where that merchant has none of this name.
    private static func record(
        _ payment: TapProtocol.PaymentID,
        as login: String,
        _ parts: Parts
    ) async throws -> PaymentRecord? {
        var client = try InProcessAcquirer(parts.acquirer).client()
        let password = try #require(form(login).acquirerPassword)
        client.session = try await client.logIn(identifier: login, password: Secret(password)).token
        return try await client.payment(payment)
    }

    /// A charge that the first merchant's payment has executed, while the terminal does not know and has no network.
    private static func unknownPayment(_ parts: Parts, _ shift: Shift, _ taps: TapDesk) async throws -> ChargeID {
        try await enter(first, shift, taps)
        let phone = try await phone(parts)
        try await shift.passes(.seconds(2))
        await phone.setOnline(false)
        let id = try await shift.charge()
        try await shift.until("it is offered") {
            try await shift.snapshot(id).attempts.contains { $0.rail == .tap && $0.offer != nil }
        }
        let payment = try await shift.payment(id)
        try await shift.until("it is executed") { try await record(payment, as: first, parts)?.word == .completed }
        parts.network.isUp = false
        return id
    }

    @Test func afterAnotherLoginThatMerchantIsShownAndPaid() async throws {
        let parts = try twoShops()
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                try await Self.enter(Self.first, shift, taps)
                try await Self.enter(Self.second, shift, taps)
                try await Self.phone(parts)
                let id = try await shift.charge()
                try await shift.until(id, is: .succeeded)
                let payment = try await shift.payment(id)
                #expect(try await Self.record(payment, as: Self.first, parts) == nil)
                #expect(try await Self.record(payment, as: Self.second, parts)?.word == .completed)
            }
        }
        let shown = parts.bed.heard("anna").compactMap { event -> String? in
            if case .asked(_, let merchant, _, _, _) = event { merchant } else { nil }
        }
        #expect(shown == ["Other Shop"])
    }

    @Test func theEarlierMerchantIsNotPaidWhileTheNewOneHasNoCertificate() async throws {
        let parts = try twoShops()
        try await open(parts) { shift, taps in
            try await Self.enter(Self.first, shift, taps)
            parts.network.isUp = false
            try await Self.save(Self.second, taps)
            #expect(await shift.station.status.light != .ready)
        }
        try await open(parts) { shift, taps in
            #expect(await shift.station.status.light != .ready)
            try await shift.until("charges are taken") {
                if case .idle = await shift.desk.snapshot.phase { true } else { false }
            }
            let id = try await shift.charge()
            try await shift.until("the charge does not wait for Tap") { try await shift.state(id).isFinal }
            parts.network.isUp = true
            try await shift.until("the new one is certified") { await shift.station.status.light == .ready }
        }
    }

    /// Nobody knows any more whose login it was made with.
    @Test func anEarlierVersionsCertificateIsRenewedBeforeAnythingIsAskedForWithIt() async throws {
        let parts = try twoShops()
        try await open(parts) { shift, taps in
            try await Self.enter(Self.first, shift, taps)
            try await Self.forgetLogin(shift)
        }
        parts.network.isUp = false
        try await open(parts) { shift, taps in
            #expect(await shift.station.status.light != .ready)
            parts.network.isUp = true
            try await shift.until("it is renewed") { await shift.station.status.light == .ready }
        }
        parts.network.isUp = false
        try await open(parts) { shift, taps in #expect(await shift.station.status.light == .ready) }
    }

    /// As a version kept it that did not write the login down.
    private static func forgetLogin(_ shift: Shift) async throws {
        let stored = try #require(try await shift.journal.document("tap-certificate"))
        guard case .map(var map) = try CBOR(decoding: stored.bytes) else { return }
        map[4] = nil
        _ = try await shift.journal.setDocument(
            "tap-certificate",
            CBOR.map(map).encoded,
            expecting: .any,
            by: .terminal,
            at: stored.changedAt
        )
    }

    @Test func afterAnUpdateWhatIsOpenIsFollowedAlsoWhileTapIsOff() async throws {
        let parts = try twoShops(losing: 1)
        let charge = Mutex<ChargeID?>(nil)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                let id = try await Self.unknownPayment(parts, shift, taps)
                charge.withLock { $0 = id }
                var form = TapForm()
                form.isEnabled = false
                _ = try await taps.save(form, replacing: 1, by: .staff(name: "test"))
                try await Self.forgetLogin(shift)
            }
            parts.network.isUp = true
            try await open(parts) { shift, _ in
                let id = try #require(charge.withLock { $0 })
                try await shift.until(id, is: .succeeded)
                #expect(await shift.station.status.light == .off)
            }
        }
    }

    @Test func aPaymentUnderWayIsAskedAboutAsTheMerchantItWasMadeFor() async throws {
        let parts = try twoShops(losing: 1)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                let id = try await Self.unknownPayment(parts, shift, taps)
                let payment = try await shift.payment(id)
                try await Self.save(Self.second, taps)
                // Now a payment that the acquirer does not know would be made impossible.
                try await shift.skips(.seconds(700))
                parts.network.isUp = true
                try await shift.until("the new one is certified") { await shift.station.status.light == .ready }
                try await shift.until(id, is: .succeeded)
                #expect(try await Self.record(payment, as: Self.first, parts)?.word == .completed)
                #expect(try await Self.record(payment, as: Self.second, parts) == nil)
            }
        }
    }

    @Test func aPaymentOfAnEarlierLoginStaysUnknownUntilThatLoginIsSetAgain() async throws {
        let parts = try twoShops(losing: 1)
        let charge = Mutex<ChargeID?>(nil)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                let id = try await Self.unknownPayment(parts, shift, taps)
                charge.withLock { $0 = id }
                try await Self.save(Self.second, taps)
            }
            parts.bed.clock.advance(by: .seconds(700))
            parts.network.isUp = true
            try await open(parts) { shift, taps in
                let id = try #require(charge.withLock { $0 })
                let payment = try await shift.payment(id)
                try await shift.until("the new one is certified") { await shift.station.status.light == .ready }
                let start = parts.bed.clock.now
                try await shift.until("minutes have passed", within: .seconds(300), by: .milliseconds(100)) {
                    parts.bed.clock.now >= start + .seconds(200)
                }
                #expect(try await shift.state(id) == .unknown)
                #expect(try await shift.snapshot(id).reason?.action.contains("login") == true)
                #expect(try await Self.record(payment, as: Self.second, parts) == nil)
                try await Self.enter(Self.first, shift, taps)
                try await shift.until(id, is: .succeeded)
            }
        }
    }

    @Test func whatWasPaidToTheEarlierMerchantIsGivenBackByThatMerchantAlone() async throws {
        let parts = try twoShops()
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                try await Self.enter(Self.first, shift, taps)
                try await Self.phone(parts)
                let id = try await shift.charge()
                try await shift.until(id, is: .succeeded)
                let payment = try await shift.payment(id)
                try await Self.enter(Self.second, shift, taps)
                await #expect(throws: TakeBackRefusal.elsewhere) {
                    try await shift.desk.takeBack(id, by: shift.station)
                }
                #expect(try await Self.record(payment, as: Self.second, parts) == nil)
                try await Self.enter(Self.first, shift, taps)
                try await shift.desk.takeBack(id, by: shift.station)
                #expect(try await shift.snapshot(id).isGivenBack)
            }
        }
    }
}

/// The same with what the terminal keeps over a restart, beside the sandbox's own acquirer.
struct MerchantChangeTests {
    @Test func whatWasTakenOfflineIsToldAsTheMerchantItWasTakenFor() async throws {
        let bed = try TapTestBed { $0.offline.isAllowed = true }
        let charge = Mutex<ChargeID?>(nil)
        try await bed.play {
            try await bed.open { shift in
                let phone = try bed.phone("anna", voucher: 10_000)
                try await shift.until("anna has passes") { await bed.acquirer.passes >= 5 }
                try await shift.passes(.milliseconds(200))
                await phone.setOnline(false)
                await bed.acquirer.change { $0.reachesTerminal = false }
                await shift.station.note(online: false)
                let id = try await shift.charge(500)
                charge.withLock { $0 = id }
                try await shift.until("the promise is taken") { try await shift.snapshot(id).isPromised }
            }
            await bed.acquirer.change { ($0.merchant, $0.reachesTerminal) = ("m2", true) }
            try await bed.open { shift in
                try await shift.passes(.seconds(20))
                #expect(await bed.acquirer.uploads.isEmpty)
                #expect(await shift.station.status.notices.map(\.code) == ["offline_elsewhere"])
            }
            await bed.acquirer.change { $0.merchant = "m1" }
            try await bed.open { shift in
                let id = try #require(charge.withLock { $0 })
                try await shift.until(id, is: .succeeded)
            }
        }
    }

    /// Nobody could carry it out as the merchant that it names.
    @Test func anOpenRequestOfAnEarlierMerchantIsNotShownAfterAStart() async throws {
        let bed = try TapTestBed()
        let charge = Mutex<ChargeID?>(nil)
        try await bed.play {
            try await bed.open { shift in
                let id = try await shift.charge()
                charge.withLock { $0 = id }
                try await shift.until("it is offered") {
                    try await shift.snapshot(id).attempts.contains { $0.rail == .tap && $0.offer != nil }
                }
            }
            await bed.acquirer.change { $0.merchant = "m2" }
            try await bed.open { shift in
                try bed.phone("anna", user: TapTestBed.acceptsQuickly)
                let id = try #require(charge.withLock { $0 })
                try await shift.until("the charge is over") { try await shift.state(id).isFinal }
                #expect(try await shift.state(id) != .succeeded)
            }
        }
        #expect(await bed.acquirer.executions == 0)
    }
}
