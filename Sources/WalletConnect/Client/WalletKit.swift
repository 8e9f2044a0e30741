internal import Locks

/// The wallet's client under the official SDK's names, shared by a whole app. `SignClient` is the same without anything
/// shared. The product `WalletConnectNet` has a `configure(metadata:projectId:)` that makes the relay too.
///
/// `WalletConnectPay` has a `WalletKit` too; where both are imported, write `WalletConnect.WalletKit`.
public enum WalletKit {
    /// What a client is made of.
    public struct Configuration: Sendable {
        public var metadata: AppMetadata
        public var relay: any RelayPort
        public var storage: any KeyValueStore
        public var clock: any WallClock
        public var random: any RandomSource
        /// Opens links for link mode; nil: everything goes by the relay.
        public var opener: WalletConnectRouter.Opener?

        public init(
            metadata: AppMetadata,
            relay: any RelayPort,
            storage: any KeyValueStore = MemoryStore(),
            clock: any WallClock = SystemWallClock(),
            random: any RandomSource = SystemRandomSource(),
            opener: WalletConnectRouter.Opener? = nil
        ) {
            (self.metadata, self.relay, self.storage) = (metadata, relay, storage)
            (self.clock, self.random, self.opener) = (clock, random, opener)
        }
    }

    private static let shared = Mutex<SignClient?>(nil)

    /// Makes the shared client. Do it right after launch, then keep `instance.run()` in the app's own task: proposals that
    /// wait in the mailbox come with the first connection.
    @discardableResult
    public static func configure(_ configuration: Configuration) async throws(StorageFailure) -> SignClient {
        let client = try await SignClient(
            metadata: configuration.metadata,
            relay: configuration.relay,
            storage: configuration.storage,
            clock: configuration.clock,
            random: configuration.random,
            opener: configuration.opener
        )
        shared.withLock { $0 = client }
        return client
    }

    /// The client of the last `configure`. Before the first its calls throw `stopped`, and its streams end at once.
    public static var instance: SignClient { shared.withLock { $0 } ?? unconfigured }

    /// Whether `configure` was called.
    public static var isConfigured: Bool { shared.withLock { $0 } != nil }

    private static let unconfigured = SignClient(unconfigured: ())
}

/// The dapp's side under the official SDK's names. One client does both.
public enum Sign {
    /// The client of the last `WalletKit.configure`.
    public static var instance: SignClient { WalletKit.instance }
}
