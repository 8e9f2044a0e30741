/// Whether the terminal says by a sound how a payment ended, and how loud.
public struct SoundSettings: Sendable, Hashable, Codable {
    public var isOn = true
    /// 0 to 100.
    public var loudness = 70

    public init() {}

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.isOn, into: &isOn)
        try container.read(.loudness, into: &loudness)
    }

    private enum CodingKeys: String, CodingKey { case isOn, loudness }
}

extension ChargeDesk {
    /// Takes what the owner set about sound, at once.
    public func use(sound: SoundSettings) {
        guard self.sound != sound else { return }
        self.sound = sound
        publish()
    }
}
