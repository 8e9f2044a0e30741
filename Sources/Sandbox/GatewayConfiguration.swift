import Glibc
public import Payments

/// How a sandbox gateway behaves; everything has a default that suits a first try but the merchant and its key.
public struct GatewayConfiguration: Sendable {
    public var merchantID: String
    public var merchantName = "Sandbox Shop"
    /// What the merchant's calls carry in `Api-Key`; wallets may use it too.
    public var apiKey: String
    /// From the customer's signature to the final word. Nil: until the control API says so.
    public var settleAfter: Duration? = .seconds(2)
    /// A payment without an expiry of its own. Source: WalletConnect Pay API, `CreatePayment.expiresAt`.
    public var defaultExpiry: Duration = .seconds(300)
    /// What payment links start with; `?pid=` and the payment's name follow.
    public var linkBase = "https://pay.walletconnect.com/"
    /// Whole tokens that every account has of every token at first sight.
    public var faucetTokens: UInt64 = 1000
    /// Asks for the customer's name and date of birth before they may pay.
    public var collectsData = false
    /// Asks for the same the older way: as fields for all options, whose answers come with the confirmation. No form.
    /// Source: WalletConnect Pay SDK for Swift, iOS integration guide, `CollectDataAction.fields`.
    public var collectsFields = false
    /// Says what is to be signed before it knows the customer: only the confirmation asks for what was to be filled in. Wallets
    /// that follow the SDK's complete example, or ask a schema's questions themselves, come in that order.
    /// Source: WalletConnect Pay SDK for Swift, complete example; react-native-examples, `CollectDataSchemaUtil.ts`.
    public var collectsLate = false
    /// The form tells iOS's bridge in objects, not in texts. Source: reown-swift, example wallet, `PayDataCollectionWebView`.
    public var formPostsObjects = false
    /// What the address of the form starts with. Nil: the name under which the wallet reached the gateway.
    public var formBase: String?
    /// Payments below are refused, as too small to cover the fees.
    public var minimumMinorUnits: UInt64 = 1
    /// Payments above are refused.
    public var maximumMinorUnits: UInt64 = 1_000_000_000
    /// The API version that the merchant's account is bound to.
    public var pinnedVersion = APIVersion.general
    /// How far the gateway's clock is ahead of the machine's, in seconds.
    public var skewSeconds = 0
    /// Opens the control API to who sends it. Nil closes it.
    public var controlToken: String?
    /// How often a key may call. Nil: as often as it likes.
    public var rateLimit: RateLimit?
    /// How long an option holds that involves an exchange rate. Source: captured options end 300 s after they were
    /// asked for.
    public var quoteLifetimeSeconds: Int64 = 300
    /// Set from the start.
    public var faults: [Fault] = []
    /// Repeats names and nonces from run to run. For tests only.
    public var seed: UInt64?

    public init(merchantID: String, apiKey: String) { (self.merchantID, self.apiKey) = (merchantID, apiKey) }

    /// No request for a status is held longer. Source: the SDKs give up after 30 seconds, so production must answer before.
    static let longestPoll = Duration.seconds(25)
    /// The API names no limit. Longer payments would outlive the idempotency keys of a shop's day.
    static let longestExpirySeconds: Int64 = 7 * 86_400
}

/// A published state of the API. Source: WalletConnect Pay documentation, API versioning.
public enum APIVersion: String, Sendable, CaseIterable {
    case general = "2026-02-18"
    /// Must be asked for in each request.
    case preview = "2026-02-19.preview"

    /// The version of one request.
    static func resolved(header: String?, pinned: APIVersion) throws(APIError) -> APIVersion {
        guard let header else { return pinned }
        guard isWellFormed(header) else {
            throw APIError(400, "invalid_api_version", "Invalid API version")
        }
        guard let version = APIVersion(rawValue: header) else {
            throw APIError(400, "unknown_api_version", "Unknown API version")
        }
        guard version.rawValue >= pinned.rawValue else {
            throw APIError(400, "api_version_downgrade", "Requested API version is older than the pinned version")
        }
        return version
    }

    private static func isWellFormed(_ text: String) -> Bool {
        var date = Substring(text)
        if date.hasSuffix(".preview") { date = date.dropLast(".preview".count) }
        let parts = date.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [4, 2, 2]
            && parts.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }
}

/// The two things the gateway asks of time, so that tests can hold it still.
public struct SandboxClock: Sendable {
    public let now: @Sendable () -> WallTime
    /// Throws only when the task is cancelled.
    public let sleep: @Sendable (Duration) async throws -> Void

    public init(
        now: @escaping @Sendable () -> WallTime,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        (self.now, self.sleep) = (now, sleep)
    }
}

extension SandboxClock {
    /// The machine's wall clock as it was at the first call, moved on by the monotonic one: nobody can set it back.
    public static let system: SandboxClock = {
        let clock = ContinuousClock()
        let start = clock.now
        var time = timespec()
        // Cannot fail: CLOCK_REALTIME exists on every Linux and `time` is a valid place to write to.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let wall = WallTime(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
        return SandboxClock(
            now: { wall.advanced(by: start.duration(to: clock.now)) },
            sleep: { try await clock.sleep(for: $0) }
        )
    }()
}
