/// Why there is no connection to the relay, by what to do about it.
public enum RelayTrouble: Sendable, Equatable {
    /// This machine has no internet, or its names do not resolve.
    case noInternet
    /// The relay's machine is there, the relay is not.
    case refused
    /// A portal, a filter or a wrong certificate stands in between.
    case blocked(String)
    /// No answer in time, or no sign of life for too long.
    case silent
    /// The relay does not accept this key or this project, or the clock is wrong. Waiting helps seldom.
    case credentials(String)
    /// What we send, or where, is wrong. Waiting helps seldom.
    case misuse(String)
    /// It asks to be left alone for a while.
    case busy(String)
    /// It ended the connection as a matter of routine.
    case moved(String)
    /// It broke.
    case lost(String)

    /// What a client does next.
    public enum Next: Sendable, Equatable {
        case retryAtOnce, retry
        /// Retry after a longer pause.
        case backOff
        /// Say so: someone has to change something. Retry only now and then.
        case stop
    }

    public var next: Next {
        switch self {
        case .moved: .retryAtOnce
        case .noInternet, .refused, .blocked, .silent, .lost: .retry
        case .busy: .backOff
        case .credentials, .misuse: .stop
        }
    }

    /// For a log and for staff.
    public var reason: String {
        switch self {
        case .noInternet: "no internet: the relay's name cannot be found"
        case .refused: "the relay's machine refuses connections"
        case .blocked(let what): "something stands between here and the relay: \(what)"
        case .silent: "the relay does not answer"
        case .credentials(let what): "the relay refuses this terminal: \(what)"
        case .misuse(let what): "the relay does not accept what this terminal does: \(what)"
        case .busy(let what): "the relay asks to wait: \(what)"
        case .moved(let what): "the relay ended the connection: \(what)"
        case .lost(let what): "the connection to the relay broke: \(what)"
        }
    }
}

extension RelayTrouble {
    /// What a failed or ended connection means.
    public init(_ failure: WebSocketFailure) {
        switch failure {
        case .noNetwork: self = .noInternet
        case .refused: self = .refused
        case .blocked(let reason): self = .blocked(reason)
        case .rejected(let status): self = Self.rejected(status)
        case .timedOut: self = .silent
        case .closed(let code, let reason): self = Self.closed(code, reason)
        case .unacceptable(let reason): self = .lost(reason)
        case .address(let reason): self = .misuse(reason)
        case .cancelled: self = .moved("this terminal stops")
        }
    }

    /// The handshake's HTTP status.
    private static func rejected(_ status: Int) -> RelayTrouble {
        switch status {
        case 401: .credentials("unknown project, or this clock is wrong (401)")
        case 403: .credentials("not allowed (403)")
        case 451: .blocked("not served from this country (451)")
        case 400, 404, 405, 426: .misuse("HTTP status \(status): no relay at this address?")
        case 429: .busy("too many connections (429)")
        case 500...: .busy("HTTP status \(status)")
        default: .blocked("HTTP status \(status) instead of a relay: a portal?")
        }
    }

    /// Every close code by class. Source: RFC 6455, section 7.4; IANA, WebSocket close code numbers; for 3000 and the
    /// 4000s reown-rust and the JavaScript core's relayer.
    private static func closed(_ code: UInt16, _ reason: String) -> RelayTrouble {
        let words = reason.isEmpty ? "code \(code)" : "code \(code), \(reason.prefix(120))"
        return switch code {
        case 1000, 1001, 1012, 4008, 4010: .moved(words)
        case 1005, 1006, 1011, 1014: .lost(words)
        case 1013, 3001, 3008, 4029: .busy(words)
        case 1015: .blocked("TLS failed")
        case 3000, 3003: .credentials(words)
        case 1002, 1003, 1007, 1008, 1009, 1010: .lost("it objects to a message: \(words)")
        // Applications' own codes. Those that are not known may pass: keep trying, slowly.
        case 4000...4999: .busy(words)
        default: .lost(words)
        }
    }
}
