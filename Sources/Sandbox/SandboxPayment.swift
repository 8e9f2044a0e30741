import Ethereum
import Payments
import StrictJSON

/// How a payment stands, in the words of the API. Source: WalletConnect Pay API 2026-02-19.preview, `PaymentStatus`.
public enum PaymentWord: String, Sendable, CaseIterable {
    /// Waiting for the customer. → any other
    case requiresAction = "requires_action"
    /// The customer signed; the transfer is on its way. → succeeded, failed, expired
    case processing
    case succeeded, failed, expired, cancelled

    var isFinal: Bool { self != .requiresAction && self != .processing }
}

/// One payment as the gateway keeps it.
struct SandboxPayment: Sendable {
    let id: String
    /// Counts payments in the order of creation.
    let sequence: Int
    let merchantID: String
    let reference: String
    let amount: FiatAmount
    let createdAt: WallTime
    let expiresAtSeconds: Int64
    private(set) var word = PaymentWord.requiresAction
    private(set) var changedAt: WallTime
    /// What `word` was before, each time it changed: what a test asks for when it wants the whole story.
    private(set) var story: [PaymentWord] = [.requiresAction]
    var options: [OfferedOption] = []
    var confirmation: Confirmation?
    /// Set by a fault: how this payment ends, whatever the customer does.
    var ordered: Outcome?
    var failureCode: String?
    var cancelledReason: String?
    var isRefunded = false
    /// The gateway knows of the customer what it asks for.
    var isIdentified = false

    /// What the customer sent.
    struct Confirmation: Sendable {
        let option: OfferedOption
        /// The results as they came, canonical: a repetition is recognised by them.
        let results: String
        let signature: EthereumSignature
        let transactionID: String
        let buyer: Buyer
        /// Nil where the settlement waits for an order of the control API.
        let settlesAt: WallTime?
    }

    struct Buyer: Sendable {
        let account: CustomerAccount
        let wallet: String
    }

    /// How a payment can be made to end.
    enum Outcome: String, Sendable, CaseIterable {
        case failed
        /// Failed for compliance; the API says only that the user was declined.
        case declinedUser = "declined_user"
        case expired
        /// Never ends by itself.
        case stuck
    }

    init(
        id: String,
        sequence: Int,
        merchantID: String,
        reference: String,
        amount: FiatAmount,
        createdAt: WallTime,
        expiresAtSeconds: Int64
    ) {
        (self.id, self.sequence, self.merchantID, self.reference) = (id, sequence, merchantID, reference)
        (self.amount, self.createdAt, self.expiresAtSeconds) = (amount, createdAt, expiresAtSeconds)
        changedAt = createdAt
    }

    /// A final word stays.
    mutating func become(_ word: PaymentWord, at now: WallTime) {
        guard !self.word.isFinal, word != self.word else { return }
        (self.word, changedAt) = (word, now)
        story.append(word)
    }

    /// Milliseconds until the next question makes sense; null once nothing can change.
    var pollInMs: ExactJSON {
        switch word {
        case .requiresAction: .integer(1000)
        case .processing: .integer(1000)
        default: .null
        }
    }

    /// What was paid, once it was. Source: WalletConnect Pay API, `PaymentInformation`.
    var information: ExactJSON {
        guard word == .succeeded, let confirmation else { return .null }
        let order = confirmation.option.order
        return .members([
            "txId": .string(confirmation.transactionID), "optionAmount": order.token.amount(order.value),
        ])
    }
}

/// One way to pay one payment: a token of one of the customer's accounts.
struct OfferedOption: Sendable {
    let id: String
    let account: CustomerAccount
    let order: TransferOrder
    /// The customer's token needs its `approve` before the signature is of use.
    let needsApproval: Bool
    /// Set where an exchange rate is involved: then the quote does not hold for ever.
    let expiresAtSeconds: Int64?

    /// How many results a confirmation must bring.
    var actionCount: Int { needsApproval ? 2 : 1 }

    /// What the wallet is to do, spelled out. Source: WalletConnect Pay API, `FetchResponse`.
    var actions: ExactJSON {
        let requests = needsApproval ? [order.approval, order.signing] : [order.signing]
        return .array(requests.map { .members(["type": .string("walletRpc"), "data": $0]) })
    }

    /// The `data` of the option's `build` action: the request as hexadecimal digits of its JSON text.
    var buildData: String { hex(order.signing.text.utf8) }

    /// - Parameter collectData: What the account must be asked first; null when nothing.
    func json(collectData: ExactJSON) -> ExactJSON {
        let offered: ExactJSON
        switch order.token.method {
        case .permit2: offered = actions
        case .erc3009:
            offered = .array([
                .members(["type": .string("build"), "data": .members(["data": .string(buildData)])])
            ])
        }
        return .members([
            "id": .string(id), "account": .string(account.text), "amount": order.token.amount(order.value),
            "etaS": .integer(5), "expiresAt": expiresAtSeconds.map { .integer($0) } ?? .null, "actions": offered,
            "collectData": collectData,
        ])
    }
}
