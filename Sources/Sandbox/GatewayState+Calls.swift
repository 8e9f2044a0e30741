import Ethereum
public import Payments
import StrictJSON

extension GatewayState {
    /// A call on its way through the gateway: what it asks, and what will go wrong with it.
    public struct Handling: Sendable {
        let route: Route
        let number: Int
        /// In the order in which they were set.
        public let faults: [Fault]

        func effects(_ moment: Fault.Moment) -> [Fault.Effect] { faults.filter { $0.moment == moment }.map(\.effect) }

        /// What the faults add to the gateway's clock for this call.
        var skew: Duration {
            faults.reduce(.zero) { sum, fault in
                if case .clockSkew(let seconds) = fault.effect { sum + .seconds(seconds) } else { sum }
            }
        }

        func has(_ effect: Fault.Effect) -> Bool { faults.contains { $0.effect == effect } }

        var outcome: SandboxPayment.Outcome? {
            for case .outcome(let word) in faults.map(\.effect) { return SandboxPayment.Outcome(rawValue: word) }
            return nil
        }
    }

    /// Who asks, as far as the answer depends on it.
    struct Caller: Sendable {
        let version: APIVersion
        /// Whose payments the call is about; empty where it names no merchant.
        let merchant: String
    }

    /// Takes a call in: finds what it asks and which faults it meets, and logs it. Nil for an unknown route.
    public mutating func receive(_ request: GatewayRequest, at now: WallTime) -> Handling? {
        guard let route = Route(request) else { return nil }
        let met = faults.isEmpty ? [] : faults.meeting(route.endpoint, subject(request, route), at: now)
        return Handling(route: route, number: log.add(request, route, met, at: now), faults: met)
    }

    private func subject(_ request: GatewayRequest, _ route: Route) -> CallSubject {
        var subject = CallSubject(amount: route.payment.flatMap { payments[$0]?.amount.minorUnits })
        guard route.endpoint == .create || route.endpoint == .options, let body = try? request.object() else {
            return subject
        }
        if route.endpoint == .create { subject.amount = body["amount"]?["value"]?.stringValue.flatMap { UInt64($0) } }
        subject.accounts = Set((body["accounts"]?.arrayValue ?? []).compactMap { $0.stringValue?.lowercased() })
        return subject
    }

    /// Works on a call, and once more where a fault repeats it.
    public mutating func perform(_ request: GatewayRequest, _ handling: Handling, at now: WallTime) -> Reply {
        advance(to: now)
        let reply = performOnce(request, handling, at: now)
        guard handling.has(.duplicate) else { return reply }
        if case .hold(let waiter) = reply { abandon(waiter) }
        return performOnce(request, handling, at: now)
    }

    /// Notes how a call ended. `answer` is nil when it was dropped.
    public mutating func finish(_ handling: Handling, _ answer: GatewayAnswer?) { log.finish(handling.number, answer) }

    private mutating func performOnce(_ request: GatewayRequest, _ handling: Handling, at now: WallTime) -> Reply {
        let caller: Caller
        do throws(APIError) {
            caller = try authorize(request, handling.route)
            if let limit = configuration.rateLimit {
                let key = request.header("Api-Key") ?? request.header("App-Id") ?? request.header("X-Api-Key")
                try meter.count(key ?? "browsers", limit, at: now)
            }
        } catch {
            return .answer(handling.route.refusal(error))
        }
        guard isRecording, handling.route.endpoint.changesSomething else {
            return work(request, handling, caller, at: now)
        }
        return recordedWork(request, handling, caller, at: now)
    }

    /// What the call is about, once it is clear who asks.
    mutating func work(
        _ request: GatewayRequest,
        _ handling: Handling,
        _ caller: Caller,
        at now: WallTime
    ) -> Reply {
        let route = handling.route
        do throws(APIError) {
            switch route.family {
            case .payments, .records:
                var reply = try merchantsWork(request, handling, caller, at: now)
                if case .answer(var answer) = reply {
                    answer.headers["WCP-Version"] = caller.version.rawValue
                    reply = .answer(answer)
                }
                return reply
            case .wallet: return try walletsWork(request, handling, at: now)
            case .partner: return .answer(try partnerCall(request, route, at: now))
            case .browser: return .answer(try formCall(request, route))
            }
        } catch {
            return .answer(route.refusal(error))
        }
    }

    private mutating func merchantsWork(
        _ request: GatewayRequest,
        _ handling: Handling,
        _ caller: Caller,
        at now: WallTime
    ) throws(APIError) -> Reply {
        let route = handling.route
        switch route.endpoint {
        case .create: return .answer(try create(request, handling, caller, at: now.advanced(by: handling.skew)))
        case .status:
            let id = try merchants(route, caller)
            return answerStatus(of: id, waitingUpTo: try request.maximumPoll(), at: now)
        case .cancel: return .answer(try cancel(request, try merchants(route, caller), caller, at: now))
        case .list:
            let isPartners = caller.merchant.isEmpty
            let merchant = isPartners ? nil : caller.merchant
            return .answer(try list(request, merchant: merchant, caller.version))
        case .refund: return .answer(try refund(request, caller))
        default: return .answer(try details(of: try merchants(route, caller)))
        }
    }

    private mutating func walletsWork(
        _ request: GatewayRequest,
        _ handling: Handling,
        at now: WallTime
    ) throws(APIError) -> Reply {
        let payment = try known(handling.route)
        switch handling.route.endpoint {
        case .options: return .answer(try options(request, payment, at: now))
        case .fetch: return .answer(try fetch(request, payment, at: now))
        case .confirm: return try confirm(request, handling, payment, at: now)
        case .gatewayStatus:
            return answerStatus(of: payment.id, waitingUpTo: try request.maximumPoll(), at: now)
        case .gatewayCancel: return .answer(try cancel(payment.id, by: "user", at: now))
        default: return .answer(GatewayAnswer(200, paymentInfo(payment)))
        }
    }

    /// The payment of the path, for anyone who knows its name.
    func known(_ route: Route) throws(APIError) -> SandboxPayment {
        guard let id = route.payment, let payment = payments[id] else { throw .paymentNotFound }
        return payment
    }

    /// The name of the path's payment, if it is this merchant's.
    private func merchants(_ route: Route, _ caller: Caller) throws(APIError) -> String {
        let payment = try known(route)
        guard payment.merchantID == caller.merchant else { throw .paymentNotFound }
        return payment.id
    }

    // MARK: - What goes wrong after the work

    /// The answer as the faults leave it; nil when it is dropped.
    public func spoiled(_ answer: GatewayAnswer, _ handling: Handling) -> GatewayAnswer? {
        var answer = answer
        for effect in handling.effects(.after) {
            switch effect {
            case .drop: return nil
            case .failure(let status): answer = Self.failure(status)
            case .refuse(let code): answer = GatewayAnswer(Self.refusal(code))
            default: break
            }
        }
        for fault in handling.faults {
            switch fault.effect {
            case .unknownStatus(let word): answer = answer.reporting(word)
            case .garbage: answer.isCut = true
            default: break
            }
        }
        return answer
    }

    static func failure(_ status: Int) -> GatewayAnswer {
        let code = status == 502 ? "bad_gateway" : "internal_error"
        return GatewayAnswer(APIError(status, code, "The sandbox was asked to fail"))
    }

    static func refusal(_ code: String) -> APIError {
        let wait = code == "rate_limited" ? 1 : nil
        return APIError(APIError.status(of: code), code, "The sandbox was asked to refuse", retryAfterSeconds: wait)
    }
}

extension GatewayAnswer {
    /// The same answer with another status, of which nobody can know whether it is final.
    fileprivate func reporting(_ word: String) -> GatewayAnswer {
        guard case .object(let members) = json, json["status"] != nil else { return self }
        var answer = self
        answer.json = .object(
            members.map { member in
                switch member.name {
                case "status": ExactJSON.Member("status", .string(word))
                case "isFinal": ExactJSON.Member("isFinal", .bool(false))
                case "pollInMs": ExactJSON.Member("pollInMs", .integer(1000))
                case "info": ExactJSON.Member("info", .null)
                default: member
                }
            }
        )
        return answer
    }
}
