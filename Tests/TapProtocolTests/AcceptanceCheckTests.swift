import TapProtocol
import Testing

struct AcceptanceCheckTests {
    let example: PublishedExample
    let now = PublishedExample.now + 10_000
    init() throws { example = try PublishedExample() }

    private var book: VoucherBook {
        VoucherBook(floor: 5000, merchantLimit: 20_000, lastOnlineMilliseconds: PublishedExample.now, isClockSet: true)
    }

    private func check(_ rules: (inout AcceptanceCheck) -> Void = { _ in }) -> AcceptanceCheck {
        var check = AcceptanceCheck(
            trusted: example.trusted,
            request: example.request,
            maximumTotal: 100_000,
            isOpen: true,
            isTerminalOnline: true,
            vouchers: book
        )
        rules(&check)
        return check
    }

    private func refusal(
        _ change: (inout PaymentAcceptance) -> Void = { _ in },
        pass changePass: (inout PaymentPass) -> Void = { _ in },
        isVoucher: Bool = false,
        passSigner: Ed25519Signer? = nil,
        deviceSigner: ES256Signer? = nil,
        nowMilliseconds: Int? = nil,
        rules: (inout AcceptanceCheck) -> Void = { _ in }
    ) throws -> AcceptanceRefusal? {
        var pass = (isVoucher ? example.voucherPass : example.pass).payload
        changePass(&pass)
        let signedPass = try Signed(signing: pass, with: passSigner ?? example.gatewaySigner)
        var accept = (isVoucher ? example.voucherAccept : example.accept).payload
        if isVoucher { accept.spend?.previousHash = signedPass.hash }
        change(&accept)
        let signed = try Signed(signing: accept, with: deviceSigner ?? example.deviceSigner)
        do throws(AcceptanceRefusal) {
            _ = try check(rules).check(signed, pass: signedPass, nowMilliseconds: nowMilliseconds ?? now)
            return nil
        } catch {
            return error
        }
    }

    private func code(_ refusal: AcceptanceRefusal?, _ check: AcceptanceCheckNumber) -> TapErrorCode? {
        #expect(refusal?.check == check)
        return refusal?.code
    }

    @Test func thePublishedAcceptsPass() throws {
        #expect(try check().check(example.accept, pass: example.pass, nowMilliseconds: now) == .online)
        #expect(try check().check(example.voucherAccept, pass: example.voucherPass, nowMilliseconds: now) == .online)
        #expect(
            try check { $0.isTerminalOnline = false }
                .check(example.voucherAccept, pass: example.voucherPass, nowMilliseconds: now) == .offline
        )
        #expect(
            try check { $0.isTerminalOnline = false }.check(example.accept, pass: example.pass, nowMilliseconds: now)
                == .online
        )
    }

    @Test func a1TakesPassesOfTrustedGatewaysInTime() throws {
        let rogue = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: Array("gw01".utf8))
        #expect(code(try refusal(passSigner: rogue), .a1) == .passInvalid)
        #expect(code(try refusal(pass: { $0.issuer = "other.example" }), .a1) == .passInvalid)
        let end = example.pass.payload.notAfterSeconds * 1000
        #expect(try refusal(nowMilliseconds: end + 600_000) == nil)
        #expect(code(try refusal(nowMilliseconds: end + 600_001), .a1) == .passInvalid)
        let voucherEnd = example.voucherPass.payload.notAfterSeconds * 1000
        #expect(code(try refusal(isVoucher: true, nowMilliseconds: voucherEnd + 600_001), .a1) == .voucherExpired)
    }

    /// Nobody would settle it. With nobody online the pass is all that the terminal has.
    @Test func a1TakesNoVoucherThatNoTrustedGatewayIssued() throws {
        let rogue = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: Array("gw01".utf8))
        for isTerminalOnline in [true, false] {
            let forged = try refusal(
                isVoucher: true,
                passSigner: rogue,
                rules: { $0.isTerminalOnline = isTerminalOnline }
            )
            #expect(code(forged, .a1) == .passInvalid)
            let foreign = try refusal(
                pass: { $0.issuer = "other.example" },
                isVoucher: true,
                rules: { $0.isTerminalOnline = isTerminalOnline }
            )
            #expect(code(foreign, .a1) == .passInvalid)
        }
    }

    @Test func a2TakesTheDeviceOfThePassOnly() throws {
        let rogue = try ES256Signer(scalar: [UInt8](repeating: 7, count: 32))
        #expect(code(try refusal(deviceSigner: rogue), .a2) == .acceptSignatureInvalid)
    }

    @Test func a3ToA5TieTheAcceptToTheRequest() throws {
        let other = example.claim.hash
        #expect(code(try refusal({ $0.requestHash = other }), .a3) == .notThisRequest)
        #expect(
            code(
                try refusal({
                    $0.amount = 2549; $0.total = 2804
                }),
                .a4
            ) == .amountMismatch
        )
        #expect(code(try refusal({ $0.currency = "EUR" }), .a4) == .amountMismatch)
        #expect(code(try refusal({ $0.total = 2804 }), .a5) == .amountMismatch)
    }

    @Test func a6KeepsTheTipAndTheTotalInTheirLimits() throws {
        #expect(
            try refusal({
                $0.tip = 1000; $0.total = 3550
            }) == nil
        )
        #expect(
            code(
                try refusal({
                    $0.tip = 1001; $0.total = 3551
                }),
                .a6
            ) == .tipRefused
        )
        #expect(code(try refusal(rules: { $0.maximumTotal = 2804 }), .a6) == .tipRefused)
        #expect(TipTerms.none.allows(0))
        #expect(!TipTerms(mode: .none, maximum: 10).allows(1))
    }

    @Test func a7TakesOfferedRailsInTime() throws {
        #expect(code(try refusal({ $0.railType = 2 }), .a7) == .instrumentRefused)
        let end = example.request.payload.expiresAtMilliseconds
        #expect(try refusal({ $0.createdAtMilliseconds = end }) == nil)
        #expect(code(try refusal({ $0.createdAtMilliseconds = end + 1 }), .a7) == .expired)
    }

    @Test func aLinkIsPaidAsItStandsAndOnline() throws {
        var payload = example.request.payload
        payload.rails = [
            .instrument, .paymentLink("https://pay.example/1"),
            .walletOverTap(gatewayHost: "pay.example", gatewayPaymentID: "pay_1"),
        ]
        let request = try Signed(signing: payload, with: example.terminalSigner)
        func refusal(_ change: (inout PaymentAcceptance) -> Void) throws -> AcceptanceRefusal? {
            try self.refusal(
                { accept in
                    (accept.requestHash, accept.railType, accept.flags) = (request.hash, 2, .phoneOnline)
                    (accept.tip, accept.total) = (0, accept.amount)
                    change(&accept)
                },
                rules: { $0.request = request }
            )
        }
        #expect(try refusal { _ in } == nil)
        #expect(code(try refusal { ($0.tip, $0.total) = (1, $0.amount + 1) }, .a6) == .tipRefused)
        // Nobody pays the link for a phone that has no network.
        #expect(code(try refusal { $0.flags = [] }, .a8) == .vouchersNotTaken)
        // A wallet that signs over BLE agrees by its signatures; an acquirer could not execute such an accept.
        #expect(code(try refusal { $0.railType = 3 }, .a7) == .instrumentRefused)
    }

    @Test func a8TakesAVoucherWhereNobodyIsOnline() throws {
        #expect(
            code(try refusal({ $0.flags = [] }, rules: { $0.isTerminalOnline = false }), .a8) == .vouchersNotTaken
        )
        #expect(try refusal({ $0.flags = [] }) == nil)
    }

    @Test func a9TakesOneAccept() throws {
        #expect(code(try refusal(rules: { $0.isOpen = false }), .a9) == .paymentClosed)
    }

    @Test func v1KeepsEveryLimitOfAVoucher() throws {
        func voucher(_ refusal: AcceptanceRefusal?) -> VoucherRefusal? {
            #expect(refusal == nil || refusal?.check == .a8)
            #expect(refusal?.code == refusal?.voucher?.code)
            return refusal?.voucher
        }
        #expect(voucher(try refusal(isVoucher: true)) == nil)
        #expect(voucher(try refusal(isVoucher: true, rules: { $0.vouchers.isClockSet = false })) == .notTaken)
        #expect(
            voucher(try refusal(isVoucher: true, rules: { $0.vouchers.lastOnlineMilliseconds = nil }))
                == .offlineTooLong
        )
        #expect(
            voucher(try refusal(isVoucher: true, rules: { $0.vouchers.maximumOfflineAge = .seconds(10) }))
                == .offlineTooLong
        )
        #expect(voucher(try refusal({ $0.spend?.passID[0] ^= 1 }, isVoucher: true)) == .otherPass)
        #expect(voucher(try refusal(pass: { $0.voucher = nil }, isVoucher: true)) == .otherPass)
        #expect(voucher(try refusal(pass: { $0.voucher?.currency = "EUR" }, isVoucher: true)) == .wrongCurrency)
        #expect(voucher(try refusal(pass: { $0.voucher?.exponent = 3 }, isVoucher: true)) == .wrongCurrency)
        #expect(
            voucher(try refusal(pass: { $0.voucher?.limitPerPayment = 2804 }, isVoucher: true)) == .overPaymentLimit
        )
        #expect(voucher(try refusal(pass: { $0.voucher?.limitTotal = 2804 }, isVoucher: true)) == .overTotalLimit)
        #expect(voucher(try refusal(isVoucher: true, rules: { $0.vouchers.floor = 2804 })) == .overFloor)
        #expect(
            voucher(try refusal(isVoucher: true, rules: { $0.vouchers.merchantLimit = 2804 })) == .overMerchantLimit
        )
        #expect(voucher(try refusal({ $0.spend?.counter = 0 }, isVoucher: true)) == .counterOutOfRange)
        #expect(voucher(try refusal({ $0.spend?.counter = 11 }, isVoucher: true)) == .counterOutOfRange)
        #expect(voucher(try refusal({ $0.spend?.counter = 10 }, isVoucher: true)) == nil)
        let other = example.claim.hash
        #expect(voucher(try refusal({ $0.spend?.previousHash = other }, isVoucher: true)) == .chainBroken)
        #expect(voucher(try refusal({ $0.spend?.spentAfter = 2804 }, isVoucher: true)) == .sumTooLow)
        #expect(
            Set(VoucherRefusal.allCases.map(\.code)) == [
                .vouchersNotTaken, .passInvalid, .voucherExpired, .overLimit, .counterConflict,
            ]
        )
    }

    /// The merchant's limit is for everything that the gateway has not seen yet, not for each voucher.
    @Test func v1HoldsWhatIsNotSettledYetAndTheNextVoucherTogetherToTheMerchantsLimit() throws {
        var taken = book
        taken.take(example.voucherAccept)
        // Another customer's: the same amount, and nothing else in common.
        func second(_ limit: Int, _ book: VoucherBook) throws -> VoucherRefusal? {
            try refusal(
                { $0.spend?.passID[0] ^= 1 },
                pass: { $0.passID[0] ^= 1 },
                isVoucher: true,
                rules: {
                    $0.vouchers = book
                    ($0.vouchers.merchantLimit, $0.vouchers.floor) = (limit, 2805)
                }
            )?.voucher
        }
        #expect(try second(2 * 2805, taken) == nil)
        #expect(try second(2 * 2805 - 1, taken) == .overMerchantLimit)
        // A limit that the owner lowered meanwhile is exceeded already.
        #expect(try second(2000, taken) == .overMerchantLimit)
        taken.settle(example.voucherAccept)
        #expect(try second(2 * 2805 - 1, taken) == nil)
    }

    /// A pass that goes on where an earlier one of its device ended.
    @Test func v1CountsFromThePassesOwnStart() throws {
        func voucher(_ counter: Int) throws -> VoucherRefusal? {
            try refusal(
                { $0.spend?.counter = counter },
                pass: { $0.voucher?.startCounter = 5 },
                isVoucher: true
            )?.voucher
        }
        #expect(try voucher(5) == .counterOutOfRange)
        #expect(try voucher(6) == nil)
        #expect(try voucher(15) == nil)
        #expect(try voucher(16) == .counterOutOfRange)
    }

    @Test func v2TakesACounterOnce() throws {
        var taken = book
        taken.take(example.voucherAccept)
        #expect(taken.unsettled == 2805)
        func voucher(_ change: (inout PaymentAcceptance) -> Void) throws -> VoucherRefusal? {
            try refusal(change, isVoucher: true, rules: { $0.vouchers = taken })?.voucher
        }
        #expect(try voucher { _ in } == .counterUsed)
        let last = example.voucherAccept.hash
        #expect(try voucher { $0.spend?.counter = 2 } == .sumTooLow)
        #expect(
            try voucher {
                $0.spend = VoucherSpend(
                    passID: example.voucherPass.payload.passID,
                    counter: 2,
                    spentAfter: 5609,
                    previousHash: last
                )
            } == .sumTooLow
        )
        #expect(
            try voucher {
                $0.spend = VoucherSpend(
                    passID: example.voucherPass.payload.passID,
                    counter: 2,
                    spentAfter: 5610,
                    previousHash: last
                )
            } == nil
        )
        #expect(
            try voucher {
                $0.spend?.counter = 2; $0.spend?.spentAfter = 5610
            } == .chainBroken
        )
        // A spend at another shop lies between: nothing to compare with but the sum.
        #expect(
            try voucher {
                $0.spend?.counter = 3; $0.spend?.spentAfter = 6000
            } == nil
        )
        taken.settle(example.voucherAccept)
        #expect(taken.unsettled == 0)
        #expect(try voucher { _ in } == .counterUsed)
        var neighbour = book
        neighbour.learn(passID: example.voucherPass.payload.passID, entry: try #require(taken.entries.values.first))
        #expect(try refusal(isVoucher: true, rules: { $0.vouchers = neighbour })?.voucher == .counterUsed)
    }

    @Test func v3CommitsBeforeItSpends() throws {
        var chain = VoucherChain(pass: example.voucherPass)
        let request = example.request.payload
        let spend = try chain.commit(total: 2805, for: request)
        #expect(spend == example.voucherAccept.payload.spend)
        #expect(throws: VoucherChain.Refusal.outstanding(request.paymentID)) {
            _ = try chain.commit(total: 1, for: request)
        }
        chain.signed(example.voucherAccept)
        chain.ended(request.paymentID)
        let second = try chain.commit(total: 100, for: request)
        #expect(second.counter == 2)
        #expect(second.spentAfter == 2905)
        #expect(second.previousHash == example.voucherAccept.hash)
        chain.ended(request.paymentID)
        #expect(throws: VoucherChain.Refusal.overPaymentLimit) { _ = try chain.commit(total: 5001, for: request) }
        #expect(throws: VoucherChain.Refusal.overPaymentLimit) { _ = try chain.commit(total: -1, for: request) }
        _ = try chain.commit(total: 5000, for: request)
        chain.ended(request.paymentID)
        #expect(throws: VoucherChain.Refusal.overTotalLimit) { _ = try chain.commit(total: 3000, for: request) }
        var foreign = request
        foreign.currency = "EUR"
        #expect(throws: VoucherChain.Refusal.wrongCurrency) { _ = try chain.commit(total: 1, for: foreign) }
        for _ in 4...10 {
            _ = try chain.commit(total: 1, for: request)
            chain.ended(request.paymentID)
        }
        #expect(throws: VoucherChain.Refusal.noneLeft) { _ = try chain.commit(total: 1, for: request) }
        var online = VoucherChain(pass: example.pass)
        #expect(throws: VoucherChain.Refusal.noVoucher) { _ = try online.commit(total: 1, for: request) }
    }

    @Test func v4HasItsLimitsUnlessOthersAreSet() {
        let voucher = PaymentPass.Voucher(currency: "USD", exponent: 2, instrumentID: "a")
        #expect(voucher.limitTotal == 10_000)
        #expect(voucher.limitPerPayment == 5_000)
        #expect(voucher.maximumCount == 10)
        #expect(PaymentPass.standardVoucherLife == .seconds(259_200))
    }

    @Test func v5ProvesADoubleSpend() throws {
        var other = example.voucherAccept.payload
        other.nonce[0] ^= 1
        let second = try Signed(signing: other, with: example.deviceSigner)
        #expect(DoubleSpendProof(example.voucherAccept, second, pass: example.voucherPass) != nil)
        other.spend?.counter = 2
        let forked = try Signed(signing: other, with: example.deviceSigner)
        #expect(DoubleSpendProof(example.voucherAccept, forked, pass: example.voucherPass) != nil)
        other.spend?.previousHash = example.voucherAccept.hash
        let following = try Signed(signing: other, with: example.deviceSigner)
        #expect(DoubleSpendProof(example.voucherAccept, following, pass: example.voucherPass) == nil)
        let again = try Signed(signing: example.voucherAccept.payload, with: example.deviceSigner)
        #expect(DoubleSpendProof(example.voucherAccept, again, pass: example.voucherPass) == nil)
        let rogue = try Signed(signing: second.payload, with: ES256Signer(scalar: [UInt8](repeating: 7, count: 32)))
        #expect(DoubleSpendProof(example.voucherAccept, rogue, pass: example.voucherPass) == nil)
        #expect(DoubleSpendProof(example.voucherAccept, second, pass: example.pass) == nil)
    }

    @Test func aReceiptIsTheGatewaysWordAboutThisPayment() throws {
        func refusal(
            _ change: (inout PaymentReceipt) -> Void,
            status: PaymentStatus? = nil,
            signer: Ed25519Signer? = nil,
            accept: Signed<PaymentAcceptance>?
        ) throws -> ReceiptRefusal? {
            var receipt = example.receipt.payload
            change(&receipt)
            let signed = try Signed(signing: receipt, with: signer ?? example.gatewaySigner)
            let check = ReceiptCheck(
                trusted: example.trusted,
                issuer: "gw.example",
                request: example.request,
                accept: accept
            )
            do throws(ReceiptRefusal) {
                #expect(try check.check(signed, status: status) == receipt.status)
                return nil
            } catch {
                return error
            }
        }
        for accept in [example.accept, nil] {
            #expect(try refusal({ _ in }, status: .completed, accept: accept) == nil)
            #expect(try refusal({ $0.status = .failed }, accept: accept) == nil)
            #expect(try refusal({ $0.status = .inProgress }, accept: accept) == .status)
            #expect(try refusal({ $0.status = .failed }, status: .completed, accept: accept) == .status)
            #expect(try refusal({ $0.requestHash = example.claim.hash }, accept: accept) == .otherRequest)
            #expect(
                try refusal(
                    {
                        $0.amount = 1; $0.total = 256
                    },
                    accept: accept
                ) == .amounts
            )
            #expect(try refusal({ $0.total = 1 }, accept: accept) == .amounts)
            #expect(try refusal({ $0.currency = "EUR" }, accept: accept) == .amounts)
            #expect(try refusal({ $0.merchantID = "m" }, accept: accept) == .merchant)
            let id = try #require(PaymentID("019ab697-e800-791a-b5fd-49dd46939c7e"))
            #expect(try refusal({ $0.paymentID = id }, accept: accept) == .otherPayment)
            #expect(try refusal({ _ in }, signer: example.terminalSigner, accept: accept) == .notTheGateway)
            let forged = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: Array("gw01".utf8))
            #expect(try refusal({ _ in }, signer: forged, accept: accept) == .notTheGateway)
        }
        #expect(try refusal({ $0.acceptHash = example.claim.hash }, accept: example.accept) == .otherAccept)
        #expect(try refusal({ $0.acceptHash = example.claim.hash }, accept: nil) == nil)
        #expect(
            try refusal(
                {
                    $0.tip = 0; $0.total = 2550
                },
                accept: example.accept
            ) == .amounts
        )
        let check = ReceiptCheck(trusted: example.trusted, issuer: "gw.example", request: example.request, accept: nil)
        #expect(throws: ReceiptRefusal.missing) { _ = try check.check(nil, status: .completed) }
    }
}
