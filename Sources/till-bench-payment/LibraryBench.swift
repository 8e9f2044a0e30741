import Foundation
import Net
import Payments
import Sandbox
import Subprocess
import WalletConnectPay

/// What the library adds to a call: the merchant's calls of one payment, made, taken back and asked about until it is final,
/// and the same calls by curl, in turns at one gateway. Both keep their connection; only the exchange itself counts.
struct LibraryBench {
    private let gateway: GatewayServer
    private let merchant: MerchantClient

    private static let key = "wcp_bench"
    private static let merchantID = "mrch_bench"

    static func run(rounds: Int) async throws {
        let configuration = GatewayConfiguration(merchantID: merchantID, apiKey: key)
        let gateway = try GatewayServer(configuration: configuration, port: 0, clock: .system)
        let merchant = try MerchantClient(
            baseURL: gateway.url,
            credentials: MerchantCredentials(merchantID: merchantID, apiKey: Secret(key)),
            transport: try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
        )
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await gateway.run() }
            try await LibraryBench(gateway: gateway, merchant: merchant).compare(rounds: rounds)
            group.cancelAll()
        }
    }

    private func compare(rounds: Int) async throws {
        var (library, curl) = ([Call: [Duration]](), [Call: [Duration]]())
        for round in 0..<rounds + 20 {
            if round == 20 { (library, curl) = ([:], [:]) }  // The first ones warm up.
            for (call, time) in try await throughTheLibrary(round) { library[call, default: []].append(time) }
            for (call, time) in try await throughCurl(round) { curl[call, default: []].append(time) }
        }
        for call in Call.allCases {
            report("\(call.rawValue) through the library", library[call] ?? [])
            report("\(call.rawValue) through curl", curl[call] ?? [])
        }
    }

    private enum Call: String, CaseIterable { case create, cancel, status }

    private func throughTheLibrary(_ round: Int) async throws -> [(Call, Duration)] {
        let clock = ContinuousClock()
        let order = try NewPayment(
            reference: "BENCH-\(round)",
            amount: .fiat(code: "EUR", minorUnits: 1250),
            expiresAtSeconds: nil
        )
        let start = clock.now
        let created = try await merchant.create(order, idempotencyKey: "library-\(round)")
        let made = clock.now
        _ = try await merchant.cancel(created.paymentID)
        let cancelled = clock.now
        let report = try await merchant.status(of: created.paymentID, waitingUpTo: nil)
        let asked = clock.now
        guard report.status == .cancelled else { throw BenchError.refused(0) }
        return [(.create, made - start), (.cancel, cancelled - made), (.status, asked - cancelled)]
    }

    private func throughCurl(_ round: Int) async throws -> [(Call, Duration)] {
        let body = #"{"referenceId":"BENCH-\#(round)","amount":{"unit":"iso4217/EUR","value":"1250"}}"#
        let made = try await curl([
            Self.ask("/v1/payments", ["-H", "Idempotency-Key: curl-\(round)", "-d", body], gateway)
        ])
        guard let id = made.text.firstMatch(of: /"paymentId" *: *"([^"]+)"/)?.output.1 else { throw BenchError.noLink }
        let ended = try await curl([
            Self.ask("/v1/payments/\(id)/cancel", ["-d", "{}"], gateway),
            Self.ask("/v1/payments/\(id)/status", [], gateway),
        ])
        return [(.create, made.times[0]), (.cancel, ended.times[0]), (.status, ended.times[1])]
    }

    private static func ask(_ path: String, _ options: [String], _ gateway: GatewayServer) -> [String] {
        [
            "-s", "-H", "Api-Key: \(key)", "-H", "Merchant-Id: \(merchantID)", "-H", "Content-Type: application/json",
            "-H", "WCP-Version: 2026-02-19.preview", "-w", "\n%{time_total} %{time_connect}\n",
        ] + options + [gateway.url + path]
    }

    /// One curl for several requests over one connection; each one's time from the request to the end of its answer.
    private func curl(_ requests: [[String]]) async throws -> (text: String, times: [Duration]) {
        let result = try await Subprocess.run(
            .name("curl"),
            arguments: Arguments(Array(requests.joined(separator: ["--next"]))),
            output: .string(limit: 1 << 16),
            error: .discarded
        )
        let times = result.standardOutput.matches(of: /(?m)^([0-9.]+) ([0-9.]+)$/).compactMap { match -> Duration? in
            guard let total = Double(match.output.1), let start = Double(match.output.2) else { return nil }
            return .seconds(total - start)
        }
        guard times.count == requests.count else { throw BenchError.refused(Int(requests.count)) }
        return (result.standardOutput, times)
    }
}
