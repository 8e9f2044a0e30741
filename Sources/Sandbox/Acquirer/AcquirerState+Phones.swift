import Acquirer
import Payments
import StrictJSON
import TapProtocol

/// What a customer's phone is given: instruments, passes, held money.
extension AcquirerState {
    struct Instrument: Sendable {
        let id: String
        let kind: Acquirer.Instrument.Kind
        let display: String
        let isPreAuthorisable: Bool

        var json: ExactJSON {
            .members([
                "instrumentId": .string(id), "type": .string(kind.rawValue), "display": .string(display),
                "preAuthCapable": .bool(isPreAuthorisable),
            ])
        }
    }

    /// One of each kind for every customer.
    func instruments(of customer: AcquirerConfiguration.Customer) -> [Instrument] {
        [
            Instrument(id: customer.cardID, kind: .card, display: "VISA ···· 4242", isPreAuthorisable: true),
            Instrument(
                id: "bank-\(customer.id)",
                kind: .bankAccount,
                display: "Bank ···· 0015",
                isPreAuthorisable: true
            ),
            Instrument(
                id: "mobile-\(customer.id)",
                kind: .mobileMoney,
                display: "M-Pesa ···· 77",
                isPreAuthorisable: false
            ),
        ]
    }

    /// As receipts name it.
    func display(of attempt: AcquirerPayment.Attempt) -> String {
        let customer = attempt.customer.flatMap { self.customer($0) }
        let all = customer.map { instruments(of: $0) } ?? []
        return all.first { $0.id == attempt.accept.payload.instrumentID }?.display ?? "unknown"
    }

    mutating func issuePasses(
        _ request: GatewayRequest,
        _ customer: AcquirerConfiguration.Customer,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        let body = try request.acquirerObject()
        let device = try Self.deviceKey(body)
        guard let count = body["count"]?.integerValue, (1...32).contains(count) else {
            throw .malformed("count is 1 to 32")
        }
        guard mayPay(device, customer) else { throw AcquirerRefusal(code: .deviceBlocked) }
        var issued: [ExactJSON] = []
        for _ in 0..<count {
            let life = AcquirerConfiguration.passLifeSeconds
            let pass = try pass(for: device, lifeSeconds: life, voucher: nil, at: now)
            passes[pass.payload.passID] = Pass(pass: pass, customer: customer.id)
            issued.append(.base64(pass.encoded))
        }
        return AcquirerReply(200, .members(["passes": .array(issued)]))
    }

    private func mayPay(_ device: VerificationKey, _ customer: AcquirerConfiguration.Customer) -> Bool {
        blockedDevices[device] == nil && !blockedCustomers.contains(customer.id)
    }

    private mutating func pass(
        for device: VerificationKey,
        lifeSeconds: Int,
        voucher: PaymentPass.Voucher?,
        at now: WallTime
    ) throws(AcquirerRefusal) -> Signed<PaymentPass> {
        let start = Int(now.secondsSince1970)
        return try keyring.signed(
            PaymentPass(
                passID: random.bytes(16),
                issuer: configuration.issuer,
                deviceKey: device,
                notBeforeSeconds: start,
                notAfterSeconds: start + lifeSeconds,
                voucher: voucher
            )
        )
    }

    // MARK: - Pre-authorisations

    mutating func preAuthorise(
        _ request: GatewayRequest,
        _ customer: AcquirerConfiguration.Customer,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        let body = try request.acquirerObject()
        let device = try Self.deviceKey(body)
        guard let key = request.header("Idempotency-Key"), (1...64).contains(key.utf8.count),
            let instrumentID = body["instrumentId"]?.stringValue, let currency = body["currency"]?.stringValue,
            let amount = body["amount"]?.integerValue, let exponent = body["exponent"]?.integerValue
        else { throw .malformed("Idempotency-Key, instrumentId, currency, amount, exponent") }
        let scope = customer.id + "\n" + key
        let order = body.canonical.text
        if let known = remembered[scope], let hold = holds[known.hold] {
            guard known.order == order else { throw AcquirerRefusal(code: .malformed, detail: "key of another order") }
            return AcquirerReply(200, hold.json)
        }
        guard let instrument = instruments(of: customer).first(where: { $0.id == instrumentID }) else {
            throw AcquirerRefusal(code: .instrumentNotFound)
        }
        guard instrument.isPreAuthorisable, (0...18).contains(exponent), (3...8).contains(currency.utf8.count),
            currency.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }),
            (1...Int64(AcquirerConfiguration.voucherLimitTotal)).contains(amount)
        else { throw AcquirerRefusal(code: .notPreAuthorisable) }
        guard mayPay(device, customer) else { throw AcquirerRefusal(code: .deviceBlocked) }
        let isSecond = holds.values.contains {
            $0.status == .available && $0.pass.payload.deviceKey == device && $0.voucher?.currency == currency
        }
        guard !isSecond else { throw AcquirerRefusal(code: .voucherExists) }
        guard books.balance(.instrument(instrumentID), currency) >= Int(amount) else {
            throw AcquirerRefusal(code: .insufficientFunds)
        }
        let voucher = PaymentPass.Voucher(
            currency: currency,
            exponent: Int(exponent),
            limitTotal: Int(amount),
            limitPerPayment: min(Int(amount), AcquirerConfiguration.voucherLimitPerPayment),
            maximumCount: AcquirerConfiguration.voucherCount,
            instrumentID: instrumentID
        )
        let hold = try makeHold(voucher, device, customer, at: now)
        remembered[scope] = (order, hold.id)
        return AcquirerReply(200, hold.json)
    }

    private mutating func makeHold(
        _ voucher: PaymentPass.Voucher,
        _ device: VerificationKey,
        _ customer: AcquirerConfiguration.Customer,
        at now: WallTime
    ) throws(AcquirerRefusal) -> Hold {
        let life = AcquirerConfiguration.voucherLifeSeconds
        let pass = try pass(for: device, lifeSeconds: life, voucher: voucher, at: now)
        let hold = Hold(id: "pre-" + hex(pass.payload.passID.prefix(8)), customer: customer.id, pass: pass)
        passes[pass.payload.passID] = Pass(pass: pass, customer: customer.id, hold: hold.id)
        holds[hold.id] = hold
        holdOrder.append(hold.id)
        books.move(
            "hold",
            voucher.limitTotal,
            voucher.currency,
            from: .instrument(voucher.instrumentID),
            to: .hold(hold.id),
            at: now.millisecondsSince1970
        )
        let end = now.advanced(by: .seconds(life))
        schedule(.expiry(hold.id), at: end)
        let grace = Duration.seconds(RequestCheck.graceSeconds)
        schedule(.release(hold.id), at: end.advanced(by: configuration.settlementWindow + grace))
        return hold
    }

    mutating func voidHold(
        _ id: String,
        _ customer: AcquirerConfiguration.Customer,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        guard let hold = holds[id], hold.customer == customer.id else {
            throw AcquirerRefusal(code: .preAuthorisationNotFound)
        }
        // A blocked device's hold stays: other terminals may still tell of spends.
        if hold.status == .available {
            holds[id]?.status = .voided
            holds[id]?.voidedAt = now
            release(id, at: now)
        }
        return AcquirerReply(200, holds[id]?.json ?? .null)
    }

    /// Source: RFC 7517; RFC 7518, section 6.2.1.
    private static func deviceKey(_ body: ExactJSON) throws(AcquirerRefusal) -> VerificationKey {
        guard let jwk = body["deviceKey"], jwk["kty"]?.stringValue == "EC", jwk["crv"]?.stringValue == "P-256",
            let x = jwk.bytes("x"), let y = jwk.bytes("y"), x.count == 32, y.count == 32
        else { throw .malformed("deviceKey is no JWK of P-256") }
        return .p256(x: x, y: y)
    }
}

extension AcquirerState.Hold {
    var json: ExactJSON {
        .members([
            "preAuthorisationId": .string(id), "status": .string(status.rawValue),
            "instrumentId": .text(voucher?.instrumentID), "amount": .integer(voucher?.limitTotal ?? 0),
            "currency": .text(voucher?.currency), "exponent": .integer(voucher?.exponent ?? 0),
            "spent": .integer(spent), "expiresAt": .integer(pass.payload.notAfterSeconds),
            "pass": .base64(pass.encoded),
        ])
    }
}
