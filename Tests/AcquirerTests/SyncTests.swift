import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

/// A phone with a voucher and the terminal that takes it, both without the acquirer.
private struct VoucherTestBed {
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
        var bed = try await VoucherTestBed()
        let bundle = try bed.spend()
        let answer = try await bed.sync(bundle)
        #expect(answer.verdict == .settled)
        #expect(try await bed.check(answer, bundle) == .completed)
        let again = try await bed.sync(bundle)
        #expect(again.verdict == .duplicate)
        #expect(again.receipt == answer.receipt)
        #expect(await bed.bench.moved() == (-100_00, 12_50))
        #expect(await bed.bench.balance(.hold(bed.hold.id)) == 87_50)
        #expect(try await bed.phone.client.preAuthorisations().map(\.spent) == [12_50])
    }

    @Test func anUploadIsAnsweredItemByItemInItsOrder() async throws {
        var bed = try await VoucherTestBed()
        let bundles = try [bed.spend(1_00), bed.spend(2_00), bed.spend(3_00)]
        // Newest first: what arrives in another order settles as well.
        let answers = try await bed.bench.shop.sync(bundles.reversed().map { .bundle($0) })
        #expect(answers.map(\.verdict) == [.settled, .settled, .settled])
        #expect(answers.map(\.acceptHash) == bundles.reversed().map(\.acceptHash))
        #expect(await bed.bench.moved().shop == 6_00)
    }

    @Test(arguments: [
        (86_400, SyncAnswer.Verdict.settled), (86_401, .late), (7 * 86_400, .late), (7 * 86_400 + 1, .expired),
    ])
    func howLateAnUploadMayBeIsCountedFromTheClaim(_ seconds: Int, _ verdict: SyncAnswer.Verdict) async throws {
        var bed = try await VoucherTestBed()
        let bundle = try bed.spend()
        bed.bench.clock.advance(by: .seconds(seconds))
        let answer = try await bed.sync(bundle)
        #expect(answer.verdict == verdict)
        #expect(answer.isPaid == (verdict != .expired))
        #expect(try await bed.check(answer, bundle) == (verdict == .expired ? .failed : .completed))
        #expect(await bed.bench.moved().shop == (verdict == .expired ? 0 : 12_50))
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
        var bed = try await VoucherTestBed()
        bed.bench.clock.advance(by: .seconds(3 * 86_400 + 601))
        let bundle = try bed.spend()
        let answer = try await bed.sync(bundle)
        #expect(answer.verdict == .expired)
        #expect(!answer.isPaid)
        #expect(await bed.bench.moved().shop == 0)
    }

    @Test func aTerminalThatDidNotKnowTheTimeIsJudgedByTheTimeOfItsUpload() async throws {
        var bed = try await VoucherTestBed()
        let bundles = try [bed.spend(), bed.spend()]
        bed.bench.clock.advance(by: .seconds(3 * 86_400 + 601))
        #expect(try await bed.sync(bundles[0], isClockSet: false).verdict == .expired)
        #expect(try await bed.sync(bundles[1]).verdict == .late)
    }

    @Test func aVoidedVoucherPaysWhatItHadPaidAndNothingMore() async throws {
        var bed = try await VoucherTestBed()
        let before = try bed.spend()
        bed.bench.clock.advance(by: .seconds(1))
        let voided = try await bed.phone.client.voidPreAuthorisation(bed.hold.id)
        #expect(voided.status == .voided)
        #expect(await bed.bench.moved() == (0, 0))
        #expect(try await bed.phone.client.voidPreAuthorisation(bed.hold.id) == voided)
        bed.bench.clock.advance(by: .seconds(1))
        let after = try bed.spend()
        let answers = try await bed.bench.shop.sync([.bundle(after), .bundle(before)])
        #expect(answers.map(\.verdict) == [.revoked, .settled])
        #expect(try await bed.check(answers[0], after) == .failed)
        #expect(await bed.bench.moved() == (-12_50, 12_50))
    }

    @Test func aDeniedTerminalIsPaidForWhatItClaimedBefore() async throws {
        var bed = try await VoucherTestBed()
        let before = try bed.spend()
        bed.bench.clock.advance(by: .seconds(1))
        try await bed.bench.control("POST", "deny", #"{"terminalId":"till-1"}"#)
        bed.bench.clock.advance(by: .seconds(1))
        let after = try bed.spend()
        let answers = try await bed.bench.shop.sync([.bundle(before), .bundle(after)])
        #expect(answers.map(\.verdict) == [.settled, .revoked])
        #expect(await bed.bench.moved().shop == 12_50)
    }

    // MARK: - Double spending

    @Test func moneySpentTwiceIsProvenAndTheMerchantPaidWithinTheLimit() async throws {
        var bed = try await VoucherTestBed()
        let second = try await BenchTerminal("till-22", bed.bench.shop, bed.bench.clock)
        let old = bed.chain
        let honest = try bed.spend(40_00)
        bed.chain = old  // A broken phone: its counter went back.
        let copied = try bed.spend(45_00, at: second)
        bed.chain = old
        let again = try bed.spend(30_00)
        #expect(try await bed.sync(honest).verdict == .settled)
        let conflict = try await bed.sync(copied)
        #expect(conflict.verdict == .conflict)
        #expect(conflict.isPaid)
        let evidence = conflict.evidence
        try #require(evidence.count == 2)
        #expect(DoubleSpendProof(evidence[0], evidence[1], pass: bed.hold.pass) != nil)
        // 40 and 45 of 100 are gone: 30 more is the merchant's loss.
        let loss = try await bed.sync(again)
        #expect(loss.verdict == .conflict)
        #expect(!loss.isPaid)
        #expect(loss.receipt?.payload.declineCode == DeclineCode.doubleSpend.rawValue)
        #expect(await bed.bench.moved() == (-100_00, 85_00))
    }

    @Test func aDeviceThatSpentTwiceGetsNoPassesAndItsVoucherIsVoid() async throws {
        var bed = try await VoucherTestBed()
        let old = bed.chain
        let honest = try bed.spend()
        bed.chain = old
        let copied = try bed.spend()
        _ = try await bed.bench.shop.sync([.bundle(honest), .bundle(copied)])
        #expect(try await bed.phone.client.preAuthorisations().map(\.status) == [.voided])
        let device = bed.phone.device.publicKey
        await #expect(throws: AcquirerError.refused(.init(code: .deviceBlocked))) {
            try await bed.phone.client.passes(for: device, count: 1)
        }
        await #expect(throws: AcquirerError.refused(.init(code: .deviceBlocked))) {
            try await bed.phone.hold(key: "hold-2")
        }
        // Each pass has a key of its own: another key is no other device.
        let fresh = try ES256Signer(scalar: [UInt8](repeating: 9, count: 32)).publicKey
        await #expect(throws: AcquirerError.refused(.init(code: .deviceBlocked))) {
            try await bed.phone.client.passes(for: fresh, count: 1)
        }
    }

    @Test func aRunningSumThatDoesNotGrowIsADoubleSpendToo() async throws {
        var bed = try await VoucherTestBed()
        let first = try bed.spend(40_00)
        var spend = try bed.chain.commit(total: 10_00, for: first.request.payload)
        spend.spentAfter = 10_00  // As if nothing had been spent before.
        let request = try bed.bench.terminal.request(10_00, flags: .vouchersTaken)
        let accept = PaymentAcceptance(
            accepting: request,
            instrumentID: "card-customer-demo",
            createdAtMilliseconds: bed.bench.clock.milliseconds,
            flags: [],
            nonce: Array(repeating: 1, count: 16),
            spend: spend
        )
        let signed = try Signed(signing: accept, with: bed.phone.device)
        let lie = try bed.bench.terminal.bundle(request, (signed, bed.hold.pass), mode: .offline)
        #expect(
            try await bed.bench.shop.sync([.bundle(first), .bundle(lie)]).map(\.verdict) == [.settled, .conflict]
        )
    }

    // MARK: - Crossing

    @Test func aVoidThatReachesTheAcquirerFirstCancelsTheSpend() async throws {
        var bed = try await VoucherTestBed()
        let bundle = try bed.spend()
        #expect(try await !bed.bench.shop.void(bundle.paymentID).gaveBack)
        let answer = try await bed.sync(bundle)
        #expect(answer.verdict == .cancelled)
        #expect(try await bed.check(answer, bundle) == .cancelled)
        #expect(try await bed.phone.client.sync([.accept(bundle.accept)])[0].verdict == .cancelled)
        #expect(await bed.bench.moved().shop == 0)
    }

    @Test func aPhoneThatTellsFirstWaitsForTheTerminal() async throws {
        var bed = try await VoucherTestBed()
        let bundle = try bed.spend()
        _ = try await bed.bench.shop.announce(bundle.request, of: bundle.certificate)
        let item = SyncItem.accept(bundle.accept)
        #expect(try await bed.phone.client.sync([item]).map(\.verdict) == [.waiting])
        #expect(try await bed.phone.client.payment(bundle.paymentID)?.word == .acceptedOffline)
        _ = try await bed.sync(bundle)
        let answer = try await bed.phone.client.sync([item])[0]
        #expect(answer.isPaid)
        #expect(try await bed.check(answer, bundle) == .completed)
        #expect(try await bed.phone.client.payment(bundle.paymentID)?.word == .completed)
    }

    @Test func aSpendThatNoTerminalEverToldOfIsReleasedAfterTheWindow() async throws {
        var bed = try await VoucherTestBed()
        let bundle = try bed.spend()
        bed.bench.clock.advance(by: .seconds(7 * 86_400 + 1))
        let answer = try await bed.phone.client.sync([.accept(bundle.accept)])[0]
        #expect(answer.verdict == .expired)
        #expect(!answer.isPaid)
    }

    @Test func whatIsLeftOfAHoldComesBackWhenNothingCanBeSettledAnyMore() async throws {
        var bed = try await VoucherTestBed()
        let bundle = try bed.spend()
        _ = try await bed.sync(bundle)
        bed.bench.clock.advance(by: .seconds(3 * 86_400))
        #expect(try await bed.phone.client.preAuthorisations().map(\.status) == [.expired])
        #expect(await bed.bench.moved() == (-100_00, 12_50))
        bed.bench.clock.advance(by: .seconds(7 * 86_400 + 600))
        _ = try await bed.phone.client.preAuthorisations()
        #expect(await bed.bench.moved() == (-12_50, 12_50))
    }

    @Test func aBundleThatIsNotSoundIsRefusedAndItsNeighboursSettle() async throws {
        var bed = try await VoucherTestBed()
        let (good, other) = try (bed.spend(), bed.spend())
        let broken = ExecutionBundle(
            certificate: other.certificate,
            request: other.request,
            pass: other.pass,
            accept: other.accept,
            claim: good.claim
        )
        let answers = try await bed.bench.shop.sync([.bundle(broken), .bundle(good)])
        #expect(answers.map(\.verdict) == [.refused, .settled])
        #expect(answers[0].detail == "claim")
        // The refusal of what somebody made up does not stand in the way of the real one.
        #expect(try await bed.sync(other).verdict == .settled)
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
