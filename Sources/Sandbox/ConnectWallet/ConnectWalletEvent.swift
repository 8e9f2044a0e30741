public import WalletConnect

/// What happens in a WalletConnect wallet, as its screen and its log tell it. Nothing here is secret.
public enum ConnectWalletEvent: Sendable, Equatable, CustomStringConvertible {
    case network(Bool)
    case relay(RelayConnectionState)
    case paired
    case pairingFailed(PairingError)
    /// The proposal, with what it asks for.
    case asked(by: String, url: String, chains: [Blockchain], methods: [String])
    case approved([Account])
    case rejected(JSONRPCError)
    case settled
    case requested(method: String, chain: Blockchain, expiresAtSeconds: Int64?)
    /// What the account is about to sign, read from the typed data.
    case signing(String)
    /// The answer is with the relay. `text` is what was answered.
    case answered(text: String)
    case refused(JSONRPCError)
    /// It is stored, and sent when the network is back.
    case waits(what: String, reason: String)
    case failed(what: String, reason: String)
    /// The wallet looks and does nothing.
    case ignores(what: String)
    case proposalExpired
    case requestExpired
    case sessionOver(SessionEnd.Cause)
    /// What the library has to say, for whoever looks for a fault.
    case note(String)
    case died(ConnectWalletScript.Step)
    case ended(ConnectWalletOutcome)

    public var description: String {
        switch self {
        case .network(true): "Online    the network is back"
        case .network(false): "Offline   no network"
        case .relay(.connected): "Relay     connected"
        case .relay(.disconnected(let reason)): "Relay     not connected: \(reason)"
        case .paired: "Paired    waits for what the terminal proposes"
        case .pairingFailed(let error): "Refused   \(error)"
        case .asked(let name, let url, let chains, let methods):
            "Asked     \(Self.plain(name)) (\(Self.plain(url))) wants \(methods.map(Self.plain).joined(separator: ", "))"
                + " on \(Self.text(chains))"
        case .approved(let accounts): "Approved  \(accounts.map(\.absoluteString).joined(separator: ", "))"
        case .rejected(let error): "Rejected  \(error.code) \(error.message)"
        case .settled: "Settled   the terminal confirmed the session"
        case .requested(let method, let chain, let end):
            "Request   \(Self.plain(method)) on \(chain)\(end.map { ", until \($0)" } ?? "")"
        case .signing(let what): "Signing   \(what)"
        case .answered(let text): "Signed    \(text)"
        case .refused(let error): "Declined  \(error.code) \(error.message)"
        case .waits(let what, let reason): "Waits     \(what): \(reason)"
        case .failed(let what, let reason): "Failed    \(what): \(reason)"
        case .ignores(let what): "Ignores   \(what)"
        case .proposalExpired: "Expired   the proposal's time is over; nothing was approved"
        case .requestExpired: "Expired   the request's time is over; nothing more is signed"
        case .sessionOver(.peer(let reason)):
            "Over      the terminal ended the session: \(Self.plain(reason.message))"
                + " (\(reason.code))"
        case .sessionOver(.expired): "Over      the session's time is over"
        case .sessionOver(.settlementRefused(let reason)):
            "Over      the terminal refused the session: \(Self.plain(reason.message)) (\(reason.code))"
        case .note(let text): "Note      \(Self.plain(text))"
        case .died(let step): "Died      as told, \(step.rawValue)"
        case .ended(let outcome): "Ended     \(outcome.text)"
        }
    }

    private static func text(_ chains: [Blockchain]) -> String {
        chains.isEmpty ? "no chain" : chains.map(\.absoluteString).joined(separator: ", ")
    }

    /// A stranger's words, so that they cannot make lines or move the cursor.
    private static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(200).map { $0.properties.isControl ? " " : $0 }))
    }
}

extension Unicode.Scalar.Properties {
    /// Control and format characters, line and paragraph separators.
    fileprivate var isControl: Bool {
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(generalCategory)
    }
}

/// How it ended for a WalletConnect wallet.
public enum ConnectWalletOutcome: Sendable, Equatable {
    /// It answered a request with a signature, and the relay has it.
    case signed
    /// A signature was made and may not have left.
    case unknown
    /// The person said no.
    case declined
    case notSigned(String)

    public var text: String {
        switch self {
        case .signed: "signed"
        case .unknown: "not known: a signature was made, and the relay may not have it"
        case .declined: "not signed: declined here"
        case .notSigned(let reason): "not signed: \(reason)"
        }
    }
}
