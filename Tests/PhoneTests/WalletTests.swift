import Ethereum
import Sandbox
import StrictJSON
import TapProtocol
import Testing

/// Rail 3: the terminal asks the gateway, and the phone's account signs.
@Suite(.timeLimit(.minutes(1)))
struct WalletTests {
    let bench: Bench
    let wallet = PrivateKey()
    let token: KnownToken
    var merchant: CertifiedMerchant { bench.merchant }

    init() throws {
        bench = try Bench()
        token = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
    }

    private func request() throws -> Signed<PaymentRequest> {
        try merchant.request {
            $0.rails = [.instrument, .walletOverTap(gatewayHost: "pay.example", gatewayPaymentID: "pay_1")]
        }
    }

    private func option(_ value: String = "25500000", id: String = "o-1", account: String? = nil) -> WalletOption {
        WalletOption(
            id: id,
            value: value,
            symbol: "USDC",
            decimals: 6,
            network: "Base",
            account: account ?? "eip155:8453:\(wallet.address.checksummed)"
        )
    }

    private func order(
        _ id: PaymentID,
        value: UInt64 = 25_500_000,
        nonce: UInt64 = 7,
        index: Int = 0,
        count: Int = 1
    ) throws -> TapBody {
        let data = try TransferAuthorization(
            domain: #require(TransferAuthorization.Domain(of: token)),
            from: wallet.address,
            value: UInt256(value),
            validBefore: UInt256(UInt64(bench.clock.milliseconds / 1000 + 420)),
            nonce: Bytes32(UInt256(nonce))
        ).typedData()
        return .sign(
            SigningOrder(
                paymentID: id,
                optionID: "o-1",
                index: index,
                count: count,
                chainID: "eip155:8453",
                method: "eth_signTypedData_v4",
                parameters: ExactJSON.array([.string(wallet.address.lowercased), .string(data.json)]).text
            )
        )
    }

    /// A phone whose user pays with the wallet, up to the options.
    private func asked(
        _ user: PhoneUser = PhoneUser(means: .wallet),
        _ body: (TapPhone, Stranger, Signed<PaymentRequest>) async throws -> Void
    ) async throws {
        let request = try request()
        try await bench.run(bench.configuration(user) { $0.wallet = wallet }) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await terminal.received().capabilities.contains(.walletAccounts))
            let message = try await terminal.message()
            guard case .accounts(_, let accounts) = message.body else { throw CertifiedMerchant.Broken() }
            #expect(accounts.contains("eip155:8453:\(wallet.address.checksummed)"))
            try await body(phone, terminal, request)
        }
    }

    private func options(_ id: PaymentID, _ options: [WalletOption]) -> TapBody {
        .options(id, options, expiresAtSeconds: bench.clock.milliseconds / 1000 + 120)
    }

    private func chosen(_ terminal: Stranger, _ id: PaymentID) async throws {
        try await terminal.send(options(id, [option()]), answering: 2)
        #expect(try await terminal.message().body == .choose(id, optionID: "o-1"))
    }

    @Test func theAccountSignsWhatTheCustomerSaw() async throws {
        try await asked { _, terminal, request in
            let id = request.payload.paymentID
            try await chosen(terminal, id)
            try await terminal.send(order(id), answering: 3)
            let message = try await terminal.message()
            guard case .signatures(_, "o-1", let signatures) = message.body else { throw CertifiedMerchant.Broken() }
            #expect(message.answers == 2 && signatures.count == 1)
            let hash = WalletClaim.hash(paymentID: id, optionID: "o-1", signatures: signatures)
            // A claim names the signatures; nothing is executed by the phone.
            try await terminal.send(.claim(merchant.claim(ObjectHash(of: [1]), of: request)), answering: 4)
            #expect(try await terminal.error() == .unexpected)
            try await terminal.send(.claim(merchant.claim(hash, of: request)), answering: 4)
            try await terminal.send(.result(id, .completed, receipt: nil, transactionID: "0xabc"))
            #expect(try await terminal.message().body == .acknowledge(id))
        }
        let shown = PhoneEvent.signing(
            token: "USDC on Base",
            value: "25.5",
            to: PaymentContracts.collector.checksummed
        )
        #expect(bench.diary.events.contains(shown))
        #expect(bench.diary.events.contains(.reported(.completed, transaction: "0xabc")))
        #expect(bench.diary.outcomes == [.paid])
        #expect(await bench.acquirer.bundles == 0)
    }

    @Test func moreThanTheOptionSaysIsNotSigned() async throws {
        try await asked { _, terminal, request in
            let id = request.payload.paymentID
            try await chosen(terminal, id)
            try await terminal.send(order(id, value: 25_500_001), answering: 3)
            #expect(try await terminal.message().body == .cancelledByPayer(id, .policy))
        }
        #expect(bench.diary.events.contains(.signingRefused("check W4: value")))
    }

    @Test func twoTransfersForOnePaymentAreNotSigned() async throws {
        try await asked { _, terminal, request in
            let id = request.payload.paymentID
            try await chosen(terminal, id)
            try await terminal.send(order(id, nonce: 1, count: 2), answering: 3)
            try await terminal.send(order(id, nonce: 2, index: 1, count: 2), answering: 3)
            #expect(try await terminal.message().body == .cancelledByPayer(id, .policy))
        }
        #expect(!bench.diary.events.contains { if case .sent(.signatures) = $0 { true } else { false } })
    }

    @Test func aSecondTransferAfterAReopenIsNotSigned() async throws {
        try await asked { _, terminal, request in
            let id = request.payload.paymentID
            try await chosen(terminal, id)
            try await terminal.send(order(id, nonce: 1), answering: 3)
            guard case .signatures = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            try await terminal.send(.hold(id))
            try await terminal.send(.reopen(id, attempt: 2))
            guard case .accounts = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            try await chosen(terminal, id)
            try await terminal.send(order(id, nonce: 2), answering: 6)
            #expect(try await terminal.message().body == .cancelledByPayer(id, .policy))
        }
        // What was signed first may still be taken.
        #expect(bench.diary.outcomes == [.unknown])
    }

    @Test(arguments: ["25500001", "99000000", "much"])
    func anotherPriceIsNotChosen(value: String) async throws {
        try await asked(PhoneUser(means: .wallet, instruments: ["visa"])) { _, terminal, request in
            let id = request.payload.paymentID
            try await terminal.send(options(id, [option(value)]), answering: 2)
            // The customer pays with the card instead.
            let (accept, _) = try await terminal.accept()
            #expect(accept.payload.instrumentID == "visa")
        }
    }

    @Test func somebodyElsesAccountIsNotChosen() async throws {
        try await asked(PhoneUser(means: .wallet, instruments: ["visa"])) { _, terminal, request in
            let other = "eip155:8453:\(PrivateKey().address.checksummed)"
            try await terminal.send(options(request.payload.paymentID, [option(account: other)]), answering: 2)
            _ = try await terminal.accept()
        }
    }

    @Test func ordersOutOfTurnAreNotSigned() async throws {
        try await asked { _, terminal, request in
            try await terminal.send(order(request.payload.paymentID), answering: 2)
            #expect(try await terminal.error() == .unexpected)
        }
    }
}
