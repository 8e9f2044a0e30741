import Glibc
import Locks

/// One owned file descriptor that came over the bus, or goes over it.
///
/// Closed when the last reference goes, unless someone took it.
public final class BusDescriptor: Sendable, Equatable {
    private let number: Atomic<Int32>

    /// Takes over an open descriptor: from here on nobody else closes it.
    public init(owning number: Int32) { self.number = Atomic(number) }

    deinit {
        let number = number.load(ordering: .acquiring)
        if number >= 0 { close(number) }
    }

    /// The descriptor, which the caller now owns. `nil` if somebody took it before.
    public func take() -> Int32? {
        let number = number.exchange(-1, ordering: .acquiringAndReleasing)
        return number >= 0 ? number : nil
    }

    /// A number to look at while this object lives, and never to close. Negative if it was taken.
    var borrowed: Int32 { number.load(ordering: .acquiring) }

    /// The same object: two descriptors of one file are not equal.
    public static func == (left: BusDescriptor, right: BusDescriptor) -> Bool { left === right }
}
