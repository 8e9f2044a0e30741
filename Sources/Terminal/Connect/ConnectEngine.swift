import Payments
import WalletConnect

/// Why wallets cannot be served at all.
enum ConnectFailure: Error, Sendable, Equatable {
    case storage(String)
    case address

    var reason: Payments.Reason {
        switch self {
        case .storage(let what):
            Payments.Reason(
                code: "connect_storage",
                message: "What is known of wallets cannot be read: \(Payments.Reason.clean(what)).",
                action: "Check the terminal’s storage. The other ways to pay go on."
            )
        case .address:
            Payments.Reason(
                code: "relay_address",
                message: "The relay’s address cannot be used.",
                action: "Correct it in the settings."
            )
        }
    }
}

/// One connection to one relay, with the client that speaks over it, until the settings change.
final class ConnectEngine: Sendable {
    /// The relay's address.
    let url: String
    let relay: RelayClient
    let client: SignClient
    private let stopping = AsyncStream<Never>.makeStream()
    private let over = AsyncStream<Never>.makeStream()

    /// Where the relay knows this terminal by.
    private static let identityName = "connect-relay/identity"

    init(
        setup: ConnectStation.Setup,
        store: any KeyValueStore,
        memory: any RelayMemory,
        sockets: any WebSocketPort,
        clock: TerminalClock,
        tune: @Sendable (inout RelayClientSettings) -> Void
    ) async throws(ConnectFailure) {
        var settings = RelayClientSettings(
            url: setup.settings.relayURL,
            projectID: setup.settings.projectID.isEmpty ? nil : setup.settings.projectID
        )
        tune(&settings)
        url = settings.url
        let identity: RelayIdentity
        do throws(StorageFailure) { identity = try await Self.identity(in: store) } catch {
            throw .storage(error.reason)
        }
        do throws(RelaySettingsError) {
            relay = try RelayClient(
                settings: settings,
                identity: identity,
                sockets: sockets,
                memory: memory,
                clock: RelayClock(
                    elapsed: clock.elapsed,
                    wallMilliseconds: { clock.wallTime().millisecondsSince1970 },
                    sleep: clock.sleep,
                    random: { UInt64.random(in: .min ... .max) }
                )
            )
        } catch { throw .address }
        do throws(StorageFailure) {
            client = try await SignClient(
                // No way back: the customer's wallet is on another device than this screen.
                metadata: AppMetadata(
                    name: setup.merchantName,
                    description: "Payment terminal",
                    url: setup.pageAddress,
                    icons: []
                ),
                relay: relay,
                storage: store,
                clock: TerminalWallClock(clock: clock)
            )
        } catch { throw .storage(error.reason) }
    }

    private static func identity(in store: any KeyValueStore) async throws(StorageFailure) -> RelayIdentity {
        if let stored = try await store.values(prefix: identityName)[identityName],
            let identity = try? RelayIdentity(seed: stored.bytes)
        {
            return identity
        }
        let fresh = RelayIdentity()
        try await store.apply([.set(name: identityName, value: StoredValue(fresh.seed))])
        return fresh
    }

    /// Runs until it is stopped or the task is cancelled.
    func run(for station: ConnectStation) async {
        await withTaskGroup { group in
            group.addTask {
                await withDiscardingTaskGroup { parts in
                    parts.addTask { await self.relay.run() }
                    parts.addTask { try? await self.client.run() }  // Throws for a second call only.
                    parts.addTask { for await status in await self.relay.statuses() { await station.note(status) } }
                    parts.addTask {
                        for await response in self.client.streams.sessionResponses { await station.hear(response) }
                    }
                    parts.addTask {
                        for await pairing in self.client.streams.lateApprovals {
                            await station.approvedTooLate(pairing)
                        }
                    }
                }
            }
            group.addTask { for await _ in self.stopping.stream {} }
            await group.next()
            group.cancelAll()
        }
        over.continuation.finish()
    }

    func stop() { stopping.continuation.finish() }

    /// Returns when nothing of it writes any more.
    func ended() async { for await _ in over.stream {} }
}

/// The terminal's clock for the library.
struct TerminalWallClock: WallClock {
    let clock: TerminalClock

    var nowMilliseconds: Int64 { clock.wallTime().millisecondsSince1970 }

    func sleep(for duration: Duration) async throws { try await clock.sleep(duration) }
}
