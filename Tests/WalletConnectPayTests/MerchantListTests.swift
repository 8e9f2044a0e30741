import Testing

@testable import WalletConnectPay

/// The merchant's lists: every filter travels, every field arrives, and what cannot be read is not hidden.
struct MerchantListTests {
    @Test func everyFilterOfTheDocumentsTravels() async throws {
        let gateway = ScriptedGateway(.answer(200, Self.page()))
        let query = PaymentQuery(
            reference: "A 1/+",
            statuses: [.succeeded, .requiresAction],
            from: "2026-11-20T00:00:00Z",
            until: "2026-11-21T00:00:00+01:00",
            tokenSymbols: ["USDC", "EURC"],
            networks: ["eip155:8453", "eip155:1"],
            order: .amount,
            isAscending: true,
            limit: 500,
            cursor: "a=&b"
        )
        _ = try await gateway.merchant().payments(query)
        #expect(
            gateway.calls == [
                "GET /merchants/payments?sortBy=amount&sortDir=asc&limit=200&referenceId=A%201%2F%2B&status=succeeded"
                    + "&status=requires_action&startTs=2026-11-20T00%3A00%3A00Z&endTs=2026-11-21T00%3A00%3A00%2B01%3A00"
                    + "&token_symbol=USDC&token_symbol=EURC&network=eip155%3A8453%2Ceip155%3A1&cursor=a%3D%26b"
            ]
        )
    }

    @available(*, deprecated)
    @Test func theFilterThatWillGoAwayTravelsToo() async throws {
        let gateway = ScriptedGateway(.answer(200, Self.page()))
        var query = PaymentQuery(tokenSymbols: ["EURC"])
        query.asset = "US DC"
        let merchant = try gateway.merchant()
        _ = try await merchant.payments(query)
        #expect(gateway.calls.last?.hasSuffix("&token_symbol=EURC&asset=US%20DC") == true)
        query.asset = ""
        let empty = query
        await #expect(throws: MerchantError.invalid(field: "asset", message: "an empty name")) {
            _ = try await merchant.payments(empty)
        }
        #expect(gateway.requests.count == 1)
    }

    @Test(arguments: [
        PaymentQuery(reference: "AB"), PaymentQuery(reference: String(repeating: "A", count: 36)),
        PaymentQuery(reference: "A_B"), PaymentQuery(statuses: [.unrecognised("new")]),
        PaymentQuery(tokenSymbols: [""]), PaymentQuery(networks: ["eip155:1,eip155:10"]),
    ])
    func aFilterThatTheGatewayWouldRefuseIsNotSent(query: PaymentQuery) async throws {
        let gateway = ScriptedGateway(.answer(200, Self.page()))
        let merchant = try gateway.merchant()
        await #expect {
            _ = try await merchant.payments(query)
        } throws: { if case MerchantError.invalid = $0 { true } else { false } }
        #expect(gateway.requests.isEmpty)
    }

    @Test func everyFieldOfAListedPaymentArrives() async throws {
        let digits = String(repeating: "9", count: 70)
        let item = """
            {"paymentId":"pay_a1","merchant":{"id":"m-1","name":"Acme","iconUrl":null,"new":1},"referenceId":"R-1",
             "status":"succeeded","isTerminal":true,"fiatAmount":\(Answer.price),"surprise":{"a":[1]},
             "tokenAmount":{"unit":"caip19/eip155:1/erc20:0x1","value":"\(digits)","display":null},
             "buyer":{"accountCaip10":"eip155:1:0xAb","accountProviderName":"Wallet","accountProviderIcon":"https://i"},
             "transaction":{"networkId":"8453","hash":"0xfe","nonce":12},
             "fees":{"total":\(Answer.price),"fixed":\(Answer.price),"percentage":"0.4"},
             "settlement":{"settled":true,"amount":\(Answer.amount),"txHash":"0x5e"},
             "createdAt":"2026-11-20T10:00:00.000Z","lastUpdatedAt":"2026-11-20T10:00:09Z","settledAt":"2026-11-21T00:00:00Z"}
            """
        let gateway = ScriptedGateway(.answer(200, Self.page(item), [("wcp-version", "2026-02-18")]))
        let page = try await gateway.merchant().payments(PaymentQuery())
        #expect(page.apiVersion == "2026-02-18" && page.unreadable == 0)
        let payment = try #require(page.payments.first)
        #expect(payment.paymentID.rawValue == "pay_a1" && payment.merchantID == "m-1" && payment.merchantName == "Acme")
        #expect(payment.reference == "R-1" && payment.status == .succeeded && payment.isFinal)
        #expect(payment.amount?.value == "1250" && payment.paid?.value == digits)
        #expect(payment.payer == "eip155:1:0xAb" && payment.payerWallet == "Wallet")
        #expect(payment.transactionID == "0xfe" && payment.chain == "8453")
        #expect(payment.fees?.total.value == "1250" && payment.fees?.percentage == "0.4")
        #expect(payment.settlement?.isSettled == true && payment.settlement?.transactionID == "0x5e")
        #expect(payment.settlement?.amount?.value == "13500000" && payment.settledAt == "2026-11-21T00:00:00Z")
        #expect(payment.createdAt == "2026-11-20T10:00:00.000Z" && payment.updatedAt == "2026-11-20T10:00:09Z")
    }

    @Test func whatCannotBeReadIsCountedAndHidesNothingElse() async throws {
        let items = [
            #"{"paymentId":"pay_1","status":"succeeded","merchant":7,"fiatAmount":"€5","referenceId":{},"fees":{}}"#,
            #"{"paymentId":"other_2","status":"succeeded"}"#, #"{"status":"succeeded"}"#, "null",
            #"{"paymentId":"pay_5","status":"reviewing"}"#,
        ]
        let gateway = ScriptedGateway(.answer(200, Self.page(items.joined(separator: ","))))
        let page = try await gateway.merchant().payments(PaymentQuery())
        #expect(page.payments.map(\.paymentID.rawValue) == ["pay_1", "pay_5"] && page.unreadable == 3)
        #expect(page.payments.map(\.status) == [.succeeded, .unrecognised("reviewing")])
        #expect(page.payments.last?.isFinal == false)
    }

    @Test func statisticsKeepTheirDigits() async throws {
        let stats = """
            {"totalRevenue":[{"amount":12345678901234567890.10,"currency":"EUR"},{"currency":"USD","amount":0.1}],
             "totalTransactions":3,"totalCustomers":2}
            """
        let gateway = ScriptedGateway(.answer(200, Self.page(stats: stats)), .answer(200, Self.page(stats: "7")))
        let merchant = try gateway.merchant()
        let statistics = try await merchant.payments(PaymentQuery()).statistics
        #expect(statistics?.payments == 3 && statistics?.customers == 2)
        #expect(
            statistics?.revenue == [
                PaymentStatistics.Revenue(currency: "EUR", amount: "12345678901234567890.10"),
                PaymentStatistics.Revenue(currency: "USD", amount: "0.1"),
            ]
        )
        #expect(try await merchant.payments(PaymentQuery()).statistics == nil)
    }

    // MARK: - Pages

    @Test func pagesAreFetchedOneByOneAsTheyAreAskedFor() async throws {
        let gateway = ScriptedGateway(
            .answer(200, Self.page(Self.item("pay_1"), next: "two")),
            .answer(200, Self.page(Self.item("pay_2"), next: "three")),
            .answer(200, Self.page(Self.item("pay_3")))
        )
        var pages = try gateway.merchant().pages(PaymentQuery(limit: 1)).makeAsyncIterator()
        #expect(gateway.requests.isEmpty)
        var seen: [String] = []
        while let page = try await pages.next() {
            seen += page.payments.map(\.paymentID.rawValue)
            #expect(gateway.requests.count == seen.count)
        }
        #expect(seen == ["pay_1", "pay_2", "pay_3"])
        #expect(gateway.calls.map { $0.contains("cursor=") } == [false, true, true])
        #expect(gateway.calls.last?.hasSuffix("&cursor=three") == true)
        #expect(try await pages.next() == nil && gateway.requests.count == 3)
    }

    @Test func aListThatLeadsBackToItselfEnds() async throws {
        let gateway = ScriptedGateway(
            .answer(200, Self.page(next: "a")),
            .answer(200, Self.page(next: "b")),
            .answer(200, Self.page(next: "a"))
        )
        var pages = try gateway.merchant().pages(PaymentQuery()).makeAsyncIterator()
        _ = try await pages.next()
        _ = try await pages.next()
        await #expect(throws: MerchantError.self) { try await pages.next() }
        #expect(try await pages.next() == nil && gateway.requests.count == 3)
    }

    @Test func aListThatNeverEndsIsGivenUp() async throws {
        let pages = PaymentPages(PaymentQuery(), mostPages: 7) { query async throws(MerchantError) in
            let next = String((query.cursor.flatMap { Int($0) } ?? 0) + 1)
            return PaymentPage(payments: [], unreadable: 0, nextCursor: next, statistics: nil, apiVersion: nil)
        }
        var count = 0
        await #expect(throws: MerchantError.unclear(detail: "the list does not end")) {
            for try await _ in pages {
                count += 1
                try #require(count < 100)
            }
        }
        #expect(count == 7)
    }

    @Test func aPageThatFailsIsAnErrorAndNotTheEnd() async throws {
        let gateway = ScriptedGateway(.answer(200, Self.page(next: "a")), .fail(.noAnswer(after: .seconds(15))))
        var count = 0
        await #expect(throws: MerchantError.noAnswer(after: .seconds(15))) {
            for try await _ in try gateway.merchant().pages(PaymentQuery()) { count += 1 }
        }
        #expect(count == 1)
    }

    @Test func thePartnersListIsNotAMerchants() async throws {
        let gateway = ScriptedGateway(.answer(200, Self.page()))
        _ = try await gateway.merchant().partnerPayments(PaymentQuery(limit: 2), merchantIDs: ["m 1", "m2"])
        #expect(gateway.calls == ["GET /payments?sortBy=date&sortDir=desc&limit=2&merchantId=m%201&merchantId=m2"])
        let names = gateway.requests.first?.headers.map(\.name) ?? []
        #expect(names.contains("Api-Key") && !names.contains("Merchant-Id"))
    }

    // MARK: - Answers

    static func item(_ id: String) -> String { #"{"paymentId":"\#(id)","status":"succeeded"}"# }

    static func page(
        _ items: String = "",
        next: String? = nil,
        stats: String = #"{"totalRevenue":[],"totalTransactions":0,"totalCustomers":0}"#
    ) -> String {
        #"{"data":[\#(items)],"nextCursor":\#(next.map { "\"\($0)\"" } ?? "null"),"stats":\#(stats)}"#
    }
}

extension ScriptedGateway {
    func merchant(version: String = MerchantClient.usualVersion) throws -> MerchantClient {
        try MerchantClient(
            baseURL: "https://gateway.test",
            credentials: MerchantCredentials(merchantID: "mrch_1", apiKey: Secret("wcp_key")),
            transport: self,
            version: version
        )
    }
}
