/// How long the rail waits for what. Source: BPP/1, section 13.
///
/// Stored with the Tap settings, each as whole milliseconds under its name; what is missing there has its default, and what
/// lies outside its bounds becomes the nearest bound.
public struct TapTimers: Sendable, Hashable, Codable {
    /// For the radio's link to a phone. 1 to 30 s.
    public var connect = Duration.seconds(5)
    /// For finding the service's characteristics. 1 to 30 s.
    public var discover = Duration.seconds(5)
    /// For opening the pipes, and for reading HELLO. 0.5 to 10 s.
    public var hello = Duration.seconds(2)
    /// From the handshake's answer to RECEIVED; also for a write that the radio does not take. 0.5 to 15 s.
    public var received = Duration.seconds(3)
    /// Between two fragments of a message. 0.5 to 10 s.
    public var fragmentGap = Duration.seconds(3)
    /// How long a phone whose user decides may be silent; phones speak every 5 s. 6 to 60 s.
    public var keepAlive = Duration.seconds(15)
    /// For ACK, twice. 0.2 to 5 s.
    public var acknowledge = Duration.seconds(1)
    /// From the claim to the acquirer's word, then the payment counts as unknown. 5 to 120 s.
    public var execute = Duration.seconds(30)
    /// The same where only the phone reaches the acquirer. 5 to 180 s.
    public var executeByPhone = Duration.seconds(45)
    /// How long a phone is looked for whose link has fallen; the payer of a payment that is not over, as long as `submission`.
    /// 10 to 300 s.
    public var recover = Duration.seconds(60)
    /// How long the acquirer takes a bundle after its claim. 60 to 600 s.
    public var submission = Duration.seconds(600)
    /// How long one scan lasts before it is begun anew: some radios report each phone once a scan. 1 to 10 s.
    public var scan = Duration.seconds(2)
    /// How long nobody new is looked for once a phone was asked: the radio, and the program that drives it, are that phone's
    /// while it shows its prompt, and one that agrees by itself does so within that time. Not the owner's to set.
    public var rest = Duration.milliseconds(500)
    /// In a crowd: how long phones are heard before the nearest of them is chosen. 0.1 to 2 s.
    public var listen = Duration.milliseconds(300)
    /// For the short question whether the acquirer is there. 0.2 to 2 s: a phone waits for it.
    public var probe = Duration.milliseconds(1500)
    /// How long the acquirer's last word says that it is there. 0 to 60 s.
    public var fresh = Duration.seconds(5)
    /// The times by name, in whole milliseconds, each with its bounds and what it is unless set.
    public var list: [Time] {
        let usual = TapTimers()
        return Self.limits.map { limit in
            Time(
                name: limit.name,
                milliseconds: Self.milliseconds(self[keyPath: limit.time]),
                usual: Self.milliseconds(usual[keyPath: limit.time]),
                bounds: limit.milliseconds
            )
        }
    }

    /// One of the times.
    public struct Time: Sendable, Hashable {
        public let name: String
        public let milliseconds: Int64
        public let usual: Int64
        public let bounds: ClosedRange<Int64>
    }

    /// Sets a time by its name.
    /// - Returns: False where there is no such time, or outside its bounds: nothing was set.
    mutating func set(_ name: String, milliseconds: Int64) -> Bool {
        guard let limit = Self.limits.first(where: { $0.name == name }), limit.milliseconds.contains(milliseconds)
        else {
            return false
        }
        self[keyPath: limit.time] = .milliseconds(milliseconds)
        corrected.removeAll { $0 == name }
        return true
    }

    private static func milliseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }

    /// Names of stored times that were not used as they stand.
    public private(set) var corrected: [String] = []

    public init() {}

    struct Limit: Sendable {
        let name: String
        let time: any WritableKeyPath<TapTimers, Duration> & Sendable
        let milliseconds: ClosedRange<Int64>
    }

    static let limits: [Limit] = [
        Limit(name: "connect", time: \.connect, milliseconds: 1_000...30_000),
        Limit(name: "discover", time: \.discover, milliseconds: 1_000...30_000),
        Limit(name: "hello", time: \.hello, milliseconds: 500...10_000),
        Limit(name: "received", time: \.received, milliseconds: 500...15_000),
        Limit(name: "fragmentGap", time: \.fragmentGap, milliseconds: 500...10_000),
        Limit(name: "keepAlive", time: \.keepAlive, milliseconds: 6_000...60_000),
        Limit(name: "acknowledge", time: \.acknowledge, milliseconds: 200...5_000),
        Limit(name: "execute", time: \.execute, milliseconds: 5_000...120_000),
        Limit(name: "executeByPhone", time: \.executeByPhone, milliseconds: 5_000...180_000),
        Limit(name: "recover", time: \.recover, milliseconds: 10_000...300_000),
        Limit(name: "submission", time: \.submission, milliseconds: 60_000...600_000),
        Limit(name: "scan", time: \.scan, milliseconds: 1_000...10_000),
        Limit(name: "listen", time: \.listen, milliseconds: 100...2_000),
        Limit(name: "probe", time: \.probe, milliseconds: 200...2_000),
        Limit(name: "fresh", time: \.fresh, milliseconds: 0...60_000),
    ]

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        for limit in Self.limits {
            let name = Name(stringValue: limit.name)
            guard container.contains(name) else { continue }
            guard let stored = try? container.decode(Int64.self, forKey: name) else {
                corrected.append(limit.name)
                continue
            }
            let milliseconds = min(max(stored, limit.milliseconds.lowerBound), limit.milliseconds.upperBound)
            self[keyPath: limit.time] = .milliseconds(milliseconds)
            if milliseconds != stored { corrected.append(limit.name) }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for limit in Self.limits {
            try container.encode(
                Self.milliseconds(self[keyPath: limit.time]),
                forKey: Name(stringValue: limit.name)
            )
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
