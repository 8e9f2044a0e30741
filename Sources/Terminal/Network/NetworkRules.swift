public import Payments
public import WiFi

/// Why the network was left as it is.
public enum NetworkRefusal: Error, Sendable, Equatable {
    /// It would end the network that an open charge goes by.
    case chargeOpen
    /// A network is being joined.
    case working
    /// The Wi-Fi said no, or nothing.
    case failed(WiFiError, name: WiFiName?)
}

/// What may be done to the network, and how it is said. Decides; the ``NetworkDesk`` acts.
public enum NetworkRules {
    /// What the owner wants.
    public enum Change: Sendable, Equatable {
        /// Listening takes the radio away from the network for moments.
        case scan
        case join
        case leave
        case forget(WiFiNetwork.ID)
    }

    /// Whether the change may be made now; nil where it may.
    ///
    /// An open charge keeps the network that the terminal is in. One without a network loses nothing: joining may be what
    /// the charge waits for.
    static func refusal(
        _ change: Change,
        link: WiFiState.Link,
        isWorking: Bool,
        isChargeOpen: Bool
    ) -> NetworkRefusal? {
        if isWorking { return .working }
        guard isChargeOpen else { return nil }
        switch (change, link) {
        case (_, .none): return nil
        case (.forget(let id), .joined(let joined)), (.forget(let id), .joining(let joined)):
            return joined == nil || joined == id ? .chargeOpen : nil
        case (.scan, _), (.join, _), (.leave, _): return .chargeOpen
        }
    }

    /// Signal bars, 0 to 4.
    public static func bars(strengthDBm: Int) -> Int {
        switch strengthDBm {
        case (-55)...: 4
        case (-67)...: 3
        case (-75)...: 2
        case (-85)...: 1
        default: 0
        }
    }

    /// Why there is no Wi-Fi, for people.
    public static func reason(_ reason: WiFiState.Reason) -> Reason {
        switch reason {
        case .starting:
            Reason(
                code: "wifi_starting",
                message: "The terminal has not looked at its Wi-Fi yet.",
                action: "Wait a moment."
            )
        case .noBus, .noDaemon:
            Reason(
                code: "wifi_no_service",
                message: "The terminal's Wi-Fi service does not run.",
                action: "Turn the terminal off and on, or use a cable."
            )
        case .noAdapter:
            Reason(
                code: "wifi_no_adapter",
                message: "This terminal has no Wi-Fi radio that it can use.",
                action: "Use a cable, or plug in a Wi-Fi radio that it knows."
            )
        case .poweredOff:
            Reason(
                code: "wifi_off",
                message: "The terminal's Wi-Fi radio is off and does not go on.",
                action: "Turn the terminal off and on, or use a cable."
            )
        case .blocked:
            Reason(
                code: "wifi_blocked",
                message: "A switch of the machine holds its Wi-Fi off.",
                action: "Look for that switch or key on the machine, or use a cable."
            )
        case .refused(let detail):
            Reason(
                code: "wifi_refused",
                message: "The terminal's Wi-Fi service refuses what is needed: \(detail).",
                action: "Turn the terminal off and on, or use a cable."
            )
        }
    }

    /// Where the terminal is a program on a machine whose network others look after.
    public static let notManaged = Reason(
        code: "wifi_not_managed",
        message: "This terminal is a program on a machine of its own owner, who looks after its network.",
        action: "Change the network there."
    )

    /// Why the network was not changed, for people.
    public static func reason(_ refusal: NetworkRefusal) -> Reason {
        switch refusal {
        case .chargeOpen:
            Reason(
                code: "wifi_charge_open",
                message: "A charge is running, and this would end the network that it goes by. Nothing was changed.",
                action: "Finish or cancel that charge first."
            )
        case .working:
            Reason(
                code: "wifi_working",
                message: "The terminal is joining a network already. Nothing was changed.",
                action: "Wait until it is done."
            )
        case .failed(let error, _): reason(error)
        }
    }

    private static func reason(_ error: WiFiError) -> Reason {
        switch error {
        case .unavailable(let reason): Self.reason(reason)
        case .refused(let detail): Self.reason(WiFiState.Reason.refused(detail))
        case .passphraseNotTaken:
            Reason(
                code: "wifi_passphrase_wrong",
                message: "The network did not take this passphrase.",
                action: "Type it again: capital and small letters differ. Where it is right, bring the terminal nearer."
            )
        case .passphraseNeeded:
            Reason(
                code: "wifi_passphrase_needed",
                message: "This network needs a passphrase.",
                action: "Type its passphrase."
            )
        case .notHeard: notHeard
        case .unsupported:
            Reason(
                code: "wifi_unsupported",
                message: "The terminal cannot join a network of this kind.",
                action: "Use one with a passphrase (WPA2 or WPA3), or a cable."
            )
        case .notLetIn:
            Reason(
                code: "wifi_not_let_in",
                message: "The network did not let the terminal in.",
                action:
                    "Bring the terminal nearer and try again; where that does not help, restart the network's router."
            )
        case .isOpen:
            Reason(
                code: "wifi_is_open",
                message:
                    "The network of this name that was there has no passphrase: anybody can have made it. It was left again.",
                action:
                    "Where it is the one you want, join it without a passphrase. Otherwise bring the terminal nearer to yours."
            )
        case .notHidden:
            Reason(
                code: "wifi_not_hidden",
                message: "This network says its name, or the terminal knows it already.",
                action: "Choose it from the list."
            )
        case .busy, .aborted:
            Reason(
                code: "wifi_busy",
                message: "The terminal's Wi-Fi was busy with something else.",
                action: "Try again in a moment."
            )
        case .tooSlow, .interrupted:
            Reason(
                code: "wifi_unclear",
                message: "The terminal's Wi-Fi gave no answer. What stands at the top is how it is now.",
                action: "Wait a moment, then try again."
            )
        case .notJoined:
            Reason(
                code: "wifi_not_joined",
                message: "The terminal is in no Wi-Fi network.",
                action: "Nothing needs to be done."
            )
        case .notKnown:
            Reason(
                code: "wifi_not_known",
                message: "The terminal does not know this network.",
                action: "Nothing needs to be done."
            )
        }
    }

    /// The network is not around.
    public static let notHeard = Reason(
        code: "wifi_not_heard",
        message: "This network is not heard here now.",
        action: "Bring the terminal nearer, see that the network is on, then look for networks again."
    )
}
