import Acquirer
public import Payments
import StrictJSON
import TapProtocol

extension AcquirerState {
    /// A call on its way through the acquirer: what it asks, and what will go wrong with it.
    public struct Handling: Sendable {
        let route: AcquirerRoute
        let number: Int
        /// In the order in which they were set.
        public let faults: [AcquirerFault]

        func effects(_ moment: FaultMoment) -> [FaultEffect] { faults.filter { $0.moment == moment }.map(\.effect) }

        func has(_ effect: FaultEffect) -> Bool { faults.contains { $0.effect == effect } }

        var skew: Duration {
            faults.reduce(.zero) { sum, fault in
                if case .clockSkew(let seconds) = fault.effect { sum + .seconds(seconds) } else { sum }
            }
        }

        var script: Script {
            var script = Script(forgets: has(.forgetKey))
            for case .outcome(let word) in faults.map(\.effect) { script.outcome = word }
            return script
        }
    }

    /// Who is logged in.
    struct Caller: Sendable, Equatable {
        let role: AcquirerSession.Role
        let account: String
        /// What ends the session.
        let nonce: String
    }

    /// Takes a call in: finds what it asks and which faults it meets, and logs it. Nil for an unknown route.
    public mutating func receive(_ request: GatewayRequest, at now: WallTime) -> Handling? {
        guard let route = AcquirerRoute(request) else { return nil }
        let subject = subject(request, route)
        let met = faults.isEmpty ? [] : faults.meeting(route.endpoint, subject.call, at: now)
        let number = log.add(request, route, subject.payment, met, at: now)
        return Handling(route: route, number: number, faults: met)
    }

    private func subject(_ request: GatewayRequest, _ route: AcquirerRoute) -> (call: CallSubject, payment: String?) {
        var subject = CallSubject()
        switch route.endpoint {
        case .execute:
            guard let bundle = try? ExecutionBundle(decoding: request.body) else { return (subject, nil) }
            subject.amount = UInt64(bundle.request.payload.amount)
            subject.accounts = [bundle.accept.payload.instrumentID.lowercased()]
            return (subject, bundle.paymentID.description)
        case .sync:
            guard let items = try? SyncItem.decoding(request.body) else { return (subject, nil) }
            subject.accounts = Set(items.map { $0.accept.payload.instrumentID.lowercased() })
            return (subject, items.first?.paymentID.description)
        case .payment, .announce, .void:
            let key = faults.isEmpty ? nil : PaymentID(route.name).flatMap { keys(named: $0).first }
            let amount = key.flatMap { payments[$0]?.request?.payload.amount }
            subject.amount = amount.map(UInt64.init)
            return (subject, route.name)
        default: return (subject, nil)
        }
    }

    /// Works on a call, and once more where a fault repeats it.
    public mutating func perform(_ request: GatewayRequest, _ handling: Handling, at now: WallTime) -> AcquirerReply {
        advance(to: now)
        let reply = performOnce(request, handling, at: now)
        return handling.has(.duplicate) ? performOnce(request, handling, at: now) : reply
    }

    private mutating func performOnce(
        _ request: GatewayRequest,
        _ handling: Handling,
        at now: WallTime
    ) -> AcquirerReply {
        let caller: Caller?
        do throws(AcquirerRefusal) {
            caller = try authorize(request, handling.route.endpoint, at: now)
        } catch {
            return AcquirerReply(error)
        }
        guard isRecording, handling.route.endpoint.changesSomething else {
            return work(request, handling.route, handling.script, caller, at: now.advanced(by: handling.skew))
        }
        return recordedWork(request, handling, caller, at: now)
    }

    /// Notes how a call ended. `reply` is nil when it was dropped.
    public mutating func finish(_ handling: Handling, _ reply: AcquirerReply?) { log.finish(handling.number, reply) }

    /// What the call is about, once it is clear who asks.
    mutating func work(
        _ request: GatewayRequest,
        _ route: AcquirerRoute,
        _ script: Script,
        _ caller: Caller?,
        at now: WallTime
    ) -> AcquirerReply {
        do throws(AcquirerRefusal) {
            switch route.endpoint {
            case .execute: return try executions(request, script, at: now)
            case .sync: return AcquirerReply(200, sync(try items(request), script, at: now))
            case .announce: return try announce(request, route, at: now)
            case .payment: return try payment(route, caller)
            case .payments: return try list(request, caller)
            case .void: return try voided(route, caller, at: now)
            case .keys: return AcquirerReply(200, .members(["keys": keyring.json]))
            case .deny: return AcquirerReply(200, denyList)
            case .certify: return try certify(request, route, caller, at: now)
            case .login: return try logIn(request, at: now)
            case .logout:
                if let caller { spentTokens.insert(caller.nonce) }
                return AcquirerReply(200, .members(["loggedOut": .bool(true)]))
            case .delegatedToken: return try delegatedToken(request, at: now)
            case .delegatedLogin: return try delegatedLogin(request, at: now)
            default: return try phonesWork(request, route, caller, at: now)
            }
        } catch {
            return AcquirerReply(error)
        }
    }

    private mutating func phonesWork(
        _ request: GatewayRequest,
        _ route: AcquirerRoute,
        _ caller: Caller?,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        guard let caller, let customer = customer(caller.account) else { throw AcquirerRefusal(code: .unauthorized) }
        switch route.endpoint {
        case .instruments:
            return AcquirerReply(
                200,
                .members(["instruments": .array(instruments(of: customer).map(\.json))])
            )
        case .passes: return try issuePasses(request, customer, at: now)
        case .preAuthorise: return try preAuthorise(request, customer, at: now)
        case .preAuthorisations:
            let own = holdOrder.reversed().compactMap { holds[$0] }.filter { $0.customer == customer.id }
            return AcquirerReply(200, .members(["preAuthorisations": .array(own.prefix(100).map(\.json))]))
        default: return try voidHold(route.name, customer, at: now)
        }
    }

    // MARK: - Payments

    private mutating func executions(
        _ request: GatewayRequest,
        _ script: Script,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        let bundle: ExecutionBundle
        do throws(MalformedObject) {
            bundle = try ExecutionBundle(decoding: request.body)
        } catch {
            throw .malformed("\(error)")
        }
        let attempt = try execute(bundle, script, at: now).attempt
        if let receipt = attempt.receipt { return AcquirerReply(receipt) }
        return AcquirerReply(
            202,
            .members([
                "paymentId": .string(bundle.paymentID.description), "status": .string(attempt.word.rawValue),
                "askAgainAfterMs": .integer(500),
            ])
        )
    }

    private func items(_ request: GatewayRequest) throws(AcquirerRefusal) -> [SyncItem] {
        do throws(MalformedObject) {
            return try SyncItem.decoding(request.body)
        } catch {
            throw .malformed("\(error)")
        }
    }

    private mutating func announce(
        _ request: GatewayRequest,
        _ route: AcquirerRoute,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        let certificate: Signed<TerminalCertificate>
        let asked: Signed<PaymentRequest>
        do {
            guard case .array(let parts) = try CBOR(decoding: request.body), parts.count == 2,
                case .bytes(let first) = parts[0], case .bytes(let second) = parts[1]
            else { throw MalformedObject.notTheStructure }
            (certificate, asked) = (try Signed(decoding: first), try Signed(decoding: second))
        } catch {
            throw .malformed("\(error)")
        }
        guard asked.payload.paymentID.description == route.name.lowercased() else {
            throw .malformed("the path names another payment")
        }
        try bundleCheck.check(asked, of: certificate, atMilliseconds: Int(now.millisecondsSince1970))
        guard merchant(asked.payload.merchantID) != nil else { throw .bundle("P7") }
        guard deniedTerminals[certificate.payload.terminalID] == nil, deniedCertificates[certificate.hash] == nil else {
            throw AcquirerRefusal(code: .terminalDenied)
        }
        let key = AcquirerPayment.Key(merchant: asked.payload.merchantID, id: asked.payload.paymentID)
        if let known = payments[key]?.request {
            guard known.hash == asked.hash else { throw AcquirerRefusal(code: .paymentChanged) }
        } else {
            update(key, at: now) { $0.request = asked }
        }
        return AcquirerReply(200, payments[key]?.json ?? .null)
    }

    /// The payment of the path, as far as the caller may see it.
    private func payment(_ route: AcquirerRoute, _ caller: Caller?) throws(AcquirerRefusal) -> AcquirerReply {
        guard let id = PaymentID(route.name) else { throw .malformed("not a payment's name") }
        let key = keys(named: id).first { key in
            // A customer knows the name from the terminal; nobody can guess it.
            caller?.role == .merchant ? key.merchant == caller?.account : payments[key]?.request != nil
        }
        guard let key, let payment = payments[key] else { throw AcquirerRefusal(code: .paymentNotFound) }
        return AcquirerReply(200, payment.json)
    }

    private func list(_ request: GatewayRequest, _ caller: Caller?) throws(AcquirerRefusal) -> AcquirerReply {
        var limit = 50
        if let text = request.values("limit").first {
            guard let number = Int(text), (1...100).contains(number) else { throw .malformed("limit is 1 to 100") }
            limit = number
        }
        var words: Set<Acquirer.PaymentWord> = []
        for text in request.values("status") {
            guard let word = Acquirer.PaymentWord(rawValue: text) else { throw .malformed("no such status") }
            words.insert(word)
        }
        var end = order.count
        if let text = request.values("cursor").first {
            guard let number = Int(text), (0...order.count).contains(number) else { throw .malformed("no such cursor") }
            end = number
        }
        var found: [ExactJSON] = []
        while end > 0, found.count < limit {
            end -= 1
            guard let payment = payments[order[end]], isOf(caller, payment),
                words.isEmpty || words.contains(payment.word)
            else { continue }
            found.append(payment.json)
        }
        return AcquirerReply(
            200,
            .members(["payments": .array(found), "nextCursor": .text(end > 0 ? String(end) : nil)])
        )
    }

    private func isOf(_ caller: Caller?, _ payment: AcquirerPayment) -> Bool {
        guard let caller else { return false }
        return caller.role == .merchant
            ? payment.key.merchant == caller.account
            : payment.attempts.contains { $0.customer == caller.account }
    }

    private mutating func voided(
        _ route: AcquirerRoute,
        _ caller: Caller?,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        guard let caller else { throw AcquirerRefusal(code: .unauthorized) }
        guard let id = PaymentID(route.name), id.isVersion7 else { throw .malformed("not a payment's name") }
        let returned = try void(AcquirerPayment.Key(merchant: caller.account, id: id), at: now)
        return AcquirerReply(
            200,
            .members([
                "paymentId": .string(id.description),
                "status": .string(Acquirer.PaymentWord.cancelled.rawValue), "gaveBack": .bool(returned != nil),
                "receipt": returned?.receipt.map { .base64($0.encoded) } ?? .null,
            ])
        )
    }
}
