/// Whoever writes new versions of the whole system into the place that does not run, and has the machine start with them.
public protocol UpdateService: Sendable {
    /// The version of the system that runs.
    var version: String { get }
    /// The newest one that was ever good here; nil where none was yet.
    var newest: String? { get }
    /// Another one after each start of the machine.
    var start: String { get }

    /// Bundles on sticks that are plugged in, 20 at most.
    func sticks() -> [UpdateFile]

    /// Checks whose a bundle is and what it holds, without installing it.
    func look(at path: String) async throws(UpdateFault) -> UpdateBundle

    /// Writes a bundle into the place that does not run. Goes on where the caller is cancelled.
    /// - Parameter progress: Told of each step, 0 to 100.
    func install(_ path: String, progress: @escaping @Sendable (Int) async -> Void) async throws(UpdateFault)

    /// Tells of every installation, also of one that somebody else asks for, until cancelled. Told in order.
    func follow(_ tell: @escaping @Sendable (UpdateNews) async -> Void) async

    /// The place that runs, and whether it is known to work; nil where nobody can say.
    func running() async -> UpdatePlace?

    /// Has the machine start anew.
    func restart() throws(UpdateFault)
}

/// A bundle on a stick.
public struct UpdateFile: Sendable, Equatable {
    public let name: String
    public let path: String
    public let bytes: Int64

    public init(name: String, path: String, bytes: Int64) { (self.name, self.path, self.bytes) = (name, path, bytes) }
}

/// What a bundle says of itself; its signature was checked.
public struct UpdateBundle: Sendable, Equatable {
    public let compatible: String
    public let version: String

    public init(compatible: String, version: String) { (self.compatible, self.version) = (compatible, version) }
}

/// The place that the running system stands in.
public struct UpdatePlace: Sendable, Equatable {
    /// Such as `A`.
    public let name: String
    /// Whether its self-test passed since it was started.
    public let isGood: Bool

    public init(name: String, isGood: Bool) { (self.name, self.isGood) = (name, isGood) }
}

/// What becomes of an installation, whoever asked for it.
public enum UpdateNews: Sendable, Equatable {
    case begun
    /// How much of it is done, 0 to 100.
    case written(percent: Int)
    /// The next start takes it. The version is nil where nobody can say.
    case installed(version: String?)
    case failed(UpdateFault)
}

/// Why nothing was installed. What runs goes on running, and is what the next start takes.
public enum UpdateFault: Error, Sendable, Equatable {
    case noService, signature, notWhole, otherMachine, nobodyMaySign, notNewer, busy
    /// The service's own words.
    case refused(detail: String)
    /// Sent, then silence or nonsense: look at which version runs.
    case unclear(detail: String)
}
