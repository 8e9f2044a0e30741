import Foundation
import Locks
import Payments
import Sandbox
import WebSocket

/// A relay that loses its power at one message and comes back with what its disk had.
final class MortalRelay: Sendable {
    private let bed: ConnectTestBed
    private let fault: RelayFault
    /// Chosen by the system for the first life, and kept.
    private let port = Mutex<UInt16>(0)
    private let deaths = AsyncStream<Void>.makeStream()
    private let count = Mutex(0)

    private init(_ bed: ConnectTestBed, _ fault: RelayFault) { (self.bed, self.fault) = (bed, fault) }

    /// Runs gateway and relay beside `body`.
    /// - Returns: Whether the relay died: whether there was such a message.
    static func running(
        _ bed: ConnectTestBed,
        _ fault: RelayFault,
        _ body: @Sendable @escaping (LiveRelay) async throws -> Void
    ) async throws -> Bool {
        let mortal = MortalRelay(bed, fault)
        let (births, born) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [gateway = bed.gateway] in try await gateway.run() }
            group.addTask {
                defer { born.finish() }
                try await mortal.live { born.yield() }
            }
            defer { group.cancelAll() }
            for await _ in births { break }
            try await body(LiveRelay(port: mortal.port.withLock { $0 }))
        }
        return mortal.count.withLock { $0 > 0 }
    }

    /// One life after the other.
    private func live(_ isBorn: @Sendable () -> Void) async throws {
        while !Task.isCancelled {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let server = try await self.powered()
                isBorn()
                group.addTask { try await server.run() }
                group.addTask {
                    for await _ in self.deaths.stream {
                        self.count.withLock { $0 += 1 }
                        return
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// The next life. The one before holds its file and its port for a moment longer.
    private func powered() async throws -> RelayServer {
        var configuration = RelayConfiguration()
        configuration.listen.threads = 1
        configuration.listen.port = port.withLock { $0 }
        if count.withLock({ $0 == 0 }) { configuration.faults = [fault] }
        configuration.onDeath = { [deaths] in deaths.continuation.yield() }
        var tries = 0
        while true {
            do {
                let (relay, _) = try await Relay.remembering(
                    configuration,
                    in: bed.folder + "/relay.state",
                    clock: bed.wall
                )
                let server = try await RelayServer(relay)
                port.withLock { $0 = server.port }
                return server
            } catch {
                tries += 1
                guard tries < 2000 else { throw error }
                // The kernel frees the port of the one that died when it likes; no event tells of it.
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }
}
