import StrictJSON
public import TapProtocol
public import WalletConnectPay

/// An acquirer's API, for terminals and phones: executes payments, gives them back, settles what was agreed offline, and
/// hands out certificates and passes.
///
/// Each call is one HTTP exchange and no retry: whoever repeats a call has to remember that it did. Executions, voids,
/// announcements and synchronisations may be repeated with the same bytes as often as one likes.
/// Source: BPP/1, section 20, whose calls these are; the form of their bodies is this project's own.
public struct AcquirerClient: Sendable {
    /// For calls that wait for a bank.
    static let patience = Duration.seconds(15)

    let address: AcquirerAddress
    let transport: any HTTPTransport
    /// Who is logged in; nil for calls that need nobody.
    public var session: Secret?

    /// - Parameters:
    ///   - baseURL: `https://…` with any path; plain `http` to this machine only.
    ///   - session: From an ``AcquirerSession``.
    /// - Throws: `AcquirerError.invalid` where `baseURL` cannot be used.
    public init(
        baseURL: String,
        transport: any HTTPTransport,
        session: Secret? = nil
    ) throws(AcquirerError) {
        guard let address = AcquirerAddress(baseURL) else {
            throw .invalid(field: "baseURL", message: "not an acquirer's address")
        }
        (self.address, self.transport, self.session) = (address, transport, session)
    }

    // MARK: - Payments

    /// Hands in a bundle. The same bundle gets the same answer, from whichever side and however often.
    ///
    /// Needs no session: the bundle proves itself.
    /// - Throws: Where ``AcquirerError/mayHaveTakenEffect`` the customer may have paid: send the same bundle again, or ask.
    public func execute(_ bundle: ExecutionBundle) async throws(AcquirerError) -> ExecutionAnswer {
        let response = try await exchange(.post, "/executions", body: .cbor(bundle.encoded), limitBytes: 16_384)
        if response.status == 202 {
            let milliseconds: Int
            let id: TapProtocol.PaymentID
            do throws(MalformedAnswer) {
                let fields = try JSONFields(try Self.json(response))
                id = try fields.paymentID()
                milliseconds = try fields.number("askAgainAfterMs", 0...600_000)
            } catch { throw .unclear(detail: "HTTP 202: \(error.detail)") }
            guard id == bundle.paymentID else { throw .unclear(detail: "it is about another payment") }
            return .inProgress(askAgainAfter: .milliseconds(milliseconds))
        }
        let receipt: Signed<PaymentReceipt>
        do throws(MalformedObject) {
            receipt = try Signed(decoding: response.body)
        } catch {
            throw .unclear(detail: "no receipt: \(error)")
        }
        try Self.check(receipt, paymentID: bundle.paymentID, acceptHash: bundle.acceptHash)
        guard receipt.payload.requestHash == bundle.request.hash else {
            throw .unclear(detail: "the receipt is of another request")
        }
        return .ended(receipt)
    }

    /// Makes a request known before anybody accepts it, so that an online phone can compare it. The same request may be
    /// announced again; needs no session, as the certificate and the request prove themselves.
    /// - Throws: `payment_changed` where another request has this name.
    public func announce(
        _ request: Signed<PaymentRequest>,
        of certificate: Signed<TerminalCertificate>
    ) async throws(AcquirerError) -> PaymentRecord {
        let id = request.payload.paymentID
        let body = CBOR.array([.bytes(certificate.encoded), .bytes(request.encoded)]).encoded
        let response = try await exchange(.put, "/payments/\(id)", body: .cbor(body))
        return try Self.record(response, named: id)
    }

    /// How a payment stands. Nil where the acquirer has never heard of it: nothing was executed so far.
    ///
    /// For the merchant whose payment it is, and the customer who accepted it or was asked to.
    public func payment(_ id: TapProtocol.PaymentID) async throws(AcquirerError) -> PaymentRecord? {
        do throws(AcquirerError) {
            return try Self.record(try await exchange(.get, "/payments/\(id)"), named: id)
        } catch .refused(let refusal) where refusal.code == .paymentNotFound {
            return nil
        }
    }

    /// A page of the payments of whoever is logged in, the newest first.
    /// - Parameters:
    ///   - words: Only these; empty for all.
    ///   - cursor: From the page before; nil for the first.
    ///   - limit: 1 to 100.
    public func payments(
        _ words: [PaymentWord] = [],
        after cursor: String? = nil,
        limit: Int = 50
    ) async throws(AcquirerError) -> PaymentRecordPage {
        guard (1...100).contains(limit) else { throw .invalid(field: "limit", message: "1 to 100") }
        var query = "?limit=\(limit)" + words.map { "&status=\($0.rawValue)" }.joined()
        if let cursor {
            guard Self.isPathWord(cursor) else { throw .invalid(field: "cursor", message: "not a cursor") }
            query += "&cursor=\(cursor)"
        }
        let response = try await exchange(.get, "/payments" + query, limitBytes: 1 << 20)
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            var payments: [PaymentRecord] = []
            for item in try fields.list("payments", upTo: limit) {
                payments.append(try PaymentRecord(try JSONFields(item)))
            }
            let next = try fields.optionalText("nextCursor")
            guard next.map(Self.isPathWord) != false else { throw MalformedAnswer(detail: "nextCursor is no word") }
            return PaymentRecordPage(payments: payments, nextCursor: next)
        }
    }

    /// Gives a payment back, or closes its name before anything was executed. May be repeated. For the merchant.
    /// - Throws: `notNow` with `payment_busy` while it is being executed.
    public func void(_ id: TapProtocol.PaymentID) async throws(AcquirerError) -> VoidAnswer {
        let response = try await exchange(.post, "/payments/\(id)/void", body: .json(.object([])))
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            let answer = VoidAnswer(
                paymentID: try fields.paymentID(),
                gaveBack: try fields.flag("gaveBack"),
                receipt: try fields.optionalObject("receipt")
            )
            guard answer.paymentID == id, try fields.word("status") as PaymentWord == .cancelled else {
                throw MalformedAnswer(detail: "it is about another payment or another outcome")
            }
            if let receipt = answer.receipt?.payload {
                guard receipt.paymentID == id, receipt.status == .cancelled else {
                    throw MalformedAnswer(detail: "the receipt is of another payment or another outcome")
                }
            }
            return answer
        }
    }

    /// Tells what was agreed without the acquirer, oldest first. Needs no session: what is told proves itself.
    /// - Parameter items: 1 to 32.
    /// - Returns: One answer for each item, in their order.
    public func sync(_ items: [SyncItem]) async throws(AcquirerError) -> [SyncAnswer] {
        guard (1...SyncItem.batchLimit).contains(items.count) else {
            throw .invalid(field: "items", message: "1 to \(SyncItem.batchLimit) at once")
        }
        let body = SyncItem.encoded(items)
        guard body.count <= SyncItem.uploadLimitBytes else { throw .invalid(field: "items", message: "too large") }
        let response = try await exchange(.post, "/sync", body: .cbor(body), timeout: .seconds(30), limitBytes: 1 << 19)
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            let list = try fields.list("answers", upTo: items.count)
            guard list.count == items.count else { throw MalformedAnswer(detail: "not one answer for each item") }
            var answers: [SyncAnswer] = []
            for (item, json) in zip(items, list) {
                let answer = try SyncAnswer(try JSONFields(json))
                guard answer.paymentID == item.paymentID, answer.acceptHash == item.acceptHash else {
                    throw MalformedAnswer(detail: "an answer is about another payment")
                }
                answers.append(answer)
            }
            return answers
        }
    }

    private static func check(
        _ receipt: Signed<PaymentReceipt>,
        paymentID: TapProtocol.PaymentID,
        acceptHash: ObjectHash
    ) throws(AcquirerError) {
        guard receipt.payload.paymentID == paymentID, receipt.payload.acceptHash == acceptHash else {
            throw .unclear(detail: "the receipt is of another payment")
        }
        guard [.completed, .failed, .cancelled].contains(receipt.payload.status) else {
            throw .unclear(detail: "a receipt of what is not over")
        }
    }

    private static func record(
        _ response: HTTPResponse,
        named id: TapProtocol.PaymentID
    ) throws(AcquirerError) -> PaymentRecord {
        try reading(response) { fields throws(MalformedAnswer) in
            let record = try PaymentRecord(fields)
            guard record.paymentID == id else { throw MalformedAnswer(detail: "it is about another payment") }
            return record
        }
    }
}

extension SyncAnswer {
    init(_ fields: JSONFields) throws(MalformedAnswer) {
        paymentID = try fields.paymentID()
        acceptHash = try fields.hash("acceptHash")
        verdict = try fields.word("verdict")
        isPaid = try fields.flag("paid")
        receipt = try fields.optionalObject("receipt")
        var accepts: [Signed<PaymentAcceptance>] = []
        for item in fields.optional("evidence") == nil ? [] : try fields.list("evidence", upTo: 2) {
            accepts.append(try JSONFields.object(item, "evidence"))
        }
        evidence = accepts
        detail = try fields.optionalText("detail", 1...64)
        if let receipt = receipt?.payload {
            guard receipt.paymentID == paymentID, receipt.acceptHash == acceptHash,
                (receipt.status == .completed) == isPaid
            else { throw MalformedAnswer(detail: "the receipt says something else") }
        } else if isPaid {
            throw MalformedAnswer(detail: "paid without a receipt")
        }
    }
}
