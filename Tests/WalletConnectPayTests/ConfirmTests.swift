import Foundation
import Locks
import Testing

@testable import WalletConnectPay

/// `confirmPayment`: what is sent, how long it is followed, and what is said where the end is not known.
@Suite(.timeLimit(.minutes(1)))
struct ConfirmTests {
    private func confirm(
        _ gateway: ScriptedGateway,
        _ signatures: [String] = ["0x1"],
        collected: [CollectDataFieldResult]? = nil,
        clock: any Clock<Duration> = InstantClock(),
        retries: Int = 0,
        maxPollMs: Int64? = nil
    ) async throws -> ConfirmPaymentResultResponse {
        try await gateway.client(clock: clock, retries: retries).confirmPayment(
            paymentId: "pay_1",
            optionId: "opt-1",
            signatures: signatures,
            collectedData: collected,
            maxPollMs: maxPollMs
        )
    }

    @Test func resultsTravelInTheOrderOfTheActions() async throws {
        let gateway = ScriptedGateway(Answer.status("succeeded"))
        _ = try await confirm(gateway, ["0xc", "0xa", "0xb"])
        #expect(
            gateway.body(0) == #"{"optionId":"opt-1","results":[{"data":["0xc"],"type":"walletRpc"},"#
                + #"{"data":["0xa"],"type":"walletRpc"},{"data":["0xb"],"type":"walletRpc"}]}"#
        )
    }

    @Test func collectedDataTravelOnlyWhereThereAreSome() async throws {
        let gateway = ScriptedGateway(Answer.status("succeeded"))
        _ = try await confirm(gateway, collected: [CollectDataFieldResult(id: "dob", value: "1990-01-15")])
        _ = try await confirm(gateway)
        #expect(gateway.body(0).contains(#""collectedData":{"fields":[{"id":"dob","value":"1990-01-15"}]}"#))
        #expect(!gateway.body(1).contains("collectedData"))
    }

    @Test func itIsFollowedToTheEndAtTheGatewaysPace() async throws {
        let gateway = ScriptedGateway(
            Answer.status("processing", pollInMs: 1500),
            Answer.status("processing"),
            Answer.status("in_review", pollInMs: 0),
            Answer.status("succeeded", more: #","info":{"txId":"0x46","optionAmount":\#(Answer.amount)}"#)
        )
        let clock = InstantClock()
        let result = try await confirm(gateway, clock: clock)
        #expect(result.status == .succeeded && result.isFinal && result.pollInMs == nil)
        #expect(result.info?.txId == "0x46" && result.info?.optionAmount.value == "13500000")
        #expect(clock.sleeps == [.milliseconds(1500), .seconds(1), .milliseconds(100)])
        #expect(gateway.calls.first == "POST /gateway/payment/pay_1/confirm?maxPollMs=20000")
        #expect(gateway.calls.dropFirst().allSatisfy { $0 == "GET /gateway/payment/pay_1/status?maxPollMs=20000" })
    }

    @Test(arguments: ["succeeded", "failed", "expired", "cancelled"])
    func everyEndIsAResult(word: String) async throws {
        let result = try await confirm(ScriptedGateway(Answer.status(word)))
        #expect(result.status == PaymentStatus(word: word) && result.isFinal && result.info == nil)
    }

    @Test func anEndThatTheGatewaysFlagCallsNotFinalIsAskedAboutAgain() async throws {
        let gateway = ScriptedGateway(
            .answer(200, #"{"status":"failed","isFinal":false,"pollInMs":500}"#),
            Answer.status("succeeded")
        )
        let result = try await confirm(gateway)
        #expect(result.status == .succeeded && gateway.requests.count == 2)
    }

    /// Whoever asked on would ask for ever, or tell of a time-out after the gateway had said all it had to say.
    @Test(arguments: ["refunded", "", "processing", "requires_action", "succeeded"], [nil, 6000] as [Int64?])
    func theGatewaysLastWordEndsItWhateverTheWord(word: String, limit: Int64?) async throws {
        let gateway = ScriptedGateway(
            Answer.status("processing", pollInMs: 10),
            .answer(200, #"{"status":"\#(word)","isFinal":true}"#)
        )
        let result = try await confirm(gateway, maxPollMs: limit)
        #expect(result.status == PaymentStatus(word: word) && result.isFinal)
        #expect(result.status.isFinal == (word == "succeeded"), "an end, and an outcome only by a word that is one")
        #expect(gateway.requests.count == 2)
    }

    @Test(arguments: [1, 700, 1000, 4500, 60_000] as [Int64])
    func whatIsNotOverInTimeIsNotKnownYet(limit: Int64) async throws {
        let gateway = ScriptedGateway(Answer.status("processing", pollInMs: 1000))
        let clock = InstantClock()
        do {
            _ = try await confirm(gateway, clock: clock, maxPollMs: limit)
            Issue.record("it ended")
        } catch let error as ConfirmPaymentError {
            guard case .pollingTimeout = error else {
                Issue.record("\(error)")
                return
            }
            #expect(error.mayHavePaid)
        }
        #expect(clock.now.offset == .milliseconds(limit), "not later, not earlier")
        let polls = gateway.requests.compactMap { $0.url.split(separator: "maxPollMs=").last.flatMap { Int64($0) } }
        #expect(polls.allSatisfy { $0 <= limit } && polls.last == 0, "asked once more at the end")
        #expect(gateway.requests.allSatisfy { $0.timeout <= .milliseconds(min(limit, 20_000)) + .seconds(10) })
    }

    @Test(arguments: [nil, 0, -1] as [Int64?])
    func withoutALimitItIsFollowedForAnHour(limit: Int64?) async throws {
        let clock = InstantClock()
        for word in ["processing", "requires_action", "in_review"] {
            let started = clock.now.offset
            await #expect {
                _ = try await confirm(
                    ScriptedGateway(Answer.status(word, pollInMs: 50_000)),
                    clock: clock,
                    maxPollMs: limit
                )
            } throws: {
                guard case .pollingTimeout? = $0 as? ConfirmPaymentError else { return false }
                return true
            }
            #expect(clock.now.offset - started == .seconds(3600))
        }
    }

    @Test func aCancelledTaskEndsAnExchangeAtOnceAndAsksNoMore() async throws {
        let gateway = ScriptedGateway(.hang)
        let confirming = Task { try await confirm(gateway, retries: 5) }
        while gateway.requests.isEmpty { await Task.yield() }
        confirming.cancel()
        await #expect(throws: ConfirmPaymentError.cancelled) { try await confirming.value }
        #expect(gateway.requests.count == 1)
    }

    @Test func aCancelledTaskEndsAPauseAtOnceAndAsksNoMore() async throws {
        let gateway = ScriptedGateway(Answer.status("processing", pollInMs: 60_000))
        let confirming = Task { try await confirm(gateway, clock: ContinuousClock()) }
        while gateway.requests.isEmpty { await Task.yield() }
        confirming.cancel()
        await #expect(throws: ConfirmPaymentError.cancelled) { try await confirming.value }
        #expect(gateway.requests.count == 1)
    }

    // MARK: - Asking again

    @Test(
        arguments: [
            .fail(.noAnswer(after: .seconds(1))), .fail(.notSent(reason: "r")), .answer(500, ""), .answer(502, ""),
            .answer(429, ""),
        ] as [ScriptedGateway.Turn]
    )
    func whatMayPassIsAskedAgain(trouble: ScriptedGateway.Turn) async throws {
        let gateway = ScriptedGateway(trouble, trouble, trouble, trouble, trouble, Answer.status("succeeded"))
        let clock = InstantClock()
        #expect(try await confirm(gateway, clock: clock, retries: 5).status == .succeeded)
        #expect(clock.sleeps == [1, 2, 2, 2, 2].map { .seconds($0) })
        #expect(Set(gateway.requests.map { $0.body ?? [] }).count == 1, "the same every time")
    }

    @Test(arguments: [(0, 0), (1, 1), (9999, 2)])
    func theGatewaysOwnPauseIsHeardWithinReason(named: Int, seconds: Int) async throws {
        let clock = InstantClock()
        let gateway = ScriptedGateway(.answer(429, "", [("Retry-After", "\(named)")]), Answer.status("succeeded"))
        _ = try await confirm(gateway, clock: clock, retries: 1)
        #expect(clock.sleeps == [.seconds(seconds)])
    }

    @Test func itGivesUpAfterFiveMoreTries() async throws {
        let gateway = ScriptedGateway(.answer(503, ""))
        await #expect(throws: ConfirmPaymentError.internalError("HTTP 503 ")) {
            _ = try await confirm(gateway, retries: 5)
        }
        #expect(gateway.requests.count == 6)
    }

    @Test func noTryBeginsAfterTheLimit() async throws {
        let gateway = ScriptedGateway(.answer(503, ""))
        let clock = InstantClock()
        await #expect(throws: ConfirmPaymentError.self) {
            _ = try await confirm(gateway, clock: clock, retries: 5, maxPollMs: 2500)
        }
        #expect(gateway.requests.count == 2 && clock.now.offset < .milliseconds(2500))
        #expect(gateway.requests.map(\.timeout) == [.milliseconds(12_500), .milliseconds(11_500)])
    }

    @Test(arguments: [400, 401, 404, 409, 410, 422])
    func aRefusalIsNotAskedAgain(status: Int) async throws {
        let gateway = ScriptedGateway(Answer.refusal(status, "x"))
        await #expect(throws: ConfirmPaymentError.self) { _ = try await confirm(gateway, retries: 5) }
        #expect(gateway.requests.count == 1)
    }

    /// The first try was lost on its way back; it paid, and the second is refused because of that.
    @Test(arguments: ["processing", "succeeded"])
    func aRefusalAfterSilenceIsNoProofThatNothingWasPaid(word: String) async throws {
        let gateway = ScriptedGateway(
            .fail(.noAnswer(after: .seconds(30))),
            Answer.refusal(400, "invalid_state"),
            Answer.status(word, pollInMs: word == "processing" ? 10 : nil),
            Answer.status("succeeded")
        )
        #expect(try await confirm(gateway, retries: 5).status == .succeeded)
    }

    @Test func aRefusalAfterSilenceHoldsWhereThePaymentStillWaits() async throws {
        let gateway = ScriptedGateway(
            .fail(.noAnswer(after: .seconds(30))),
            Answer.refusal(422, "params_validation", "Invalid signature"),
            Answer.status("requires_action", pollInMs: 10)
        )
        await #expect(throws: ConfirmPaymentError.invalidSignature("422: Invalid signature")) {
            _ = try await confirm(gateway, retries: 5)
        }
    }

    @Test func whereNobodyCanTellItMayHaveBeenPaid() async throws {
        let gateway = ScriptedGateway(
            .fail(.noAnswer(after: .seconds(30))),
            Answer.refusal(400, "invalid_state"),
            .fail(.notSent(reason: "cable"))
        )
        await #expect {
            _ = try await confirm(gateway, retries: 5)
        } throws: {
            ($0 as? ConfirmPaymentError)?.mayHavePaid == true
        }
    }

    /// The gateway said yes in a way that cannot be read: how the payment stands tells what to.
    @Test(arguments: ["succeeded", "failed", "expired", "processing"])
    func aYesThatCannotBeReadIsAskedAbout(word: String) async throws {
        let gateway = ScriptedGateway(
            .answer(200, "<html>"),
            .answer(502, ""),
            Answer.status(word, pollInMs: word == "processing" ? 10 : nil),
            Answer.status("succeeded")
        )
        let result = try await confirm(gateway, retries: 5)
        #expect(result.status == (word == "processing" ? .succeeded : PaymentStatus(word: word)))
        #expect(gateway.requests.count { $0.method == .post } == 1, "it is not confirmed again")
    }

    @Test(
        arguments: [
            Answer.status("requires_action", pollInMs: 10), .answer(200, "<html>"), .fail(.notSent(reason: "cable")),
        ] as [ScriptedGateway.Turn]
    )
    func whereNobodyCanReadTheYesItMayHaveBeenPaid(next: ScriptedGateway.Turn) async throws {
        let error = ConfirmPaymentError.internalError("an answer with a body that is not as documented")
        await #expect(throws: error) { _ = try await confirm(ScriptedGateway(.answer(200, "{"), next)) }
        #expect(error.mayHavePaid)
    }

    @Test func aPollThatFailsForAMomentEndsNothing() async throws {
        let gateway = ScriptedGateway(
            Answer.status("processing", pollInMs: 1000),
            .answer(502, ""),
            .fail(.notSent(reason: "cable")),
            Answer.status("succeeded")
        )
        #expect(try await confirm(gateway, retries: 5).status == .succeeded)
    }

    /// The signatures are with the gateway: whatever the next question meets, nobody may say that nothing was paid.
    @Test(
        arguments: [
            .fail(.notSent(reason: "cable")), .fail(.noAnswer(after: .seconds(1))), .answer(429, ""), .answer(500, ""),
            .answer(404, ""), .answer(400, ""), .answer(200, "{}"),
        ] as [ScriptedGateway.Turn]
    )
    func onceConfirmedItMayHaveBeenPaidWhateverTheNextQuestionMeets(trouble: ScriptedGateway.Turn) async throws {
        let gateway = ScriptedGateway(Answer.status("processing", pollInMs: 1000), trouble)
        do {
            _ = try await confirm(gateway)
            Issue.record("it ended")
        } catch let error as ConfirmPaymentError {
            #expect(error.mayHavePaid, "\(error)")
        }
    }

    @Test func logLinesNameTheCallAndNothingPersonal() async throws {
        let lines = Mutex<[String]>([])
        let gateway = ScriptedGateway(Answer.status("succeeded"))
        let client = try gateway.client(log: { line in lines.withLock { $0.append(line) } })
        let answer = CollectDataFieldResult(id: "fullName", value: "Jane Canary")
        _ = try await client.confirmPayment(
            paymentId: "pay_1",
            optionId: "opt-canary",
            signatures: ["0xcanary"],
            collectedData: [answer]
        )
        let url = "https://gateway.test/v1/gateway/payment/pay_1/confirm?maxPollMs=20000"
        #expect(lines.withLock { $0 } == ["POST \(url) → 200"])
        var dumped = ""
        dump(answer, to: &dumped)
        #expect(!"\(answer)\(String(reflecting: answer))\(dumped)".contains("Jane"))
    }
}
