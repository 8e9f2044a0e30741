import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

struct VoidingTests {
    @Test func aVoidedPaymentGivesTheMoneyBackOnceAndStaysVoid() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request, tip: 1_00))
        _ = try await bench.shop.execute(bundle)
        let answers = try await [bench.shop.void(bundle.paymentID), bench.shop.void(bundle.paymentID)]
        #expect(answers[0] == answers[1])
        #expect(answers[0].gaveBack)
        let receipt = try #require(answers[0].receipt)
        let status = try bundle.receiptCheck(trusting: await bench.keys).check(receipt, status: .cancelled)
        #expect(status == .cancelled)
        #expect(await bench.moved() == (0, 0))
        let late = try bench.terminal.bundle(request, try await bench.phone().accept(request), attempt: 2)
        #expect(try await bench.shop.execute(late).end(late, bench) == .cancelled)
        #expect(try await bench.shop.payment(bundle.paymentID)?.receipt == receipt)
        // Who still asks about the execution hears how it stands now.
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .cancelled)
        #expect(await bench.moved() == (0, 0))
    }

    @Test func aVoidThatComesFirstClosesTheNameForEveryBundle() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
        let answer = try await bench.shop.void(bundle.paymentID)
        #expect(!answer.gaveBack)
        #expect(answer.receipt == nil)
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .cancelled)
        let other = try bench.terminal.bundle(request, try await phone.accept(request), attempt: 2)
        #expect(try await phone.client.execute(other).end(other, bench) == .cancelled)
        #expect(try await bench.shop.payment(bundle.paymentID)?.word == .cancelled)
        #expect(await bench.moved() == (0, 0))
        #expect(try await !bench.shop.void(bundle.paymentID).gaveBack)
    }

    @Test func whereVoidAndBundleCrossTheMoneyEndsWithTheCustomer() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        for _ in 0..<20 {
            let request = try bench.terminal.request()
            let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
            async let executed = bench.shop.execute(bundle)
            async let voided = bench.shop.void(bundle.paymentID)
            _ = try await (executed, voided)
            #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .cancelled)
            #expect(await bench.moved() == (0, 0))
        }
    }

    @Test func anotherMerchantsVoidTouchesNothing() async throws {
        let bench = try await AcquirerBench {
            $0.merchants.append(
                .init(id: "rival", name: "Rival", email: "rival@example.com", password: "rival-password")
            )
        }
        var rival = bench.shop
        rival.session = nil
        rival.session = try await rival.logIn(identifier: "rival@example.com", password: Secret("rival-password")).token
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        #expect(try await !rival.void(bundle.paymentID).gaveBack)
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .completed)
        #expect(try await !rival.void(bundle.paymentID).gaveBack)
        #expect(await bench.moved() == (-12_50, 12_50))
        #expect(try await rival.payments().payments.map(\.merchantID) == ["rival"])
    }

    @Test func aDeclinedPaymentCanBeClosedSoThatNoLaterAttemptPays() async throws {
        let bench = try await AcquirerBench()
        try await bench.fault("execute:outcome=failed,times=1")
        let phone = try await bench.phone()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .failed)
        #expect(try await !bench.shop.void(bundle.paymentID).gaveBack)
        // Whoever asks is not shown the decline any more: it would invite another attempt.
        let record = try await bench.shop.payment(bundle.paymentID)
        #expect(record?.word == .cancelled)
        #expect(record?.receipt == nil)
        let again = try bench.terminal.bundle(request, try await phone.accept(request), attempt: 2)
        #expect(try await bench.shop.execute(again).end(again, bench) == .cancelled)
        #expect(await bench.moved() == (0, 0))
    }
}
