import Payments
import WalletConnectPay

/// What may still be asked in one comparison, and what came of asking.
struct DayQuestions: Sendable {
    /// So many in a row without an answer, and the gateway is left alone.
    private static let mostSilence = 3

    var left: Int
    /// Differences that nobody asked about: there were too many.
    var unasked = 0
    /// Differences that nobody got an answer about.
    var unanswered = 0
    private var silence = 0

    init(left: Int) { self.left = left }

    /// Whether one more may be asked where so many are kept for what matters more; counts it.
    mutating func takes(leaving reserved: Int = 0) -> Bool {
        guard left > reserved else {
            unasked += 1
            return false
        }
        left -= 1
        return true
    }

    /// Whether the gateway has answered lately. Each question to a silent one costs a minute and more.
    var isWorthAsking: Bool { silence < Self.mostSilence }

    mutating func note(isAnswered: Bool) {
        silence = isAnswered ? 0 : silence + 1
        if !isAnswered { unanswered += 1 }
    }
}

/// Questions about what differs.
extension DayDesk {
    /// Asks about each charge that the list and the journal see differently, in the ordinary way: what the status says is
    /// journaled, booked and shown by the charge desk.
    func askAboutCharges(
        in differences: [DayDifference],
        _ questions: inout DayQuestions
    ) async -> Set<ChargeID> {
        let kinds: Set<DayDifference.Kind> = [.paidAtGateway, .endedOtherwise, .unrecognised]
        // What is asked about later and matters more than how a charge ended without money.
        let money = differences.filter { [.paidAtGateway, .paidInJournal].contains($0.kind) }.count
        var asked: Set<ChargeID> = []
        for difference in differences where kinds.contains(difference.kind) {
            guard let id = difference.charge, !asked.contains(id) else { continue }
            guard questions.takes(leaving: difference.kind == .paidAtGateway ? 0 : money) else { continue }
            guard await waitsForTurn() else { return asked }
            asked.insert(id)
            await desk.askNow(id)
            lastCall = clock.elapsed()
        }
        return asked
    }

    /// The differences that are left where the status, which is the authority, does not say what the journal says.
    ///
    /// Also asks about what was asked about before and is not booked: whether the gateway answered then is not said.
    func whatStatusesConfirm(
        _ differences: [DayDifference],
        _ journal: [JournalPayment],
        _ merchant: MerchantClient,
        _ settings: MerchantSettings,
        _ questions: inout DayQuestions
    ) async -> [DayDifference] {
        let standings = Dictionary(journal.flatMap(\.payments)) { first, _ in first }
        let kinds: Set<DayDifference.Kind> = [.paidAtGateway, .paidInJournal, .endedOtherwise, .unrecognised]
        var left: [DayDifference] = []
        for difference in differences {
            guard kinds.contains(difference.kind), let id = difference.paymentID.flatMap(PaymentID.init) else {
                left.append(difference)
                continue
            }
            let status = await status(of: id, merchant, settings, &questions)
            // What the list has as paid is no error of the list alone, nor is a word that nobody knows.
            let isSettled = [.paidInJournal, .endedOtherwise].contains(difference.kind)
            if isSettled, let status, standings[id.rawValue]?.agrees(with: status) == true { continue }
            left.append(difference)  // Without a word of the authority, what the list says stands.
        }
        return left
    }

    /// The authority's word on a payment; nil where it gave none.
    private func status(
        of id: PaymentID,
        _ merchant: MerchantClient,
        _ settings: MerchantSettings,
        _ questions: inout DayQuestions
    ) async -> PaymentStatus? {
        guard questions.isWorthAsking else {
            questions.note(isAnswered: false)
            return nil
        }
        guard questions.takes() else { return nil }
        do throws(MerchantError) {
            let answer = try await paced(settings.gatewayURL) { () async throws(MerchantError) in
                try await merchant.status(of: id, waitingUpTo: nil)
            }
            questions.note(isAnswered: true)
            return answer.status
        } catch {
            // A refusal is an answer, though it says nothing of the payment.
            if case .refused = error { questions.note(isAnswered: true) } else { questions.note(isAnswered: false) }
            return nil
        }
    }
}

extension JournalPayment.Standing {
    fileprivate func agrees(with status: PaymentStatus) -> Bool {
        switch self {
        case .paid: status == .succeeded
        case .unpaid(let known): status == known
        case .open: status == .requiresAction || status == .processing
        }
    }
}
