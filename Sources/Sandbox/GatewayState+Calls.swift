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

    /// Takes a call in: finds what it asks and which faults it meets, and logs it. Nil for an unknown route.
    public mutating func receive(_ request: GatewayRequest, at now: WallTime) -> Handling? {
        guard let route = Route(request) else { return nil }
        let met = faults.meeting(route.endpoint)
        return Handling(route: route, number: log.add(request, route, met, at: now), faults: met)
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
        let route = handling.route
        do throws(APIError) {
            let version = try authorize(request, route)
            var reply: Reply
            switch route.endpoint {
            case .create: reply = .answer(try create(request, handling, version, at: now.advanced(by: handling.skew)))
            case .payment: reply = .answer(try details(of: try merchants(route)))
            case .status:
                let id = try merchants(route)
                reply = answerStatus(of: id, waitingUpTo: try request.maximumPoll(), at: now)
            case .cancel: reply = .answer(try cancel(try merchants(route), by: "merchant", at: now))
            case .list: reply = .answer(try list(request))
            case .refund: reply = .answer(try refund(request))
            case .info: reply = .answer(GatewayAnswer(200, paymentInfo(try known(route))))
            case .options: reply = .answer(try options(request, try known(route), at: now))
            case .fetch: reply = .answer(try fetch(request, try known(route), at: now))
            case .confirm: reply = try confirm(request, handling, try known(route), at: now)
            case .gatewayStatus:
                let id = try known(route).id
                reply = answerStatus(of: id, waitingUpTo: try request.maximumPoll(), at: now)
            case .gatewayCancel: reply = .answer(try cancel(try known(route).id, by: "user", at: now))
            }
            if route.isMerchants, case .answer(var answer) = reply {
                answer.headers["WCP-Version"] = version.rawValue
                reply = .answer(answer)
            }
            return reply
        } catch {
            return .answer(GatewayAnswer(error))
        }
    }

    /// The payment of the path, for anyone who knows its name.
    private func known(_ route: Route) throws(APIError) -> SandboxPayment {
        guard let id = route.payment, let payment = payments[id] else { throw .paymentNotFound }
        return payment
    }

    /// The name of the path's payment, if it is this merchant's.
    private func merchants(_ route: Route) throws(APIError) -> String {
        let payment = try known(route)
        guard payment.merchantID == configuration.merchantID else { throw .paymentNotFound }
        return payment.id
    }

    // MARK: - Who asks

    /// Source: WalletConnect Pay API, security schemes; error codes as documented.
    private func authorize(_ request: GatewayRequest, _ route: Route) throws(APIError) -> APIVersion {
        for (name, value) in request.headers where !value.allSatisfy(\.isASCII) {
            throw APIError(400, "header_not_ascii", "Header \(name) is not ASCII")
        }
        let version = try APIVersion.resolved(
            header: request.header("WCP-Version"),
            pinned: configuration.pinnedVersion
        )
        if route.isMerchants { try authorizeMerchant(request) } else { try authorizeWallet(request) }
        return version
    }

    private func authorizeMerchant(_ request: GatewayRequest) throws(APIError) {
        guard let key = request.header("Api-Key") else {
            throw APIError(401, "missing_api_key", "Header Api-Key is missing")
        }
        guard key == configuration.apiKey else { throw APIError(401, "invalid_api_key", "Invalid API key") }
        if let merchant = request.header("Merchant-Id") {
            guard merchant == configuration.merchantID else {
                throw APIError(404, "merchant_not_found", "Merchant not found")
            }
        } else if request.segments != ["v1", "payments"] || request.method != "GET" {  // That list is the partner's.
            throw APIError(401, "missing_merchant_id", "Header Merchant-Id is missing")
        }
    }

    private func authorizeWallet(_ request: GatewayRequest) throws(APIError) {
        let key = request.header("Api-Key")
        let app = request.header("App-Id")
        let client = request.header("Client-Id")
        if key != nil, app != nil || client != nil {
            throw APIError(400, "conflicting_auth_headers", "Use either Api-Key or App-Id with Client-Id")
        }
        if let key {
            guard key == configuration.apiKey else { throw APIError(401, "invalid_api_key", "Invalid API key") }
            return
        }
        switch (app, client) {
        case (nil, nil): throw APIError(401, "missing_auth_headers", "Authentication headers are missing")
        case (nil, _): throw APIError(401, "missing_app_id", "Header App-Id is missing")
        case (_, nil): throw APIError(401, "missing_client_id", "Header Client-Id is missing")
        default: break  // Every app is welcome at a sandbox.
        }
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
