import Journal
import Machine
import Payments
import Terminal

/// What the facts come to, part by part.
extension HealthFacts {
    /// Each part, the ways to pay first.
    var checks: [HealthCheck] {
        [
            gatewayCheck, acquirerCheck, radioCheck, relayCheck, webhooksCheck, outboxCheck, journalCheck,
            storageCheck, wearCheck, clockCheck, temperatureCheck, memoryCheck, nameCheck, certificateCheck,
        ].compactMap(\.self)
    }

    /// What they come to together. Red only where a charge would be refused or fail: what is wrong elsewhere needs a look.
    var wholeWeight: HealthCheck.Weight {
        let checks = checks
        if checks.contains(where: \.stopsCharges) { return .bad }
        return min(.note, checks.map(\.weight).max() ?? .good)
    }

    private var gatewayCheck: HealthCheck {
        guard isSetUp else {
            return HealthCheck(
                "gateway",
                .off,
                "health_gateway_not_set",
                "No gateway is set up yet.",
                "Finish the settings."
            )
        }
        return switch gateway {
        case .ready: HealthCheck("gateway", .good, "health_gateway_ready", "The gateway answers.")
        case .unknown:
            HealthCheck("gateway", .off, "health_gateway_not_asked", "The gateway has not been asked yet.")
        case .unreachable:
            HealthCheck(
                "gateway",
                .bad,
                "health_gateway_unreachable",
                "The gateway cannot be reached. Payments by code fail. The terminal keeps asking about those without an outcome.",
                "Check the network and the gateway’s address in the settings."
            )
        case .clock: HealthCheck("gateway", .bad, .gatewayClock)
        case .paused:
            HealthCheck(
                "gateway",
                .bad,
                gatewayPause
                    ?? Reason(code: "gateway_paused", message: "The gateway asks the terminal to wait.", action: "")
            )
        case .refused:
            HealthCheck(
                "gateway",
                .bad,
                "health_gateway_refused",
                "The gateway does not accept this terminal’s key or merchant ID. No payment by code can be made.",
                "Enter them again in the settings."
            )
        }
    }

    private var acquirerCheck: HealthCheck? {
        guard let tap else { return nil }
        guard tap.isEnabled else {
            return HealthCheck(
                "acquirer",
                .off,
                "health_acquirer_off",
                "Payments from phones are switched off."
            )
        }
        if let hindrance = tap.hindrance { return HealthCheck("acquirer", .bad, hindrance) }
        let waiting = tap.waiting
        let waits = waiting == 0 ? "" : " Payments taken offline and not booked yet: \(waiting)."
        guard tap.isAcquirerReachable || tap.acquirerHeardAt == nil else {
            return HealthCheck(
                "acquirer",
                .note,
                waiting == 0 ? "health_acquirer_silent" : "health_acquirer_silent_waiting",
                "The acquirer did not answer when it was asked last.\(waits)",
                "Check the network. Keep the terminal switched on.",
                waiting == 0 ? [:] : ["waiting": "\(waiting)"]
            )
        }
        if tap.acquirerHeardAt == nil {
            return HealthCheck(
                "acquirer",
                .off,
                "health_acquirer_not_asked",
                "The acquirer has not been asked yet."
            )
        }
        guard waiting > 0 else {
            return HealthCheck("acquirer", .good, "health_acquirer_ready", "The acquirer answers.")
        }
        return HealthCheck(
            "acquirer",
            .note,
            "health_acquirer_waiting",
            "The acquirer answers.\(waits)",
            "",
            ["waiting": "\(waiting)"]
        )
    }

    private var radioCheck: HealthCheck? {
        guard let tap, tap.isEnabled else {
            if machine.radios.isEmpty { return nil }
            let names = machine.radios.map(\.name).joined(separator: ", ")
            return HealthCheck(
                "radio",
                .off,
                "health_radio_unused",
                "There is a Bluetooth adapter (\(names)). It is not used.",
                "",
                ["names": names]
            )
        }
        let cure = "Payments by code go on. Look at docs/bluetooth.md, or run: till doctor radio"
        switch tap.radio {
        case .ready:
            if machine.radios.contains(where: { $0.isBlocked == true }), machine.radios.count == 1 {
                return HealthCheck(
                    "radio",
                    .bad,
                    "health_radio_blocked",
                    "A switch of this machine holds Bluetooth off.",
                    cure
                )
            }
            return HealthCheck("radio", .good, "health_radio_ready", "Bluetooth works.")
        case .off(let reason), .gone(let reason):
            let detail = Reason.clean(reason)
            return HealthCheck(
                "radio",
                .bad,
                "health_radio_off",
                "Phones cannot be met: \(detail).",
                cure,
                ["detail": detail]
            )
        }
    }

    private var relayCheck: HealthCheck {
        switch connect {
        case .off:
            HealthCheck("relay", .off, "health_relay_off", "Payments from wallets that connect are switched off.")
        case .connecting:
            HealthCheck("relay", .note, "health_relay_connecting", "The terminal connects to the wallets’ relay.")
        case .ready: HealthCheck("relay", .good, "health_relay_ready", "Wallets can connect.")
        case .hindered(let reason): HealthCheck("relay", .bad, reason)
        }
    }

    private var journalCheck: HealthCheck {
        if let journalFault { return HealthCheck("journal", .bad, journalFault) }
        if let journalGap {
            let at = ["at": journalGap.at.moment]
            return switch journalGap.kind {
            case .restored:
                HealthCheck(
                    "journal",
                    .note,
                    "health_journal_restored",
                    "The record of payments was restored from a backup on \(journalGap.at.moment). Charges after the backup are not in it.",
                    "Compare the days between with the gateway before you charge one of those payments again.",
                    at
                )
            case .endLost:
                HealthCheck(
                    "journal",
                    .note,
                    "health_journal_shorter",
                    "The record of payments has lost its end, noticed on \(journalGap.at.moment). Charges before that may be missing.",
                    "Compare the last days with the gateway and ask for help: the storage is failing, or somebody changed it.",
                    at
                )
            }
        }
        let size = Self.size(journalBytes)
        return HealthCheck(
            "journal",
            .good,
            "health_journal_ready",
            "The record of payments takes entries: \(size).",
            "",
            ["size": size]
        )
    }

    private var storageCheck: HealthCheck {
        guard let storage = machine.storage, storage.totalBytes > 0 else {
            return HealthCheck(
                "storage",
                .off,
                "health_storage_not_said",
                "The machine does not say how much room there is."
            )
        }
        let values = ["free": Self.size(storage.freeBytes), "total": Self.size(storage.totalBytes)]
        let words = "\(Self.size(storage.freeBytes)) of \(Self.size(storage.totalBytes)) are free."
        if storage.isReadOnly {
            return HealthCheck(
                "storage",
                .bad,
                "health_storage_read_only",
                "The storage takes no writes. No charge can be made.",
                "Restart the terminal; if it stays so, replace the storage."
            )
        }
        // A charge with everything that belongs to it takes some 8 KB.
        if storage.freeBytes < 64 << 20 {
            return HealthCheck(
                "storage",
                .bad,
                "health_storage_full",
                words + " Soon no charge can be recorded.",
                "Free some room.",
                values
            )
        }
        if storage.freeBytes < 512 << 20 {
            return HealthCheck("storage", .note, "health_storage_low", words, "Free some room.", values)
        }
        return HealthCheck("storage", .good, "health_storage_good", words, "", values)
    }

    private var wearCheck: HealthCheck? {
        guard let worst = machine.wear.max(by: { ($0.usedPercent ?? 0) < ($1.usedPercent ?? 0) }) else { return nil }
        let (device, percent) = (worst.device, worst.usedPercent)
        if let percent, percent > 100 {
            return HealthCheck(
                "wear",
                .bad,
                "health_wear_over",
                "The storage \(device) has used all of its life.",
                "Take a backup and replace it.",
                ["device": device]
            )
        }
        if worst.isNearItsEnd == true {
            return HealthCheck(
                "wear",
                .bad,
                "health_wear_reserve",
                "The storage \(device) uses up its reserve.",
                "Take a backup and replace it.",
                ["device": device]
            )
        }
        guard let percent else {
            return HealthCheck(
                "wear",
                .good,
                "health_wear_some",
                "The storage \(device) has used a part of its life.",
                "",
                ["device": device]
            )
        }
        let words = "The storage \(device) has used up to \(percent) % of its life."
        let values = ["device": device, "percent": "\(percent)"]
        return percent >= 80
            ? HealthCheck("wear", .note, "health_wear_high", words, "Plan to replace it.", values)
            : HealthCheck("wear", .good, "health_wear_good", words, "", values)
    }

    private var clockCheck: HealthCheck {
        let action = "Let the terminal reach a time server (NTP, UDP port 123)."
        if let offset, abs(offset.milliseconds) >= 30_000 {
            let seconds = abs(offset.milliseconds) / 1000
            let isBehind = offset.milliseconds > 0
            return HealthCheck(
                "clock",
                seconds >= 300 ? .bad : .note,
                isBehind ? "health_clock_behind" : "health_clock_ahead",
                "The clock is \(seconds) s \(isBehind ? "behind" : "ahead of") the gateway’s."
                    + " Times on receipts are wrong, and payments may be refused.",
                action,
                ["seconds": "\(seconds)"]
            )
        }
        if clock.isSynchronised {
            return HealthCheck("clock", .good, "health_clock_good", "The clock is set by a time server.")
        }
        if clock.isSet {
            let words = "The clock runs by itself; no time server sets it."
            return HealthCheck("clock", .note, "health_clock_alone", words, action)
        }
        if tap?.takesOffline == true {
            let words = "The terminal does not know the time. Nothing is taken offline until it knows the time."
            return HealthCheck("clock", .note, "health_clock_unknown_offline", words, action)
        }
        // Charges go on: where the gateway cannot be believed for it, the gateway's check says so.
        return HealthCheck("clock", .note, "health_clock_unknown", "The terminal does not know the time.", action)
    }

    private var temperatureCheck: HealthCheck? {
        let hottest = machine.temperatures.max { $0.milliCelsius < $1.milliCelsius }
        let degrees = hottest.map { "\($0.milliCelsius / 1000)" }
        let values = degrees.map { ["degrees": $0] } ?? [:]
        if machine.slowdown.isUnderVoltage == true {
            return HealthCheck(
                "temperature",
                .bad,
                "health_power_low",
                "The power supply gives too little.",
                "Use the power supply and the cable made for this board."
            )
        }
        if machine.slowdown.isNow == true {
            return HealthCheck(
                "temperature",
                .note,
                degrees == nil ? "health_slowed" : "health_slowed_at",
                "The machine slows down to stay cool" + (degrees.map { ": \($0) °C." } ?? "."),
                "Give it air.",
                values
            )
        }
        guard let hottest, let degrees else { return nil }
        if hottest.milliCelsius >= 90_000 {
            let words = "The machine is too hot: \(degrees) °C."
            return HealthCheck("temperature", .bad, "health_too_hot", words, "Give it air.", values)
        }
        return hottest.milliCelsius >= 80_000
            ? HealthCheck(
                "temperature",
                .note,
                "health_hot",
                "The machine is hot: \(degrees) °C.",
                "Give it air.",
                values
            )
            : HealthCheck("temperature", .good, "health_temperature", "\(degrees) °C.", "", values)
    }

    private var memoryCheck: HealthCheck? {
        guard let memory = machine.memory else { return nil }
        let values = ["free": Self.size(memory.availableBytes), "total": Self.size(memory.totalBytes)]
        let words = "\(Self.size(memory.availableBytes)) of \(Self.size(memory.totalBytes)) are free."
        let percent = memory.availableBytes / max(1, memory.totalBytes / 100)
        return percent >= 10
            ? HealthCheck("memory", .good, "health_memory_good", words, "", values)
            : HealthCheck(
                "memory",
                .note,
                "health_memory_low",
                words,
                "Stop other programs on this machine, or restart it.",
                values
            )
    }

    /// Nobody needs it to take payments: at worst a note.
    private var nameCheck: HealthCheck {
        let byNumber = "Everything else works; the page is reached by its number."
        switch localName {
        case .off:
            return HealthCheck("name", .off, "health_name_off", "The terminal has no name in the local network.")
        case .asking:
            return HealthCheck(
                "name",
                .off,
                "health_name_asking",
                "The terminal asks for its name in the local network."
            )
        case .published(let host):
            return HealthCheck(
                "name",
                .good,
                "health_name_found",
                "The local network finds the terminal as \(host).",
                "",
                ["host": host]
            )
        case .noNetwork:
            let words = "There is no network that the terminal could have a name in."
            return HealthCheck("name", .note, "health_name_no_network", words, "Connect it to the shop’s network.")
        case .noDaemon:
            let words = "Avahi does not run, so the local network does not find the terminal by its name."
            let action = "Start avahi-daemon on this machine, or install it. \(byNumber)"
            return HealthCheck("name", .note, "health_name_no_avahi", words, action)
        case .noBus(let text):
            let detail = Reason.clean(text)
            let words =
                "The machine’s message bus cannot be used, so the local network does not find the terminal by its name"
            return HealthCheck(
                "name",
                .note,
                "health_name_no_bus",
                "\(words): \(detail).",
                "Restart the terminal. \(byNumber)",
                ["detail": detail]
            )
        case .refused(let text):
            let detail = Reason.clean(text)
            return HealthCheck(
                "name",
                .note,
                "health_name_refused",
                "Avahi does not publish the terminal’s name: \(detail).",
                "It is asked again and again. \(byNumber)",
                ["detail": detail]
            )
        case .taken:
            let words = "Other devices have the terminal’s name and all that come after it."
            return HealthCheck(
                "name",
                .note,
                "health_name_taken",
                words,
                "Look for terminals that were copied from this one. \(byNumber)"
            )
        }
    }

    private var certificateCheck: HealthCheck {
        let days = at.duration(to: certificateEnds).components.seconds / 86_400
        let values = ["days": "\(days)"]
        // The terminal renews its own 30 days before its end. Others' certificates often hold for not much longer.
        if days >= (isOwnersCertificate ? 10 : 30) {
            let words = "The page’s certificate is good for \(days) days."
            return HealthCheck("certificate", .good, "health_certificate_good", words, "", values)
        }
        let action =
            isOwnersCertificate
            ? "Put in the next one under Settings, Certificate, or restart the terminal: it uses its own, and browsers warn."
            : "Restart the terminal: it makes a new one. Browsers will warn once more."
        let owners = isOwnersCertificate ? "_own" : ""
        if at > certificateEnds {
            let words = "The page’s certificate has ended."
            return HealthCheck("certificate", .bad, "health_certificate\(owners)_ended", words, action)
        }
        let words = "The page’s certificate ends in \(days) days."
        return HealthCheck("certificate", .note, "health_certificate\(owners)_ends", words, action, values)
    }
}
