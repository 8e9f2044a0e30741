public import WalletConnect

/// A WalletConnect client with a connection of its own to a relay, for wallets and for dapps.
///
/// It makes what a ``SignClient`` needs from nothing but a project ID: WebSockets, the key that the relay knows this side by, and a
/// memory of what was received. The key is kept in the client's storage, beside its sessions. ``run()`` keeps all of it going.
public struct OnlineClient: Sendable {
    /// Both sides' calls and streams.
    public let client: SignClient
    /// The connection: its status and its counts.
    public let relay: RelayClient

    /// Where WalletConnect's own relay is. Source: WalletConnect documentation, Relay.
    public static let productionRelay = "wss://relay.walletconnect.org"

    /// Why there is no client. Nothing was sent.
    public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// The relay's address or the trusted certificates cannot be used. Correct them.
        case relay(reason: String)
        /// What is stored cannot be read, or nothing can be stored. Do not start over on the same storage: it holds the keys of
        /// open sessions.
        case storage(reason: String)

        public var description: String {
            switch self {
            case .relay(let reason): "The relay cannot be used: \(reason)."
            case .storage(let reason): "The client's storage cannot be used: \(reason)."
            }
        }
    }

    /// Reads what an earlier client stored, and sends nothing before ``run()``.
    /// - Parameters:
    ///   - projectID: 32 hexadecimal digits from WalletConnect's dashboard; nil for a relay that asks for none.
    ///   - relayURL: `wss://…`, or `ws://` to this machine.
    ///   - trust: Whose certificates are believed.
    ///   - storage: Durable and encrypted for sessions that outlive the process.
    ///   - memory: Durable beside a durable `storage`: a copy that is taken for a new message is a second request.
    ///   - opener: Opens the links of link mode; nil: everything goes by the relay.
    public init(
        metadata: AppMetadata,
        projectID: String?,
        relayURL: String = Self.productionRelay,
        trust: WebSocketClient.Trust = .system,
        storage: any KeyValueStore = MemoryStore(),
        memory: any RelayMemory = ShortRelayMemory(),
        opener: WalletConnectRouter.Opener? = nil
    ) async throws(Failure) {
        relay = try await Self.relay(relayURL, projectID, trust, storage, memory)
        do throws(StorageFailure) {
            client = try await SignClient(metadata: metadata, relay: relay, storage: storage, opener: opener)
        } catch { throw .storage(reason: error.reason) }
    }

    init(client: SignClient, relay: RelayClient) { (self.client, self.relay) = (client, relay) }

    /// Keeps the connection and the client going until the task is cancelled. Once.
    /// - Throws: `stopped` for a second call.
    public func run() async throws(SignError) {
        let outcome = await withTaskGroup(of: Result<Void, SignError>?.self) { group in
            group.addTask {
                await relay.run()
                return nil
            }
            group.addTask {
                do throws(SignError) {
                    try await client.run()
                    return .success(())
                } catch { return .failure(error) }
            }
            var outcome = Result<Void, SignError>.success(())
            for await ended in group {
                if let ended { outcome = ended }
                group.cancelAll()  // Neither is of use without the other.
            }
            return outcome
        }
        try outcome.get()
    }

    static func relay(
        _ url: String,
        _ projectID: String?,
        _ trust: WebSocketClient.Trust,
        _ storage: any KeyValueStore,
        _ memory: any RelayMemory
    ) async throws(Failure) -> RelayClient {
        let isPlain = url.lowercased().hasPrefix("ws://")
        let host = url.dropFirst(5).prefix { !":/?#".contains($0) }
        guard !isPlain || ["127.0.0.1", "localhost"].contains(host) else {
            throw .relay(reason: "everybody on the way can read ws://, which is for this machine alone")
        }
        let sockets: WebSocketClient
        do throws(WebSocketFailure) { sockets = try WebSocketClient(trust: trust, allowsPlain: isPlain) } catch {
            throw .relay(reason: "the trusted certificates cannot be read")
        }
        let identity = try await identity(in: storage)
        do throws(RelaySettingsError) {
            return try RelayClient(
                settings: RelayClientSettings(url: url, projectID: projectID),
                identity: identity,
                sockets: sockets,
                memory: memory,
                clock: .system { SystemWallClock().nowMilliseconds }
            )
        } catch { throw .relay(reason: "'\(url.prefix(200))' is no relay's address") }
    }

    private static let identityName = "relay/identity"

    /// The key of the last start, or a fresh one that is stored before it is used: mailboxes belong to it.
    private static func identity(in storage: any KeyValueStore) async throws(Failure) -> RelayIdentity {
        do throws(StorageFailure) {
            if let kept = try await storage.values(prefix: identityName)[identityName] {
                guard let identity = try? RelayIdentity(seed: kept.bytes) else {
                    throw StorageFailure(reason: "the key for the relay is damaged")
                }
                return identity
            }
            let fresh = RelayIdentity()
            try await storage.apply([.set(name: identityName, value: StoredValue(fresh.seed))])
            return fresh
        } catch { throw .storage(reason: error.reason) }
    }
}

extension WalletKit {
    /// Makes the shared client with a connection of its own, under the official SDK's names. Keep ``OnlineClient/run()`` of what
    /// it returns in the app's own task.
    /// - Parameters:
    ///   - projectId: 32 hexadecimal digits from WalletConnect's dashboard.
    ///   - relayUrl: `wss://…`, or `ws://` to this machine.
    /// Source: WalletKit for iOS, `WalletKit.configure`, `Networking.configure`.
    @discardableResult
    public static func configure(
        metadata: AppMetadata,
        projectId: String,
        relayUrl: String = OnlineClient.productionRelay,
        trust: WebSocketClient.Trust = .system,
        storage: any KeyValueStore = MemoryStore(),
        memory: any RelayMemory = ShortRelayMemory(),
        opener: WalletConnectRouter.Opener? = nil
    ) async throws(OnlineClient.Failure) -> OnlineClient {
        let relay = try await OnlineClient.relay(relayUrl, projectId, trust, storage, memory)
        do throws(StorageFailure) {
            let configuration = Configuration(metadata: metadata, relay: relay, storage: storage, opener: opener)
            return OnlineClient(client: try await configure(configuration), relay: relay)
        } catch { throw .storage(reason: error.reason) }
    }
}
