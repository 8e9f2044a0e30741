import Foundation
import Net
import Subprocess
import SystemPackage
import Testing
import WalletConnectPay

/// The example program against the sandbox's gateway, both as they were built.
@Suite(.timeLimit(.minutes(2)))
struct ExampleWalletTests {
    private struct Outcome: Sendable {
        let isPaid: Bool
        let text: String
        let status: PaymentStatus
        let transactionID: String?
    }

    /// - Parameters:
    ///   - options: The gateway's.
    ///   - wallet: The wallet's.
    ///   - link: Another one than the payment's.
    ///   - secondsLeft: Until the payment expires; nil: the gateway's usual five minutes.
    private func pay(
        _ options: [String] = [],
        wallet walletOptions: [String] = [],
        link: String? = nil,
        secondsLeft: Int64? = nil
    ) async throws -> Outcome {
        let log = FilePath(NSTemporaryDirectory()).appending("till-example-\(UUID().uuidString).log")
        defer { try? FileManager.default.removeItem(atPath: log.string) }
        let gateway = ["gateway", "--merchant", "mrch_1", "--api-key", "wcp_1", "--settle-after", "0.1"] + options
        return try await withProgram("till-sandbox", gateway, log: log) { running in
            let url = try #require(try await running.first { $0.ready == true }.url)
            let transport = try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
            let outcome: Result<Outcome, any Error>
            do {
                let merchant = try MerchantClient(
                    baseURL: url,
                    credentials: MerchantCredentials(merchantID: "mrch_1", apiKey: Secret("wcp_1")),
                    transport: transport
                )
                let order = try NewPayment(
                    reference: "EXAMPLE",
                    amount: .fiat(code: "EUR", minorUnits: 1250),
                    expiresAtSeconds: secondsLeft.map { Int64(Date().timeIntervalSince1970) + $0 }
                )
                let created = try await merchant.create(order, idempotencyKey: "k1")
                let wallet = try await run(
                    .path(Programs.directory.appending("till-example-wallet")),
                    arguments: Arguments([link ?? created.link, url] + walletOptions),
                    input: .none,
                    output: .string(limit: 1 << 16),
                    error: .discarded
                )
                let report = try await merchant.status(of: created.paymentID, waitingUpTo: nil)
                outcome = .success(
                    Outcome(
                        isPaid: wallet.terminationStatus.isSuccess,
                        text: wallet.standardOutput,
                        status: report.status,
                        transactionID: report.result?.transactionID
                    )
                )
            } catch {
                outcome = .failure(error)
            }
            try await transport.shutdown()
            return try outcome.get()
        }
    }

    @Test func theExampleWalletPaysAndTheMerchantSeesTheSameTransaction() async throws {
        let outcome = try await pay()
        #expect(outcome.isPaid && outcome.status == .succeeded)
        #expect(outcome.text.contains("Sandbox Shop asks for 12.50 EUR\n"))
        #expect(outcome.text.contains("- 13.50 USDC on Base\n"))
        let transaction = try #require(outcome.transactionID)
        #expect(outcome.text.contains("Paid: \(transaction)"))
    }

    /// Whoever waits is told what for, step by step, and nothing of time that is not short.
    @Test func theExampleWalletSaysWhatItIsDoing() async throws {
        let outcome = try await pay()
        let lines = outcome.text.split(separator: "\n").filter { $0.hasSuffix(" …") }
        #expect(
            lines == [
                "Asking what the payment can be paid with …", "Asking what there is to sign …", "Signing 1 of 1 …",
                "Waiting for the payment to go through …",
            ]
        )
        #expect(!outcome.text.contains("left to pay") && !outcome.text.contains("too late"))
    }

    @Test func theExampleWalletWarnsInTheLastMinute() async throws {
        let outcome = try await pay(secondsLeft: 55)
        #expect(outcome.isPaid && outcome.text.contains("Less than a minute is left to pay.\n"))
    }

    /// Its clock may be wrong, so it warns and leaves the decision to the gateway.
    @Test func theExampleWalletLeavesItToTheGatewayToEndAPayment() async throws {
        let outcome = try await pay(["--clock-skew=-86400"])
        #expect(outcome.isPaid && outcome.text.contains("by this clock; it may be too late.\n"))
    }

    @Test func theExampleWalletHandsNothingOverBeforeTheTermsAreAccepted() async throws {
        let refused = try await pay(["--collect-fields"])
        #expect(!refused.isPaid && refused.status == .requiresAction)
        #expect(refused.text.contains("Not paid: termsNotAccepted") && !refused.text.contains("Signing"))
        let accepted = try await pay(["--collect-fields"], wallet: ["--accept-terms"])
        #expect(accepted.isPaid && accepted.status == .succeeded && !accepted.text.contains("Jane"))
    }

    @Test func theExampleWalletStopsAtAFormThatItCannotShow() async throws {
        for (options, known) in [([], 0), (["--accept-terms"], 4)] {
            let asProduction = ["--collect-data", "--form-base", "https://pay.walletconnect.com/"]
            let outcome = try await pay(asProduction, wallet: options)
            #expect(!outcome.isPaid && outcome.status == .requiresAction)
            #expect(outcome.text.contains("- 13.50 USDC on Base (info required)\n"))
            #expect(outcome.text.contains("The form opens with \(known) answers filled in."))
            #expect(outcome.text.contains("Not paid: unsupported(\"a form\")") && !outcome.text.contains("Jane"))
        }
    }

    /// Where the gateway takes the answers with the confirmation, a wallet without a web view pays too.
    @Test func theExampleWalletAnswersAFormsQuestionsByItself() async throws {
        let late = ["--collect-data", "--collect-late"]
        let unasked = try await pay(late, wallet: ["--answer-forms"])
        #expect(!unasked.isPaid && unasked.text.contains("Not paid: termsNotAccepted"))
        #expect(!unasked.text.contains("Signing"))
        let outcome = try await pay(late, wallet: ["--answer-forms", "--accept-terms"])
        #expect(outcome.isPaid && outcome.status == .succeeded && !outcome.text.contains("Jane"))
        let early = try await pay(["--collect-data"], wallet: ["--answer-forms", "--accept-terms"])
        #expect(!early.isPaid && early.text.contains("Not paid: fetchError(\"400: IC data required but not found\")"))
        #expect(early.status == .requiresAction)
    }

    @Test func theExampleWalletOutlastsAGatewayInTrouble() async throws {
        let outcome = try await pay(["--fault", "confirm:error=503,when=after,times=1"])
        #expect(outcome.isPaid && outcome.status == .succeeded)
    }

    @Test func theExampleWalletRefusesALinkToSomebodyElse() async throws {
        let outcome = try await pay(link: "https://pay.walletconnect.com.evil.test/pay_1")
        #expect(!outcome.isPaid && outcome.status == .requiresAction)
        #expect(outcome.text.contains("\nNot paid: invalidRequest"))
    }
}
