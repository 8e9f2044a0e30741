import StrictJSON
import Ethereum
import Payments
import Testing

@testable import Sandbox

struct ListTests {
    /// Five payments, a second apart: the second is paid, the fourth cancelled, the fifth in euro.
    private func shop() throws -> (GatewayBench, [String]) {
        var bench = GatewayBench()
        var ids: [String] = []
        for (index, cents) in ["500", "100", "300", "200", "400"].enumerated() {
            let answer = bench.create(cents, index == 4 ? "EUR" : "USD", reference: "TILL-\(index)")
            ids.append(answer.json["paymentId"]?.stringValue ?? "")
            bench.pass(.seconds(1))
        }
        _ = try bench.pay(ids[1])
        bench.pass(.seconds(2))
        _ = bench.answer("POST", "/v1/payments/\(ids[3])/cancel", GatewayBench.merchant, "{}")
        return (bench, ids)
    }

    private func listed(_ bench: inout GatewayBench, _ query: String, path: String = "/v1/merchants/payments")
        -> [String]
    {
        let answer = bench.answer("GET", "\(path)?\(query)")
        return (answer.json["data"]?.arrayValue ?? []).compactMap { $0["paymentId"]?.stringValue }
    }

    @Test(arguments: [
        ("", [4, 3, 2, 1, 0]), ("sortDir=asc", [0, 1, 2, 3, 4]), ("sortBy=amount", [0, 4, 2, 3, 1]),
        ("sortBy=amount&sortDir=asc", [1, 3, 2, 4, 0]), ("status=succeeded", [1]),
        ("status=succeeded&status=cancelled", [3, 1]), ("limit=2", [4, 3]), ("referenceId=LL-2", [2]),
        ("token_symbol=USDC", [1]), ("token_symbol=USDT", []), ("asset=USDC", [1]), ("asset=USDT", []),
        ("network=eip155%3A8453,eip155%3A1", [1]),
        ("network=eip155:10", []), ("startTs=2026-09-16T19:27:15.440Z", [4, 3, 2]),
        ("endTs=2026-09-16T19:27:15.440Z", [1, 0]), ("startTs=2026-09-16T21:27:15.440%2B02:00", [4, 3, 2]),
    ])
    func aListHoldsWhatWasAskedForInItsOrder(query: String, expected: [Int]) throws {
        var (bench, ids) = try shop()
        #expect(listed(&bench, query) == expected.map { ids[$0] })
        #expect(listed(&bench, query, path: "/v1/payments") == expected.map { ids[$0] })
    }

    /// That version's enum does not have the word.
    @Test(arguments: ["/v1/merchants/payments", "/v1/payments"])
    func aListOfTheGeneralVersionKnowsNothingCancelled(path: String) throws {
        var (bench, ids) = try shop()
        let headers = GatewayBench.merchant.merging(["WCP-Version": "2026-02-18"]) { $1 }
        let data = bench.answer("GET", path, headers).json["data"]?.arrayValue ?? []
        #expect(data.compactMap { $0["paymentId"]?.stringValue } == [4, 2, 1, 0].map { ids[$0] })
        #expect(bench.answer("GET", "\(path)?status=cancelled", headers).status == 400)
    }

    @Test(arguments: [
        "limit=0", "limit=201", "limit=x", "sortBy=name", "sortDir=up", "status=paid", "startTs=yesterday",
        "startTs=2026-02-30T00:00:00Z", "referenceId=ab", "referenceId=a_b_c", "cursor=zz",
    ])
    func aQuestionThatIsNotAllowedIsRefused(query: String) throws {
        var (bench, _) = try shop()
        let answer = bench.answer("GET", "/v1/merchants/payments?\(query)")
        #expect(answer.status == 400)
        #expect(answer.json["code"]?.stringValue == "params_validation")
    }

    @Test(arguments: ["", "sortBy=amount&", "sortDir=asc&"])
    func pagesNeitherRepeatNorSkipWhatWasThereFromTheStart(order: String) throws {
        var (bench, ids) = try shop()
        var seen: [String] = []
        var cursor: String?
        for page in 0..<5 {
            let next = cursor.map { "&cursor=\($0)" } ?? ""
            let answer = bench.answer("GET", "/v1/merchants/payments?\(order)limit=2\(next)")
            seen += (answer.json["data"]?.arrayValue ?? []).compactMap { $0["paymentId"]?.stringValue }
            cursor = answer.json["nextCursor"]?.stringValue
            if cursor == nil { break }
            if page == 0 { _ = bench.create("350") }  // One more comes between two pages.
        }
        #expect(Set(seen).isSuperset(of: ids))
        #expect(Set(seen).count == seen.count)
    }

    @Test func statisticsCountMoneyExactly() throws {
        var (bench, _) = try shop()
        let all = bench.answer("GET", "/v1/merchants/payments?limit=1").json
        #expect(all["stats"]?["totalTransactions"]?.integerValue == 5)
        #expect(all["stats"]?["totalCustomers"]?.integerValue == 1)
        #expect(all["stats"]?["totalRevenue"]?.text == #"[{"amount":1.00,"currency":"USD"}]"#)
    }

    @Test func aPaidPaymentIsListedWithAllThatIsKnownOfIt() throws {
        var (bench, ids) = try shop()
        let item = bench.answer("GET", "/v1/merchants/payments?status=succeeded").json["data"]?.arrayValue?.first
        #expect(item?["paymentId"]?.stringValue == ids[1])
        #expect(item?["transaction"]?["networkId"]?.stringValue == "8453")
        #expect(item?["tokenAmount"]?["value"]?.stringValue == "1000000")
        #expect(item?["buyer"]?["accountProviderName"]?.stringValue == "bench")
        #expect(item?["settlement"]?["settled"] == .bool(true))
        #expect(item?["createdAt"]?.stringValue == "2026-09-16T19:27:14.440Z")
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_789_586_833_440, "2026-09-16T19:27:13.440Z"), (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
    ])
    func momentsAreWrittenAndReadBack(milliseconds: Int64, text: String) {
        let time = WallTime(millisecondsSince1970: milliseconds)
        #expect(timestamp(time) == text)
        #expect(parsedTimestamp(text) == time)
    }
}
