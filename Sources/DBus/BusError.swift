/// Why a call over the bus has no result.
public enum BusError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Never left this process: an argument that no message can hold, or a bus that has stopped reading.
    case notSent(reason: String)
    /// The other side, or the bus in its place, said no. `name` is its word, such as `org.bluez.Error.NotReady`.
    case refused(name: String, text: String)
    /// Sent, then silence. The other side may or may not have done it.
    case noAnswer(after: Duration)
    /// There is no connection any more, or it came to none. Calls that were open may have been carried out.
    /// Open a new connection.
    case disconnected(reason: String)
    /// An answer beyond the limits of a message, or of another type than its interface says.
    case unreadable(reason: String)
    /// The calling task was cancelled. The other side may still do what it was asked.
    case cancelled

    /// The word of a refusal, such as `org.bluez.Error.InProgress`.
    public var refusal: String? { if case .refused(let name, _) = self { name } else { nil } }

    public var description: String {
        switch self {
        case .notSent(let reason): "not sent: \(reason)"
        case .refused(let name, let text): text.isEmpty ? name : "\(name): \(text)"
        case .noAnswer(let after): "no answer within \(after)"
        case .disconnected(let reason): "no connection to the message bus: \(reason)"
        case .unreadable(let reason): "an answer that cannot be read: \(reason)"
        case .cancelled: "cancelled"
        }
    }
}
