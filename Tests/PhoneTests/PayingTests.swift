import Locks
import Sandbox
import TapProtocol
import Testing

/// What a person with a phone and a terminal live through together.
@Suite(.timeLimit(.minutes(1)))
struct PayingTests {
    let bench: Bench
    var merchant: CertifiedMerchant { bench.merchant }

    init() throws { bench = try Bench() }

    @Test(arguments: [20, 182, 244, 512])
    func aPaymentIsShownAcceptedAndPaid(bytes: Int) async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        let user = PhoneUser(tip: .preset(0))
        try await bench.run(bench.configuration(user)) { phone in
            let terminal = Stranger(phone, merchant, bytes: bytes)
            try await terminal.connect(request)
            let notice = try await terminal.received()
            #expect(notice.state == .prompting && notice.isOnline && notice.paymentID == id)
            let (accept, pass) = try await terminal.accept()
            #expect(accept.payload.total == 28_05 && accept.payload.instrumentID == "visa")
            let check = AcceptanceCheck(
                trusted: {
                    var keys = GatewayKeys()
                    for key in merchant.trusted {
                        keys.add(issuer: key.issuer, keyID: key.keyID, ed25519: key.publicKey)
                    }
                    return keys
                }(),
                request: request,
                maximumTotal: 500_00,
                isOpen: true,
                isTerminalOnline: true,
                vouchers: VoucherBook(floor: 0, merchantLimit: 0, lastOnlineMilliseconds: nil, isClockSet: true)
            )
            #expect(try check.check(accept, pass: pass, nowMilliseconds: bench.clock.milliseconds) == .online)
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            guard case .result(id, .completed, let receipt?, nil) = try await terminal.message().body else {
                Issue.record("no result")
                return
            }
            #expect(receipt.payload.acceptHash == accept.hash)
            try await terminal.send(.acknowledge(id), answering: 3)
            guard case .bye = try await terminal.message().body else {
                Issue.record("no BYE")
                return
            }
        }
        #expect(
            bench.diary.events.contains {
                if case .asked(id, merchant: "Coffee Shop", amount: "25.50 USD", terminal: "T-1", _) = $0 {
                    true
                } else {
                    false
                }
            }
        )
        #expect(bench.diary.outcomes == [.paid])
        #expect(await bench.acquirer.charges(id) == 1)
    }

    // MARK: The person

    @Test func aDeclinedPaymentIsNotAskedForAgain() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration(PhoneUser(answer: .decline(after: .seconds(3))))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .prompting)
            await bench.pass(.seconds(3), phone)
            #expect(try await terminal.message().body == .cancelledByPayer(id, .user))
            await terminal.disconnect()
            try await terminal.connect(request)
            #expect(try await terminal.message().body == .cancelledByPayer(id, .alreadyDeclined))
        }
        #expect(bench.diary.prompts == 1 && bench.diary.outcomes == [.declined])
        #expect(await bench.acquirer.charges(id) == 0)
    }

    @Test func whoClosesThePayScreenDeclinesWhatIsAsked() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration(PhoneUser(answer: .never))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .prompting)
            await phone.closePayScreen()
            #expect(try await terminal.message().body == .cancelledByPayer(id, .user))
            let advertised = bench.diary.events.last(where: { if case .advertising = $0 { true } else { false } })
            #expect(advertised == .advertising(nil))
        }
        #expect(bench.diary.outcomes == [.declined])
        #expect(await bench.acquirer.charges(id) == 0)
    }

    @Test func whoClosesThePayScreenBeforeAnythingIsAskedSaysGoodbye() async throws {
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(nil)
            // Another one is still shaking hands.
            let other = Stranger(phone, merchant, central: "U")
            _ = await phone.read(by: "U")
            await other.subscribe()
            await phone.closePayScreen()
            guard case .bye = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            #expect(try await other.control() == .closing)
        }
        #expect(bench.diary.prompts == 0)
    }

    @Test func whoClosesThePayScreenAfterAgreeingPaysAllTheSame() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            await phone.closePayScreen()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            guard case .result(id, .completed, _?, nil) = try await terminal.message().body else {
                throw CertifiedMerchant.Broken()
            }
            #expect(!bench.diary.events.contains(.advertising(nil)))
            try await terminal.send(.acknowledge(id), answering: 3)
            guard case .bye = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            await bench.diary.wait(for: .advertising(nil))
        }
        #expect(bench.diary.outcomes == [.paid])
        #expect(await bench.acquirer.charges(id) == 1)
    }

    @Test func whoNeverAnswersIsKeptAliveUntilTheRequestEnds() async throws {
        let request = try merchant.request(life: 20_000)
        let id = request.payload.paymentID
        try await bench.run(bench.configuration(PhoneUser(answer: .never))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            for _ in 0..<3 {
                await bench.pass(.seconds(5), phone)
                guard case .message(let message) = try await terminal.next() else { throw CertifiedMerchant.Broken() }
                #expect(message.body == .keepAlive(id, .waitingForUser))
            }
            await bench.pass(.seconds(5), phone)
            try await terminal.hearsNothingMore()
        }
        #expect(bench.diary.outcomes == [.notPaid])
    }

    @Test(arguments: [
        (TipTerms.Mode.none, PhoneUser.Tip.minorUnits(100), 0), (.allowed, .minorUnits(100), 100),
        (.allowed, .minorUnits(10_01), 0), (.ask, .basisPoints(1000), 2_55), (.allowed, .preset(1), 3_83),
        (.allowed, .preset(7), 0), (.ask, .none, 0),
    ])
    func aTipIsWhatTheTerminalAllows(mode: TipTerms.Mode, tip: PhoneUser.Tip, expected: Int) async throws {
        let request = try merchant.request { $0.tip.mode = mode }
        try await bench.run(bench.configuration(PhoneUser(tip: tip))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            #expect(accept.payload.tip == expected && accept.payload.total == 25_50 + expected)
        }
    }

    @Test func whoChangesTheirMindAfterTheClaimIsToldThatItIsTooLate() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        await bench.acquirer.set(answersExecutions: false)
        try await bench.run(bench.configuration(PhoneUser(regretAfter: .seconds(1)))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            await bench.pass(.seconds(1), phone)
            await bench.diary.wait(for: .notice(.tooLateToCancel))
            try await terminal.send(
                .result(id, .completed, receipt: bench.acquirer.receipt(request, accept), transactionID: nil)
            )
            #expect(try await terminal.message().body == .acknowledge(id))
        }
        #expect(bench.diary.outcomes == [.paid])
    }

    // MARK: Several wallets

    @Test func anotherWalletsPaymentHoldsThisOneAndThenEndsIt() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration(PhoneUser(answer: .accept(after: .seconds(2))))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            try await terminal.send(.hold(id))
            await bench.pass(.seconds(3), phone)
            try await terminal.hearsNothingMore()
            try await terminal.send(.otherPaid(id))
            let message = try await terminal.message()
            #expect(message.body == .acknowledge(id) && message.answers == 3)
        }
        #expect(bench.diary.outcomes == [.notPaid])
        #expect(bench.diary.events.contains(.notice(.otherPaid)))
    }

    @Test func aReopenedPaymentIsAcceptedAndPaidOnce() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration(PhoneUser(answer: .accept(after: .seconds(2))))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            try await terminal.send(.hold(id))
            try await terminal.send(.reopen(id, attempt: 2))
            await bench.pass(.seconds(2), phone)
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request, attempt: 2)), answering: 2)
            guard case .result(id, .completed, _, _) = try await terminal.message().body else {
                throw CertifiedMerchant.Broken()
            }
        }
        #expect(await bench.acquirer.charges(id) == 1)
    }

    @Test func afterADeclineTheNextInstrumentPays() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        await bench.acquirer.set(declines: 1)
        try await bench.run(bench.configuration(PhoneUser(instruments: ["empty", "full"]))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let first = try await terminal.accept()
            #expect(first.accept.payload.instrumentID == "empty")
            try await terminal.send(.claim(merchant.claim(first.accept.hash, of: request)), answering: 2)
            guard case .result(id, .failed, let old?, _) = try await terminal.message().body else {
                throw CertifiedMerchant.Broken()
            }
            try await terminal.send(.acknowledge(id), answering: 3)
            try await terminal.send(.reopen(id, attempt: 2))
            let second = try await terminal.accept()
            #expect(second.accept.payload.instrumentID == "full")
            // A pass is shown once.
            #expect(second.pass.payload.passID != first.pass.payload.passID)
            // The first attempt's receipt says nothing about the second.
            try await terminal.send(.result(id, .failed, receipt: old, transactionID: nil))
            #expect(try await terminal.error() == .receiptInvalid)
            try await terminal.send(.claim(merchant.claim(second.accept.hash, of: request, attempt: 2)), answering: 4)
            guard case .result(id, .completed, _, _) = try await terminal.message().body else {
                throw CertifiedMerchant.Broken()
            }
        }
        #expect(bench.diary.outcomes == [.failed, .paid])
        #expect(await bench.acquirer.charges(id) == 1)
    }

    // MARK: Without a network

    @Test func withoutANetworkThePhoneBelievesAProperReceiptOnly() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        var configuration = bench.configuration()
        let storage = Drawer()
        try await bench.run(configuration, storage: storage) { _ in }
        configuration.isOnline = false
        try await bench.run(configuration, storage: storage) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await !terminal.received().isOnline)
            let (accept, _) = try await terminal.accept()
            #expect(!accept.payload.flags.contains(.phoneOnline))
            // Nothing can be executed offline: a claim that says so is no claim.
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request, mode: .offline)), answering: 2)
            #expect(try await terminal.error() == .unexpected)
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            let good = try await bench.acquirer.receipt(request, accept)
            let thief = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: merchant.gateway.keyID)
            for bad in [
                nil, try merchant.receipt(.completed, request, accept) { $0.total += 1 },
                try merchant.receipt(.completed, merchant.request(), accept),
                try merchant.receipt(.completed, request, accept) { $0.merchantID = "M-2" },
                try Signed(signing: good.payload, with: thief),
            ] {
                try await terminal.send(.result(id, .completed, receipt: bad, transactionID: nil))
                #expect(try await terminal.error() == .receiptInvalid)
            }
            #expect(bench.diary.outcomes.isEmpty)
            try await terminal.send(.result(id, .completed, receipt: good, transactionID: nil))
            #expect(try await terminal.message().body == .acknowledge(id))
        }
        #expect(bench.diary.outcomes == [.paid])
    }

    @Test func withNobodyOnlineAVoucherPaysAndIsSettledLater() async throws {
        let request = try merchant.request { $0.flags = .vouchersTaken }
        let id = request.payload.paymentID
        var configuration = bench.configuration { $0.voucherWish = .standard }
        let storage = Drawer()
        try await bench.run(configuration, storage: storage) { _ in }
        configuration.isOnline = false
        try await bench.run(configuration, storage: storage) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await terminal.received().capabilities.contains(.voucher))
            let (accept, _) = try await terminal.accept()
            #expect(accept.payload.spend?.counter == 1 && accept.payload.spend?.spentAfter == 25_50)
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request, mode: .offline)), answering: 2)
            try await terminal.send(.result(id, .acceptedOffline, receipt: nil, transactionID: nil))
            #expect(try await terminal.message().body == .acknowledge(id))
            #expect(bench.diary.outcomes == [.acceptedOffline])
            await bench.acquirer.set(syncAnswer: .settled(try merchant.receipt(.completed, request, accept)))
            await phone.setOnline(true)
            await bench.diary.wait(for: .ended(id, .paid))
        }
    }

    @Test func withNobodyOnlineAndNoVoucherNothingIsPromised() async throws {
        let request = try merchant.request { $0.flags = .vouchersTaken }
        let id = request.payload.paymentID
        try await bench.run(bench.configuration { $0.isOnline = false }) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            #expect(try await terminal.message().body == .cancelledByPayer(id, .noInstrument))
        }
    }

    // MARK: Lost links

    @Test func anAcceptWithoutAnAnswerIsSentOnceMore() async throws {
        let request = try merchant.request()
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let first = try await terminal.accept()
            await bench.pass(.seconds(2), phone)
            let second = try await terminal.accept()
            #expect(first.accept == second.accept && first.pass == second.pass)
            await bench.pass(.seconds(2), phone)
            try await terminal.hearsNothingMore()
        }
    }

    @Test func aPaymentIsResumedOnANewLink() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        await bench.acquirer.set(answersExecutions: false)
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let first = try await terminal.accept()
            await terminal.disconnect()
            // By now the request has ended; what is open goes on all the same.
            await bench.pass(.seconds(150), phone)
            let again = Stranger(phone, merchant, central: "T, by another name")
            try await again.connect(request)
            #expect(try await again.received().state == .acceptSent)
            let second = try await again.accept()
            #expect(second.accept == first.accept)
            try await again.send(.claim(merchant.claim(first.accept.hash, of: request)), answering: 2)
            await again.disconnect()
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .won)
        }
        #expect(bench.diary.prompts == 1)
        #expect(await bench.acquirer.charges(id) <= 1)
    }

    @Test func whatTheTerminalExecutedAfterTheLinkFellIsLearnedFromTheGateway() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            _ = try await bench.acquirer.receipt(request, accept)
            await terminal.disconnect()
            await bench.diary.wait(for: .ended(id, .paid))
        }
    }

    @Test func aCancelAfterTheAcceptIsNoEndUntilTheGatewaySaysSo() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            _ = try await terminal.accept()
            try await terminal.send(.cancelledByTerminal(id, .merchant))
            #expect(try await terminal.message().body == .acknowledge(id))
            #expect(bench.diary.outcomes == [.unknown])
            await bench.pass(.seconds(120 + 600), phone)
            await bench.pass(.seconds(2), phone)
            await bench.diary.wait(for: .ended(id, .notPaid))
        }
        #expect(bench.diary.outcomes == [.unknown, .notPaid])
    }

    @Test func aDishonestCancelIsFoundOut() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            await bench.acquirer.set(isReachable: false)
            try await terminal.send(.cancelledByTerminal(id, .merchant))
            await bench.diary.wait(for: .gateway(PhoneAcquirerError.unreachable("test").description))
            _ = try await bench.acquirer.receipt(request, accept)
            await bench.acquirer.set(isReachable: true)
            await bench.pass(.seconds(2), phone)
            await bench.diary.wait(for: .ended(id, .paid))
        }
        #expect(bench.diary.outcomes == [.unknown, .paid])
    }
}

extension VoucherWish {
    static let standard = VoucherWish(currency: "USD", exponent: 2, limitTotal: 100_00)
}

/// Storage without a disk.
final class Drawer: PhoneStorage {
    private let text = Mutex<String?>(nil)

    func save(_ text: String) { self.text.withLock { $0 = text } }
    func load() -> String? { text.withLock { $0 } }
    func put(_ text: String) { save(text) }
}
