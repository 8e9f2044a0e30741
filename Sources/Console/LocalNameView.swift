/// The terminal's name in the local network, as whoever publishes it says. Whoever puts the console together fills it in.
public struct LocalNameView: Sendable {
    /// Whether the terminal is found by it.
    public enum Standing: Sendable, Equatable {
        /// Switched off, or the terminal listens where nobody else could reach it.
        case off
        /// Being asked for.
        case asking
        case published(host: String)
        case noNetwork
        /// Avahi does not run on this machine.
        case noDaemon
        /// Of the machine's message bus, in its words.
        case noBus(String)
        /// Avahi says no, in its words.
        case refused(String)
        /// Others have this name and everything it falls back on.
        case taken

        /// The name while it is published.
        var host: String? { if case .published(let host) = self { host } else { nil } }
    }

    /// Those it may be published under, for the certificate, whether or not it is switched on.
    public var hosts: [String]
    public var standing: @Sendable () -> Standing

    public init(hosts: [String], standing: @escaping @Sendable () -> Standing) {
        (self.hosts, self.standing) = (hosts, standing)
    }

    /// No name.
    public static let off = LocalNameView(hosts: []) { .off }

    /// Whether this is the terminal's name in the local network now, or the first that it asks for.
    func isOurs(_ host: String) -> Bool {
        let standing = standing()
        return standing != .off && (host == hosts.first || host == standing.host)
    }
}
