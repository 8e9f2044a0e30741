import Locks
public import WalletConnect

/// WebSockets over a network that can be switched off, as a phone's is in a cellar: what is open breaks, and nothing opens.
public final class SwitchableSockets: WebSocketPort {
    private struct State {
        var isOn = true
        var open: [any WebSocketLine] = []
    }

    private let base: any WebSocketPort
    private let state = Mutex(State())

    public init(_ base: any WebSocketPort) { self.base = base }

    public func connect(_ request: WebSocketRequest) async throws(WebSocketFailure) -> any WebSocketLine {
        guard state.withLock(\.isOn) else { throw .noNetwork(reason: "the network is switched off") }
        let line = try await base.connect(request)
        let isOn = state.withLock { state in
            // A wallet has one connection: those before it are closed.
            if state.isOn { state.open = [line] }
            return state.isOn
        }
        guard isOn else {
            await line.close(code: 1000)
            throw .noNetwork(reason: "the network is switched off")
        }
        return line
    }

    public func turn(on isOn: Bool) async {
        let lines = state.withLock { state in
            state.isOn = isOn
            defer { if !isOn { state.open = [] } }
            return isOn ? [] : state.open
        }
        for line in lines { await line.close(code: 1000) }
    }
}
