import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

struct ExecutingTests {
    @Test func anAcceptedPaymentMovesItsTotalOnceAndEndsWithASignedReceipt() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request(25_50)
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request, tip: 2_55))
        let answer = try await bench.shop.execute(bundle)
        #expect(try await answer.end(bundle, bench) == .completed)
        guard case .ended(let receipt) = answer else { return }
        #expect(receipt.payload.total == 28_05)
        #expect(receipt.payload.instrument == "VISA ···· 4242")
        #expect(receipt.payload.transactionID != nil)
        #expect(await bench.moved() == (-28_05, 28_05))
    }

    @Test func terminalAndPhoneHandInTheSameBundleAndItIsExecutedOnce() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
        async let one = bench.shop.execute(bundle)
        async let other = phone.client.execute(bundle)
        let answers = try await [one, other, bench.shop.execute(bundle)]
        #expect(Set(answers.map { "\($0)" }).count == 1)
        #expect(await bench.moved() == (-12_50, 12_50))
    }

    @Test func aBundleTravelsAndComesBackUnchanged() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        #expect(try ExecutionBundle(decoding: bundle.encoded) == bundle)
        #expect(throws: MalformedObject.self) { try ExecutionBundle(decoding: bundle.encoded + [0]) }
    }

    // MARK: - Rule R5

    @Test func aSecondAcceptOfAPaidPaymentIsRefusedForGood() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let first = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        _ = try await bench.shop.execute(first)
        let second = try bench.terminal.bundle(
            request,
            try await bench.phone("ben@example.com", "ben-password").accept(request),
            attempt: 2
        )
        await #expect(throws: AcquirerError.refused(.init(code: .paymentClosed))) {
            try await bench.shop.execute(second)
        }
        #expect(await bench.moved() == (-12_50, 12_50))
        #expect(await bench.balance(.instrument("card-ben")) == 1_000_000)
    }

    @Test func afterADeclineAHigherAttemptOfAnotherAcceptIsExecuted() async throws {
        let bench = try await AcquirerBench()
        try await bench.control("POST", "balance", #"{"instrumentId":"card-ben","currency":"EUR","amount":100}"#)
        let request = try bench.terminal.request()
        let ben = try await bench.phone("ben@example.com", "ben-password")
        let poor = try bench.terminal.bundle(request, try await ben.accept(request))
        let declined = try await bench.shop.execute(poor)
        #expect(try await declined.end(poor, bench) == .failed)
        guard case .ended(let receipt) = declined else { return }
        #expect(receipt.payload.declineCode == DeclineCode.insufficientFunds.rawValue)
        let accepted = try await bench.phone().accept(request)
        let low = try bench.terminal.bundle(request, accepted, attempt: 1)
        await #expect(throws: AcquirerError.refused(.init(code: .attemptTooLow))) { try await bench.shop.execute(low) }
        let high = try bench.terminal.bundle(request, accepted, attempt: 2)
        #expect(try await bench.shop.execute(high).end(high, bench) == .completed)
        // The first accept stays declined, whatever happened since.
        #expect(try await bench.shop.execute(poor) == declined)
        #expect(await bench.moved() == (-12_50, 12_50))
    }

    @Test func whileOneAcceptIsInProgressAnotherHasToWait() async throws {
        let bench = try await AcquirerBench { $0.settleAfter = nil }
        let request = try bench.terminal.request()
        let first = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        #expect(try await bench.shop.execute(first) == .inProgress(askAgainAfter: .milliseconds(500)))
        #expect(try await bench.shop.payment(first.paymentID)?.word == .inProgress)
        let ben = try await bench.phone("ben@example.com", "ben-password")
        let second = try bench.terminal.bundle(request, try await ben.accept(request), attempt: 2)
        await #expect(throws: AcquirerError.notNow(.init(code: .paymentBusy), retryAfter: .seconds(1))) {
            try await bench.shop.execute(second)
        }
        await #expect(throws: AcquirerError.notNow(.init(code: .paymentBusy), retryAfter: .seconds(1))) {
            try await bench.shop.void(first.paymentID)
        }
        try await bench.control("POST", "settle")
        #expect(try await bench.shop.execute(first).end(first, bench) == .completed)
        #expect(await bench.moved() == (-12_50, 12_50))
        #expect(await bench.balance(.clearing) == 0)
    }

    @Test func aPaymentThatTakesItsTimeEndsByItselfAndAStuckOneDoesNot() async throws {
        let bench = try await AcquirerBench { $0.settleAfter = .seconds(2) }
        try await bench.fault("execute:outcome=stuck,amount=1340")
        let phone = try await bench.phone()
        var bundles: [ExecutionBundle] = []
        for amount in [12_50, 13_40] {
            let request = try bench.terminal.request(amount)
            bundles.append(try bench.terminal.bundle(request, try await phone.accept(request)))
            #expect(
                try await bench.shop.execute(bundles[bundles.count - 1])
                    == .inProgress(askAgainAfter: .milliseconds(500))
            )
        }
        bench.clock.advance(by: .seconds(3600))
        #expect(try await bench.shop.payment(bundles[0].paymentID)?.word == .completed)
        #expect(try await bench.shop.payment(bundles[1].paymentID)?.word == .inProgress)
    }

    @Test func twoTerminalsThatNameTheirPaymentsAlikeDoNotShareOne() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let request = try bench.terminal.request()
        let other = try bench.terminal.request(99_00, named: request.payload.paymentID)
        let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
        _ = try await bench.shop.execute(bundle)
        let changed = try bench.terminal.bundle(other, try await phone.accept(other), attempt: 2)
        await #expect(throws: AcquirerError.refused(.init(code: .paymentChanged))) {
            try await bench.shop.execute(changed)
        }
    }

    // MARK: - Ten minutes

    @Test(arguments: [(600, TapProtocol.PaymentStatus.completed), (601, .failed)])
    func aBundleIsExecutedUpToTenMinutesAfterItsClaim(
        _ seconds: Int,
        _ status: TapProtocol.PaymentStatus
    ) async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        bench.clock.advance(by: .seconds(seconds))
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == status)
        // A phone gives up ten minutes after the request ends: a claim dated later must not outlive that.
        #expect(await bench.moved().shop == (status == .completed ? 12_50 : 0))
    }

    @Test func aClaimDatedAfterTheRequestsEndBuysNoTime() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let late = bench.clock.milliseconds + 3_600_000
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request), claimedAt: late)
        bench.clock.advance(by: .seconds(721))
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .failed)
    }

    // MARK: - Passes

    @Test func anOnlinePassPaysOnePaymentOnly() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let pass = try await phone.client.passes(for: phone.device.publicKey, count: 1)[0]
        for (place, status) in [TapProtocol.PaymentStatus.completed, .failed].enumerated() {
            let request = try bench.terminal.request(100 + place)
            let bundle = try bench.terminal.bundle(request, try await phone.accept(request, pass: pass))
            #expect(try await bench.shop.execute(bundle).end(bundle, bench) == status)
        }
        #expect(await bench.moved() == (-100, 100))
    }

    @Test func anotherCustomersInstrumentPaysNothing() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request, instrument: "card-ben"))
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .failed)
        #expect(await bench.balance(.instrument("card-ben")) == 1_000_000)
    }
}
