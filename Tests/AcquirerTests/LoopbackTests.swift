import Acquirer
import Net
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

/// The same over real HTTP: the server's own sockets, and the client that the terminal uses.
struct LoopbackTests {
    /// Shut down whatever happens: else the client ends the process, and with it every other test.
    private func withTransport(_ body: (HTTPClientTransport) async throws -> Void) async throws {
        let transport = try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
        do { try await body(transport) } catch {
            try? await transport.shutdown()
            throw error
        }
        try await transport.shutdown()
    }

    private func withServer(
        _ configure: (inout AcquirerConfiguration) -> Void = { _ in },
        _ body: (AcquirerBench, AcquirerServer) async throws -> Void
    ) async throws {
        var configuration = AcquirerConfiguration()
        configuration.controlToken = "control"
        configure(&configuration)
        let clock = StandingClock()
        let acquirer = SandboxAcquirer(AcquirerState(configuration: configuration), clock: clock.sandbox)
        let server = try AcquirerServer(acquirer, port: 0)
        try await withTransport { transport in
            try await withThrowingTaskGroup { group in
                group.addTask { try await server.run() }
                let bench = try await AcquirerBench(
                    clock: clock,
                    over: (transport, url: server.url),
                    acquirer: acquirer
                )
                try await body(bench, server)
                group.cancelAll()
            }
        }
    }

    @Test func aPaymentIsExecutedVoidedAndListedOverHTTP() async throws {
        try await withServer { bench, _ in
            let phone = try await bench.phone()
            let request = try bench.terminal.request()
            let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
            let keys = try await phone.client.keys().trusted
            #expect(try await phone.client.execute(bundle).status(of: bundle, trusting: keys) == .completed)
            #expect(try await bench.shop.payment(bundle.paymentID)?.word == .completed)
            #expect(try await bench.shop.void(bundle.paymentID).gaveBack)
            #expect(try await bench.shop.payments().payments.map(\.word) == [.cancelled])
            #expect(try await bench.shop.sync([.bundle(bundle)]).map(\.verdict) == [.cancelled])
        }
    }

    @Test func manyPhonesPayAtOnceAndNothingIsLost() async throws {
        try await withServer { bench, _ in
            let phone = try await bench.phone()
            var bundles: [ExecutionBundle] = []
            for _ in 0..<40 {
                let request = try bench.terminal.request(1_00)
                bundles.append(try bench.terminal.bundle(request, try await phone.accept(request)))
            }
            try await withThrowingTaskGroup { group in
                for bundle in bundles + bundles {
                    group.addTask { _ = try await bench.shop.execute(bundle) }
                }
                try await group.waitForAll()
            }
            #expect(await bench.moved() == (-40_00, 40_00))
        }
    }

    @Test func silenceAndCutAnswersAreUnknownOverHTTPToo() async throws {
        try await withServer { bench, _ in
            let request = try bench.terminal.request()
            let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
            for fault in ["execute:error=500,when=after", "execute:garbage", "execute:wrong-payment"] {
                try await bench.control("DELETE", "faults")
                try await bench.fault(fault)
                do throws(AcquirerError) {
                    _ = try await bench.shop.execute(bundle)
                    Issue.record("\(fault) went unnoticed")
                } catch {
                    #expect(error.mayHaveTakenEffect, "\(fault): \(error)")
                }
            }
        }
    }

    @Test func aServerThatIsNotThereHasDoneNothing() async throws {
        try await withTransport { transport in
            let client = try AcquirerClient(baseURL: "http://127.0.0.1:1", transport: transport)
            do throws(AcquirerError) {
                _ = try await client.keys()
                Issue.record("somebody answered")
            } catch {
                #expect(!error.mayHaveTakenEffect, "\(error)")
            }
        }
    }

    @Test func requestsThatAreNoRequestsAreRefusedInTheInterfacesWords() async throws {
        try await withServer { bench, server in
            try await withTransport { transport in
                for (method, path, body) in [
                    (HTTPRequest.Method.post, "/executions", [0xFF]), (.post, "/sync", [0x80]),
                    (.put, "/payments/x", [0x80]),
                    (.post, "/login", Array("[]".utf8)),
                ] {
                    let url = server.url + path
                    let answer = try await transport.send(HTTPRequest(method: method, url: url, body: body))
                    #expect(answer.status == 400)
                    #expect(String(decoding: answer.body, as: UTF8.self).hasPrefix(#"{"code":"malformed""#))
                }
            }
        }
    }
}
