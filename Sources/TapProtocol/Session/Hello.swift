/// What a phone says in clear before anything else. Source: BPP/1, section 7.2.
public struct Hello: Sendable, Hashable {
    public static let byteCount = 13
    /// How long a session's name is.
    public static let sessionNameBytes = 8
    static let version: UInt8 = 1
    static let suite: UInt8 = 1

    /// The phone has read this terminal's tag.
    public var isTagged: Bool
    /// The longest message that the phone takes, 2048 to 4096.
    public var maximumMessageBytes: Int
    /// Eight random bytes, the same through one advertising session. A phone whose accept is out keeps them over a restart,
    /// until it knows how the payment ended.
    public var sessionID: [UInt8]

    /// Nil for a limit outside its range or a name that is not eight bytes.
    public init?(isTagged: Bool = false, maximumMessageBytes: Int = Framing.maximumMessageBytes, sessionID: [UInt8]) {
        guard Framing.minimumMessageBytes...Framing.maximumMessageBytes ~= maximumMessageBytes,
            sessionID.count == Self.sessionNameBytes
        else { return nil }
        (self.isTagged, self.maximumMessageBytes, self.sessionID) = (isTagged, maximumMessageBytes, sessionID)
    }

    public init(decoding bytes: [UInt8]) throws(SessionError) {
        guard bytes.count == Self.byteCount else { throw .length }
        guard bytes[0] == Self.version, bytes[1] == Self.suite, bytes[2] & 0xFE == 0,
            let hello = Hello(
                isTagged: bytes[2] & 1 == 1,
                maximumMessageBytes: Int(bytes[3]) << 8 | Int(bytes[4]),
                sessionID: Array(bytes[5...])
            )
        else { throw .unsupported }
        self = hello
    }

    public var encoded: [UInt8] {
        [
            Self.version, Self.suite, isTagged ? 1 : 0, UInt8(maximumMessageBytes >> 8),
            UInt8(maximumMessageBytes & 0xFF),
        ] + sessionID
    }
}

/// What both sides know before the first byte, and bind the session to. Source: BPP/1, section 7.2.
public struct Prologue: Sendable, Hashable {
    public let bytes: [UInt8]

    /// - Parameters:
    ///   - service: The configured service.
    ///   - tagID: 16 bytes of the tag that the phone has read.
    public init(service: ServiceUUID, tagID: [UInt8]? = nil) {
        let tag = tagID.map { Array($0.prefix(16)) } ?? []
        bytes = Array("BPP/1".utf8) + service.bytes + tag + [UInt8](repeating: 0, count: 16 - tag.count)
    }
}
