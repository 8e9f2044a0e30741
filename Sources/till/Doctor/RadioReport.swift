import Bluetooth

/// What a scan and, where a phone was there, a connect showed.
struct RadioTrial: Sendable, Equatable {
    /// What BlueZ says of the radio.
    var state: RadioState
    /// How long was scanned.
    var scanned: Duration = .zero
    /// Until the first phone with the payment service.
    var firstSeen: Duration?
    /// Phones with the payment service.
    var phones = 0
    /// The strongest of them, in dBm; nil where the controller tells no strength.
    var strongest: Int?
    var connect: Bluetooth.Link.Times?
    /// Why a connect did not come about.
    var failure: String?
}

/// One finding, in words for whoever set the terminal up.
struct Finding: Sendable, Equatable {
    enum Weight: String, Sendable { case good = "ok", note, bad = "PROBLEM" }

    let weight: Weight
    let text: String
    /// What to do, where something should be done.
    var advice: String?

    var line: String { "\(weight.rawValue.padding(9))\(text)\(advice.map { " \($0)" } ?? "")" }
}

/// The findings of `till doctor radio`.
struct RadioReport {
    let facts: RadioFacts
    let trial: RadioTrial

    var findings: [Finding] {
        [state] + controller + daemon + [coexistence, interval].compactMap(\.self) + discovery
    }

    /// False where phones cannot be met.
    var isUsable: Bool { !findings.contains { $0.weight == .bad } }

    private var state: Finding {
        switch trial.state {
        case .ready(let radio):
            Finding(weight: .good, text: "Bluetooth is on: \(radio.name)\(radio.address.map { ", \($0)" } ?? "").")
        case .unavailable(let said):
            Finding(
                weight: .bad,
                text: "Phones cannot be met: \(cause(said)).",
                advice: "Payments by QR code are not affected. " + Self.cure(cause(said))
            )
        }
    }

    /// What the kernel knows better than bluetoothd.
    private func cause(_ said: RadioState.Reason) -> RadioState.Reason {
        switch said {
        case .refused, .poweredOff: facts.isBlocked ? .blocked : said
        default: said
        }
    }

    private static func cure(_ reason: RadioState.Reason) -> String {
        switch reason {
        case .noBus: "Start the system's message bus (dbus)."
        case .noDaemon: "Start bluetoothd: systemctl start bluetooth."
        case .noAdapter: "Plug an adapter in, or enable the board's own."
        case .poweredOff: "Switch it on: bluetoothctl power on."
        case .blocked: "Release it: rfkill unblock bluetooth, or by the switch on its case."
        case .refused: "Let this user talk to bluetoothd: see docs/bluetooth.md."
        case .starting: "Try again in a moment."
        }
    }

    private var controller: [Finding] {
        guard let driver = facts.driver else { return [] }
        var words = "Controller driven by \(driver)"
        if let version = facts.version { words += ", Bluetooth \(version)" }
        if let revision = facts.revision { words += ", firmware revision \(revision)" }
        if let maker = facts.manufacturer { words += ", maker number \(maker)" }
        guard facts.version != nil else {
            return [Finding(weight: .note, text: words + ". Run as root to read its version and firmware.")]
        }
        let isOld = ["4.0", "4.1"].contains(facts.version ?? "")
        return [
            Finding(
                weight: isOld ? .note : .good,
                text: words + ".",
                advice: isOld ? "It knows no long packets: each message takes two to three times as long." : nil
            )
        ]
    }

    private var daemon: [Finding] {
        guard let arguments = facts.daemonArguments else { return [] }
        var findings: [Finding] = []
        let plugins = arguments.first { $0.hasPrefix("--noplugin=") || $0.hasPrefix("--plugin=") } ?? ""
        let hasBattery =
            plugins.hasPrefix("--plugin=") ? plugins.contains("battery") : !plugins.contains("battery")
        if hasBattery, !(plugins == "--noplugin=*") {
            findings.append(
                Finding(
                    weight: .note,
                    text: "bluetoothd runs with its battery plugin: an iPhone then asks its owner to pair.",
                    advice: "Start it with --noplugin=battery: see config/bluetooth."
                )
            )
        } else {
            findings.append(Finding(weight: .good, text: "bluetoothd reads no battery of phones."))
        }
        guard let settings = facts.daemonSettings else { return findings }
        let wanted = [
            ("General.ControllerMode", "le", "Phones could be met over classic Bluetooth too."),
            ("GATT.Channels", "1", "Several bearers could reorder what a phone sends."),
            ("GATT.Cache", "no", "What a phone offered last week would be believed today."),
            ("GATT.ExchangeMTU", "517", "Messages travel in smaller pieces than they could."),
            ("Policy.AutoEnable", "true", "The adapter stays off after a start until this program switches it on."),
        ]
        for (key, value, consequence) in wanted where settings[key] != value {
            // AutoEnable is on unless said otherwise. Source: BlueZ 5.66, src/main.conf.
            if key == "Policy.AutoEnable", settings[key] == nil { continue }
            findings.append(
                Finding(
                    weight: .note,
                    text: "main.conf: \(key) is \(settings[key] ?? "not set"). \(consequence)",
                    advice: "Set it to \(value)."
                )
            )
        }
        return findings
    }

    private var coexistence: Finding? {
        guard facts.driver != nil else { return nil }
        guard let wifi = facts.wifiOnSameChip else {
            return Finding(weight: .good, text: "No Wi-Fi shares the radio's chip.")
        }
        return Finding(
            weight: .note,
            text: "Wi-Fi (\(wifi)) sits on the same chip and shares its antenna.",
            advice: "If phones are found late, use a cable or the 5 GHz band."
        )
    }

    private var interval: Finding? {
        guard let interval = facts.connectionInterval else { return nil }
        let low = Self.milliseconds(interval.lowerBound)
        let high = Self.milliseconds(interval.upperBound)
        // Source: BPP/1, section 21: discovery takes 0.4 to 0.7 s at 15 ms and 1.3 to 2.3 s at the kernel's 30 to 50 ms.
        guard interval.upperBound > 12 else {
            return Finding(weight: .good, text: "Connections run at \(low) to \(high) ms.")
        }
        return Finding(
            weight: .note,
            text: "Connections run at \(low) to \(high) ms: a phone shows its prompt a second later than it could.",
            advice: "Set MinConnectionInterval=6 and MaxConnectionInterval=12 in main.conf."
        )
    }

    private var discovery: [Finding] {
        guard trial.state.isReady else { return [] }
        let scanned = Self.seconds(trial.scanned)
        guard let firstSeen = trial.firstSeen else {
            return [
                Finding(
                    weight: .note,
                    text: "No phone with the payment service was seen in \(scanned) s.",
                    advice: "Open the payment app on a phone beside the terminal and run this once more."
                )
            ]
        }
        let strength =
            trial.strongest.map { "the strongest at \($0) dBm" }
            ?? "without a signal strength: only the mode “open” works"
        var findings = [
            Finding(
                weight: .good,
                text:
                    "First phone seen after \(Self.seconds(firstSeen)) s; \(trial.phones) in \(scanned) s, \(strength)."
            )
        ]
        if let times = trial.connect {
            let total = times.stopScanning + times.connect + times.resolve + times.open
            findings.append(
                Finding(
                    weight: total > .milliseconds(2_500) ? .note : .good,
                    text:
                        "Connected in \(Self.seconds(times.connect)) s, services after \(Self.seconds(times.resolve)) s, "
                        + "ready after \(Self.seconds(total)) s."
                )
            )
        } else if let failure = trial.failure {
            findings.append(
                Finding(weight: .note, text: "The phone could not be reached: \(failure).", advice: "Try again.")
            )
        }
        return findings
    }

    /// Of units of 1.25 ms.
    private static func milliseconds(_ units: Int) -> String {
        let hundredths = units * 125
        return hundredths % 100 == 0 ? "\(hundredths / 100)" : "\(hundredths / 100).\(hundredths % 100 / 10)"
    }

    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        return "\(Int(milliseconds) / 1000).\(String(1000 + Int(milliseconds) % 1000).dropFirst().prefix(2))"
    }
}

extension String {
    fileprivate func padding(_ width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
