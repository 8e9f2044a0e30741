import Acquirer
import Payments
import StrictJSON
import TapProtocol

/// One payment in the acquirer's memory.
struct AcquirerPayment: Sendable {
    /// Names are the merchants': one that another merchant uses too is another payment.
    struct Key: Sendable, Hashable {
        let merchant: String
        let id: TapProtocol.PaymentID
    }

    /// One accept that was handed in with everything that makes it payable.
    struct Attempt: Sendable {
        let number: Int
        let accept: Signed<PaymentAcceptance>
        let customer: String?
        var word: Acquirer.PaymentWord
        var verdict: SyncAnswer.Verdict
        var declineCode: Int?
        /// There where it has ended.
        var receipt: Signed<PaymentReceipt>?
        /// The other accept of a double spend.
        var evidence: Signed<PaymentAcceptance>?
        /// Where the money came from, while it is away from there.
        var payer: AcquirerBooks.Account?
        /// A fault's word for how it ends, where it ends later.
        var ordered: DeclineCode?

        var isAlive: Bool { word == .inProgress || word == .completed }
    }

    let key: Key
    /// Nil where only a void is known.
    var request: Signed<PaymentRequest>?
    var attempts: [Attempt] = []
    var isVoid = false
    /// What a phone told before the terminal did.
    var told: [Signed<PaymentAcceptance>] = []
    var updatedAt: WallTime

    var word: Acquirer.PaymentWord {
        if isVoid { return .cancelled }
        if let alive = attempts.first(where: \.isAlive) { return alive.word }
        if let last = attempts.last { return last.word }
        return told.isEmpty ? .initiated : .acceptedOffline
    }

    func place(of hash: ObjectHash) -> Int? { attempts.firstIndex { $0.accept.hash == hash } }

    /// The one that was paid back.
    var givenBack: Attempt? { attempts.first { $0.word == .cancelled && $0.payer != nil } }

    var json: ExactJSON {
        let shown = attempts.first(where: \.isAlive) ?? givenBack ?? attempts.last
        // A receipt that says something else than the status would be believed.
        let receipt = shown?.receipt.flatMap { isVoid && $0.payload.status != .cancelled ? nil : $0 }
        let accept = shown?.accept.payload ?? told.last?.payload
        return .members([
            "paymentId": .string(key.id.description), "status": .string(word.rawValue),
            "merchantId": .string(key.merchant),
            "amount": request.map { .integer($0.payload.amount) } ?? .null,
            "tip": accept.map { .integer($0.tip) } ?? .null,
            "total": accept.map { .integer($0.total) } ?? .null,
            "currency": .text(request?.payload.currency),
            "exponent": request.map { .integer($0.payload.exponent) } ?? .null,
            "operatorId": .text(request?.payload.operatorID), "terminalId": .text(request?.payload.terminalID),
            "reference": .text(request?.payload.reference), "instrumentId": .text(accept?.instrumentID),
            "attempts": .array(attempts.suffix(64).map(\.json)),
            "receipt": receipt.map { .base64($0.encoded) } ?? .null,
            "updatedAt": .integer(updatedAt.millisecondsSince1970),
        ])
    }
}

extension AcquirerPayment.Attempt {
    var json: ExactJSON {
        .members([
            "attempt": .integer(number), "acceptHash": .base64(accept.hash.bytes), "status": .string(word.rawValue),
            "declineCode": declineCode.map { .integer($0) } ?? .null,
        ])
    }

    /// What synchronisation says of it.
    func answer(_ verdict: SyncAnswer.Verdict) -> ExactJSON {
        let evidence = self.evidence.map { [$0, accept] } ?? []
        return .members([
            "paymentId": .string(accept.payload.paymentID.description), "acceptHash": .base64(accept.hash.bytes),
            "verdict": .string(verdict.rawValue), "paid": .bool(word == .completed),
            "receipt": receipt.map { .base64($0.encoded) } ?? .null,
            "evidence": .array(evidence.map { .base64($0.encoded) }),
            "detail": .text(declineCode.map { "declined \($0)" }),
        ])
    }
}
