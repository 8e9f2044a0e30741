import Locks
import Sandbox
import TapProtocol

/// A terminal without malice: it offers one request again and again, claims the accept that it gets, and tells how it ended.
final class Clerk: Sendable {
    private struct State {
        var accepts: Set<ObjectHash> = []
        var promised: Signed<PaymentAcceptance>?
        var end: Signed<PaymentReceipt>?
    }

    private let bench: Bench
    private let request: Signed<PaymentRequest>
    private let isOnline: Bool
    private let state = Mutex(State())

    init(_ bench: Bench, _ request: Signed<PaymentRequest>, isOnline: Bool) {
        (self.bench, self.request, self.isOnline) = (bench, request, isOnline)
    }

    var accepts: Set<ObjectHash> { state.withLock { $0.accepts } }
    /// Taken with nobody online.
    var promised: Signed<PaymentAcceptance>? { state.withLock { $0.promised } }

    /// Runs a phone, and the terminal beside it, until the phone dies or the two have no more to say.
    func serve(_ configuration: PhoneConfiguration, _ storage: Drawer) async throws {
        let diary = bench.diary
        let before = diary.events.count
        try await bench.run(configuration, storage: storage) { phone in
            let terminal = Stranger(phone, bench.merchant)
            await withDiscardingTaskGroup { group in
                group.addTask {
                    // An error is the phone's death: what it says breaks off.
                    try? await self.talk(terminal)
                    await terminal.disconnect()
                    let isDone = self.state.withLock { $0.end != nil || $0.promised != nil }
                    if isDone, configuration.isOnline {
                        await diary.wait {
                            $0.contains(where: Self.isPaid) || $0.dropFirst(before).contains(where: Self.isDead)
                        }
                    }
                    terminal.cut()
                    diary.nudge()
                }
                group.addTask {
                    await diary.wait { terminal.isCut || $0.dropFirst(before).contains(where: Self.isDead) }
                    terminal.cut()
                }
            }
        }
    }

    private static func isDead(_ event: PhoneEvent) -> Bool { if case .died = event { true } else { false } }
    private static func isPaid(_ event: PhoneEvent) -> Bool { if case .ended(_, .paid) = event { true } else { false } }

    private func talk(_ terminal: Stranger) async throws {
        try await terminal.connect(request)
        let id = request.payload.paymentID
        var isFinal = false
        // A question in between, whose answer nobody needs.
        try await terminal.send(.ping([1, 2, 3, 4, 5, 6, 7, 8]))
        while true {
            guard case .message(let message) = try await terminal.next() else { return }
            switch message.body {
            case .accept(let accept, _): try await take(accept, message.number, terminal)
            case .result(_, _, let receipt, _):
                if let receipt { state.withLock { $0.end = receipt } }
                try await terminal.send(.acknowledge(id), answering: message.number)
                if isFinal { return }
            case .received(let notice):
                isFinal = notice.state == .alreadyFinal
                guard notice.state == .won, let end = state.withLock({ $0.end }) else { break }
                try await terminal.send(.result(id, .completed, receipt: end, transactionID: nil))
            case .acknowledge, .bye, .cancelledByPayer: return
            default: break
            }
        }
    }

    private func take(_ accept: Signed<PaymentAcceptance>, _ number: Int, _ terminal: Stranger) async throws {
        let isPhoneOnline = accept.payload.flags.contains(.phoneOnline)
        state.withLock { _ = $0.accepts.insert(accept.hash) }
        let mode: PaymentClaim.Mode = isOnline || isPhoneOnline ? .online : .offline
        let claim = try bench.merchant.claim(accept.hash, of: request, mode: mode)
        try await terminal.send(.claim(claim), answering: number)
        let id = request.payload.paymentID
        guard isOnline else {
            guard mode == .offline else { return }
            state.withLock { $0.promised = accept }
            return try await terminal.send(.result(id, .acceptedOffline, receipt: nil, transactionID: nil))
        }
        let receipt = try await bench.acquirer.receipt(request, accept)
        state.withLock { $0.end = receipt }
        try await terminal.send(.result(id, .completed, receipt: receipt, transactionID: nil))
    }
}

/// A storage whose disk fails.
final class BrokenDrawer: PhoneStorage {
    private let isBroken = Mutex(false)
    private let drawer = Drawer()

    func breakDown() { isBroken.withLock { $0 = true } }

    func save(_ text: String) throws(StateFileError) {
        guard !isBroken.withLock({ $0 }) else { throw StateFileError(description: "no space left") }
        drawer.save(text)
    }

    func load() -> String? { drawer.load() }
}
