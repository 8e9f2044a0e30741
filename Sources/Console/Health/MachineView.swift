public import Machine
public import Payments

/// What the program knows of the machine it runs on, for the health page. Whoever puts the console together fills it in.
public struct MachineView: Sendable {
    /// How the machine's clock stands.
    public struct Clock: Sendable, Equatable {
        /// Whether it was set by somebody who knows the time.
        public var isSet: Bool
        /// Whether it hears the time from outside now.
        public var isSynchronised: Bool

        public init(isSet: Bool, isSynchronised: Bool) { (self.isSet, self.isSynchronised) = (isSet, isSynchronised) }
    }

    /// How far another's clock is from the machine's.
    public struct Offset: Sendable, Equatable {
        /// Positive where the gateway's clock is ahead. To half a second: the gateway says whole seconds.
        public var milliseconds: Int64
        public var at: WallTime

        public init(milliseconds: Int64, at: WallTime) { (self.milliseconds, self.at) = (milliseconds, at) }
    }

    public var facts: @Sendable () -> MachineFacts
    public var clock: @Sendable () -> Clock
    /// By the gateway's last answer; nil before one came.
    public var gatewayOffset: @Sendable () -> Offset?
    /// The program's version.
    public var version: String
    /// Versions of what it runs on, by name.
    public var libraries: [String: String]

    public init(
        facts: @escaping @Sendable () -> MachineFacts = { MachineFacts() },
        clock: @escaping @Sendable () -> Clock = { Clock(isSet: true, isSynchronised: true) },
        gatewayOffset: @escaping @Sendable () -> Offset? = { nil },
        version: String = "",
        libraries: [String: String] = [:]
    ) {
        (self.facts, self.clock, self.gatewayOffset) = (facts, clock, gatewayOffset)
        (self.version, self.libraries) = (version, libraries)
    }
}
