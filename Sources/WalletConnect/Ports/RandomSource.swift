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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            // Eight at a time: each call asks the kernel.
            let word = generator.next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return Array(bytes.prefix(count))
    }
}
