import Locks

/// What a method call is answered with.
enum MethodAnswer: Sendable {
    case values([BusValue])
    case refused(name: String, text: String)
}

/// A call that came for an object of this process. Answer it once; when the last reference goes without an answer, the
/// caller gets an error.
public final class MethodCall: Sendable {
    /// The unique name of the caller, which the bus vouches for.
    public let sender: String
    public let path: ObjectPath
    public let interface: String
    public let member: String
    /// Of exactly the types that the method takes.
    public let arguments: [BusValue]

    private let serial: UInt32
    private let returns: [BusType]
    private let isOpen: Atomic<Bool>
    private let mailbox: Mailbox

    init(head: MethodHead, arguments: [BusValue], returns: [BusType], mailbox: Mailbox) {
        sender = head.sender
        path = head.path
        interface = head.interface
        member = head.member
        serial = head.serial
        isOpen = Atomic(head.wantsReply)
        self.arguments = arguments
        self.returns = returns
        self.mailbox = mailbox
    }

    deinit { send(.refused(name: "org.freedesktop.DBus.Error.NoReply", text: "nobody answered")) }

    /// Answers with results, which must be what the method says it returns. A second answer is ignored.
    public func answer(_ values: [BusValue] = []) {
        let isFit = values.map(\.type) == returns && (try? BusValue.check(values)) != nil
        let broken = MethodAnswer.refused(
            name: "org.freedesktop.DBus.Error.Failed",
            text: "the answer has a wrong type"
        )
        send(isFit ? .values(values) : broken)
    }

    /// Says no.
    ///
    /// - Parameter name: Such as `org.bluez.Error.Rejected`. A malformed one is replaced.
    public func refuse(_ name: String, _ text: String = "") {
        let name = Syntax.isErrorName(name) ? name : "org.freedesktop.DBus.Error.Failed"
        send(.refused(name: name, text: String(text.filter { $0 != "\0" }.prefix(1_024))))
    }

    private func send(_ answer: MethodAnswer) {
        guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
        let (serial, sender) = (serial, sender)
        mailbox.post { loop in loop.answer(serial: serial, sender: sender, with: answer) }
    }
}

/// Whom a call is for, before its arguments are looked at.
struct MethodHead {
    let sender: String
    let path: ObjectPath
    let interface: String
    let member: String
    let serial: UInt32
    let wantsReply: Bool
}

/// A method of an exported object.
public struct ExportedMethod: Sendable {
    let takes: String
    let returns: String
    let body: @Sendable (MethodCall) -> Void

    /// - Parameters:
    ///   - takes: The signature of its arguments; other arguments are refused before `body` is asked.
    ///   - returns: The signature of its results.
    ///   - body: Runs on the connection's thread, in the order of the bus, so it hands work on and does not wait. It may
    ///     answer later.
    public init(takes: String = "", returns: String = "", _ body: @escaping @Sendable (MethodCall) -> Void) {
        (self.takes, self.returns, self.body) = (takes, returns, body)
    }
}

/// What an exported object offers under one name.
public struct ExportedInterface: Sendable {
    let name: String
    let methods: [String: ExportedMethod]
    let properties: [String: BusValue]
    let write: (@Sendable (String, BusValue) -> WriteAnswer)?

    /// What becomes of a property that somebody sets.
    public enum WriteAnswer: Sendable {
        /// The property has the new value, and everybody is told.
        case taken
        case refused(name: String, text: String)
    }

    /// - Parameter write: Asked on the connection's thread before a property is set from outside. Without it all are
    ///   read-only.
    public init(
        _ name: String,
        methods: [String: ExportedMethod] = [:],
        properties: [String: BusValue] = [:],
        write: (@Sendable (String, BusValue) -> WriteAnswer)? = nil
    ) {
        (self.name, self.methods, self.properties, self.write) = (name, methods, properties, write)
    }

    func check() throws(BusError) {
        guard Syntax.isInterface(name) else { throw .notSent(reason: "no interface: \(name)") }
        try BusValue.check(Array(properties.values))
        for (name, method) in methods {
            guard Syntax.isMember(name), BusType.parse(method.takes) != nil, BusType.parse(method.returns) != nil else {
                throw .notSent(reason: "no method: \(name)")
            }
        }
    }
}
