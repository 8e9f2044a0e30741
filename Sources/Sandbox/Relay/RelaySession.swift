import Payments
import WebSocket

/// One connection of one client.
struct RelaySession: Sendable {
    let client: String
    let connection: WebSocketConnection
    let outgoing: AsyncStream<RelayOutgoing>.Continuation
    var heardAt: WallTime
    var isPinged = false
    /// Bytes handed over and not yet written.
    var queuedBytes = 0
    /// What is to be sent, oldest first.
    var toPush = RelayQueue()
    var unacknowledged: [UInt64: Sent] = [:]
    var unacknowledgedBytes = 0
    var inFlight: Set<RelayMailboxes.Name> = []
    /// What this connection has fetched of each topic, until it has all.
    var fetched: [String: Set<String>] = [:]

    struct Sent: Sendable {
        let name: RelayMailboxes.Name
        let bytes: Int
        var sentAt: WallTime
        var tries = 1
    }

    /// - Returns: What was sent under that number.
    @discardableResult
    mutating func letGo(_ number: UInt64) -> RelayMailboxes.Name? {
        guard let sent = unacknowledged.removeValue(forKey: number) else { return nil }
        unacknowledgedBytes -= sent.bytes
        inFlight.remove(sent.name)
        return sent.name
    }
}

/// First in, first out, in constant time for each.
struct RelayQueue: Sendable {
    private var names: [RelayMailboxes.Name] = []
    private var start = 0

    mutating func append(_ name: RelayMailboxes.Name) { names.append(name) }

    mutating func popFirst() -> RelayMailboxes.Name? {
        guard start < names.count else { return nil }
        defer {
            start += 1
            if start == names.count { (names, start) = ([], 0) }
        }
        return names[start]
    }
}

/// One frame on its way to a client, and what goes wrong with it.
struct RelayOutgoing: Sendable {
    var text: String
    var stallMilliseconds = 0
    var copies = 1
    /// It goes after the next one.
    var isHeldBack = false
    var closeCode: UInt16?
    /// The relay loses its power instead of sending it.
    var dies = false
    var isPing = false

    static let ping: RelayOutgoing = {
        var ping = RelayOutgoing(text: "")
        ping.isPing = true
        return ping
    }()

    private init(text: String) { self.text = text }

    /// Nil where nothing is to be sent.
    init?(_ text: String, _ faults: [RelayFault]) {
        self.init(text: text)
        for fault in faults {
            switch fault.effect {
            case .drop: return nil
            case .stall(let milliseconds): stallMilliseconds += milliseconds
            case .reorder: isHeldBack = true
            case .repeated(let count): copies += count
            case .close(let code): (copies, closeCode) = (0, code)
            case .die: dies = true
            case .error, .refuse: break
            }
        }
    }
}

/// What a relay has counted since it started.
struct RelayMeter: Sendable {
    var opened = 0
    var refused: [Int: Int] = [:]
    var closed: [UInt16: Int] = [:]
    var requests: [String: Int] = [:]
    var errors: [String: Int] = [:]
    var published = 0
    var duplicates = 0
    var pushes = 0
    var resent = 0
    var acknowledged = 0
    var expired = 0
    var limited = 0
}
