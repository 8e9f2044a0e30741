/// Whether the machine's Wi-Fi can be used, and what it is doing.
public enum WiFiState: Sendable, Equatable {
    case ready(Station)
    case unavailable(Reason)

    /// The radio in use.
    public struct Station: Sendable, Equatable {
        /// The kernel's name of it, such as `wlan0`.
        public let interface: String
        public let link: Link
        /// Whether it listens for networks now.
        public let isScanning: Bool

        public init(interface: String, link: Link, isScanning: Bool) {
            (self.interface, self.link, self.isScanning) = (interface, link, isScanning)
        }
    }

    /// Whether it is in a network. Whether that network gave an address is not known here.
    public enum Link: Sendable, Equatable {
        /// → joining
        case none
        /// → joined, none. Nil while the network is not known any more.
        case joining(WiFiNetwork.ID?)
        /// → none, joining
        case joined(WiFiNetwork.ID?)
    }

    /// Why there is no Wi-Fi. All heal by themselves when the cause goes.
    public enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// Not looked yet.
        case starting
        /// No message bus: a defect of the machine's setup.
        case noBus(String)
        /// iwd does not run.
        case noDaemon
        /// iwd knows no radio.
        case noAdapter
        /// Off, and not on yet.
        case poweredOff
        /// A switch of the machine holds it off.
        case blocked
        /// iwd refuses what is needed, in its words.
        case refused(String)

        public var description: String {
            switch self {
            case .starting: "Wi-Fi is starting"
            case .noBus(let reason): "no message bus: \(reason)"
            case .noDaemon: "iwd does not run"
            case .noAdapter: "there is no Wi-Fi adapter"
            case .poweredOff: "the Wi-Fi adapter is off"
            case .blocked: "a switch of this machine holds Wi-Fi off (rfkill)"
            case .refused(let text): "iwd refuses: \(text)"
            }
        }
    }

    /// The radio, where there is one that can be used.
    public var station: Station? { if case .ready(let station) = self { station } else { nil } }
}

/// Why the Wi-Fi did not do what it was asked for. Cases differ by what the owner does next.
public enum WiFiError: Error, Sendable, Equatable {
    /// There is no radio that can be used.
    case unavailable(WiFiState.Reason)
    /// The network is not heard any more, or never was. Listen again, nearer to it.
    case notHeard
    /// The network needs a passphrase, and neither the caller nor iwd has one.
    case passphraseNeeded
    /// The network ended the joining after it was given this passphrase: almost always because it is another one.
    case passphraseNotTaken
    /// The terminal cannot join networks of this kind.
    case unsupported
    /// The network did not let the terminal in, whatever the passphrase.
    case notLetIn
    /// A passphrase was given, and the network of that name that answered has none. It was left again.
    case isOpen
    /// It says its name, or is known: join it as one of those that are heard.
    case notHidden
    /// Another joining is going on.
    case busy
    /// Somebody else ended it, or had another network joined.
    case aborted
    /// No answer in time. Look at ``WirelessStation/state``: it may still happen.
    case tooSlow(after: Duration)
    /// iwd or the bus went meanwhile. Nobody can say how far it came.
    case interrupted
    /// The terminal is in no network.
    case notJoined
    /// iwd keeps nothing of such a network.
    case notKnown
    /// iwd's own words.
    case refused(String)
}
