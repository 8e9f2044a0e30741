import Ethereum
import Payments
import StrictJSON
import Testing

@testable import Sandbox

struct RecordTests {
    private static func configuration(_ change: (inout GatewayConfiguration) -> Void = { _ in }) -> GatewayConfiguration
    {
        var configuration = GatewayConfiguration(merchantID: "mrch_bench", apiKey: "wcp_bench")
        configuration.controlToken = "control"
        change(&configuration)
        return configuration
    }

    private static func recording(_ change: (inout GatewayConfiguration) -> Void = { _ in }) -> GatewayBench {
        var bench = GatewayBench()
        let configuration = configuration(change)
        bench.state = GatewayState(configuration: configuration)
        bench.state.beginRecording(configuration, at: bench.now)
        return bench
    }

    /// What anyone can learn of the state: every payment's story, every balance, the merchants.
    private static func everything(_ bench: inout GatewayBench) -> [String] {
        let partner = ["Api-Key": "wcp_bench"]
        return [bench.control("GET", "payments").json.text, bench.control("GET", "ledger").json.text]
            + ["/v1/payments", "/v1/merchants"].map { bench.answer("GET", $0, partner).json.text }
    }

    /// A day: keys, a signature, a refund, a form, an approval, a merchant, things that time does by itself.
    private static func day(_ bench: inout GatewayBench) throws -> [String] {
        let first = bench.create(key: "k1").json["paymentId"]?.stringValue ?? ""
        _ = bench.create("77", key: "k2")
        _ = try bench.pay(first)
        bench.pass(.seconds(2))
        _ = bench.answer("POST", "/v1/refunds", GatewayBench.merchant, #"{"paymentId":"\#(first)"}"#)
        let approved = bench.newPayment()
        let option = bench.option(approved, chain: 56)
        let text = option["actions"]?.arrayValue?.last?["data"]?["params"]?.arrayValue?.last?.stringValue ?? ""
        let results = ["0x" + String(repeating: "ab", count: 32), try bench.signature(of: text)]
        #expect(bench.confirm(approved, option, results).status == 200)
        bench.pass(.seconds(1))
        let headers = ["Api-Key": "wcp_bench", "Idempotency-Key": "m1"]
        let merchant = #"{"merchantName":"Two","merchantEmail":"two@shop.test"}"#
        #expect(bench.answer("POST", "/v1/merchants", headers, merchant).status == 201)
        let collected = bench.newPayment()
        #expect(bench.control("POST", "collect", #"{"paymentId":"\#(collected)"}"#).status == 200)
        _ = bench.control("POST", "expire", #"{"paymentId":"\#(bench.newPayment())"}"#)
        return bench.state.takeRecords()
    }

    @Test func theRecordsLeadToTheSameState() throws {
        var bench = Self.recording()
        let lines = try Self.day(&bench)
        #expect(lines.count >= 12)
        var again = GatewayBench()
        again.state = GatewayState(configuration: Self.configuration())
        try again.state.replay(lines)
        again.state.beginRecording(Self.configuration(), at: again.now)
        #expect(again.state.takeRecords().isEmpty)
        again.now = bench.now
        #expect(Self.everything(&again) == Self.everything(&bench))
        // What time does by itself does not depend on how often somebody looks.
        for _ in 0..<4 { bench.pass(.seconds(99)) }
        again.pass(.seconds(396))
        #expect(Self.everything(&again) == Self.everything(&bench))
        #expect(again.create(key: "k1").json == bench.create(key: "k1").json)
        #expect(again.create("78", key: "k2").status == 409)
    }

    /// Wherever the process is killed, what had been answered is there, and nothing else is.
    @Test func everyBeginningOfTheRecordsIsAStateThatWas() throws {
        var bench = Self.recording()
        let lines = try Self.day(&bench)
        for count in 0...lines.count {
            var state = GatewayState(configuration: Self.configuration())
            try state.replay(lines.prefix(count))
        }
    }

    @Test func aPaymentGoesOnAfterTheRestartAsIfNothingHadBeen() throws {
        var bench = Self.recording()
        let id = bench.newPayment()
        let option = bench.option(id)
        let lines = bench.state.takeRecords()
        var again = GatewayBench()
        again.state = GatewayState(configuration: Self.configuration())
        try again.state.replay(lines)
        let signature = try again.signature(of: again.typedDataText(id, option))
        #expect(again.confirm(id, option, [signature]).status == 200)
        again.pass(.seconds(2))
        #expect(again.word(id) == "succeeded")
    }

    @Test func aChangedConfigurationHoldsFromThenOnAndNotBefore() throws {
        var bench = Self.recording { $0.settleAfter = .seconds(60) }
        let slow = bench.newPayment()
        _ = try bench.pay(slow)
        var lines = bench.state.takeRecords()
        let quick = Self.configuration { $0.settleAfter = .seconds(1) }
        var next = GatewayBench()
        next.state = GatewayState(configuration: quick)
        try next.state.replay(lines)
        next.state.beginRecording(quick, at: next.now)
        let second = next.newPayment()
        _ = try next.pay(second)
        next.pass(.seconds(1))
        #expect(next.word(slow) == "processing")
        #expect(next.word(second) == "succeeded")
        lines += next.state.takeRecords()
        var last = GatewayBench()
        last.state = GatewayState(configuration: quick)
        try last.state.replay(lines)
        last.pass(.seconds(1))
        #expect(last.word(slow) == "processing")
        #expect(last.word(second) == "succeeded")
    }

    @Test func aDamagedLineIsNamed() throws {
        var bench = Self.recording()
        var lines = try Self.day(&bench)
        lines[3] = lines[3].replacing("\"at\":", with: "\"at\": ")
        var state = GatewayState(configuration: Self.configuration())
        do throws(StateFileError) {
            try state.replay(lines)
            Issue.record("taken")
        } catch {
            #expect(error.description == "line 4 is damaged")
        }
    }

    @Test func aLineThatWouldBeAnsweredOtherwiseIsNotTaken() throws {
        var bench = Self.recording()
        _ = bench.newPayment()
        let lines = bench.state.takeRecords()
        let record = try #require(StateRecord(line: lines[1]))
        let other = record.content.text.replacing("1250", with: "1251")
        let body = try #require(record.content["body"]?.stringValue)
        let changed = hex(String(decoding: bytes(hex: body) ?? [], as: UTF8.self).replacing("1250", with: "0").utf8)
        let content = try ExactJSON(parsing: other.replacing(body, with: changed))
        var state = GatewayState(configuration: Self.configuration())
        let lie = StateRecord(.call, at: record.at, content).line
        do throws(StateFileError) {
            try state.replay([lines[0], lie])
            Issue.record("taken")
        } catch {
            #expect(error.description.hasPrefix("line 2 would be answered otherwise"))
        }
    }

    @Test func noSecretIsWrittenDown() throws {
        var bench = Self.recording()
        let text = try Self.day(&bench).joined()
        #expect(!text.contains("wcp_bench"))
        #expect(!text.contains("Bearer"))
    }

    @Test func looksLeaveNoRecord() {
        var bench = Self.recording()
        let id = bench.newPayment()
        _ = bench.state.takeRecords()
        for path in ["/v1/payments/\(id)/status", "/v1/payments/\(id)", "/v1/merchants/payments"] {
            #expect(bench.answer("GET", path).status == 200)
        }
        #expect(bench.state.takeRecords().isEmpty)
    }

    @Test func faultsOfOneRunShapedItsPaymentsAndAreGoneInTheNext() throws {
        var bench = Self.recording()
        _ = bench.control("POST", "faults", #"{"endpoint":"create","effect":"outcome=failed","times":1}"#)
        let id = bench.newPayment()
        let lines = bench.state.takeRecords()
        var again = GatewayBench()
        again.state = GatewayState(configuration: Self.configuration())
        try again.state.replay(lines)
        #expect(again.control("GET", "faults").json["faults"] == .array([]))
        _ = try again.pay(id)
        again.pass(.seconds(2))
        #expect(again.word(id) == "failed")
    }
}
