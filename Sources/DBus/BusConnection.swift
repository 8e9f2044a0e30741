import Locks

/// One method call to send.
public struct BusCall: Sendable, Equatable {
    /// A well-known name such as `org.bluez`, or a unique one such as `:1.4`.
    public let destination: String
    public let path: ObjectPath
    public let interface: String
    public let member: String
    public let arguments: [BusValue]

    public init(
        to destination: String,
        at path: ObjectPath,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = []
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }

    /// To the bus itself.
    static func bus(_ member: String, _ arguments: BusValue...) -> BusCall {
        BusCall(to: SignalRule.busName, at: SignalRule.busPath, SignalRule.busName, member, arguments)
    }

    var carriesDescriptor: Bool { arguments.contains { $0.type == .fileDescriptor || $0.descriptor != nil } }

    func check() throws(BusError) {
        guard Syntax.isBusName(destination) else { throw .notSent(reason: "no name on a bus: \(destination)") }
        guard Syntax.isInterface(interface), Syntax.isMember(member) else {
            throw .notSent(reason: "no method: \(interface).\(member)")
        }
        try BusValue.check(arguments)
    }
}

/// A private connection to one message bus, with a thread of its own.
///
/// Calls, signals and exported objects can be used from any task. When the bus goes away, open calls fail, streams end
/// with ``BusError/disconnected(reason:)``, and the connection stays useless: open another. The process never ends for it.
///
/// Source: dbus-connection.h 1.14, `dbus_connection_set_exit_on_disconnect`.
public final class BusConnection: Sendable {
    /// This connection's own name on the bus, such as `:1.42`.
    public let uniqueName: String
    let mailbox: Mailbox
    private static let tickets = Atomic<UInt64>(1)

    /// Connects, authenticates as this user, and takes a unique name on the bus.
    ///
    /// - Parameter timeout: Until the bus has answered. A socket that takes connections and says nothing ends it too.
    public static func open(
        address: String = systemAddress,
        timeout: Duration = .seconds(5)
    ) async throws(BusError) -> BusConnection {
        let mailbox = try Mailbox()
        let opened: Result<Void, BusError> = await withCheckedContinuation { continuation in
            start(address: address, mailbox: mailbox) { continuation.resume(returning: $0) }
        }
        try opened.get()
        do throws(BusError) {
            guard let name = try await mailbox.call(.bus("Hello"), timeout: timeout).first?.text else {
                throw .unreadable(reason: "the bus gave no name")
            }
            mailbox.post { loop in loop.setUniqueName(name) }
            return BusConnection(mailbox: mailbox, uniqueName: name)
        } catch {
            mailbox.post { loop in loop.close(.disconnected(reason: "it never came to be")) }
            throw error
        }
    }

    private static func start(
        address: String,
        mailbox: Mailbox,
        _ opened: @escaping @Sendable (Result<Void, BusError>) -> Void
    ) {
        do throws(BusError) {
            try BusThread.start {
                do throws(BusError) {
                    let loop = try BusLoop(address: address, mailbox: mailbox)
                    opened(.success(()))
                    loop.run()
                } catch { opened(.failure(error)) }
            }
        } catch { opened(.failure(error)) }
    }

    private init(mailbox: Mailbox, uniqueName: String) { (self.mailbox, self.uniqueName) = (mailbox, uniqueName) }

    deinit { close() }

    /// Sends what waits, then ends the connection. Open calls fail, streams end with an error. May be called twice.
    public func close() {
        mailbox.post { loop in loop.close(.disconnected(reason: "closed by this process")) }
    }

    /// Calls a method and waits for the answer.
    ///
    /// A service that is not running is not started.
    /// - Parameter timeout: Over zero. When it passes, the other side may still do what it was asked.
    /// - Returns: The arguments of the answer, none for a method without a result.
    @discardableResult
    public func call(_ call: BusCall, timeout: Duration = .seconds(25)) async throws(BusError) -> [BusValue] {
        try call.check()
        return try await mailbox.call(call, timeout: timeout)
    }

    /// Makes several calls that leave in this order, without waiting for an answer in between.
    ///
    /// - Parameter timeout: Of each, over zero.
    /// - Returns: What became of each, in the same order, once that is known of all.
    public func calls(
        _ calls: [BusCall],
        timeout: Duration = .seconds(25)
    ) async -> [Result<[BusValue], BusError>] {
        do throws(BusError) {
            for call in calls { try call.check() }
        } catch { return calls.map { _ in .failure(error) } }
        return await mailbox.calls(calls, timeout: timeout)
    }

    /// Listens to signals, in the order of the bus. When this returns, the bus knows of it.
    ///
    /// - Parameter limit: Signals that may wait for the reader before the oldest are dropped.
    public func signals(_ rules: [SignalRule], limit: Int = 1_024) async throws(BusError) -> SignalStream {
        var texts: [String] = []
        for rule in rules { texts.append(try rule.text()) }
        guard !texts.isEmpty else { throw .notSent(reason: "no rule to listen by") }
        let id = Self.ticket()
        let channel = SignalChannel(limit: limit)
        let subscription = Subscription(id: id, channel: channel, mailbox: mailbox)
        let (lines, mailbox) = (texts, mailbox)
        let result: Result<[BusValue], BusError> = await withCheckedContinuation { continuation in
            let taken = mailbox.post { loop in
                loop.subscribe(id, rules: rules, texts: lines, channel: channel) { continuation.resume(returning: $0) }
            }
            if !taken { continuation.resume(returning: .failure(mailbox.ended)) }
        }
        _ = try result.get()
        return SignalStream(subscription: subscription)
    }

    /// Sends a signal from an object of this process.
    public func emit(
        path: ObjectPath,
        interface: String,
        member: String,
        _ arguments: [BusValue] = []
    ) throws(BusError) {
        guard Syntax.isInterface(interface), Syntax.isMember(member) else {
            throw .notSent(reason: "no signal: \(interface).\(member)")
        }
        try BusValue.check(arguments)
        let taken = mailbox.post { loop in
            // A lost connection is told by its calls and streams.
            try? loop.emit(path: path, interface: interface, member: member, arguments: arguments)
        }
        guard taken else { throw mailbox.ended }
    }

    /// Takes a well-known name, and nothing from who has it.
    ///
    /// - Throws: ``BusError/refused(name:text:)`` with `org.freedesktop.DBus.Error.NameTaken` if another has it.
    public func own(_ name: String) async throws(BusError) {
        guard Syntax.isBusName(name), !name.hasPrefix(":") else { throw .notSent(reason: "no name to own: \(name)") }
        let doNotQueue: UInt32 = 4
        let answer = try await call(.bus("RequestName", .string(name), .uint32(doNotQueue)))
        guard let code = answer.first?.integer, code == 1 || code == 4 else {
            throw .refused(name: "org.freedesktop.DBus.Error.NameTaken", text: name)
        }
    }

    /// Gives a well-known name back.
    public func release(_ name: String) async throws(BusError) {
        try await call(.bus("ReleaseName", .string(name)))
    }

    /// Has the bus start the service of `name` unless it runs, where the machine says how. Returns once it has the name.
    ///
    /// No other call starts one: an absent service is an answer to it.
    /// - Throws: ``BusError/refused(name:text:)`` with `org.freedesktop.DBus.Error.ServiceUnknown` where there is none.
    public func start(_ name: String) async throws(BusError) {
        guard Syntax.isBusName(name), !name.hasPrefix(":") else { throw .notSent(reason: "no name to start: \(name)") }
        // The bus says "unknown" of one that it cannot start, also where it runs.
        guard try await owner(of: name) == nil else { return }
        let noFlags: UInt32 = 0
        // The bus gives up by itself, after 25 s unless it is told otherwise, and says why.
        try await call(.bus("StartServiceByName", .string(name), .uint32(noFlags)), timeout: .seconds(60))
    }

    /// The unique name of who has `name` now, or `nil`. To follow it, listen to ``ownerRule(of:)`` first, then ask.
    public func owner(of name: String) async throws(BusError) -> String? {
        do throws(BusError) {
            return try await call(.bus("GetNameOwner", .string(name))).first?.text
        } catch {
            if error.refusal == "org.freedesktop.DBus.Error.NameHasNoOwner" { return nil }
            throw error
        }
    }

    /// The bus telling of each new owner of `name`: arguments name, old owner, new owner, empty for none.
    public static func ownerRule(of name: String) -> SignalRule { .owner(of: name) }

    static func ticket() -> UInt64 { tickets.wrappingAdd(1, ordering: .relaxed).oldValue }
}

extension Mailbox {
    /// What a call gets after the end.
    var ended: BusError { failure ?? .disconnected(reason: "the connection has ended") }

    func call(_ call: BusCall, timeout: Duration) async throws(BusError) -> [BusValue] {
        // As many answers as calls.
        try await calls([call], timeout: timeout)[0].get()
    }

    func calls(_ calls: [BusCall], timeout: Duration) async -> [Result<[BusValue], BusError>] {
        guard !calls.isEmpty else { return [] }
        let calls = calls.map { (BusConnection.ticket(), $0) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answers = Answers(calls.count) { continuation.resume(returning: $0) }
                guard !Task.isCancelled else { return answers.fail(.cancelled) }
                let taken = post { loop in
                    for (index, (ticket, call)) in calls.enumerated() {
                        loop.call(call, ticket: ticket, timeout: timeout) { answers.set($0, at: index) }
                    }
                }
                if !taken { answers.fail(ended) }
                // Cancelled between the look and the calls: that found nothing to cancel.
                if Task.isCancelled { cancel(calls.map(\.0)) }
            }
        } onCancel: {
            cancel(calls.map(\.0))
        }
    }

    private func cancel(_ tickets: [UInt64]) {
        post { loop in
            for ticket in tickets { loop.cancel(ticket) }
        }
    }
}

/// Gathers what becomes of several calls.
private final class Answers: Sendable {
    private let found: Mutex<[Int: Result<[BusValue], BusError>]>
    private let count: Int
    private let completion: @Sendable ([Result<[BusValue], BusError>]) -> Void

    init(_ count: Int, _ completion: @escaping @Sendable ([Result<[BusValue], BusError>]) -> Void) {
        found = Mutex([:])
        (self.count, self.completion) = (count, completion)
    }

    func set(_ answer: Result<[BusValue], BusError>, at index: Int) {
        let all = found.withLock { found in
            found[index] = answer
            return found.count == count ? found : nil
        }
        if let all { completion((0..<count).compactMap { all[$0] }) }
    }

    func fail(_ error: BusError) {
        for index in 0..<count { set(.failure(error), at: index) }
    }
}
