import Payments
import Screen

/// What the owner set about the keypad beside the screen. Nobody is asked there who they are: the journal says `keypad`.
public struct CounterKeypad: Sendable, Hashable, Codable {
    public enum Mode: String, Sendable, Hashable, Codable, CaseIterable {
        /// Its keys do nothing, and reach nobody else either.
        case off
        /// Enter charges what is typed; a sum is shown first.
        case on
        /// Every amount is shown once more, and charged with a second Enter.
        case confirm
    }

    public var mode = Mode.on
    /// Whether everything can be erased from there, with a code that the screen shows.
    public var mayErase = true

    public init() {}

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.mode, into: &mode)
        try container.read(.mayErase, into: &mayErase)
    }

    private enum CodingKeys: String, CodingKey { case mode, mayErase }
}

extension ChargeDesk {
    /// Takes what the owner set about the keypad, at once.
    public func use(keypad rules: CounterKeypad) {
        guard keypadRules != rules else { return }
        keypadRules = rules
        publish()
    }

    /// Gives the keypad's page the screen, or takes it away.
    func setKeypad(_ page: Scene.Keypad?) {
        guard keypad != page else { return }
        keypad = page
        publish()
    }
}
