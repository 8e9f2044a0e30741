public import DBus
import Locks

/// Publishes a terminal's own name and its page through Avahi, for as long as it runs.
///
/// The machine keeps its own name. Avahi that comes later, goes, is restarted or says no changes what ``standing`` says, and is
/// tried again; nothing else depends on it.
public final class NamePublisher: Sendable {
    /// How long things take.
    public struct Timings: Sendable {
        /// Between looks at the machine's addresses, and between tries at what was refused.
        public var look = Duration.seconds(10)
        /// Until a lost bus is opened again, one after the other; the last stays.
        public var healing: [Duration] = [.seconds(1), .seconds(5), .seconds(30)]
        /// Until names that others have are asked for once more.
        public var whenTaken = Duration.seconds(600)
        /// Of one call.
        public var answer = Duration.seconds(10)

        public init() {}
    }

    public let name: LocalName
    private let addresses: @Sendable () -> [LocalAddress]
    private let remember: @Sendable (Int) async -> Void
    private let busAddress: String
    private let timings: Timings
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state: Mutex<State>

    private struct State {
        var standing = NameStanding.asking
        /// Which of the names it is, or is tried.
        var number: Int
        var watchers: [AsyncStream<NameStanding>.Continuation] = []
    }

    /// - Parameters:
    ///   - number: Which of the names was published last, from 1.
    ///   - addresses: Those under which the page can be reached now; asked for again and again.
    ///   - remember: Told which of the names is published, where it is another than before.
    ///   - sleep: Waits; throws only where the task is cancelled.
    public init(
        name: LocalName,
        number: Int = 1,
        addresses: @escaping @Sendable () -> [LocalAddress],
        remember: @escaping @Sendable (Int) async -> Void = { _ in },
        busAddress: String = BusConnection.systemAddress,
        timings: Timings = Timings(),
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.name = name
        (self.addresses, self.remember) = (addresses, remember)
        (self.busAddress, self.timings, self.sleep) = (busAddress, timings, sleep)
        state = Mutex(State(number: min(max(number, 1), LocalName.most)))
    }

    /// Whether the terminal is found by its name now.
    public var standing: NameStanding { state.withLock { $0.standing } }

    /// The standing now and each one after it. Slow readers miss what lies between.
    public func standings() -> AsyncStream<NameStanding> {
        let (stream, continuation) = AsyncStream.makeStream(of: NameStanding.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            continuation.yield(state.standing)
            state.watchers.append(continuation)
        }
        return stream
    }

    private func say(_ standing: NameStanding) {
        state.withLock { state in
            guard state.standing != standing else { return }
            state.standing = standing
            state.watchers.removeAll { if case .terminated = $0.yield(standing) { true } else { false } }
        }
    }

    private var number: Int {
        get { state.withLock { $0.number } }
        set { state.withLock { $0.number = newValue } }
    }

    /// Works until the task is cancelled, which takes the name back.
    /// - Parameter port: Where the page is served.
    public func run(port: UInt16) async {
        var tries = 0
        while !Task.isCancelled {
            do throws(BusError) {
                let bus = try await BusConnection.open(address: busAddress)
                // With the connection everything goes that Avahi published for it.
                defer { bus.close() }
                try await follow(bus, port) { tries = 0 }
            } catch {
                say(.noBus(error.description))
            }
            let pause = timings.healing.isEmpty ? .seconds(30) : timings.healing[min(tries, timings.healing.count - 1)]
            tries += 1
            do { try await sleep(pause) } catch { break }
        }
        say(.asking)
    }

    // MARK: - One connection

    private enum Event: Sendable {
        case signal(BusSignal)
        case look
        case ended(BusError)
    }

    private func follow(_ bus: BusConnection, _ port: UInt16, _ isUp: () -> Void) async throws(BusError) {
        let signals = try await bus.signals(
            [BusConnection.ownerRule(of: Avahi.name), SignalRule(sender: Avahi.name)],
            limit: 256
        )
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let (sleep, look) = (sleep, timings.look)
        var session = Session(bus: bus, port: port)
        let failure: BusError? = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do throws(BusError) {
                    var iterator = signals.makeAsyncIterator()
                    while let signal = try await iterator.next() { continuation.yield(.signal(signal)) }
                    continuation.yield(.ended(.disconnected(reason: "the bus tells nothing more")))
                } catch { continuation.yield(.ended(error)) }
            }
            group.addTask {
                while true {
                    do { try await sleep(look) } catch { return continuation.finish() }
                    continuation.yield(.look)
                }
            }
            defer { group.cancelAll() }
            do throws(BusError) {
                try await adopt(try await bus.owner(of: Avahi.name), &session)
                isUp()
                for await event in events {
                    switch event {
                    case .signal(let signal): try await take(signal, &session)
                    case .look: try await lookAgain(&session)
                    case .ended(let error): throw error
                    }
                }
                return nil
            } catch { return error }
        }
        if let failure { throw failure }
    }

    /// What Avahi has of us.
    private struct Session {
        let bus: BusConnection
        let port: UInt16
        /// Avahi's own name on the bus; nil while it does not run.
        var owner: String?
        var group: ObjectPath?
        /// What the group publishes.
        var addresses: [LocalAddress] = []
        /// Looks that pass before what was refused is tried again.
        var looksToWait = 0
    }

    private func take(_ signal: BusSignal, _ session: inout Session) async throws(BusError) {
        if signal.sender == "org.freedesktop.DBus" {
            guard signal.arguments.count == 3, signal.arguments[0].text == Avahi.name else { return }
            let new = signal.arguments[2].text ?? ""
            return try await adopt(new.isEmpty ? nil : new, &session)
        }
        guard signal.sender == session.owner, signal.member == "StateChanged",
            let said = signal.arguments.first?.integer
        else { return }
        if signal.interface == Avahi.serverInterface {
            if said == Avahi.serverRuns, session.group == nil { try await publish(&session) }
        } else if signal.interface == Avahi.groupInterface, signal.path == session.group {
            switch said {
            case Avahi.established:
                await remember(number)
                say(.published(host: name.host(number)))
            case Avahi.collision: try await tryNext(&session)
            case Avahi.failure:
                let text = signal.arguments.count > 1 ? signal.arguments[1].text ?? "" : ""
                await give(up: .refused(String(text.prefix(200))), &session)
            default: break
            }
        }
    }

    /// Avahi came, went, or is another one.
    private func adopt(_ owner: String?, _ session: inout Session) async throws(BusError) {
        session = Session(bus: session.bus, port: session.port, owner: owner)
        guard owner != nil else { return say(.noDaemon) }
        say(.asking)
        let answer = try await call(session, Avahi.server, Avahi.serverInterface, "GetState")
        // Where it does not run yet, a signal says so when it does.
        if case .success(let values) = answer, values.first?.integer == Avahi.serverRuns {
            try await publish(&session)
        }
    }

    private func lookAgain(_ session: inout Session) async throws(BusError) {
        guard session.owner != nil else { return }
        session.looksToWait = max(0, session.looksToWait - 1)
        let now = publishable
        if session.group != nil, now == session.addresses { return }
        if session.group == nil, session.looksToWait > 0 { return }
        await free(&session)
        try await publish(&session)
    }

    /// At most one address for each interface and family: a name that is unique there has one.
    private var publishable: [LocalAddress] {
        var seen: Set<String> = []
        return addresses().filter { seen.insert("\($0.interface) \($0.isIPv6)").inserted }
    }

    // MARK: - Publishing

    private func publish(_ session: inout Session) async throws(BusError) {
        let found = publishable
        guard !found.isEmpty else { return say(.noNetwork) }
        switch try await call(session, Avahi.server, Avahi.serverInterface, "EntryGroupNew") {
        case .failure(let text): return await give(up: .refused(text), &session)
        case .success(let values):
            guard let path = values.first?.path else {
                throw .unreadable(reason: "Avahi’s answer to EntryGroupNew")
            }
            (session.group, session.addresses) = (path, found)
        }
        let (host, service) = (name.host(number), name.service(number))
        var calls = found.map { Avahi.addAddress($0, host: host) }
        for interface in Set(found.map(\.interface)).sorted() {
            calls.append(Avahi.addService(on: interface, name: service, host: host, port: session.port))
        }
        calls.append(("Commit", []))
        if standing.host != host { say(.asking) }
        for (member, arguments) in calls {
            guard let group = session.group else { return }
            switch try await call(session, group, Avahi.groupInterface, member, arguments) {
            case .success: break
            case .failure(let text):
                // Another program of this machine has it already.
                if text.hasPrefix(Avahi.collisionError) { return try await tryNext(&session) }
                return await give(up: .refused(text), &session)
            }
        }
    }

    private func tryNext(_ session: inout Session) async throws(BusError) {
        await free(&session)
        guard number < LocalName.most else {
            number = 1
            let looks = timings.whenTaken / max(timings.look, .milliseconds(1))
            session.looksToWait = max(1, Int(min(looks, 1_000_000)))
            return say(.taken)
        }
        number += 1
        try await publish(&session)
    }

    private func give(up standing: NameStanding, _ session: inout Session) async {
        await free(&session)
        session.looksToWait = 3
        say(standing)
    }

    private func free(_ session: inout Session) async {
        guard let group = session.group else { return }
        (session.group, session.addresses) = (nil, [])
        // What Avahi does not answer here goes with the connection.
        _ = try? await call(session, group, Avahi.groupInterface, "Free")
    }

    private enum Answer { case success([BusValue]), failure(String) }

    /// - Throws: Where the connection is of no use any more. That Avahi says no, or nothing, is an answer.
    private func call(
        _ session: Session,
        _ path: ObjectPath,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = []
    ) async throws(BusError) -> Answer {
        do throws(BusError) {
            let call = BusCall(to: session.owner ?? Avahi.name, at: path, interface, member, arguments)
            return .success(try await session.bus.call(call, timeout: timings.answer))
        } catch {
            switch error {
            case .refused, .noAnswer: return .failure(String(error.description.prefix(200)))
            case .notSent, .disconnected, .unreadable, .cancelled: throw error
            }
        }
    }
}

/// Avahi's words. Source: Avahi 0.8, avahi-daemon/org.freedesktop.Avahi.Server.xml and .EntryGroup.xml; avahi-common/defs.h.
enum Avahi {
    static let name = "org.freedesktop.Avahi"
    static let server = ObjectPath.root
    static let serverInterface = "org.freedesktop.Avahi.Server"
    static let groupInterface = "org.freedesktop.Avahi.EntryGroup"
    static let collisionError = "org.freedesktop.Avahi.CollisionError"

    /// `AVAHI_SERVER_RUNNING`.
    static let serverRuns = 2
    /// `AVAHI_ENTRY_GROUP_ESTABLISHED`, `_COLLISION`, `_FAILURE`.
    static let (established, collision, failure) = (2, 3, 4)

    /// `AVAHI_PROTO_UNSPEC`: told over IPv4 and IPv6.
    private static let anyProtocol = BusValue.int32(-1)
    /// `AVAHI_PUBLISH_NO_REVERSE`: the way back from the number belongs to the machine's own name.
    private static let noReverse = BusValue.uint32(16)

    static func addAddress(_ address: LocalAddress, host: String) -> (String, [BusValue]) {
        (
            "AddAddress",
            [.int32(address.interface), anyProtocol, noReverse, .string(host), .string(address.text)]
        )
    }

    /// `_https._tcp` with where the page and the API are. Nothing of the merchant's: whoever is in the network reads it.
    static func addService(on interface: Int32, name: String, host: String, port: UInt16) -> (String, [BusValue]) {
        let texts = ["path=/", "api=/api/v1"].map { BusValue.bytes(Array($0.utf8)) }
        return (
            "AddService",
            [
                .int32(interface), anyProtocol, .uint32(0), .string(name), .string("_https._tcp"), .string(""),
                .string(host), .uint16(port), .array(of: .array(.byte), texts),
            ]
        )
    }
}
