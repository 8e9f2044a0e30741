import StrictJSON
import Testing

@testable import Sandbox

struct MerchantTests {
    private static let partner = ["Api-Key": "wcp_bench", "Idempotency-Key": "k1"]
    private static let base = #""merchantName":"Corner Café","merchantEmail":"owner@corner.test""#

    private func merchant(_ bench: inout GatewayBench, key: String = "k1") -> String {
        let headers = ["Api-Key": "wcp_bench", "Idempotency-Key": key]
        let answer = bench.answer("POST", "/v1/merchants", headers, "{\(Self.base)}")
        return answer.json["merchant"]?["id"]?.stringValue ?? "none"
    }

    @Test func aNewMerchantTakesPaymentsThatNoOtherMerchantSees() {
        var bench = GatewayBench()
        let id = merchant(&bench)
        let headers = ["Api-Key": "wcp_bench", "Merchant-Id": id]
        let body = #"{"referenceId":"A-1","amount":{"unit":"iso4217/USD","value":"100"}}"#
        let made = bench.answer("POST", "/v1/payments", headers, body).json["paymentId"]?.stringValue ?? ""
        let other = bench.newPayment()
        #expect(bench.answer("GET", "/v1/payments/\(made)/status", headers).status == 200)
        #expect(bench.answer("GET", "/v1/payments/\(made)/status").status == 404)
        #expect(bench.answer("POST", "/v1/refunds", headers, #"{"paymentId":"\#(other)"}"#).status == 404)
        let info = bench.answer("GET", "/v1/gateway/payment/\(made)", GatewayBench.wallet).json
        #expect(info["merchant"]?["name"]?.stringValue == "Corner Café")
        func listed(_ path: String, _ headers: [String: String]) -> [String] {
            (bench.answer("GET", path, headers).json["data"]?.arrayValue ?? []).compactMap {
                $0["paymentId"]?.stringValue
            }
        }
        #expect(listed("/v1/merchants/payments", headers) == [made])
        #expect(listed("/v1/payments", Self.partner) == [other, made])
        #expect(listed("/v1/payments?merchantId=\(id)", Self.partner) == [made])
        #expect(listed("/v1/payments?merchantId=\(id)&merchantId=mrch_bench", Self.partner) == [other, made])
    }

    @Test func aMerchantIsMadeOncePerKeyAndTheKeyIsNeeded() {
        var bench = GatewayBench()
        let id = merchant(&bench)
        #expect(merchant(&bench) == id)
        #expect(merchant(&bench, key: "k2") != id)
        let other = #"{"merchantName":"Other","merchantEmail":"owner@corner.test"}"#
        let conflict = bench.answer("POST", "/v1/merchants", Self.partner, other)
        #expect(conflict.status == 409)
        #expect(conflict.json["code"]?.stringValue == "idempotency_conflict")
        let keyless = bench.answer("POST", "/v1/merchants", ["Api-Key": "wcp_bench"], "{\(Self.base)}")
        #expect(keyless.json["code"]?.stringValue == "missing_idempotency_key")
    }

    @Test(arguments: [
        (#"{"merchantEmail":"a@b.test"}"#, "merchantName"), (#"{"merchantName":"A"}"#, "merchantEmail"),
        (#"{"merchantName":"A","merchantEmail":"a..b@c.test"}"#, "merchantEmail"),
        (#"{"merchantName":"","merchantEmail":"a@b.test"}"#, "merchantName"),
        (#"{"merchantName":"A","merchantEmail":"a@b.test","iconUrl":"http://b.test/i"}"#, "iconUrl"),
    ])
    func aWrongFieldIsNamed(body: String, field: String) {
        var bench = GatewayBench()
        let answer = bench.answer("POST", "/v1/merchants", Self.partner, body)
        #expect(answer.status == 400)
        #expect(answer.json["issues"]?.arrayValue?.map { $0["field"]?.stringValue } == [field])
    }

    @Test func aMerchantIsChangedFoundAndRemoved() {
        var bench = GatewayBench()
        let id = merchant(&bench)
        let icon = #"{"iconUrl":"https://corner.test/i.png"}"#
        #expect(bench.answer("PATCH", "/v1/merchants/\(id)", Self.partner, icon).status == 200)
        let changed = bench.answer("PATCH", "/v1/merchants/\(id)", Self.partner, #"{"merchantName":"Corner Two"}"#)
        #expect(changed.json["merchant"]?["iconUrl"]?.stringValue == "https://corner.test/i.png")
        let found = bench.answer("GET", "/v1/merchants?search=corner", Self.partner).json
        #expect(found["totalCount"] == .number("1"))
        #expect(bench.answer("GET", "/v1/merchants?limit=1", Self.partner).json["nextCursor"] == .string("mrch_bench"))
        let rest = bench.answer("GET", "/v1/merchants?cursor=mrch_bench", Self.partner).json
        #expect(rest["merchants"]?.arrayValue?.map { $0["id"]?.stringValue } == [id])
        #expect(bench.answer("DELETE", "/v1/merchants/\(id)", Self.partner).json["deleted"] == .bool(true))
        #expect(bench.answer("GET", "/v1/merchants/\(id)", Self.partner).status == 404)
    }

    @Test func aTokenIsSettledToOneDestinationOnItsOwnChain() {
        var bench = GatewayBench()
        let id = merchant(&bench)
        let path = "/v1/merchants/\(id)/settlements/crypto"
        let asset = "eip155:8453/erc20:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
        let owner = "0x1234567890abcdef1234567890abcdef12345678"
        func wanted(_ chain: Int) -> String {
            #"{"settlements":[{"asset":"\#(asset)","destination":"eip155:\#(chain):\#(owner)"}]}"#
        }
        #expect(bench.answer("POST", path, Self.partner, wanted(1)).status == 400)
        let made = bench.answer("POST", path, Self.partner, wanted(8453))
        #expect(made.status == 201)
        #expect(bench.answer("POST", path, Self.partner, wanted(8453)) == made)
        let again = ["Api-Key": "wcp_bench", "Idempotency-Key": "k2"]
        #expect(
            bench.answer("POST", path, again, wanted(8453)).json["code"]?.stringValue == "settlement_asset_conflict"
        )
        let settlement = made.json["settlements"]?.arrayValue?.first?["id"]?.stringValue ?? ""
        let moved = #"{"destination":"eip155:8453:0xAAAA567890abcdef1234567890abcdef12345678"}"#
        #expect(bench.answer("PUT", "\(path)/\(settlement)", Self.partner, moved).status == 200)
        let listed = bench.answer("GET", "/v1/merchants/\(id)/settlements", Self.partner).json["crypto"]?.arrayValue
        #expect(listed?.first?["destination"]?.stringValue?.contains("0xAAAA") == true)
        #expect(bench.answer("DELETE", "\(path)/\(settlement)", Self.partner).status == 200)
        #expect(bench.answer("DELETE", "\(path)/\(settlement)", Self.partner).status == 404)
    }

    @Test func theOldListKnowsItsOwnNamesAndNoCancelledPayments() throws {
        var bench = GatewayBench()
        let paid = bench.newPayment()
        _ = try bench.pay(paid)
        bench.pass(.seconds(2))
        let gone = bench.newPayment()
        _ = bench.answer("POST", "/v1/payments/\(gone)/cancel", GatewayBench.merchant, "{}")
        let path = "/v1/merchants/mrch_bench/payments?sort_by=date&sort_dir=asc&limit=5"
        for headers in [["X-Api-Key": "wcp_bench"], ["Api-Key": "wcp_bench"]] {
            let answer = bench.answer("GET", path, headers)
            let listed = answer.json["data"]?.arrayValue ?? []
            #expect(listed.map { $0["payment_id"]?.stringValue } == [paid])
            #expect(listed.first?["fiat_amount"] == .number("1250"))
            #expect(answer.json["stats"]?["total_revenue"]?["amount"] == .number("12.50"))
        }
        #expect(bench.answer("GET", path, ["X-Api-Key": "other"]).status == 401)
    }

    @Test func aCancelMayBeRepeatedUnderItsKey() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        var headers = GatewayBench.merchant
        headers["Idempotency-Key"] = "c1"
        let first = bench.answer("POST", "/v1/payments/\(id)/cancel", headers, "{}")
        #expect(first.status == 200)
        #expect(bench.answer("POST", "/v1/payments/\(id)/cancel", headers, "{}") == first)
        #expect(bench.answer("POST", "/v1/payments/\(id)/cancel", GatewayBench.merchant, "{}").status == 400)
        let other = bench.newPayment()
        #expect(bench.answer("POST", "/v1/payments/\(other)/cancel", headers, "{}").status == 409)
    }
}
