/// One signal: something an object told everybody who listens.
public struct BusSignal: Sendable, Equatable {
    /// The unique name of who sent it, such as `:1.4`, which the bus itself vouches for.
    public let sender: String
    public let path: ObjectPath
    public let interface: String
    public let member: String
    public let arguments: [BusValue]
    /// Signals of this stream that were lost right before this one, because the reader was too slow. Over zero: what
    /// was learnt by signals is stale, so ask again.
    public internal(set) var droppedBefore = 0
}

/// Which signals to listen to. What is `nil` is not looked at.
///
/// Source: D-Bus specification 0.42, "Match rules".
public struct SignalRule: Sendable, Hashable {
    /// A well-known name stands for its owner of the moment: what others send in its place is not heard.
    public var sender: String?
    public var interface: String?
    public var member: String?
    public var path: ObjectPath?
    /// Objects at or below this path.
    public var pathNamespace: ObjectPath?
    /// The first argument, if it is a text.
    public var argument0: String?

    public init(
        sender: String? = nil,
        interface: String? = nil,
        member: String? = nil,
        path: ObjectPath? = nil,
        pathNamespace: ObjectPath? = nil,
        argument0: String? = nil
    ) {
        self.sender = sender
        self.interface = interface
        self.member = member
        self.path = path
        self.pathNamespace = pathNamespace
        self.argument0 = argument0
    }

    static let busName = "org.freedesktop.DBus"
    static let busPath = ObjectPath("/org/freedesktop/DBus") ?? .root

    /// The bus says that a name has another owner.
    static func owner(of name: String) -> SignalRule {
        SignalRule(sender: busName, interface: busName, member: "NameOwnerChanged", path: busPath, argument0: name)
    }

    /// As the bus wants it.
    func text() throws(BusError) -> String {
        guard sender.map(Syntax.isBusName) ?? true, interface.map(Syntax.isInterface) ?? true,
            member.map(Syntax.isMember) ?? true, argument0.map({ !$0.contains("'") && !$0.utf8.contains(0) }) ?? true,
            path == nil || pathNamespace == nil
        else { throw .notSent(reason: "a match rule with a malformed name") }
        var parts = ["type='signal'"]
        if let sender { parts.append("sender='\(sender)'") }
        if let interface { parts.append("interface='\(interface)'") }
        if let member { parts.append("member='\(member)'") }
        if let path { parts.append("path='\(path)'") }
        if let pathNamespace { parts.append("path_namespace='\(pathNamespace)'") }
        if let argument0 { parts.append("arg0='\(argument0)'") }
        return parts.joined(separator: ",")
    }

    /// Whether the signal is meant; `owner` is who has the name that `sender` says.
    func matches(_ signal: BusSignal, owner: String?) -> Bool {
        if let sender, sender != signal.sender, owner != signal.sender { return false }
        if let interface, interface != signal.interface { return false }
        if let member, member != signal.member { return false }
        if let path, path != signal.path { return false }
        if let pathNamespace, !signal.path.isWithin(pathNamespace) { return false }
        if let argument0, signal.arguments.first?.text != argument0 { return false }
        return true
    }

    /// The sender, if it is a name that can change hands.
    var followedName: String? {
        guard let sender, !sender.hasPrefix(":"), sender != Self.busName else { return nil }
        return sender
    }
}

/// The signals of one or more rules, in the order in which the bus delivered them. For one reader.
///
/// Ends with an error when the connection is lost. Listening ends when the stream and its iterators are gone.
public struct SignalStream: AsyncSequence, Sendable {
    let subscription: Subscription

    public struct AsyncIterator: AsyncIteratorProtocol {
        let subscription: Subscription

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BusError) -> BusSignal? {
            try await subscription.channel.next(isolation: actor)
        }

        public mutating func next() async throws(BusError) -> BusSignal? {
            try await subscription.channel.next(isolation: #isolation)
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }
}

/// Ends the listening with its last reference.
final class Subscription: Sendable {
    let channel: SignalChannel
    private let id: UInt64
    private let mailbox: Mailbox

    init(id: UInt64, channel: SignalChannel, mailbox: Mailbox) {
        (self.id, self.channel, self.mailbox) = (id, channel, mailbox)
    }

    deinit {
        let id = id
        mailbox.post { loop in loop.unsubscribe(id) }
    }
}
