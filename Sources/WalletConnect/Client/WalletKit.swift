internal import Locks

/// The wallet's client under the official SDK's names, shared by a whole app. `SignClient` is the same without anything
/// shared.
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

    /// `instance` was read before `configure`.
    public struct NotConfigured: Error, Sendable, Equatable {}

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

    /// The client of the last `configure`.
    public static var instance: SignClient {
        get throws(NotConfigured) {
            guard let client = shared.withLock({ $0 }) else { throw NotConfigured() }
            return client
        }
    }
}

/// The dapp's side under the official SDK's names. One client does both.
public enum Sign {
    /// The client of the last `WalletKit.configure`.
    public static var instance: SignClient {
        get throws(WalletKit.NotConfigured) { try WalletKit.instance }
    }
}
