import DBus
import Locks

/// Avahi's place on a private bus, in a network in which a test says who has which name.
final class FakeAvahi: Sendable {
    struct Group: Sendable, Equatable {
        /// `interface address host`, as they came.
        var addresses: [String] = []
        /// `interface name type host port texts`.
        var services: [String] = []
        var isCommitted = false
    }

    struct State {
        var bus: BusConnection?
        /// Host names that others in the network have.
        var taken: Set<String> = []
        /// Host names that another program of this machine has published.
        var takenHere: Set<String> = []
        /// Methods that are refused, with how often yet.
        var refusals: [String: Int] = [:]
        /// `AVAHI_SERVER_RUNNING` is 2.
        var serverState: Int32 = 2
        /// The groups fail after they were committed.
        var fails = false
        var groups: [String: Group] = [:]
        var made = 0
        var freed = 0
    }

    let state = Mutex(State())
    private let address: String

    init(address: String) { self.address = address }

    func start() async throws {
        let bus = try await BusConnection.open(address: address)
        state.withLock { state in
            state.bus = bus
            state.groups = [:]
        }
        try bus.export([server], at: .root)
        // The bus may not have seen yet that the one before is gone.
        while try await bus.owner(of: "org.freedesktop.Avahi") != nil {}
        try await bus.own("org.freedesktop.Avahi")
    }

    func stop() {
        let bus = state.withLock { state in
            defer { state.bus = nil }
            return state.bus
        }
        bus?.close()
    }

    /// The server is ready for names.
    func becomeReady() throws {
        state.withLock { $0.serverState = 2 }
        try state.withLock { $0.bus }?.emit(
            path: .root,
            interface: "org.freedesktop.Avahi.Server",
            member: "StateChanged",
            [.int32(2), .string("")]
        )
    }

    /// Another in the network takes the name over that is published now.
    func loseName(_ host: String) throws {
        let lost = state.withLock { state in
            state.taken.insert(host)
            return state.groups.filter {
                $0.value.isCommitted && $0.value.addresses.contains { $0.hasSuffix(" " + host) }
            }
        }
        for path in lost.keys { tell(path, 3) }
    }

    /// What is published now.
    var published: [Group] { state.withLock { $0.groups.values.filter(\.isCommitted) } }

    // MARK: - What it offers

    private var server: ExportedInterface {
        ExportedInterface(
            "org.freedesktop.Avahi.Server",
            methods: [
                "GetState": ExportedMethod(returns: "i") { [weak self] call in
                    call.answer([.int32(self?.state.withLock { $0.serverState } ?? 0)])
                },
                "EntryGroupNew": method(returns: "o") { avahi, call in
                    let path = avahi.state.withLock { state in
                        state.made += 1
                        let path = "/Client0/EntryGroup\(state.made)"
                        state.groups[path] = Group()
                        return path
                    }
                    guard let object = ObjectPath(path) else { return }
                    try? avahi.state.withLock { $0.bus }?.export([avahi.group], at: object)
                    call.answer([.objectPath(object)])
                },
            ]
        )
    }

    private var group: ExportedInterface {
        ExportedInterface(
            "org.freedesktop.Avahi.EntryGroup",
            methods: [
                "AddAddress": method(takes: "iiuss") { avahi, call in
                    guard let host = call.arguments[3].text, call.arguments[2] == .uint32(16) else { return }
                    if avahi.state.withLock({ $0.takenHere.contains(host) }) {
                        return call.refuse("org.freedesktop.Avahi.CollisionError", "Local name collision")
                    }
                    let line = "\(call.arguments[0].integer ?? 0) \(call.arguments[4].text ?? "") \(host)"
                    avahi.change(call) { $0.addresses.append(line) }
                },
                "AddService": method(takes: "iiussssqaay") { avahi, call in
                    guard case .array(_, let texts) = call.arguments[8] else { return }
                    let said = texts.compactMap { $0.bytes.map { String(decoding: $0, as: UTF8.self) } }
                    let names = [3, 4, 6].compactMap { call.arguments[$0].text }
                    let port = call.arguments[7].integer ?? 0
                    let line = ["\(call.arguments[0].integer ?? 0)"] + names + ["\(port)"] + said
                    avahi.change(call) { $0.services.append(line.joined(separator: " ")) }
                },
                "Commit": method { avahi, call in
                    avahi.change(call) { $0.isCommitted = true }
                    let (collides, fails) = avahi.state.withLock { state in
                        let hosts = (state.groups[call.path.text]?.addresses ?? []).compactMap {
                            $0.split(separator: " ").last.map(String.init)
                        }
                        return (!state.taken.isDisjoint(with: hosts), state.fails)
                    }
                    avahi.tell(call.path.text, 1)
                    avahi.tell(call.path.text, collides ? 3 : fails ? 4 : 2)
                },
                "Free": method { avahi, call in
                    avahi.state.withLock { state in
                        state.freed += 1
                        state.groups[call.path.text] = nil
                    }
                    try? avahi.state.withLock { $0.bus }?.unexport(call.path)
                    call.answer()
                },
            ]
        )
    }

    private func change(_ call: MethodCall, _ body: (inout Group) -> Void) {
        state.withLock { state in body(&state.groups[call.path.text, default: Group()]) }
        call.answer()
    }

    private func tell(_ path: String, _ said: Int32) {
        guard let path = ObjectPath(path) else { return }
        try? state.withLock { $0.bus }?.emit(
            path: path,
            interface: "org.freedesktop.Avahi.EntryGroup",
            member: "StateChanged",
            [.int32(said), .string(said == 4 ? "org.freedesktop.Avahi.TooManyEntriesError" : "")]
        )
    }

    private func method(
        takes: String = "",
        returns: String = "",
        _ action: @escaping @Sendable (FakeAvahi, MethodCall) -> Void
    ) -> ExportedMethod {
        ExportedMethod(takes: takes, returns: returns) { [weak self] call in
            guard let self else { return }
            let isRefused = self.state.withLock { state in
                guard let left = state.refusals[call.member], left > 0 else { return false }
                state.refusals[call.member] = left - 1
                return true
            }
            if isRefused { return call.refuse("org.freedesktop.Avahi.TooManyObjectsError", "Too many objects") }
            action(self, call)
        }
    }
}
