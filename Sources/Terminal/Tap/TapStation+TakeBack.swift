import Logging
public import Payments
import TapProtocol

/// Why a payment was not given back. What was paid still is, as far as anybody knows.
public enum TakeBackRefusal: Error, Sendable, Equatable {
    /// Nothing of this charge was paid over BLE, or it went back already.
    case nothingPaid
    /// Another acquirer or merchant than the one that is set now has the payment.
    case elsewhere
    /// The acquirer says no, for good or for now.
    case refused(code: String)
    /// Nobody knows whether it took effect. Ask again: it happens once.
    case unclear
    /// The acquirer has given it back, and the terminal could not write that down. Ask again: it happens once.
    case unrecorded(JournalError?)
    case journal(JournalError)

    public var reason: Reason {
        switch self {
        case .nothingPaid:
            Reason(
                code: "nothing_to_give_back",
                message: "Nothing of this charge was paid by Tap, or it was given back already.",
                action: "Give money back the way it was paid."
            )
        case .elsewhere:
            Reason(
                code: "other_acquirer",
                message: "This was paid at another acquirer, or with another login, than the one in the settings. "
                    + "Nothing was given back.",
                action: "Give it back at that acquirer, or set its login again and try again."
            )
        case .refused(let code):
            Reason(
                code: "take_back_refused",
                message: "The acquirer does not give this payment back (\(Reason.clean(code))).",
                action: "Give the money back another way, or ask the acquirer."
            )
        case .unclear:
            Reason(
                code: "take_back_unclear",
                message: "The acquirer did not answer. The money may be on its way back, or not.",
                action: "Try again: it is given back once, however often you ask."
            )
        case .unrecorded:
            Reason(
                code: "take_back_unrecorded",
                message: "The acquirer gave the money back, but the terminal could not write that down: "
                    + "this charge still shows as paid.",
                action: "Do not give money back another way. Look after the terminal’s storage, then try again: "
                    + "the money goes back once."
            )
        case .journal(let error): error.reason
        }
    }
}

extension TapStation {
    /// Has a paid payment given back by its acquirer. May be repeated.
    public func takeBack(_ charge: ChargeID, attempt id: Attempt.ID) async throws(TakeBackRefusal) {
        let found: TapStory?
        do throws(JournalError) {
            found = try await archive.story(of: charge, attempt: id)
        } catch { throw .journal(error) }
        guard let story = found, story.receipt?.payload.status == .completed || story.isGivenBack else {
            throw .nothingPaid
        }
        if !story.isGivenBack { try await giveBack(story) }
        guard let link = await reach?(charge, id), await link.takes(.givenBack(attempt: id)) else {
            throw .unrecorded(nil)
        }
    }

    private func giveBack(_ story: TapStory) async throws(TakeBackRefusal) {
        guard let setup, setup.serves(story) else { throw .elsewhere }
        let word = await setup.acquirer.void(story.name.payment)
        await note(word)
        switch word {
        case .receipt(let receipt):
            let check = ReceiptCheck(
                trusted: setup.credentials.trusted,
                issuer: story.certificate.payload.issuer,
                request: story.request,
                accept: story.accepted?.accept
            )
            guard (try? check.check(receipt, status: .cancelled)) != nil else { throw .unclear }
            do throws(JournalError) {
                try await archive.keep([.receipt(receipt), .givenBack], of: story.name)
            } catch { throw .unrecorded(error) }
        case .refused(let code), .notNow(let code, _): throw .refused(code: code)
        // A payment that was paid and of which the acquirer knows nothing: no word that counts.
        case .voided, .unknownPayment, .inProgress, .noAnswer, .unreachable: throw .unclear
        }
    }
}

extension ChargeDesk {
    /// Has what was paid over BLE given back.
    /// - Throws: ``TakeBackRefusal``.
    public func takeBack(_ id: ChargeID, by station: TapStation) async throws(TakeBackRefusal) {
        let found: Charge?
        do throws(JournalError) { found = try await current(id) } catch { throw .journal(error) }
        let paid = found?.attempts.last { attempt in
            guard attempt.rail == .tap, case .ended(.succeeded, _) = attempt.phase else { return false }
            return true
        }
        guard let paid else { throw .nothingPaid }
        try await station.takeBack(id, attempt: paid.id)
    }
}
