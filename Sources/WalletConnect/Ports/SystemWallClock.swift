internal import FoundationEssentials

/// The machine's clock. Expiries follow it: a terminal needs the right time to sell.
public struct SystemWallClock: WallClock {
    public init() {}

    public var nowMilliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
