public import WebSocket

/// What a relay listens on, whom it lets in and how much it keeps.
public struct RelayConfiguration: Sendable {
    public var listen: WebSocketServer.Configuration
    /// Projects that may connect; empty: any, and none at all.
    public var projects: Set<String> = []
    /// The longest message, in bytes of its envelope's text.
    public var messageLimitBytes = 1_048_576
    /// Times that a client may ask for, in seconds. 30 days at most.
    public var ttlSeconds: ClosedRange<Int64> = 1...2_592_000
    /// The longest time of messages with this tag, in seconds: a longer wish is cut to it.
    public var tagLimitSeconds: [Int64: Int64] = [:]
    /// Topics of one client.
    public var subscriptionLimit = 10_000
    /// Messages that wait in one topic.
    public var mailboxLimit = 1000
    /// Bytes of them.
    public var mailboxLimitBytes = 16 * 1_048_576
    /// Bytes of all mailboxes together.
    public var totalLimitBytes = 512 * 1_048_576
    /// Requests of one client. Source: relay-ts, 900 in 60 seconds.
    public var rateLimit: RateLimit? = RateLimit(calls: 900, seconds: 60)
    /// Messages sent to one connection and not acknowledged, at a time.
    public var pushWindow = 64
    /// After so long without an acknowledgement a message is sent again, three times. Source: relay-ts.
    public var resendAfter = Duration.seconds(30)
    /// After so long without a sign of life a client is asked for one; after twice as long it is sent away with 4008.
    public var idle = Duration.seconds(30)
    /// Opens `/control/…` to who sends `Authorization: Bearer TOKEN`.
    public var controlToken: String?
    public var faults: [RelayFault] = []
    /// What ends the process where a fault says `die`. Nothing is sent or stored after it.
    public var onDeath: @Sendable () -> Void = {}

    public init(listen: WebSocketServer.Configuration = .init()) {
        self.listen = listen
        // Room for the largest message and what stands around it.
        self.listen.messageLimitBytes = 1_310_720
    }

    /// For messages whose sender leaves it to the relay. Source: WalletConnect specifications, "Sign: RPC methods".
    func usualTTL(tag: Int64) -> Int64 {
        switch tag {
        case 1002, 1003, 1004, 1005, 1114, 1115: 30
        case 1100...1103, 1108...1111, 1118...1121: 300
        case 1116, 1117: 3600
        default: 86_400
        }
    }
}
