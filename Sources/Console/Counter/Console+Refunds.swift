import Payments
import Terminal
import WebServer

/// Refunds by hand, and who charges here.
extension Console {
    func refund(_ id: ChargeID, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let key = try Route.idempotencyKey(of: pass.request, most: Route.longestProgramKey)
        var form = try Form(pass.request.body)
        let amount = form.integer("amountMinor")
        let attempt = form.integer("attempt")
        let reason = form.text("reason", limit: Refund.longestReason)
        try form.finish()
        return try await refundAudited("charge.refund", id, pass) { () throws(RefundRefusal) in
            try await desk.refund(
                id,
                attempt: attempt.map { Int(clamping: $0) },
                minorUnits: amount,
                reason: reason,
                by: pass.who,
                key: key.map(pass.ownKey)
            )
        }
    }

    func refundAgain(_ id: ChargeID, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        try await refundAudited("charge.refund-again", id, pass) { () throws(RefundRefusal) in
            try await desk.askRefundAgain(id)
        }
    }

    private func refundAudited(
        _ what: String,
        _ id: ChargeID,
        _ pass: Gate.Pass,
        _ work: () async throws(RefundRefusal) -> ChargeSnapshot
    ) async throws(Problem) -> WebResponse {
        do throws(RefundRefusal) {
            let charge = try await work()
            let outcome = charge.charge.hasAskedRefund ? "unconfirmed" : "ok"
            await entrance.audit(what, outcome, id.rawValue, by: pass.who, from: pass.request.peerAddress)
            return .json(JSON.charge(charge, for: pass.reader).text, status: charge.charge.hasAskedRefund ? 202 : 200)
        } catch {
            let reason = error.reason(format: await desk.format)
            await entrance.audit(
                what,
                "refused",
                "\(id.rawValue): \(reason.code)",
                by: pass.who,
                from: pass.request.peerAddress
            )
            switch error {
            case .notFound: throw Problem(404, reason)
            case .tooMuch, .notPositive: throw .field("amountMinor", reason)
            case .invalidReason: throw .field("reason", reason)
            case .nothingPaid, .underWay, .keyUsed, .repeated, .denied: throw Problem(409, reason)
            case .journal: throw Problem(503, reason)
            }
        }
    }

    /// Everybody who opened a charge here, for the list's filter.
    func peopleResponse() async throws(Problem) -> WebResponse {
        do throws(JournalError) {
            let people = try await days.history.people()
            return .json(JSON.object(["people": .array(people.map(JSON.string))]).text)
        } catch { throw Problem(503, error.reason) }
    }
}
