import DBus
import Locks

/// Gives iwd the passphrase of the one network that is being joined, and of no other.
///
/// Source: iwd 2.3, doc/agent-api.txt.
final class PassphraseAgent: Sendable {
    static let path = ObjectPath("/org/till/wifi") ?? .root
    private static let name = "net.connman.iwd.Agent"
    private static let cancelled = "net.connman.iwd.Agent.Error.Canceled"

    /// For which objects the passphrase is.
    enum Target: Sendable {
        case network(ObjectPath)
        /// A hidden network gets its object only while it is joined: whichever of this radio is none of those before.
        case hidden(of: ObjectPath, before: Set<ObjectPath>)

        func covers(_ path: ObjectPath) -> Bool {
            switch self {
            case .network(let own): path == own
            case .hidden(let station, let before): path.isWithin(station) && !before.contains(path)
            }
        }
    }

    private struct State {
        var daemon: String?
        var target: Target?
        var passphrase: Passphrase?
        var wasAsked = false
    }

    private let state = Mutex(State())

    /// Who may ask: iwd's own name on the bus, which the bus vouches for.
    func serve(_ daemon: String?) { state.withLock { $0.daemon = daemon } }

    /// Keeps the passphrase until ``end()``, and no longer.
    func begin(_ target: Target, _ passphrase: Passphrase?) {
        state.withLock { ($0.target, $0.passphrase, $0.wasAsked) = (target, passphrase, false) }
    }

    func end() { state.withLock { ($0.target, $0.passphrase) = (nil, nil) } }

    /// Whether the passphrase was given away yet.
    var wasAsked: Bool { state.withLock { $0.wasAsked && $0.passphrase != nil } }

    private func answer(_ call: MethodCall) {
        let found = state.withLock { state -> Passphrase? in
            guard call.sender == state.daemon, let path = call.arguments.first?.path,
                state.target?.covers(path) == true
            else { return nil }
            state.wasAsked = true
            return state.passphrase
        }
        guard let found else { return call.refuse(Self.cancelled, "") }
        call.answer([.string(found.text)])
    }

    var exported: ExportedInterface {
        let refuse: @Sendable (MethodCall) -> Void = { $0.refuse(Self.cancelled, "") }
        return ExportedInterface(
            Self.name,
            methods: [
                "Release": ExportedMethod { $0.answer() },
                "RequestPassphrase": ExportedMethod(takes: "o", returns: "s") { self.answer($0) },
                "RequestPrivateKeyPassphrase": ExportedMethod(takes: "o", returns: "s", refuse),
                "RequestUserNameAndPassword": ExportedMethod(takes: "o", returns: "ss", refuse),
                "RequestUserPassword": ExportedMethod(takes: "os", returns: "s", refuse),
                "Cancel": ExportedMethod(takes: "s") { $0.answer() },
            ]
        )
    }
}
