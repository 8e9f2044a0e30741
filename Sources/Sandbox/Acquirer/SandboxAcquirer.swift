import Acquirer
import Payments
public import TapProtocol

/// A running sandbox acquirer: one state, the clock that moves it, and the file that it is kept in.
public actor SandboxAcquirer {
    private var state: AcquirerState
    private let clock: SandboxClock
    private let file: StateFile?
    /// Records on their way to the file.
    private var unwritten: [String] = []
    private var isWriting = false
    private var writeFailure: StateFileError?
    private var waitingForDisk: [CheckedContinuation<Void, Never>] = []

    /// - Parameter file: Where records go before anyone is answered; see ``remembering(_:in:clock:)``.
    public init(_ state: AcquirerState, clock: SandboxClock, file: StateFile? = nil) {
        (self.state, self.clock, self.file) = (state, clock, file)
    }

    /// An acquirer that goes on where the one before it stopped, at whatever point that was.
    /// - Returns: The acquirer, and how many bytes of an unfinished last line were dropped.
    /// - Throws: Why the file cannot be used; the acquirer must not start then.
    public static func remembering(
        _ configuration: AcquirerConfiguration,
        in path: String,
        clock: SandboxClock
    ) throws(StateFileError) -> (acquirer: SandboxAcquirer, tornBytes: Int) {
        let (file, content) = try StateFile.open(path)
        var configuration = configuration
        var chance = Randomness()
        let seed = AcquirerState.seed(in: content.lines) ?? configuration.seed ?? chance.bytes(32)
        configuration.seed = seed
        var state = AcquirerState(configuration: configuration)
        do throws(StateFileError) {
            try state.replay(content.lines)
        } catch {
            throw StateFileError(description: "\(path): \(error.description)")
        }
        state.configuration.settleAfter = configuration.settleAfter
        state.books.faucetMinorUnits = configuration.faucetMinorUnits
        state.beginRecording(seed: seed, at: clock.now())
        return (SandboxAcquirer(state, clock: clock, file: file), content.tornBytes)
    }

    /// What terminals and phones trust, as `GET /keys` tells it.
    public var trustedKeys: GatewayKeys { state.trustedKeys }

    /// The state at this moment, for tests to look into.
    public var snapshot: AcquirerState { state }

    /// Answers one request. Nil when a fault drops the answer.
    public func answer(_ request: GatewayRequest) async -> AcquirerReply? {
        if let reply = state.control(request, at: now) { return await isOnDisk() ? reply : .failure(500) }
        guard let handling = state.receive(request, at: now) else {
            return AcquirerReply(.init(code: .notFound))
        }
        let reply = await worked(request, handling)
        state.finish(handling, reply)
        return reply
    }

    private func worked(_ request: GatewayRequest, _ handling: AcquirerState.Handling) async -> AcquirerReply? {
        for effect in handling.effects(.before) {
            switch effect {
            case .delay(let milliseconds): await pause(milliseconds)
            case .drop: return nil
            case .failure(let status): return .failure(status)
            case .refuse(let code): return AcquirerState.refusal(code)
            default: break
            }
        }
        let reply = state.perform(request, handling, at: now)
        // Also where the call only looked: what it saw may be on its way to the disk.
        guard await isOnDisk() else { return .failure(500) }
        for case .delay(let milliseconds) in handling.effects(.after) { await pause(milliseconds) }
        return state.spoiled(reply, handling)
    }

    private var now: WallTime { clock.now().advanced(by: .seconds(state.skewSeconds)) }

    private func pause(_ milliseconds: Int) async {
        // Throws when the client's task is cancelled: answer at once.
        try? await clock.sleep(.milliseconds(milliseconds))
    }

    /// Waits until everything that happened so far is in the file. Calls that come together share one flush.
    private func isOnDisk() async -> Bool {
        guard let file else { return true }
        unwritten += state.takeRecords()
        while !unwritten.isEmpty || isWriting, writeFailure == nil {
            if isWriting {
                let isOfThisBatch = unwritten.isEmpty
                await withCheckedContinuation { waitingForDisk.append($0) }
                if isOfThisBatch { break }
                continue
            }
            isWriting = true
            let batch = unwritten
            unwritten = []
            do throws(StateFileError) {
                try await file.append(batch)
            } catch {
                writeFailure = error
            }
            isWriting = false
            let waiting = waitingForDisk
            waitingForDisk = []
            for client in waiting { client.resume() }
        }
        return writeFailure == nil
    }
}
