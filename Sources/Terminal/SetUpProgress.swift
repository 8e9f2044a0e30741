public import Packing

/// How far the owner has come with the set-up, for the screen.
public struct SetUpProgress: Sendable, Hashable {
    /// The step they are at, from 1.
    public let step: Int
    /// How many there are.
    public let count: Int

    public init(step: Int, count: Int) { (self.step, self.count) = (step, count) }
}

extension ChargeDesk {
    /// Shows the merchant's logo from now on; nil for none.
    public func setLogo(_ logo: Picture?) {
        self.logo = logo
        publish()
    }

    /// The owner has come to another step of the set-up; nil once it is finished or left for later.
    public func setProgress(_ progress: SetUpProgress?) {
        guard setUp != progress else { return }
        setUp = progress
        publish()
    }
}
