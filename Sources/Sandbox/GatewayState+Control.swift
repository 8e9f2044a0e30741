import Ethereum
public import Payments
import StrictJSON

/// What a test asks of the sandbox itself, beside the API it stands in for.
extension GatewayState {
    /// Answers a request to `/control/…`; nil for other paths.
    ///
    /// | call | what |
    /// |---|---|
    /// | `GET /control/log` | calls so far, without keys and signatures |
    /// | `GET /control/waiting` | how many questions are held now |
    /// | `GET /control/ledger` | balances of every account seen |
    /// | `GET /control/payments` | every payment with its whole story |
    /// | `GET`, `POST`, `DELETE /control/faults` | the faults that are set; set one; clear all |
    /// | `POST /control/settle` | `{"paymentId"?}`: what is being settled settles now |
    /// | `POST /control/collect` | `{"paymentId"}`: the customer has filled in what was asked of them |
    /// | `POST /control/expire` | `{"paymentId"?}`: the time of this payment, or of all open ones, is over |
    /// | `POST /control/clock` | `{"skewSeconds"}`: the gateway's clock goes wrong |
    /// | `POST /control/balance` | `{"account","token","value"}`: an account has so much |
    public mutating func control(_ request: GatewayRequest, at now: WallTime) -> GatewayAnswer? {
        guard request.segments.first == "control" else { return nil }
        guard let token = configuration.controlToken else { return GatewayAnswer(.routeNotFound) }
        guard request.header("Authorization") == "Bearer \(token)" else {
            return GatewayAnswer(APIError(401, "unauthorized", "Send the control token as Authorization: Bearer TOKEN"))
        }
        advance(to: now)
        let answer = controlledAnswer(request, at: now)
        if answer.status < 300, request.method == "POST", Self.recordedWords.contains(request.segments.last ?? "") {
            recordControl(request, at: now)
        }
        return answer
    }

    /// Orders that change what is remembered. Faults and the clock belong to one run.
    private static let recordedWords = ["settle", "collect", "expire", "balance"]

    mutating func controlledAnswer(_ request: GatewayRequest, at now: WallTime) -> GatewayAnswer {
        do throws(APIError) {
            return try controlled(request, at: now)
        } catch {
            return GatewayAnswer(error)
        }
    }

    private mutating func controlled(_ request: GatewayRequest, at now: WallTime) throws(APIError) -> GatewayAnswer {
        let word = request.segments.count == 2 ? request.segments[1] : ""
        switch (request.method, word) {
        case ("GET", "log"): return GatewayAnswer(200, .members(["calls": log.json]))
        case ("GET", "waiting"): return GatewayAnswer(200, .members(["waiting": .integer(waiterTotal)]))
        case ("GET", "ledger"): return GatewayAnswer(200, .members(["balances": balances]))
        case ("GET", "payments"): return GatewayAnswer(200, .members(["payments": stories]))
        case ("GET", "faults"):
            return GatewayAnswer(200, .members(["faults": .array(faults.entries.map(\.fault.json))]))
        case ("DELETE", "faults"):
            faults.clear()
            return GatewayAnswer(200, .members(["faults": .array([])]))
        case ("POST", "faults"):
            let fault = try Self.fault(try Self.body(request))
            faults.set(fault)
            return GatewayAnswer(201, fault.json)
        case ("POST", "settle"): return try settleNow(try Self.body(request), at: now)
        case ("POST", "collect"):
            guard let id = try Self.body(request)["paymentId"]?.stringValue, payments[id] != nil else {
                throw .paymentNotFound
            }
            payments[id]?.isIdentified = true
            return statusAnswer(of: id)
        case ("POST", "expire"):
            return try expireNow(try Self.body(request), at: now)
        case ("POST", "clock"):
            guard let seconds = try Self.body(request)["skewSeconds"]?.integerValue, abs(seconds) <= 86_400 else {
                throw .malformed("skewSeconds is a whole number of seconds, at most a day")
            }
            skewSeconds = Int(seconds)
            return GatewayAnswer(200, .members(["skewSeconds": .integer(seconds)]))
        case ("POST", "balance"): return try setBalance(try Self.body(request))
        default: throw .routeNotFound
        }
    }

    private static func body(_ request: GatewayRequest) throws(APIError) -> ExactJSON {
        request.body.isEmpty ? .object([]) : try request.object()
    }

    private static func fault(_ json: ExactJSON) throws(APIError) -> Fault {
        do throws(FaultError) {
            return try Fault(json)
        } catch {
            throw .invalid(error.description)
        }
    }

    private mutating func settleNow(_ body: ExactJSON, at now: WallTime) throws(APIError) -> GatewayAnswer {
        let chosen = body["paymentId"]?.stringValue
        if let chosen, payments[chosen] == nil { throw .paymentNotFound }
        let ids = names.filter { (chosen == nil || $0 == chosen) && payments[$0]?.word == .processing }
        for id in ids { settle(id, at: now) }
        return GatewayAnswer(200, .members(["settled": .array(ids.map(ExactJSON.string))]))
    }

    private mutating func expireNow(_ body: ExactJSON, at now: WallTime) throws(APIError) -> GatewayAnswer {
        guard let id = body["paymentId"]?.stringValue else {
            let ids = names.filter { payments[$0]?.word == .requiresAction }
            for id in ids { change(id, to: .expired, at: now) }
            return GatewayAnswer(200, .members(["expired": .integer(ids.count)]))
        }
        guard payments[id] != nil else { throw .paymentNotFound }
        if payments[id]?.word == .requiresAction { change(id, to: .expired, at: now) }
        return statusAnswer(of: id)
    }

    private mutating func setBalance(_ body: ExactJSON) throws(APIError) -> GatewayAnswer {
        guard let account = try CustomerAccount.parse(body["account"]?.stringValue ?? ""),
            let symbol = body["token"]?.stringValue,
            let token = TokenCatalog.token(chainID: account.chainID, symbol: symbol),
            let value = body["value"]?.stringValue.flatMap({ try? UInt256(parsing: $0) })
        else { throw .invalid("account (CAIP-10), token (symbol) and value (digits of its smallest unit) are needed") }
        ledger.setBalance(value, token, of: account.address)
        return GatewayAnswer(200, .members(["balance": token.amount(value)]))
    }

    private var balances: ExactJSON {
        let lines = ledger.balances.compactMap { account, balance -> (String, ExactJSON)? in
            guard let token = TokenCatalog.token(chainID: account.chainID, address: account.token) else { return nil }
            let owner = "\(token.chain):\(account.owner.checksummed)"
            let isCollector =
                account.owner == PaymentContracts.collector || account.owner == PaymentContracts.permitSpender
            return (
                "\(owner) \(token.symbol)",
                .members([
                    "account": .string(owner), "collector": .bool(isCollector), "token": .string(token.symbol),
                    "unit": .string(token.unit), "value": .string(balance.decimal),
                ])
            )
        }
        return .array(lines.sorted { $0.0 < $1.0 }.map(\.1))
    }

    private var stories: ExactJSON {
        .array(
            names.compactMap { payments[$0] }.map { payment in
                .members([
                    "paymentId": .string(payment.id), "referenceId": .string(payment.reference),
                    "amount": payment.amount.json, "status": .string(payment.word.rawValue),
                    "story": .array(payment.story.map { .string($0.rawValue) }),
                    "createdAt": .string(timestamp(payment.createdAt)),
                    "expiresAt": .integer(payment.expiresAtSeconds),
                    "changedAt": .string(timestamp(payment.changedAt)), "info": payment.information,
                    "identified": .bool(payment.isIdentified), "refunded": .bool(payment.isRefunded),
                ])
            }
        )
    }
}
