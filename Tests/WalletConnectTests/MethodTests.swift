import StrictJSON
import Testing

@testable import WalletConnect

struct MethodTests {
    let vectors: ExactJSON
    init() throws { vectors = try Vectors.load("sign_methods") }

    @Test func everyMethodHasTheTagsTimesAndPromptsOfTheSpecification() throws {
        var seen: Set<Method> = []
        for entry in try vectors.list("methods") {
            guard let method = Method(rawValue: try entry.text("method")) else {
                #expect(try entry.text("method") == "unregistered_method")
                #expect(entry.value(named: "responseTag")?.integer == Int64(Method.unknownTag))
                #expect(entry.value(named: "responseTtl")?.integer == Int64(Method.unknownTTL))
                continue
            }
            seen.insert(method)
            func number(_ name: String) -> Int? { entry.value(named: name)?.integer.map { Int($0) } }
            #expect(number("requestTag") == method.requestTag)
            #expect(number("responseTag") == method.responseTag(.success))
            #expect(number("requestTtl") == method.requestTTL)
            #expect(number("responseTtl") == method.responseTTL(.success))
            // The official SDK does not wake a phone for authentication; the specification does.
            if method != .sessionAuthenticate { #expect(entry.value(named: "promptRequest")?.bool == method.prompts) }
            #expect(number("rejectTag") ?? method.responseTag(.success) == method.responseTag(.rejection))
            #expect(number("autoRejectTag") ?? method.responseTag(.success) == method.responseTag(.automaticRejection))
            if let ttl = number("rejectTtl") { #expect(ttl == method.responseTTL(.rejection)) }
        }
        #expect(seen == Set(Method.allCases))
    }

    @Test func everyErrorHasItsCodeAndItsWords() throws {
        let known: [JSONRPCError] = [
            .invalidMethod, .invalidEvent, .invalidUpdateRequest, .invalidExtendRequest, .invalidSessionSettleRequest,
            .unauthorizedMethod, .unauthorizedEvent, .unauthorizedUpdateRequest, .unauthorizedExtendRequest,
            .unauthorizedChain, .userRejectedRequest, .userRejected, .userRejectedChains, .userRejectedMethods,
            .userRejectedEvents, .unsupportedChains, .unsupportedMethods, .unsupportedEvents, .unsupportedAccounts,
            .unsupportedNamespaceKey, .userDisconnected, .sessionSettlementFailed, .noSessionForTopic,
            .sessionRequestExpired, .methodUnsupported, .malformedResponseParams, .malformedRequestParams,
            .messageCompromised, .signatureVerificationFailed, .requestExpired, .missingIssuer,
            .authUserRejectedRequest, .authUserDisconnected,
        ]
        for entry in try vectors.list("errors") {
            let code = Int(entry.value(named: "code")?.integer ?? 0)
            let error = try #require(known.first { $0.code == code }, "\(code)")
            if try !entry.text("message").isEmpty { #expect(try error.message == entry.text("message")) }
        }
        #expect(known.count == (try vectors.list("errors").count))
        #expect(known.filter(\.isDecline).map(\.code) == [4001, 5000, 5001, 5002, 5003])
    }

    @Test func lifetimesAreThoseOfTheSpecification() throws {
        let limits = try vectors.at("limits")
        #expect(limits.value(named: "proposalExpiry")?.integer == Lifetime.proposal)
        #expect(limits.value(named: "pairingInactive")?.integer == Lifetime.inactivePairing)
        #expect(limits.value(named: "pairingActive")?.integer == Lifetime.activePairing)
        #expect(limits.value(named: "sessionExpiry")?.integer == Lifetime.session)
        #expect(limits.value(named: "requestExpiryMin")?.integer == Lifetime.shortestRequest)
        #expect(limits.value(named: "requestExpiryMax")?.integer == Lifetime.longestRequest)
        #expect(limits.value(named: "authenticateMinExpiryJs")?.integer == Lifetime.authentication)
    }

    @Test func onlyTheWalletMakesASessionLongerAndNeverBySevenDays() throws {
        let extend = try vectors.at("extendValidation")
        let now = try #require(extend.value(named: "now")?.integer)
        for entry in try extend.list("cases") {
            let (current, wish) = (entry.value(named: "current")?.integer, entry.value(named: "requested")?.integer)
            let byController = entry.value(named: "peerIsController")?.bool ?? false
            do throws(JSONRPCError) {
                let expiry = try SignEngine.extended(from: current ?? 0, to: wish, byController: byController, now: now)
                #expect(expiry == wish && entry.value(named: "result")?.string == "ok")
            } catch {
                let expected = ["unauthorized": 3004, "tooHigh": 1004, "tooLow": 1004]
                #expect(expected[entry.value(named: "result")?.string ?? ""] == error.code)
            }
        }
    }

    @Test func aRequestLivesForFiveMinutesToSevenDays() throws {
        let window = try vectors.at("requestExpiryValidation")
        let now = try #require(window.value(named: "now")?.integer)
        var engine = SignEngine(metadata: .terminal, random: TestRandom(seed: 1), book: Book())
        engine.begin(now * 1000)
        let session = SessionRecord.example(namespaces: try Example.grant(), expiry: now + 700_000)
        engine.book.put(session)
        for entry in try window.list("cases") {
            guard let expiry = entry.value(named: "expiry")?.integer else { continue }
            let request = Request(
                topic: session.topic,
                method: "personal_sign",
                params: .array([]),
                chainId: try .example("eip155:1"),
                ttlSeconds: expiry - now
            )
            let isValid = (try? engine.request(request)) != nil
            #expect(isValid == entry.value(named: "valid")?.bool)
        }
    }
}
