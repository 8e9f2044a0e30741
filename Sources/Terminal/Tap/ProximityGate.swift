public import TapProtocol

/// How near a phone must be to be asked. Source: BPP/1, section 4.3.
public enum TapMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// The phone is held to the spot.
    case tap
    /// On this side of the counter.
    case near
    /// Anywhere around.
    case open
    /// Phones that have read this terminal's tag.
    case tagged
}

/// Signal strengths from which on a phone counts as near, dBm, and the largest loss on the way, dB.
public struct TapThresholds: Sendable, Hashable, Codable {
    /// The range of a threshold: from hardly anything to a phone on the antenna.
    public static let range = -100 ... -20
    public var tap = -45
    /// Where a phone says what it sends with, this loss is enough too.
    public var tapLoss = 38
    public var near = -65
    public var open = -80
    public var tagged = -85

    public init() {}

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.tap, into: &tap)
        try container.read(.tapLoss, into: &tapLoss)
        try container.read(.near, into: &near)
        try container.read(.open, into: &open)
        try container.read(.tagged, into: &tagged)
    }

    public func limit(_ mode: TapMode) -> Int {
        switch mode {
        case .tap: tap
        case .near: near
        case .open: open
        case .tagged: tagged
        }
    }
}

/// Chooses whom to ask from what the radio has seen. It is no proof that anybody is near.
public struct ProximityGate: Sendable {
    /// What the gate makes of the phones it has seen.
    public struct Candidate: Sendable, Hashable {
        public let address: TapSighting.PhoneAddress
        /// The median of its last samples; nil where the radio knows none.
        public let rssi: Int?
    }

    private struct Phone {
        var samples: [(rssi: Int?, txPower: Int?, at: Duration)] = []
        var seenAt: Duration
        /// What it advertises of all that is looked for.
        var service: ServiceUUID?
        /// Since when it has been clearly too weak.
        var weakSince: Duration?
        var hasEntered = false
    }

    public let mode: TapMode
    public let thresholds: TapThresholds
    /// A radio without signal strengths: phones count as near without one.
    public let acceptsUnknownSignal: Bool
    private var wanted: Set<ServiceUUID>
    private var phones: [TapSighting.PhoneAddress: Phone] = [:]
    /// Since when two phones have been too close to each other to choose, in `tap`.
    private var undecidedSince: Duration?

    /// How far back samples count.
    public static let window = Duration.seconds(1)
    static let forgetAfter = Duration.seconds(3)
    static let weakFor = Duration.seconds(2)
    static let hysteresis = 10
    /// What one phone must be stronger than the next, in `tap`.
    static let lead = 8
    static let undecidedFor = Duration.milliseconds(700)
    /// Phones that are remembered at once. More are strangers' noise.
    static let maximumPhones = 64

    /// - Parameter tag: The tag's service, which `tagged` looks for.
    public init(
        mode: TapMode,
        thresholds: TapThresholds = TapThresholds(),
        service: ServiceUUID,
        tag: ServiceUUID? = nil,
        acceptsUnknownSignal: Bool = false
    ) {
        (self.mode, self.thresholds) = (mode, thresholds)
        self.acceptsUnknownSignal = acceptsUnknownSignal
        wanted = mode == .tagged ? Set([tag].compactMap(\.self)) : [service]
    }

    /// Looks for these tags from now on; in other modes than `tagged` nothing changes.
    public mutating func look(for tags: [ServiceUUID]) { if mode == .tagged { wanted = Set(tags) } }

    /// What a phone in sight advertises of all that is looked for.
    public func service(of address: TapSighting.PhoneAddress) -> ServiceUUID? { phones[address]?.service }

    /// What the radio is to look for.
    public var services: [ServiceUUID] { Array(wanted) }

    /// How many of the last samples count.
    public static func samples(_ mode: TapMode) -> Int {
        switch mode {
        case .tap: 3
        case .near: 2
        case .open, .tagged: 1
        }
    }

    /// How many phones may be linked at once: in `tap` one, or the two that cannot be told apart.
    public func maximumLinks(at now: Duration) -> Int {
        guard mode == .tap else { return 4 }
        return isUndecided(at: now) ? 2 : 1
    }

    public mutating func see(_ sighting: TapSighting) {
        guard !wanted.isDisjoint(with: sighting.services) else { return }
        forget(at: sighting.at)
        guard hasRoom(for: sighting) else { return }
        var phone = phones[sighting.address] ?? Phone(seenAt: sighting.at)
        phone.seenAt = sighting.at
        phone.service = sighting.services.first { wanted.contains($0) }
        let rssi = Self.known(sighting.rssi)
        phone.samples.append((rssi, sighting.txPower, sighting.at))
        phone.samples.removeFirst(max(0, phone.samples.count - Self.samples(mode)))
        if let rssi, rssi < thresholds.limit(mode) - Self.hysteresis {
            phone.weakSince = phone.weakSince ?? sighting.at
        } else {
            phone.weakSince = nil
        }
        phones[sighting.address] = phone
        decide(at: sighting.at)
    }

    /// 127 is the radio's word for "not available". Source: Bluetooth Core, LE Advertising Report.
    private static func known(_ rssi: Int?) -> Int? { rssi == 127 ? nil : rssi }

    /// Where all places are taken a stronger phone gets the weakest one's: far strangers must not hide a near customer.
    private mutating func hasRoom(for sighting: TapSighting) -> Bool {
        guard phones[sighting.address] == nil, phones.count >= Self.maximumPhones else { return true }
        func strength(_ phone: Phone) -> Int { phone.samples.last?.rssi ?? .min }
        guard let weakest = phones.min(by: { strength($0.value) < strength($1.value) }),
            strength(weakest.value) < Self.known(sighting.rssi) ?? .min
        else { return false }
        phones[weakest.key] = nil
        return true
    }

    /// Whom to ask now, the strongest first.
    public mutating func candidates(at now: Duration) -> [Candidate] {
        forget(at: now)
        decide(at: now)
        let inside = phones.filter { $0.value.hasEntered }
            .map { Candidate(address: $0.key, rssi: Self.median($0.value.samples.compactMap(\.rssi))) }
            .sorted { ($0.rssi ?? .min, $1.address.rawValue) > ($1.rssi ?? .min, $0.address.rawValue) }
        guard mode == .tap, let first = inside.first else { return inside }
        guard let next = next(after: first) else { return [first] }
        if Self.leads(first.rssi, next) { return [first] }
        // Two are on the spot: wait for one to lead, and ask both where none does.
        return isUndecided(at: now) ? Array(inside.prefix(2)) : []
    }

    /// The gate forgets a phone that was asked and has gone.
    public mutating func remove(_ address: TapSighting.PhoneAddress) { phones[address] = nil }

    private mutating func forget(at now: Duration) {
        phones = phones.filter { _, phone in
            now - phone.seenAt <= Self.forgetAfter && phone.weakSince.map { now - $0 < Self.weakFor } != false
        }
    }

    private mutating func decide(at now: Duration) {
        for (address, phone) in phones where !phone.hasEntered && enters(phone, at: now) {
            phones[address]?.hasEntered = true
        }
        guard mode == .tap else { return }
        let strengths = phones.values.compactMap { Self.median($0.samples.compactMap(\.rssi)) }.sorted(by: >)
        let areEqual = strengths.count > 1 && strengths[0] >= thresholds.tap && !Self.leads(strengths[0], strengths[1])
        undecidedSince = areEqual ? undecidedSince ?? now : nil
    }

    private func isUndecided(at now: Duration) -> Bool { undecidedSince.map { now - $0 >= Self.undecidedFor } ?? false }

    private func enters(_ phone: Phone, at now: Duration) -> Bool {
        let samples = phone.samples.filter { now - $0.at <= Self.window }
        guard samples.count >= Self.samples(mode) else { return false }
        let known = samples.compactMap(\.rssi)
        guard known.count == samples.count, let median = Self.median(known) else { return acceptsUnknownSignal }
        if median >= thresholds.limit(mode) { return true }
        guard mode == .tap else { return false }
        let losses = samples.compactMap { sample in
            sample.txPower.flatMap { power in sample.rssi.map { power - $0 } }
        }
        return losses.count == samples.count && Self.median(losses).map { $0 <= thresholds.tapLoss } == true
    }

    /// The strongest of the others, also where it has not entered: the lead counts against everybody.
    private func next(after first: Candidate) -> Int? {
        phones.filter { $0.key != first.address }.values.compactMap { Self.median($0.samples.compactMap(\.rssi)) }.max()
    }

    private static func leads(_ first: Int?, _ next: Int) -> Bool { first.map { $0 - next >= lead } ?? false }

    /// The lower one of the two in the middle.
    static func median(_ values: [Int]) -> Int? {
        guard !values.isEmpty else { return nil }
        return values.sorted()[(values.count - 1) / 2]
    }
}

/// Finds the threshold of `tap` with a phone on the spot. Source: BPP/1, section 4.3, `calibrate`.
public struct TapCalibration: Sendable, Hashable {
    public static let samplesNeeded = 50
    static let margin = 3
    public private(set) var samples: [Int] = []

    public init() {}

    /// - Returns: True once there are enough.
    public mutating func add(rssi: Int) -> Bool {
        if !isComplete, rssi != 127 { samples.append(rssi) }
        return isComplete
    }

    public var isComplete: Bool { samples.count >= Self.samplesNeeded }

    /// The 10th percentile less a margin, within the range of thresholds; nil before there are enough samples.
    public var threshold: Int? {
        guard isComplete else { return nil }
        let sorted = samples.sorted()
        let value = sorted[(sorted.count - 1) / 10] - Self.margin
        return min(max(value, TapThresholds.range.lowerBound), TapThresholds.range.upperBound)
    }
}
