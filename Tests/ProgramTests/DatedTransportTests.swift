import Locks
import Payments
import Terminal
import Testing
import WalletConnectPay

@testable import Console
@testable import till

/// How the terminal learns that its clock is wrong.
struct DatedTransportTests {
    private struct Fixed: HTTPTransport {
        let date: String?
        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            HTTPResponse(status: 200, headers: date.map { [("date", $0)] } ?? [], body: [])
        }
    }

    private func offset(_ date: String?, now: [Int64]) async throws -> Int64? {
        let times = Mutex(now[...])
        let transport = DatedTransport(Fixed(date: date)) {
            WallTime(millisecondsSince1970: times.withLock { $0.popFirst() ?? 0 })
        }
        _ = try await transport.send(HTTPRequest(method: .get, url: "https://gateway.test"))
        return transport.offset?.milliseconds
    }

    @Test func anAnswersDateTellsHowFarTheClockIsOff() async throws {
        let moment: Int64 = 784_111_777_000
        #expect(try await offset("Sun, 06 Nov 1994 08:49:37 GMT", now: [moment, moment + 1000]) == 0)
        #expect(try await offset("Sun, 06 Nov 1994 08:49:37 GMT", now: [moment - 60_000, moment - 60_000]) == 60_500)
        #expect(try await offset("Sun, 06 Nov 1994 08:49:37 GMT", now: [moment, moment + 2001]) == nil, "too slow")
        #expect(try await offset("Sun, 06 Nov 1994 08:49:37 GMT", now: [moment, moment - 1]) == nil, "it was set back")
        #expect(try await offset(nil, now: [moment, moment]) == nil)
    }

    /// The clock was an hour slow when the gateway answered, and somebody has set it since.
    @Test func aClockThatWasSetSinceTheLastAnswerIsOffByAsMuchLess() async throws {
        let wall = Mutex(Int64(784_111_777_000))
        let elapsed = Mutex(Duration.zero)
        let transport = DatedTransport(
            Fixed(date: "Sun, 06 Nov 1994 09:49:37 GMT"),
            elapsed: { elapsed.withLock { $0 } }
        ) {
            WallTime(millisecondsSince1970: wall.withLock { $0 })
        }
        #expect(transport.ahead == nil)
        _ = try await transport.send(HTTPRequest(method: .get, url: "https://gateway.test"))
        #expect(transport.ahead == .milliseconds(3_600_500))
        func pass(_ seconds: Int64, wall more: Int64) {
            elapsed.withLock { $0 += .seconds(seconds) }
            wall.withLock { $0 += more * 1000 }
        }
        pass(60, wall: 60)
        #expect(transport.ahead == .milliseconds(3_600_500), "time passed")
        pass(60, wall: 3660)
        #expect(transport.ahead == .milliseconds(500), "the clock was set")
        pass(2 * 86_400, wall: 86_400)
        #expect(transport.ahead == nil, "nobody knows any more")
    }

    private struct Failing: HTTPTransport {
        let error: TransportError
        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse { throw error }
    }

    /// In 1970 no certificate holds yet, in 2100 none any more.
    @Test(arguments: [
        (TransportError.untrustedCertificate, false, TransportError.notSent(reason: GatewayLight.clockIsNotSet)),
        (.untrustedCertificate, true, .untrustedCertificate),
        (.notSent(reason: "nobody answers in time"), false, .notSent(reason: "nobody answers in time")),
        (.noAnswer(after: .seconds(5)), false, .noAnswer(after: .seconds(5))),
    ])
    func aCertificateThatIsNotBelievedByAClockThatNobodyHasSetIsTheClocksFault(
        error: TransportError,
        isSet: Bool,
        said: TransportError
    ) async {
        let transport = DatedTransport(Failing(error: error), clockIsSet: { isSet }, now: { .now })
        await #expect(throws: said) { try await transport.send(HTTPRequest(method: .get, url: "https://gateway.test")) }
    }
}
