import Testing

@testable import Sandbox

struct AccessTests {
    @Test(arguments: [
        (["Merchant-Id": "mrch_bench"], 401, "missing_api_key"),
        (["Merchant-Id": "mrch_bench", "Api-Key": ""], 401, "missing_api_key"),
        (["Merchant-Id": "mrch_bench", "Api-Key": "other"], 401, "invalid_api_key"),
        (["Api-Key": "wcp_bench"], 401, "missing_merchant_id"),
        (["Merchant-Id": "someone", "Api-Key": "wcp_bench"], 404, "merchant_not_found"),
        (["Merchant-Id": "mrch_bench", "Api-Key": "wcp_bénch"], 400, "header_not_ascii"),
    ])
    func aMerchantWithoutTheRightHeadersGetsTheDocumentedCode(
        headers: [String: String],
        status: Int,
        code: String
    ) {
        var bench = GatewayBench()
        for (method, path) in [
            ("POST", "/v1/payments"), ("GET", "/v1/payments/x/status"), ("GET", "/v1/merchants/payments"),
        ] {
            let answer = bench.answer(method, path, headers)
            #expect(answer.status == status)
            // The list's own codes have none for this.
            let known = path == "/v1/merchants/payments" && code == "header_not_ascii" ? "params_validation" : code
            #expect(answer.json["code"]?.stringValue == known)
        }
    }

    @Test(
        arguments: [
            ([:], 401, "missing_auth_headers"),
            (["App-Id": "a"], 401, "missing_client_id"),
            (["Client-Id": "c"], 401, "missing_app_id"),
            (["App-Id": "a", "Client-Id": "c", "Api-Key": "wcp_bench"], 400, "conflicting_auth_headers"),
            (["Api-Key": "other"], 401, "invalid_api_key"),
            (["Api-Key": "wcp_bench"], 200, nil),
            (["App-Id": "a", "Client-Id": "c"], 200, nil),
        ] as [([String: String], Int, String?)]
    )
    func aWalletShowsItselfInExactlyOneWay(headers: [String: String], status: Int, code: String?) {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let answer = bench.answer("GET", "/v1/gateway/payment/\(id)", headers)
        #expect(answer.status == status)
        #expect(answer.json["code"]?.stringValue == code)
    }

    @Test(
        arguments: [
            (nil, APIVersion.general, 200, nil), ("2026-02-19.preview", .general, 200, nil),
            ("2026-02-18", .preview, 400, "api_version_downgrade"),
            ("2025-01-01", .general, 400, "unknown_api_version"),
            ("latest", .general, 400, "invalid_api_version"), ("2026-2-18", .general, 400, "invalid_api_version"),
        ] as [(String?, APIVersion, Int, String?)]
    )
    func aVersionMayOnlyBeOneThatExistsAndIsNotOlder(
        header: String?,
        pinned: APIVersion,
        status: Int,
        code: String?
    ) {
        var bench = GatewayBench { $0.pinnedVersion = pinned }
        var headers = GatewayBench.merchant
        headers["WCP-Version"] = header
        let answer = bench.answer("GET", "/v1/merchants/payments", headers)
        #expect(answer.status == status)
        #expect(answer.json["code"]?.stringValue == code)
        if status == 200 { #expect(answer.headers["WCP-Version"] == header ?? pinned.rawValue) }
    }

    @Test func thePreviewsMembersAreNotReadInTheGeneralVersion() {
        var bench = GatewayBench()
        var headers = GatewayBench.merchant
        headers["WCP-Version"] = "2026-02-18"
        let body = #"{"referenceId":"A","amount":{"unit":"iso4217/USD","value":"1"},"checkout":{"successUrl":7}}"#
        #expect(bench.answer("POST", "/v1/payments", headers, body).status == 201)
        #expect(bench.answer("POST", "/v1/payments", GatewayBench.merchant, body).status == 400)
    }

    @Test func unknownPaymentsAndPathsAreNotFound() {
        var bench = GatewayBench()
        #expect(bench.answer("GET", "/v1/payments/pay_none/status").json["code"]?.stringValue == "payment_not_found")
        #expect(bench.answer("GET", "/v1/gateway/payment/pay_none", GatewayBench.wallet).status == 404)
        #expect(bench.answer("PUT", "/v1/payments").status == 404)
        #expect(bench.answer("GET", "/").status == 404)
    }

    @Test func aWholeLinkInAnyNumberOfEncodingsNamesThePayment() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        for link in [
            "https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3D\(id)",
            "https%253A%252F%252Fpay.walletconnect.com%252F%253Fpid%253D\(id)",
            "https%25253A%25252F%25252Fpay.walletconnect.com%25252F%25253Fpid%25253D\(id)",
            "https%3A%2F%2Fpay.walletconnect.com%2F\(id)",
        ] {
            #expect(bench.answer("GET", "/v1/gateway/payment/\(link)", GatewayBench.wallet).status == 200, "\(link)")
        }
    }

    @Test func theControlApiIsClosedWithoutItsToken() {
        var open = GatewayBench()
        #expect(open.control("GET", "log").status == 200)
        #expect(open.answer("GET", "/control/log", ["Authorization": "Bearer wrong"]).status == 401)
        var closed = GatewayBench { $0.controlToken = nil }
        #expect(closed.control("GET", "log").status == 404)
    }
}
