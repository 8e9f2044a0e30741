extension Scene {
    /// Somebody at the terminal asks for a new owner password, and everybody who looks can end it.
    public struct OwnerReset: Sendable, Equatable {
        /// Until a code is shown, at least 1.
        public var minutes: Int

        public init(minutes: Int) { self.minutes = minutes }
    }
}
