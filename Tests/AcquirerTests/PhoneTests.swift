import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

struct PhoneTests {
    @Test func aPhoneIsGivenInstrumentsAndPassesOfItsOwnDevice() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let instruments = try await phone.client.instruments()
        #expect(instruments.map(\.kind) == [.card, .bankAccount, .mobileMoney])
        #expect(instruments.map(\.isPreAuthorisable) == [true, true, false])
        let passes = try await phone.client.passes(for: phone.device.publicKey, count: 5)
        #expect(Set(passes.map(\.payload.passID)).count == 5)
        let keys = try await phone.client.keys().trusted
        for pass in passes {
            try pass.verify(try #require(keys.key(issuer: pass.payload.issuer, keyID: pass.envelope.keyID)))
            #expect(pass.payload.notAfterSeconds - pass.payload.notBeforeSeconds == 86_400)
        }
    }

    @Test func holdingMoneyIsDoneOnceForOneKeyAndMakesAVoucherWithinTheUsualLimits() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let hold = try await phone.hold(80_00)
        #expect(try await phone.hold(80_00) == hold)
        #expect(await bench.moved().card == -80_00)
        #expect(hold.status == .available)
        let voucher = try #require(hold.pass.payload.voucher)
        #expect(voucher.limitTotal == 80_00)
        #expect(voucher.limitPerPayment == 50_00)
        #expect(voucher.maximumCount == 10)
        #expect(hold.expiresAtSeconds - bench.clock.seconds == 3 * 86_400)
    }

    @Test(arguments: [
        ("card-customer-demo", 100_01, AcquirerRefusal.Code.notPreAuthorisable),
        ("mobile-customer-demo", 10_00, .notPreAuthorisable), ("card-ben", 10_00, .instrumentNotFound),
        ("bank-customer-demo", 10_00, .insufficientFunds),
    ])
    func whatCannotBeHeldIsRefusedByName(
        _ instrument: String,
        _ amount: Int,
        _ code: AcquirerRefusal.Code
    ) async throws {
        let bench = try await AcquirerBench()
        try await bench.control(
            "POST",
            "balance",
            #"{"instrumentId":"bank-customer-demo","currency":"EUR","amount":999}"#
        )
        let phone = try await bench.phone()
        let order = PreAuthorisationOrder(
            instrumentID: instrument,
            amount: amount,
            currency: "EUR",
            exponent: 2,
            deviceKey: phone.device.publicKey
        )
        await #expect(throws: AcquirerError.refused(.init(code: code))) {
            try await phone.client.preAuthorise(order, idempotencyKey: "k")
        }
    }

    @Test func aDeviceHasOneVoucherInACurrencyUntilItIsVoid() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let hold = try await phone.hold(10_00)
        await #expect(throws: AcquirerError.refused(.init(code: .voucherExists))) {
            try await phone.hold(10_00, key: "other")
        }
        _ = try await phone.client.voidPreAuthorisation(hold.id)
        #expect(try await phone.hold(10_00, key: "other").status == .available)
        #expect(try await phone.client.preAuthorisations().map(\.status) == [.available, .voided])
    }

    @Test func nobodyTouchesAnotherCustomersHold() async throws {
        let bench = try await AcquirerBench()
        let hold = try await bench.phone().hold(10_00)
        let ben = try await bench.phone("ben@example.com", "ben-password")
        await #expect(throws: AcquirerError.refused(.init(code: .preAuthorisationNotFound))) {
            try await ben.client.voidPreAuthorisation(hold.id)
        }
        #expect(try await ben.client.preAuthorisations().isEmpty)
    }

    @Test func anOnlinePhoneComparesTheAnnouncedPaymentBeforeItPays() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let request = try bench.terminal.request(25_50)
        #expect(try await phone.client.payment(request.payload.paymentID) == nil)
        let made = try await bench.shop.announce(request, of: bench.terminal.certificate)
        #expect(made.word == .initiated)
        let seen = try #require(try await phone.client.payment(request.payload.paymentID))
        #expect(seen.amount == 25_50)
        #expect(seen.merchantID == "merchant-demo")
        #expect(try await bench.shop.announce(request, of: bench.terminal.certificate) == made)
        let other = try bench.terminal.request(1_00, named: request.payload.paymentID)
        await #expect(throws: AcquirerError.refused(.init(code: .paymentChanged))) {
            try await bench.shop.announce(other, of: bench.terminal.certificate)
        }
    }

    @Test func paymentsAreListedPageByPageTheNewestFirstForWhoHasToDoWithThem() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        for amount in 1...5 {
            let request = try bench.terminal.request(amount)
            let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
            _ = try await bench.shop.execute(bundle)
        }
        _ = try await bench.shop.announce(try bench.terminal.request(6), of: bench.terminal.certificate)
        let first = try await bench.shop.payments(limit: 4)
        #expect(first.payments.map(\.amount) == [6, 5, 4, 3])
        #expect(first.payments.map(\.word) == [.initiated, .completed, .completed, .completed])
        #expect(first.payments[1].attempts.map(\.number) == [1])
        let second = try await bench.shop.payments(after: first.nextCursor, limit: 4)
        #expect(second.payments.map(\.amount) == [2, 1])
        #expect(second.nextCursor == nil)
        #expect(try await bench.shop.payments([.initiated]).payments.map(\.amount) == [6])
        #expect(try await phone.client.payments().payments.map(\.amount) == [5, 4, 3, 2, 1])
        let ben = try await bench.phone("ben@example.com", "ben-password")
        #expect(try await ben.client.payments().payments.isEmpty)
    }
}
