import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

/// What goes wrong with one execution, what the client makes of it, and what the acquirer had done.
struct Mishap: Sendable, CustomTestStringConvertible {
    let fault: String
    /// Whether the client says that it may have taken effect; nil where it gets its answer.
    let mayHaveTakenEffect: Bool?
    let tookEffect: Bool
    var testDescription: String { fault }

    init(_ fault: String, _ mayHaveTakenEffect: Bool?, tookEffect: Bool) {
        (self.fault, self.mayHaveTakenEffect, self.tookEffect) = (fault, mayHaveTakenEffect, tookEffect)
    }
}

struct FaultClassificationTests {
    static let mishaps = [
        Mishap("execute:delay=200,times=1", nil, tookEffect: true),
        Mishap("execute:duplicate,times=1", nil, tookEffect: true),
        Mishap("execute:drop,when=before,times=1", true, tookEffect: false),
        Mishap("execute:drop,times=1", true, tookEffect: true),
        Mishap("execute:error=500,times=1", true, tookEffect: false),
        Mishap("execute:error=500,when=after,times=1", true, tookEffect: true),
        Mishap("execute:error=503,when=before,times=1", true, tookEffect: false),
        Mishap("execute:garbage,times=1", true, tookEffect: true),
        Mishap("execute:unknown-status=REVIEWING,times=1", true, tookEffect: true),
        Mishap("execute:wrong-payment,times=1", true, tookEffect: true),
        Mishap("execute:refuse=strange_word,times=1", true, tookEffect: false),
        Mishap("execute:refuse=strange_word,when=after,times=1", true, tookEffect: true),
        Mishap("execute:refuse=rate_limited,times=1", false, tookEffect: false),
        Mishap("execute:refuse=payment_busy,times=1", false, tookEffect: false),
        Mishap("execute:refuse=terminal_denied,times=1", false, tookEffect: false),
    ]

    @Test(arguments: mishaps)
    func nobodyIsToldThatNothingHappenedWhereSomethingMayHave(_ mishap: Mishap) async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        try await bench.fault(mishap.fault)
        do throws(AcquirerError) {
            _ = try await bench.shop.execute(bundle)
            #expect(mishap.mayHaveTakenEffect == nil)
        } catch {
            #expect(error.mayHaveTakenEffect == mishap.mayHaveTakenEffect, "\(error)")
            #expect(!error.summary.isEmpty)
        }
        #expect(await bench.moved().shop == (mishap.tookEffect ? 12_50 : 0))
        // Whatever happened: the same bundle again brings the answer, and the money moves once.
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .completed)
        #expect(await bench.moved() == (-12_50, 12_50))
    }

    @Test func aReceiptThatSomebodyElseSignedProvesNothing() async throws {
        let bench = try await AcquirerBench()
        try await bench.fault("execute:forged,times=1")
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        let answer = try await bench.shop.execute(bundle)
        let keys = await bench.keys
        #expect(throws: ReceiptRefusal.notTheGateway) { try answer.status(of: bundle, trusting: keys) }
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .completed)
    }

    @Test func anAcquirerThatForgetsRuleR5IsSeenInItsBooks() async throws {
        let bench = try await AcquirerBench()
        try await bench.fault("execute:forget-key")
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        for _ in 0..<2 { _ = try await bench.shop.execute(bundle) }
        #expect(await bench.moved() == (-25_00, 25_00))
    }

    @Test(arguments: ["void", "sync", "payment", "keys", "deny", "payments"])
    func everyOtherCallSaysItTheSameWay(_ endpoint: String) async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        _ = try await bench.shop.execute(bundle)
        func ask() async throws(AcquirerError) {
            switch endpoint {
            case "void": _ = try await bench.shop.void(bundle.paymentID)
            case "sync": _ = try await bench.shop.sync([.bundle(bundle)])
            case "payment": _ = try await bench.shop.payment(bundle.paymentID)
            case "keys": _ = try await bench.shop.keys()
            case "deny": _ = try await bench.shop.denyList()
            default: _ = try await bench.shop.payments()
            }
        }
        for effect in ["drop", "error=502", "garbage", "refuse=strange_word"] {
            try await bench.control("DELETE", "faults")
            try await bench.fault("\(endpoint):\(effect)")
            do throws(AcquirerError) {
                try await ask()
                Issue.record("\(effect) went unnoticed")
            } catch {
                #expect(error.mayHaveTakenEffect, "\(effect): \(error)")
            }
        }
        try await bench.control("DELETE", "faults")
        try await ask()
    }

    @Test(arguments: ["void", "sync", "payment", "announce"])
    func anAnswerAboutAnotherPaymentIsNoAnswer(_ endpoint: String) async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        _ = try await bench.shop.execute(bundle)
        try await bench.fault("\(endpoint):wrong-payment")
        await #expect(throws: AcquirerError.self) {
            switch endpoint {
            case "void": _ = try await bench.shop.void(bundle.paymentID)
            case "sync": _ = try await bench.shop.sync([.bundle(bundle)])
            case "payment": _ = try await bench.shop.payment(bundle.paymentID)
            default: _ = try await bench.shop.announce(request, of: bundle.certificate)
            }
        }
    }

    @Test func withoutANetworkNothingLeaves() async throws {
        let bench = try await AcquirerBench()
        let client = try InProcessAcquirer(bench.acquirer, isReachable: { false }).client()
        await #expect(throws: AcquirerError.notSent(reason: "no network")) { try await client.keys() }
    }

    @Test func onlyWhatTheInterfaceNamesCountsAsARefusal() async throws {
        for (status, body, mayHave) in [
            (404, #"{"code":"payment_not_found"}"#, false), (404, "<html>", true), (404, "{}", true),
            (404, #"{"code":"payment_closed"}"#, true), (409, #"{"code":"payment_closed"}"#, false),
            (403, #"{"code":"captcha"}"#, true), (408, #"{"code":"malformed"}"#, true),
            (302, "", true), (204, "", true), (400, #"{"code":"malformed","code":"malformed"}"#, true),
        ] {
            let client = try AcquirerClient(
                baseURL: "https://acquirer.example/api",
                transport: Canned(answer: HTTPResponse(status: status, body: Array(body.utf8)))
            )
            do throws(AcquirerError) {
                _ = try await client.denyList()
                Issue.record("\(status) \(body) was an answer")
            } catch {
                #expect(error.mayHaveTakenEffect == mayHave, "\(status) \(body): \(error)")
            }
        }
    }

    @Test(arguments: [
        "http://acquirer.example", "ftp://x", "https://", "https://a b", "https://user@host", "https://host:0",
        "https://host/?q", "https://host/#f", "HTTPS//x", "https://ho_st",
    ])
    func anAddressThatCouldBeReadInTwoWaysIsNotTaken(_ address: String) {
        let transport = Canned(answer: HTTPResponse(status: 200, body: []))
        #expect(throws: AcquirerError.self) { try AcquirerClient(baseURL: address, transport: transport) }
    }
}

/// Always the same answer.
private struct Canned: HTTPTransport {
    let answer: HTTPResponse
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        await Task.yield()
        return answer
    }
}
