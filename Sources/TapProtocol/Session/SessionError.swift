/// Why a session cannot go on. It never says anything about a payment.
public enum SessionError: Error, Sendable, Equatable {
    /// HELLO names another version or suite, or flags and limits that do not exist. Control 0x01.
    case unsupported
    /// A handshake message has a wrong length or a part that does not open. Control 0x03.
    case handshakeFailed
    /// A message was changed, replayed, lost or overtaken. Disconnect.
    case notAuthentic
    /// The link has carried all the messages it may. Connect again.
    case exhausted
    /// A message that cannot be one: too short to hold its proof, or longer than any.
    case length
}
