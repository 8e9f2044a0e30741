/// The time of day, which expiries are written in, and a way to wait.
public protocol WallClock: Sendable {
    /// Milliseconds since 1970.
    var nowMilliseconds: Int64 { get }
    /// - Throws: `CancellationError` when the waiting task is cancelled, and nothing else.
    func sleep(for duration: Duration) async throws
}

extension WallClock {
    /// Seconds since 1970, rounded down.
    var nowSeconds: Int64 { nowMilliseconds / 1000 }
}
