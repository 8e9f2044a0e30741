import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

/// A phone with a voucher and the terminal that takes it, both without the acquirer.
private struct Counter {
    let bench: AcquirerBench
    let phone: BenchPhone
    let hold: PreAuthorisation
    var chain: VoucherChain

    init(_ amount: Int = 100_00, _ configure: (inout AcquirerConfiguration) -> Void = { _ in }) async throws {
        bench = try await AcquirerBench(configure)
        phone = try await bench.phone()
        hold = try await phone.hold(amount)
        chain = VoucherChain(pass: hold.pass)
    }

    mutating func spend(_ amount: Int = 12_50, at terminal: BenchTerminal? = nil) throws -> ExecutionBundle {
        let terminal = terminal ?? bench.terminal
        let request = try terminal.request(amount, flags: .vouchersTaken)
        return try terminal.bundle(request, try phone.spend(request, &chain), mode: .offline)
    }

    func sync(_ bundle: ExecutionBundle, isClockSet: Bool = true) async throws -> SyncAnswer {
        try await bench.shop.sync([.bundle(bundle, isClockSet: isClockSet)])[0]
    }

    func check(_ answer: SyncAnswer, _ bundle: ExecutionBundle) async throws -> TapProtocol.PaymentStatus {
        try bundle.receiptCheck(trusting: await bench.keys).check(answer.receipt, status: nil)
    }
}

struct SyncTests {
    @Test func aVoucherTakenOfflineIsSettledOnceFromTheHeldMoney() async throws {
        var counter = try await Counter()
        let bundle = try counter.spend()
        let answer = try await counter.sync(bundle)
        #expect(answer.verdict == .settled)
        #expect(try await counter.check(answer, bundle) == .completed)
        let again = try await counter.sync(bundle)
        #expect(again.verdict == .duplicate)
        #expect(again.receipt == answer.receipt)
        #expect(await counter.bench.moved() == (-100_00, 12_50))
        #expect(await counter.bench.balance(.hold(counter.hold.id)) == 87_50)
        #expect(try await counter.phone.client.preAuthorisations().map(\.spent) == [12_50])
    }

    @Test func anUploadIsAnsweredItemByItemInItsOrder() async throws {
        var counter = try await Counter()
        let bundles = try [counter.spend(1_00), counter.spend(2_00), counter.spend(3_00)]
        // Newest first: what arrives in another order settles as well.
        let answers = try await counter.bench.shop.sync(bundles.reversed().map { .bundle($0) })
        #expect(answers.map(\.verdict) == [.settled, .settled, .settled])
        #expect(answers.map(\.acceptHash) == bundles.reversed().map(\.acceptHash))
        #expect(await counter.bench.moved().shop == 6_00)
    }

    @Test(arguments: [
        (86_400, SyncAnswer.Verdict.settled), (86_401, .late), (7 * 86_400, .late), (7 * 86_400 + 1, .expired),
    ])
    func howLateAnUploadMayBeIsCountedFromTheClaim(_ seconds: Int, _ verdict: SyncAnswer.Verdict) async throws {
        var counter = try await Counter()
        let bundle = try counter.spend()
        counter.bench.clock.advance(by: .seconds(seconds))
        let answer = try await counter.sync(bundle)
        #expect(answer.verdict == verdict)
        #expect(answer.isPaid == (verdict != .expired))
        #expect(try await counter.check(answer, bundle) == (verdict == .expired ? .failed : .completed))
        #expect(await counter.bench.moved().shop == (verdict == .expired ? 0 : 12_50))
    }

    @Test func anOnlineClaimThatNobodyHandedInInTimeIsExpired() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let bundles = try await [601, 0].asyncMap { wait in
            let request = try bench.terminal.request()
            let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
            bench.clock.advance(by: .seconds(wait))
            return bundle
        }
        let answers = try await bench.shop.sync(bundles.map { .bundle($0) })
        #expect(answers.map(\.verdict) == [.expired, .settled])
        #expect(answers.map(\.isPaid) == [false, true])
    }

    @Test func aVoucherThatHadEndedBeforeTheClaimIsExpired() async throws {
        var counter = try await Counter()
        counter.bench.clock.advance(by: .seconds(3 * 86_400 + 601))
        let bundle = try counter.spend()
        let answer = try await counter.sync(bundle)
        #expect(answer.verdict == .expired)
        #expect(!answer.isPaid)
        #expect(await counter.bench.moved().shop == 0)
    }

    @Test func aTerminalThatDidNotKnowTheTimeIsJudgedByTheTimeOfItsUpload() async throws {
        var counter = try await Counter()
        let bundles = try [counter.spend(), counter.spend()]
        counter.bench.clock.advance(by: .seconds(3 * 86_400 + 601))
        #expect(try await counter.sync(bundles[0], isClockSet: false).verdict == .expired)
        #expect(try await counter.sync(bundles[1]).verdict == .late)
    }

    @Test func aVoidedVoucherPaysWhatItHadPaidAndNothingMore() async throws {
        var counter = try await Counter()
        let before = try counter.spend()
        counter.bench.clock.advance(by: .seconds(1))
        let voided = try await counter.phone.client.voidPreAuthorisation(counter.hold.id)
        #expect(voided.status == .voided)
        #expect(await counter.bench.moved() == (0, 0))
        #expect(try await counter.phone.client.voidPreAuthorisation(counter.hold.id) == voided)
        counter.bench.clock.advance(by: .seconds(1))
        let after = try counter.spend()
        let answers = try await counter.bench.shop.sync([.bundle(after), .bundle(before)])
        #expect(answers.map(\.verdict) == [.revoked, .settled])
        #expect(try await counter.check(answers[0], after) == .failed)
        #expect(await counter.bench.moved() == (-12_50, 12_50))
    }

    @Test func aDeniedTerminalIsPaidForWhatItClaimedBefore() async throws {
        var counter = try await Counter()
        let before = try counter.spend()
        counter.bench.clock.advance(by: .seconds(1))
        try await counter.bench.control("POST", "deny", #"{"terminalId":"till-1"}"#)
        counter.bench.clock.advance(by: .seconds(1))
        let after = try counter.spend()
        let answers = try await counter.bench.shop.sync([.bundle(before), .bundle(after)])
        #expect(answers.map(\.verdict) == [.settled, .revoked])
        #expect(await counter.bench.moved().shop == 12_50)
    }

    // MARK: - Double spending

    @Test func moneySpentTwiceIsProvenAndTheMerchantPaidWithinTheLimit() async throws {
        var counter = try await Counter()
        let second = try await BenchTerminal("till-22", counter.bench.shop, counter.bench.clock)
        let old = counter.chain
        let honest = try counter.spend(40_00)
        counter.chain = old  // A broken phone: its counter went back.
        let copied = try counter.spend(45_00, at: second)
        counter.chain = old
        let again = try counter.spend(30_00)
        #expect(try await counter.sync(honest).verdict == .settled)
        let conflict = try await counter.sync(copied)
        #expect(conflict.verdict == .conflict)
        #expect(conflict.isPaid)
        let evidence = conflict.evidence
        #expect(evidence.count == 2)
        #expect(DoubleSpendProof(evidence[0], evidence[1], pass: counter.hold.pass) != nil)
        // 40 and 45 of 100 are gone: 30 more is the merchant's loss.
        let loss = try await counter.sync(again)
        #expect(loss.verdict == .conflict)
        #expect(!loss.isPaid)
        #expect(loss.receipt?.payload.declineCode == DeclineCode.doubleSpend.rawValue)
        #expect(await counter.bench.moved() == (-100_00, 85_00))
    }

    @Test func aDeviceThatSpentTwiceGetsNoPassesAndItsVoucherIsVoid() async throws {
        var counter = try await Counter()
        let old = counter.chain
        let honest = try counter.spend()
        counter.chain = old
        let copied = try counter.spend()
        _ = try await counter.bench.shop.sync([.bundle(honest), .bundle(copied)])
        #expect(try await counter.phone.client.preAuthorisations().map(\.status) == [.voided])
        let device = counter.phone.device.publicKey
        await #expect(throws: AcquirerError.refused(.init(code: .deviceBlocked))) {
            try await counter.phone.client.passes(for: device, count: 1)
        }
        await #expect(throws: AcquirerError.refused(.init(code: .deviceBlocked))) {
            try await counter.phone.hold(key: "hold-2")
        }
    }

    @Test func aRunningSumThatDoesNotGrowIsADoubleSpendToo() async throws {
        var counter = try await Counter()
        let first = try counter.spend(40_00)
        var spend = try counter.chain.commit(total: 10_00, for: first.request.payload)
        spend.spentAfter = 10_00  // As if nothing had been spent before.
        let request = try counter.bench.terminal.request(10_00, flags: .vouchersTaken)
        let accept = PaymentAcceptance(
            accepting: request,
            instrumentID: "card-customer-demo",
            createdAtMilliseconds: counter.bench.clock.milliseconds,
            flags: [],
            nonce: Array(repeating: 1, count: 16),
            spend: spend
        )
        let signed = try Signed(signing: accept, with: counter.phone.device)
        let lie = try counter.bench.terminal.bundle(request, (signed, counter.hold.pass), mode: .offline)
        #expect(
            try await counter.bench.shop.sync([.bundle(first), .bundle(lie)]).map(\.verdict) == [.settled, .conflict]
        )
    }

    // MARK: - Crossing

    @Test func aVoidThatReachesTheAcquirerFirstCancelsTheSpend() async throws {
        var counter = try await Counter()
        let bundle = try counter.spend()
        #expect(try await !counter.bench.shop.void(bundle.paymentID).gaveBack)
        let answer = try await counter.sync(bundle)
        #expect(answer.verdict == .cancelled)
        #expect(try await counter.check(answer, bundle) == .cancelled)
        #expect(try await counter.phone.client.sync([.accept(bundle.accept)])[0].verdict == .cancelled)
        #expect(await counter.bench.moved().shop == 0)
    }

    @Test func aPhoneThatTellsFirstWaitsForTheTerminal() async throws {
        var counter = try await Counter()
        let bundle = try counter.spend()
        _ = try await counter.bench.shop.announce(bundle.request, of: bundle.certificate)
        let item = SyncItem.accept(bundle.accept)
        #expect(try await counter.phone.client.sync([item]).map(\.verdict) == [.waiting])
        #expect(try await counter.phone.client.payment(bundle.paymentID)?.word == .acceptedOffline)
        _ = try await counter.sync(bundle)
        let answer = try await counter.phone.client.sync([item])[0]
        #expect(answer.isPaid)
        #expect(try await counter.check(answer, bundle) == .completed)
        #expect(try await counter.phone.client.payment(bundle.paymentID)?.word == .completed)
    }

    @Test func aSpendThatNoTerminalEverToldOfIsReleasedAfterTheWindow() async throws {
        var counter = try await Counter()
        let bundle = try counter.spend()
        counter.bench.clock.advance(by: .seconds(7 * 86_400 + 1))
        let answer = try await counter.phone.client.sync([.accept(bundle.accept)])[0]
        #expect(answer.verdict == .expired)
        #expect(!answer.isPaid)
    }

    @Test func whatIsLeftOfAHoldComesBackWhenNothingCanBeSettledAnyMore() async throws {
        var counter = try await Counter()
        let bundle = try counter.spend()
        _ = try await counter.sync(bundle)
        counter.bench.clock.advance(by: .seconds(3 * 86_400))
        #expect(try await counter.phone.client.preAuthorisations().map(\.status) == [.expired])
        #expect(await counter.bench.moved() == (-100_00, 12_50))
        counter.bench.clock.advance(by: .seconds(7 * 86_400 + 600))
        _ = try await counter.phone.client.preAuthorisations()
        #expect(await counter.bench.moved() == (-12_50, 12_50))
    }

    @Test func aBundleThatIsNotSoundIsRefusedAndItsNeighboursSettle() async throws {
        var counter = try await Counter()
        let (good, other) = try (counter.spend(), counter.spend())
        let broken = ExecutionBundle(
            certificate: other.certificate,
            request: other.request,
            pass: other.pass,
            accept: other.accept,
            claim: good.claim
        )
        let answers = try await counter.bench.shop.sync([.bundle(broken), .bundle(good)])
        #expect(answers.map(\.verdict) == [.refused, .settled])
        #expect(answers[0].detail == "claim")
        // The refusal of what somebody made up does not stand in the way of the real one.
        #expect(try await counter.sync(other).verdict == .settled)
    }

    @Test func anUploadOfNothingOrOfTooMuchIsNotSent() async throws {
        let bench = try await AcquirerBench()
        await #expect(throws: AcquirerError.invalid(field: "items", message: "1 to 32 at once")) {
            try await bench.shop.sync([])
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
