import Acquirer
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing
import TestSupport
import WalletConnectPay

/// An acquirer, or whatever stands in its place, that answers everything the same from the first hand-in on.
struct FloodingAcquirer: HTTPTransport {
    enum Flood: String, CaseIterable, Sendable {
        case malformed, signedOut, notFound, busy, busyForNothing, closed, limited, limitedForNothing
        case fault, badGateway, unavailable, rubbish, slow, silent

        var answer: (status: Int, body: String, pause: String?) {
            switch self {
            case .malformed: (400, #"{"code":"malformed"}"#, nil)
            case .signedOut: (401, #"{"code":"unauthorized"}"#, nil)
            case .notFound: (404, #"{"code":"not_found"}"#, nil)
            case .busy: (409, #"{"code":"payment_busy"}"#, "1")
            case .busyForNothing: (409, #"{"code":"payment_busy"}"#, "0")
            case .closed: (409, #"{"code":"payment_closed"}"#, nil)
            case .limited: (429, #"{"code":"rate_limited"}"#, nil)
            case .limitedForNothing: (429, #"{"code":"rate_limited"}"#, "0")
            case .fault: (500, "", nil)
            case .badGateway: (502, "<html>", nil)
            case .unavailable: (503, #"{"code":"rate_limited"}"#, "0")
            case .rubbish, .slow, .silent: (200, #"{"payment":"#, nil)
            }
        }
    }

    let inner: InProcessAcquirer
    let network: TapDeskTests.Network
    let clock: TerminalClock

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let isHandIn = request.method == .post && request.url.hasSuffix("/executions")
        let hasBegun = network.floodedAt.withLock { !$0.isEmpty }
        guard let flood = network.flood.withLock({ $0 }), isHandIn || hasBegun else {
            return try await inner.send(request)
        }
        network.floodedAt.withLock { $0.append(clock.elapsed()) }
        switch flood {
        case .silent: throw .noAnswer(after: .zero)
        case .slow:
            do { try await clock.sleep(request.timeout) } catch { throw .cancelled }
            throw .noAnswer(after: request.timeout)
        default: break
        }
        let (status, body, pause) = flood.answer
        return HTTPResponse(
            status: status,
            headers: pause.map { [(name: "Retry-After", value: $0)] } ?? [],
            body: Array(body.utf8)
        )
    }
}

extension TapDeskTests {
    @Test(.timeLimit(.minutes(3)), arguments: FloodingAcquirer.Flood.allCases)
    func anAcquirerThatFloodsIsAskedNowAndThenAndTheChargeEndsAsItWas(
        flood: FloodingAcquirer.Flood
    ) async throws {
        let parts = try parts()
        let network = parts.network
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
                try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
                let phone = try await Self.phone(parts)
                try await shift.passes(.seconds(2))
                await phone.setOnline(false)
                network.flood.withLock { $0 = flood }
                let id = try await shift.charge()
                try await shift.until("it was handed in") { network.floodedAt.withLock { !$0.isEmpty } }
                let start = parts.bed.clock.now
                try await shift.until("five minutes have passed", within: .seconds(400), by: .milliseconds(100)) {
                    parts.bed.clock.now >= start + .seconds(300)
                }
                let times = network.floodedAt.withLock { $0 }
                #expect(times.count <= 150)
                let busiest = times.map { time in times.count { $0 >= time && $0 < time + .seconds(10) } }.max()
                #expect(try #require(busiest) <= 60)
                // None of that is a word about the money.
                #expect([.processing, .unknown].contains(try await shift.state(id)))
                network.flood.withLock { $0 = nil }
                try await shift.until(id, is: .succeeded, within: .seconds(200), by: .milliseconds(50))
                try await shift.until("anna knows") { parts.bed.outcome("anna") == .paid }
            }
        }
    }
}
