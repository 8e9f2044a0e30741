import StrictJSON

/// Who has how much, in the acquirer's own books. Money is only ever moved, so that all balances together stay what they were.
struct AcquirerBooks: Sendable, Equatable {
    /// Where money can be.
    enum Account: Sendable, Hashable, CustomStringConvertible {
        /// A customer's instrument.
        case instrument(String)
        /// Held for a pre-authorisation.
        case hold(String)
        /// On its way: taken from the customer, and not the merchant's yet.
        case clearing
        case merchant(String)
        /// What the acquirer itself has lost or won.
        case acquirer

        var description: String {
            switch self {
            case .instrument(let id): "instrument/\(id)"
            case .hold(let id): "hold/\(id)"
            case .clearing: "clearing"
            case .merchant(let id): "merchant/\(id)"
            case .acquirer: "acquirer"
            }
        }
    }

    struct Move: Sendable, Equatable {
        let number: Int
        let atMilliseconds: Int64
        /// `payment`, `settlement`, `return`, `void`, `hold`, `release`, `voucher`.
        let kind: String
        let payment: String?
        let from: Account
        let to: Account
        let amount: Int
        let currency: String
    }

    private struct Place: Hashable {
        let account: Account
        let currency: String
    }

    var faucetMinorUnits: Int
    private var balances: [Place: Int] = [:]
    private(set) var moves: [Move] = []

    init(faucetMinorUnits: Int) { self.faucetMinorUnits = faucetMinorUnits }

    func balance(_ account: Account, _ currency: String) -> Int {
        if let known = balances[Place(account: account, currency: currency)] { return known }
        if case .instrument = account { return faucetMinorUnits }
        return 0
    }

    /// Gives an instrument so much; a test's word, and no move.
    mutating func set(_ account: Account, _ currency: String, to amount: Int) {
        balances[Place(account: account, currency: currency)] = amount
    }

    mutating func move(
        _ kind: String,
        _ amount: Int,
        _ currency: String,
        from: Account,
        to: Account,
        payment: String? = nil,
        at milliseconds: Int64
    ) {
        guard amount > 0 else { return }
        balances[Place(account: from, currency: currency)] = balance(from, currency) - amount
        balances[Place(account: to, currency: currency)] = balance(to, currency) + amount
        moves.append(
            Move(
                number: moves.count + 1,
                atMilliseconds: milliseconds,
                kind: kind,
                payment: payment,
                from: from,
                to: to,
                amount: amount,
                currency: currency
            )
        )
    }

    var json: ExactJSON {
        let places = balances.sorted {
            ($0.key.account.description, $0.key.currency) < ($1.key.account.description, $1.key.currency)
        }
        return .members([
            "balances": .array(
                places.map { place, amount in
                    .members([
                        "account": .string(place.account.description), "currency": .string(place.currency),
                        "amount": .integer(amount),
                    ])
                }
            ),
            "moves": .array(
                moves.map { move in
                    .members([
                        "number": .integer(move.number), "at": .integer(move.atMilliseconds),
                        "kind": .string(move.kind), "paymentId": .text(move.payment),
                        "from": .string(move.from.description), "to": .string(move.to.description),
                        "amount": .integer(move.amount), "currency": .string(move.currency),
                    ])
                }
            ),
        ])
    }
}
