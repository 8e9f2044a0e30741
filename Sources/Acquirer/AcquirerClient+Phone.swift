import StrictJSON
public import TapProtocol
import WalletConnectPay

/// What a customer's phone asks for: instruments, passes, pre-authorisations. All need a customer's session.
extension AcquirerClient {
    /// Everything the customer can pay with.
    public func instruments() async throws(AcquirerError) -> [Instrument] {
        try Self.reading(try await exchange(.get, "/instruments")) { fields throws(MalformedAnswer) in
            var instruments: [Instrument] = []
            for item in try fields.list("instruments", upTo: 64) {
                let instrument = try JSONFields(item)
                instruments.append(
                    Instrument(
                        instrumentID: try instrument.text("instrumentId"),
                        kind: try instrument.word("type"),
                        display: try instrument.text("display", 1...64),
                        isPreAuthorisable: try instrument.flag("preAuthCapable")
                    )
                )
            }
            return instruments
        }
    }

    /// Online passes for one device, each for one payment. A lost answer costs nothing: ask again.
    /// - Parameter count: 1 to 32.
    public func passes(
        for deviceKey: VerificationKey,
        count: Int
    ) async throws(AcquirerError) -> [Signed<PaymentPass>] {
        guard (1...32).contains(count) else { throw .invalid(field: "count", message: "1 to 32") }
        let body = ExactJSON.members(["deviceKey": try Self.jwk(deviceKey), "count": .integer(count)])
        return try Self.reading(try await exchange(.post, "/passes", body: .json(body))) {
            fields throws(MalformedAnswer) in
            var passes: [Signed<PaymentPass>] = []
            for item in try fields.list("passes", upTo: count) {
                let pass: Signed<PaymentPass> = try JSONFields.object(item, "passes")
                guard pass.payload.deviceKey == deviceKey, pass.payload.voucher == nil else {
                    throw MalformedAnswer(detail: "a pass of another device or another kind")
                }
                passes.append(pass)
            }
            guard passes.count == count else { throw MalformedAnswer(detail: "\(passes.count) of \(count) passes") }
            return passes
        }
    }

    /// Holds money on an instrument, so that the phone can pay without anybody online.
    ///
    /// Source: Vipaso SDK, offline payment, `preAuthorizeInstrument`.
    /// - Parameter key: 1 to 64 letters, digits, `-` and `_`; the same for every repetition of one order.
    /// - Throws: Where ``AcquirerError/mayHaveTakenEffect`` the money may be held: repeat with the same key.
    public func preAuthorise(
        _ order: PreAuthorisationOrder,
        idempotencyKey key: String
    ) async throws(AcquirerError) -> PreAuthorisation {
        guard Self.isPathWord(key), key.utf8.count <= 64 else {
            throw .invalid(field: "idempotencyKey", message: "1 to 64 letters, digits, - and _")
        }
        guard (1...(1 << 53 - 1)).contains(order.amount), (0...18).contains(order.exponent) else {
            throw .invalid(field: "amount", message: "more than nothing, in minor units")
        }
        let body = ExactJSON.members([
            "instrumentId": .string(order.instrumentID), "amount": .integer(order.amount),
            "currency": .string(order.currency), "exponent": .integer(order.exponent),
            "deviceKey": try Self.jwk(order.deviceKey),
        ])
        let response = try await exchange(
            .post,
            "/pre-authorisations",
            body: .json(body),
            headers: [HTTPRequest.Header("Idempotency-Key", key)]
        )
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            let made = try PreAuthorisation(fields)
            guard made.amount == order.amount, made.currency == order.currency, made.exponent == order.exponent,
                made.instrumentID.utf8.elementsEqual(order.instrumentID.utf8),
                made.pass.payload.deviceKey == order.deviceKey
            else { throw MalformedAnswer(detail: "the pre-authorisation is of another order") }
            return made
        }
    }

    /// The customer's pre-authorisations, the newest first.
    public func preAuthorisations() async throws(AcquirerError) -> [PreAuthorisation] {
        let response = try await exchange(.get, "/pre-authorisations", limitBytes: 1 << 18)
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            var all: [PreAuthorisation] = []
            for item in try fields.list("preAuthorisations", upTo: 100) {
                all.append(try PreAuthorisation(try JSONFields(item)))
            }
            return all
        }
    }

    /// Gives the held money back to the customer, but for what was spent. The voucher pays nothing from now on; what it paid
    /// before is still taken. May be repeated.
    public func voidPreAuthorisation(_ id: String) async throws(AcquirerError) -> PreAuthorisation {
        guard Self.isPathWord(id) else { throw .invalid(field: "id", message: "not a pre-authorisation's name") }
        let response = try await exchange(.post, "/pre-authorisations/\(id)/void", body: .json(.object([])))
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            let voided = try PreAuthorisation(fields)
            guard voided.id.utf8.elementsEqual(id.utf8), voided.status != .available else {
                throw MalformedAnswer(detail: "it is about another pre-authorisation, or not void")
            }
            return voided
        }
    }

    /// A device's key as RFC 7517 writes it.
    private static func jwk(_ key: VerificationKey) throws(AcquirerError) -> ExactJSON {
        guard case .p256(let x, let y) = key, x.count == 32, y.count == 32 else {
            throw .invalid(field: "deviceKey", message: "not a P-256 key")
        }
        return .members([
            "kty": .string("EC"), "crv": .string("P-256"), "x": .base64URL(x), "y": .base64URL(y),
        ])
    }
}
