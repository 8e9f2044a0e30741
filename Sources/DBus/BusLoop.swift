import Glibc

/// Everything a connection knows, on the one thread that touches libdbus.
final class BusLoop {
    typealias Completion = (Result<[BusValue], BusError>) -> Void

    private struct OpenCall {
        let ticket: UInt64?
        let timeout: Duration
        let deadline: ContinuousClock.Instant
        let completion: Completion
    }

    private struct Listener {
        let rules: [SignalRule]
        let texts: [String]
        let channel: SignalChannel
    }

    private struct FollowedName {
        var owner: String?
        var users: Int
    }

    private let handle: ConnectionHandle
    private let mailbox: Mailbox
    var exports = Exports()
    private var openCalls: [UInt32: OpenCall] = [:]
    private var listeners: [UInt64: Listener] = [:]
    private var followedNames: [String: FollowedName] = [:]
    private var end: BusError?

    init(address: String, mailbox: Mailbox) throws(BusError) {
        handle = try ConnectionHandle(address: address)
        self.mailbox = mailbox
    }

    /// Works until the connection is lost or closed, then ends every call and stream.
    func run() {
        while end == nil {
            mailbox.rest()
            handle.moveBytes()
            // After the bytes were read: an object that was exported before a call was sent is there for the call.
            for command in mailbox.takeAll() { command(self) }
            guard end == nil else { break }
            while let message = handle.nextMessage() { receive(message) }
            if !handle.isConnected { end = end ?? .disconnected(reason: "the bus closed it") }
            expire()
            if end == nil { wait() }
        }
        flush()
        finish()
    }

    /// Ends the connection after what waits to be sent.
    func close(_ reason: BusError) { end = end ?? reason }

    private func wait() {
        var poller = [
            pollfd(fd: handle.socket, events: Int16(POLLIN) | (handle.hasOutgoing ? Int16(POLLOUT) : 0), revents: 0),
            pollfd(fd: mailbox.wake, events: Int16(POLLIN), revents: 0),
        ]
        var milliseconds = Int32(-1)
        if let next = openCalls.values.map(\.deadline).min() {
            let left = ContinuousClock.now.duration(to: next) / .milliseconds(1)
            milliseconds = Int32(min(max(left.rounded(.up), 0), 3_600_000))
        }
        // libdbus shows what it wants of the socket only once it has authenticated.
        if !handle.isAuthenticated { milliseconds = milliseconds < 0 ? 5 : min(5, milliseconds) }
        unsafe poll(&poller, nfds_t(poller.count), milliseconds)
    }

    private func flush() {
        for _ in 0..<50 where handle.isConnected && handle.hasOutgoing { handle.moveBytes(waitingMilliseconds: 2) }
    }

    private func finish() {
        let error = end ?? .disconnected(reason: "closed")
        end = error
        for command in mailbox.shut(error) { command(self) }
        let calls = openCalls.values
        openCalls = [:]
        for call in calls { call.completion(.failure(error)) }
        for listener in listeners.values { listener.channel.finish(error) }
        listeners = [:]
    }

    // MARK: Calls

    /// `ticket` names the call for ``cancel(_:)``.
    func call(_ call: BusCall, ticket: UInt64?, timeout: Duration, _ completion: @escaping Completion) {
        if let end { return completion(.failure(end)) }
        do throws(BusError) {
            guard openCalls.count < BusLimits.openCalls else { throw .notSent(reason: "too many calls are open") }
            if call.carriesDescriptor, !handle.canPassDescriptors {
                throw .notSent(reason: "this bus passes no file descriptors")
            }
            let serial = try handle.send(try MessageHandle.call(call))
            openCalls[serial] = OpenCall(
                ticket: ticket,
                timeout: timeout,
                deadline: .now + timeout,
                completion: completion
            )
        } catch { completion(.failure(error)) }
    }

    func cancel(_ ticket: UInt64) {
        guard let (serial, call) = openCalls.first(where: { $0.value.ticket == ticket }) else { return }
        openCalls[serial] = nil
        call.completion(.failure(.cancelled))
    }

    private func expire() {
        let now = ContinuousClock.now
        for (serial, call) in openCalls where call.deadline <= now {
            openCalls[serial] = nil
            call.completion(.failure(.noAnswer(after: call.timeout)))
        }
    }

    /// Calls the bus itself, where the answer matters to nobody.
    private func tellBus(_ member: String, _ text: String) {
        call(.bus(member, .string(text)), ticket: nil, timeout: .seconds(30)) { _ in }
    }

    func setUniqueName(_ name: String) { handle.setUniqueName(name) }

    // MARK: Sending

    func emit(path: ObjectPath, interface: String, member: String, arguments: [BusValue]) throws(BusError) {
        if let end { throw end }
        _ = try handle.send(
            try MessageHandle.signal(path: path, interface: interface, member: member, arguments: arguments)
        )
    }

    func answer(serial: UInt32, sender: String, with answer: MethodAnswer) {
        guard end == nil else { return }
        do throws(BusError) {
            switch answer {
            case .values(let values):
                _ = try handle.send(try MessageHandle.answer(to: serial, of: sender, values))
            case .refused(let name, let text):
                _ = try handle.send(try MessageHandle.refusal(of: serial, of: sender, name: name, text: text))
            }
        } catch {
            // Memory is short or the bus stopped reading: the caller's own time limit tells it.
        }
    }

    // MARK: Listening

    func subscribe(
        _ id: UInt64,
        rules: [SignalRule],
        texts: [String],
        channel: SignalChannel,
        _ completion: @escaping Completion
    ) {
        if let end {
            channel.finish(end)
            return completion(.failure(end))
        }
        listeners[id] = Listener(rules: rules, texts: texts, channel: channel)
        for name in rules.compactMap(\.followedName) { follow(name) }
        for (index, text) in texts.enumerated() {
            // The bus counts rules: each one added is removed by itself.
            // The bus answers in order: the answer to the last rule stands for all, unless one was refused.
            call(.bus("AddMatch", .string(text)), ticket: nil, timeout: .seconds(25)) { result in
                if case .failure(let error) = result { channel.finish(error) }
                if index == texts.count - 1 { completion(result) }
            }
        }
    }

    func unsubscribe(_ id: UInt64) {
        guard let listener = listeners.removeValue(forKey: id) else { return }
        listener.channel.finish(nil)
        for text in listener.texts { tellBus("RemoveMatch", text) }
        for name in listener.rules.compactMap(\.followedName) { unfollow(name) }
    }

    private func follow(_ name: String) {
        if followedNames[name] != nil {
            followedNames[name]?.users += 1
            return
        }
        followedNames[name] = FollowedName(owner: nil, users: 1)
        guard let text = try? SignalRule.owner(of: name).text() else { return }  // The rule's own text was made before.
        tellBus("AddMatch", text)
        // Without a reference cycle: the call ends with the connection at the latest.
        call(.bus("GetNameOwner", .string(name)), ticket: nil, timeout: .seconds(25)) { [weak self] result in
            guard let owner = try? result.get().first?.text else { return }  // Nobody has it: none is the start.
            self?.followedNames[name]?.owner = owner
        }
    }

    private func unfollow(_ name: String) {
        followedNames[name]?.users -= 1
        guard let followed = followedNames[name], followed.users <= 0 else { return }
        followedNames[name] = nil
        if let text = try? SignalRule.owner(of: name).text() { tellBus("RemoveMatch", text) }
    }

    // MARK: Receiving

    private func receive(_ message: borrowing MessageHandle) {
        switch message.kind {
        case .answer: complete(message) { message throws(BusError) in try message.arguments() }
        case .refusal:
            complete(message) { message throws(BusError) in
                let text = (try? message.arguments())?.first?.text  // A refusal needs no words.
                throw .refused(name: message.errorName ?? "", text: String((text ?? "").prefix(1_024)))
            }
        case .signal: deliver(message)
        case .call: exports.receive(message, in: self, mailbox: mailbox)
        case .other: break
        }
    }

    private func complete(
        _ message: borrowing MessageHandle,
        _ read: (borrowing MessageHandle) throws(BusError) -> [BusValue]
    ) {
        guard let call = openCalls.removeValue(forKey: message.replySerial) else { return }
        do throws(BusError) {
            call.completion(.success(try read(message)))
        } catch { call.completion(.failure(error)) }
    }

    private func deliver(_ message: borrowing MessageHandle) {
        guard let path = message.path, let interface = message.interface, let member = message.member,
            interface != "org.freedesktop.DBus.Local", let sender = message.sender,
            let arguments = try? message.arguments()  // Beyond all limits: nothing that a listener could use.
        else { return }
        let signal = BusSignal(
            sender: sender,
            path: path,
            interface: interface,
            member: member,
            arguments: arguments
        )
        if sender == SignalRule.busName, member == "NameOwnerChanged", arguments.count == 3,
            let name = arguments[0].text, followedNames[name] != nil
        {
            let owner = arguments[2].text ?? ""
            followedNames[name]?.owner = owner.isEmpty ? nil : owner
        }
        for listener in listeners.values
        where listener.rules.contains(where: { rule in
            rule.matches(signal, owner: rule.followedName.flatMap { followedNames[$0]?.owner })
        }) {
            listener.channel.yield(signal)
        }
    }
}
