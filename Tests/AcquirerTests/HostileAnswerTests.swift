import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

/// Changes what comes back on its way.
private struct Tampering: HTTPTransport {
    let inner: InProcessAcquirer
    let change: @Sendable ([UInt8]) -> [UInt8]

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        var response = try await inner.send(request)
        response.body = change(response.body)
        return response
    }
}

struct HostileAnswerTests {
    /// A client whose answers are changed.
    private func client(
        _ bench: AcquirerBench,
        _ change: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) throws(AcquirerError) -> AcquirerClient {
        let transport = Tampering(inner: InProcessAcquirer(bench.acquirer), change: change)
        return try AcquirerClient(baseURL: InProcessAcquirer.url, transport: transport, session: bench.shop.session)
    }

    private static func replacing(_ old: String, _ new: String) -> @Sendable ([UInt8]) -> [UInt8] {
        { Array(String(decoding: $0, as: UTF8.self).replacing(old, with: new).utf8) }
    }

    @Test(arguments: [
        (#""status":"COMPLETED""#, #""status":"PAID""#), (#""amount":1250"#, #""amount":-1"#),
        (#""amount":1250"#, #""amount":12.5"#), (#""amount":1250"#, #""amount":9007199254740992"#),
        (#""amount":1250"#, #""amount":"1250""#), (#""currency":"EUR""#, #""currency":"eur""#),
        (#""attempts":["#, #""attempts":[1,"#), (#""receipt":""#, #""receipt":"!"#),
        (#""exponent":2"#, #""exponent":19"#),
        (#""merchantId":"#, #""merchantId":"twice","merchantId":"#), (#"{"#, #"[{"#), (#""updatedAt""#, #""updated""#),
    ])
    func aRecordThatIsNotAsDescribedIsNoAnswer(_ old: String, _ new: String) async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        _ = try await bench.shop.execute(bundle)
        #expect(try await client(bench) { $0 }.payment(bundle.paymentID)?.word == .completed)
        do throws(AcquirerError) {
            _ = try await client(bench, Self.replacing(old, new)).payment(bundle.paymentID)
            Issue.record("\(new) was taken")
        } catch {
            #expect(error.mayHaveTakenEffect, "\(error)")
        }
    }

    @Test(arguments: [
        (#""paid":true"#, #""paid":false"#), (#""verdict":"SETTLED""#, #""verdict":"FINE""#),
        (#""answers":["#, #""answers":[],"others":["#), (#""evidence":[]"#, #""evidence":["AA"]"#),
    ])
    func anAnswerToAnUploadThatContradictsItselfIsNoAnswer(_ old: String, _ new: String) async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        await #expect(throws: AcquirerError.self) {
            try await client(bench, Self.replacing(old, new)).sync([.bundle(bundle)])
        }
        #expect(try await bench.shop.sync([.bundle(bundle)]).map(\.verdict) == [.duplicate])
    }

    @Test func anAnswerWithoutEndIsCutOffAndUnknown() async throws {
        let bench = try await AcquirerBench()
        for size in [70_000, 3_000_000] {
            let endless = try client(bench) { _ in Array(repeating: UInt8(ascii: "["), count: size) }
            do throws(AcquirerError) {
                _ = try await endless.keys()
                Issue.record("taken")
            } catch {
                #expect(error.mayHaveTakenEffect)
            }
        }
    }

    @Test func whateverBytesComeBackNobodyTakesThemForAnotherOutcome() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        let keys = await bench.keys
        let answer = try await bench.shop.execute(bundle)
        for _ in 0..<500 {
            let changed = try client(bench) { body in
                var body = body
                body[Int.random(in: body.indices)] ^= UInt8.random(in: 1...255)
                if Bool.random() { body.removeLast(Int.random(in: 0..<body.count)) }
                return body
            }
            guard let told = try? await changed.execute(bundle) else { continue }
            let status = try? told.status(of: bundle, trusting: keys)
            #expect(status == nil || told == answer, "\(told)")
        }
    }

    @Test func whateverBytesComeInTheAcquirerAnswersAndMovesNothing() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request))
        let uploads = [("/executions", bundle.encoded), ("/sync", SyncItem.encoded([.bundle(bundle)]))]
        for round in 0..<500 {
            let (path, whole) = uploads[round % 2]
            var body = whole
            body[Int.random(in: body.indices)] ^= UInt8.random(in: 1...255)
            if round % 3 == 0 { body.removeLast(Int.random(in: 0..<body.count)) }
            let reply = try #require(await bench.acquirer.answer(GatewayRequest("POST", path, body: body)))
            #expect(reply.status < 500)
        }
        #expect(await bench.moved() == (0, 0))
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .completed)
    }
}
