/// The numbers of the fragment layer. Source: BPP/1, sections 5 and 6.
public enum Framing {
    /// An attribute value never grows over this, and bluetoothd cuts longer writes without a word.
    public static let maximumFragmentBytes = 512
    /// A link whose values are smaller cannot carry the profile.
    public static let minimumFragmentBytes = 20
    /// What a message may hold unless HELLO says less.
    public static let maximumMessageBytes = 4096
    /// The least that HELLO may say.
    public static let minimumMessageBytes = 2048
    /// The longest wait for the next fragment of an open message.
    public static let fragmentGap = Duration.seconds(3)

    /// What one fragment may hold at an ATT MTU of `mtuBytes`; nil where that is too little for the profile.
    public static func fragmentBytes(mtuBytes: Int) -> Int? {
        guard mtuBytes >= minimumFragmentBytes + 3 else { return nil }
        return min(mtuBytes - 3, maximumFragmentBytes)
    }

    static let first: UInt8 = 0x80
    static let last: UInt8 = 0x40
    static let sequenceMask: UInt8 = 0x3F
}

/// Cuts messages into fragments: one for each direction of each session.
public struct Fragmenter: Sendable {
    /// Why a message cannot be sent.
    public enum Failure: Error, Sendable, Equatable {
        case empty
        /// Longer than the receiver takes.
        case tooLong(Int)
    }

    private var sequence: UInt8 = 0
    /// 20 to 512.
    public let fragmentBytes: Int
    /// 2048 to 4096.
    public let messageBytes: Int

    /// Values outside the ranges of the profile become the nearest inside.
    public init(fragmentBytes: Int, messageBytes: Int = Framing.maximumMessageBytes) {
        self.fragmentBytes = min(max(fragmentBytes, Framing.minimumFragmentBytes), Framing.maximumFragmentBytes)
        self.messageBytes = min(max(messageBytes, Framing.minimumMessageBytes), Framing.maximumMessageBytes)
    }

    /// The fragments of one message, to be sent in this order with nothing between them.
    public mutating func fragments(of message: [UInt8]) throws(Failure) -> [[UInt8]] {
        guard !message.isEmpty else { throw .empty }
        guard message.count <= messageBytes else { throw .tooLong(message.count) }
        var result: [[UInt8]] = []
        var rest = message[...]
        while !rest.isEmpty {
            var fragment: [UInt8] = [nextSequence()]
            if result.isEmpty {
                fragment[0] |= Framing.first
                fragment += [UInt8(message.count >> 8), UInt8(message.count & 0xFF)]
            }
            let taken = rest.prefix(fragmentBytes - fragment.count)
            fragment += taken
            rest = rest.dropFirst(taken.count)
            if rest.isEmpty { fragment[0] |= Framing.last }
            result.append(fragment)
        }
        return result
    }

    /// The fragment that says why the link ends.
    public mutating func control(_ code: ControlCode) -> [UInt8] {
        [Framing.first | Framing.last | nextSequence(), 0, 0, code.rawValue]
    }

    private mutating func nextSequence() -> UInt8 {
        defer { sequence = (sequence + 1) & Framing.sequenceMask }
        return sequence
    }
}
