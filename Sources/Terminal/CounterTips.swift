public import Payments

/// What staff may add to a charge as a tip, in the words of the phone's tips.
public struct CounterTips: Sendable, Hashable, Codable {
    public enum Mode: String, Sendable, Hashable, Codable, CaseIterable {
        case none, allowed
        /// Staff must choose before they charge; no tip is a choice too.
        case ask
    }

    public var mode = Mode.none
    /// Percent of the amount, 1 to 100. A slip of the finger must not triple a bill.
    public var maximumPercent = 50
    /// Offered as buttons, percent of the amount, at most ``mostPresets``.
    public var presetsPercent = [5, 10, 15]

    /// More buttons do not fit beside each other on a phone.
    public static let mostPresets = 4

    public init() {}

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.mode, into: &mode)
        try container.read(.maximumPercent, into: &maximumPercent)
        try container.read(.presetsPercent, into: &presetsPercent)
    }

    private enum CodingKeys: String, CodingKey { case mode, maximumPercent, presetsPercent }

    /// How a tip is counted: half a minor unit is rounded up.
    public var policy: TipPolicy { TipPolicy(presetsPercent: presetsPercent, maximumPercent: maximumPercent) }
}

extension ChargeDesk {
    /// Takes what the owner set about tips. Charges under way keep theirs.
    public func use(tips: CounterTips) { self.tips = tips }
}
