import Ethereum
import Foundation
import Payments
import StrictJSON
import Subprocess
import SystemPackage
import Testing

@testable import Sandbox

/// The published description of the API, and a Python that can check against it, where this machine has both.
private enum Description {
    static let folder = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    static let document = folder.appending(
        path: "../../../shared/reference/walletconnect-pay-openapi-2026-02-19.preview.json"
    ).standardizedFileURL
    static let python =
        ProcessInfo.processInfo.environment["TILL_TEST_PYTHON"] ?? "/usr/bin/python3"

    static let isAtHand = FileManager.default.fileExists(atPath: document.path)

    /// Runs Python to its end. Its output is what went wrong.
    static func run(_ arguments: [String], input: String = "") async throws -> (isSuccess: Bool, output: String) {
        let result = try await Subprocess.run(
            .path(FilePath(python)),
            arguments: Arguments(arguments),
            input: .string(input),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        return (result.terminationStatus.isSuccess, result.standardOutput + result.standardError)
    }
}

struct OpenAPITests {
    @Test(
        .enabled(if: Description.isAtHand, "needs the published OpenAPI file beside the repository"),
        .enabled("needs Python's jsonschema (TILL_TEST_PYTHON)") {
            try await Description.run(["-c", "import jsonschema"]).isSuccess
        }
    )
    func everyAnswerIsOneThatTheDocumentationDescribes() async throws {
        let answers = try Self.answers()
        #expect(answers.count >= 30)
        let lines = answers.map { method, path, answer in
            ExactJSON.members([
                "method": .string(method), "path": .string(path), "status": .integer(answer.status),
                "body": answer.json,
            ]).text
        }
        let script = Description.folder.appending(path: "Vectors/check_answers.py").path
        let result = try await Description.run(
            [script, Description.document.path],
            input: lines.joined(separator: "\n") + "\n"
        )
        #expect(result.isSuccess, "\(result.output)")
    }

    private typealias Answered = (method: String, path: String, answer: GatewayAnswer)

    /// Answers of every kind: each endpoint in each state that a payment can be in, and refusals.
    private static func answers() throws -> [Answered] {
        var bench = GatewayBench()
        var asking = GatewayBench { $0.collectsData = true }
        var all: [Answered] = []
        func ask(
            _ method: String,
            _ template: String,
            _ id: String = "",
            _ headers: [String: String] = GatewayBench.merchant,
            _ body: String = "",
            query: String = ""
        ) {
            let path = template.replacing("{id}", with: id) + query
            all.append((method, template, bench.answer(method, path, headers, body)))
        }
        func askAll(_ id: String) {
            ask("GET", "/v1/payments/{id}", id)
            ask("GET", "/v1/payments/{id}/status", id)
            ask("GET", "/v1/gateway/payment/{id}", id, GatewayBench.wallet)
            ask("GET", "/v1/gateway/payment/{id}/status", id, GatewayBench.wallet)
            let accounts = [1, 56, 8453].map { #""eip155:\#($0):\#(bench.key.address.checksummed)""# }
            let body = #"{"accounts":[\#(accounts.joined(separator: ","))]}"#
            let path = "/v1/gateway/payment/{id}/options"
            ask("POST", path, id, GatewayBench.wallet, body, query: "?includePaymentInfo=true")
        }
        let amount = #""amount":{"unit":"iso4217/EUR","value":"1250"}"#
        ask("POST", "/v1/payments", "", GatewayBench.merchant, #"{"referenceId":"A-1",\#(amount)}"#)
        ask("POST", "/v1/payments", "", GatewayBench.merchant, #"{"referenceId":"A_1",\#(amount)}"#)
        ask("POST", "/v1/payments", "", [:], "{}")
        let open = bench.newPayment()
        askAll(open)
        askAll("pay_none")
        let paid = bench.newPayment()
        let option = bench.option(paid)
        let fetch = ExactJSON.members(["optionId": option["id"] ?? .null, "data": .string("")]).text
        ask("POST", "/v1/gateway/payment/{id}/fetch", paid, GatewayBench.wallet, fetch)
        let signature = try bench.signature(of: bench.typedDataText(paid, option))
        let confirmation = bench.confirmation(option, [signature])
        ask("POST", "/v1/gateway/payment/{id}/confirm", paid, GatewayBench.wallet, "{}")
        ask("POST", "/v1/gateway/payment/{id}/confirm", paid, GatewayBench.wallet, confirmation)
        askAll(paid)
        ask("GET", "/v1/merchants/payments")
        bench.pass(.seconds(2))
        askAll(paid)
        ask("POST", "/v1/gateway/payment/{id}/confirm", paid, GatewayBench.wallet, confirmation)
        ask("POST", "/v1/payments/{id}/cancel", paid, GatewayBench.merchant, "{}")
        for _ in 0..<2 { ask("POST", "/v1/refunds", "", GatewayBench.merchant, #"{"paymentId":"\#(paid)"}"#) }
        ask("POST", "/v1/payments/{id}/cancel", open, GatewayBench.merchant, "{}")
        let other = bench.newPayment()
        ask("POST", "/v1/gateway/payment/{id}/cancel", other, GatewayBench.wallet, "{}")
        let declined = bench.newPayment()
        bench.state.payments[declined]?.ordered = .declinedUser
        _ = try bench.pay(declined)
        bench.pass(.seconds(2))
        askAll(declined)
        bench.pass(.seconds(600))
        askAll(other)
        ask("GET", "/v1/merchants/payments")
        ask("GET", "/v1/payments", query: "?limit=2")
        ask("GET", "/v1/merchants/payments", query: "?limit=0")
        ask("GET", "/v1/merchants/payments", "", [:])
        let form = asking.newPayment()
        let account = #"{"accounts":["eip155:1:\#(asking.key.address.checksummed)"]}"#
        let template = "/v1/gateway/payment/{id}/options"
        let path = template.replacing("{id}", with: form)
        all.append(("POST", template, asking.answer("POST", path, GatewayBench.wallet, account)))
        return all
    }
}
