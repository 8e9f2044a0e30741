/// Where keys, nonces and the random digits of IDs come from.
public protocol RandomSource: Sendable {
    /// Exactly `count` bytes that nobody can predict.
    func bytes(_ count: Int) -> [UInt8]
}

/// The operating system's random source: the one to use outside of tests.
public struct SystemRandomSource: RandomSource {
    public init() {}

    public func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}
