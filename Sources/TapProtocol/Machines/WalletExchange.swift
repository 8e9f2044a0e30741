/// The order of the messages with which a phone's wallet pays over one link. Both sides keep one, and show it each message
/// of the extension that they send or receive. Source: extension W, "Messages" and "Flow".
public struct WalletExchange: Sendable, Hashable {
    public enum State: Sendable, Hashable {
        case idle
        /// The phone has named accounts. → offered
        case asked
        /// The terminal has named options, perhaps none. → chosen, asked
        case offered([WalletOption])
        /// → signing, offered (what had to be collected was)
        case chosen(WalletOption)
        /// Orders have come, `next` of them. → signed
        case signing(WalletOption, next: Int, count: Int)
        /// All signatures are there: the claim is next.
        case signed(WalletOption, signatures: [String])
    }

    public private(set) var state = State.idle

    public init() {}

    /// Takes a message of the extension in its turn; other messages have no turn and pass.
    /// - Returns: False for one out of turn: nothing has changed, answer ERROR 0x03.
    public mutating func takes(_ body: TapBody) -> Bool {
        guard let next = next(body) else { return false }
        state = next
        return true
    }

    private func next(_ body: TapBody) -> State? {
        switch (body, state) {
        case (.accounts, .idle), (.accounts, .offered): return .asked
        case (.options(_, let options, _), .asked), (.options(_, let options, _), .offered),
            (.options(_, let options, _), .chosen):
            return .offered(options)
        case (.choose(_, let id), .offered(let options)):
            return options.first { $0.id.utf8.elementsEqual(id.utf8) }.map(State.chosen)
        case (.sign(let order), .chosen(let option)):
            guard order.optionID.utf8.elementsEqual(option.id.utf8), order.index == 0 else { return nil }
            return .signing(option, next: 1, count: order.count)
        case (.sign(let order), .signing(let option, let next, let count)):
            guard order.optionID.utf8.elementsEqual(option.id.utf8), order.index == next, order.count == count,
                next < count
            else { return nil }
            return .signing(option, next: next + 1, count: count)
        case (.signatures(_, let id, let signatures), .signing(let option, let next, let count)):
            guard id.utf8.elementsEqual(option.id.utf8), next == count, signatures.count == count else { return nil }
            return .signed(option, signatures: signatures)
        case (.accounts, _), (.options, _), (.choose, _), (.sign, _), (.signatures, _): return nil
        default: return state
        }
    }
}
