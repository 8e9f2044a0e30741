import Machine
import Payments
import Terminal

/// Everything that the health of a terminal is judged by, at one moment.
struct HealthFacts: Sendable {
    var at: WallTime
    var startedAt: WallTime
    var isSetUp = true
    var gateway = GatewayLight.unknown
    var tap: Tap?
    var connect = ConnectStatus.Light.off
    /// Nil where there are none.
    var webhooksCheck: HealthCheck?
    /// Why nothing can be recorded; nil where it can.
    var journalFault: Reason?
    var journalBytes = 0
    var machine = MachineFacts()
    var clock = MachineView.Clock(isSet: true, isSynchronised: true)
    var offset: MachineView.Offset?
    var certificateEnds: WallTime
    var fingerprint = ""
    var addresses: [String] = []
    var versions: [String: String] = [:]
    var processBytes: Int?
    var openFiles: Int?

    /// What is known of payments by phone.
    struct Tap: Sendable {
        var light: TapStatus.Light
        var isEnabled: Bool
        /// Whether the acquirer answered when it was asked last.
        var isAcquirerReachable: Bool
        var acquirerHeardAt: WallTime?
        /// What is missing of the acquirer's side.
        var hindrance: Reason?
        var radio: TapRadioHealth
        var phoneHeardAt: WallTime?
        /// Payments that were taken offline and wait to be sent.
        var waiting: Int
        var takesOffline: Bool
    }

    // MARK: - Judged

    /// Each part, the ways to pay first.
    var checks: [HealthCheck] {
        [
            gatewayCheck, acquirerCheck, radioCheck, relayCheck, webhooksCheck, journalCheck, storageCheck, wearCheck,
            clockCheck,
            temperatureCheck, memoryCheck, certificateCheck,
        ].compactMap(\.self)
    }

    private var gatewayCheck: HealthCheck {
        guard isSetUp else {
            return HealthCheck("gateway", .off, "No gateway is set up yet.", "Finish the settings.")
        }
        return switch gateway {
        case .ready: HealthCheck("gateway", .good, "The gateway answers.")
        case .unknown: HealthCheck("gateway", .off, "The gateway has not been asked yet.")
        case .unreachable:
            HealthCheck(
                "gateway",
                .bad,
                "The gateway cannot be reached. Payments by code fail; open ones are asked about until it answers.",
                "Check the network and the gateway’s address in the settings."
            )
        case .refused:
            HealthCheck(
                "gateway",
                .bad,
                "The gateway does not accept this terminal’s key or merchant ID. No payment by code can be made.",
                "Enter them again in the settings."
            )
        }
    }

    private var acquirerCheck: HealthCheck? {
        guard let tap else { return nil }
        guard tap.isEnabled else { return HealthCheck("acquirer", .off, "Payments from phones are switched off.") }
        if let hindrance = tap.hindrance { return HealthCheck("acquirer", .bad, hindrance) }
        let waiting = tap.waiting
        let waits = waiting == 0 ? "" : " Payments taken offline and not booked yet: \(waiting)."
        guard tap.isAcquirerReachable || tap.acquirerHeardAt == nil else {
            return HealthCheck(
                "acquirer",
                .note,
                "The acquirer did not answer when it was asked last.\(waits)",
                "Check the network. Keep the terminal switched on."
            )
        }
        if tap.acquirerHeardAt == nil { return HealthCheck("acquirer", .off, "The acquirer has not been asked yet.") }
        return HealthCheck("acquirer", waiting == 0 ? .good : .note, "The acquirer answers.\(waits)")
    }

    private var radioCheck: HealthCheck? {
        guard let tap, tap.isEnabled else {
            if machine.radios.isEmpty { return nil }
            let names = machine.radios.map(\.name).joined(separator: ", ")
            return HealthCheck("radio", .off, "There is a Bluetooth adapter (\(names)). It is not used.")
        }
        let cure = "Payments by code go on. Look at docs/bluetooth.md, or run: till doctor radio"
        switch tap.radio {
        case .ready:
            if machine.radios.contains(where: { $0.isBlocked == true }), machine.radios.count == 1 {
                return HealthCheck("radio", .bad, "A switch of this machine holds Bluetooth off.", cure)
            }
            return HealthCheck("radio", .good, "Bluetooth works.")
        case .off(let reason), .gone(let reason):
            return HealthCheck("radio", .bad, "Phones cannot be met: \(Reason.clean(reason)).", cure)
        }
    }

    private var relayCheck: HealthCheck {
        switch connect {
        case .off: HealthCheck("relay", .off, "Payments from wallets that connect are switched off.")
        case .connecting: HealthCheck("relay", .note, "The terminal connects to the wallets’ relay.")
        case .ready: HealthCheck("relay", .good, "Wallets can connect.")
        case .hindered(let reason): HealthCheck("relay", .bad, reason)
        }
    }

    private var journalCheck: HealthCheck {
        if let journalFault { return HealthCheck("journal", .bad, journalFault) }
        return HealthCheck("journal", .good, "The record of payments takes entries: \(Self.size(journalBytes)).")
    }

    private var storageCheck: HealthCheck {
        guard let storage = machine.storage, storage.totalBytes > 0 else {
            return HealthCheck("storage", .off, "The machine does not say how much room there is.")
        }
        let words = "\(Self.size(storage.freeBytes)) of \(Self.size(storage.totalBytes)) are free."
        if storage.isReadOnly {
            return HealthCheck(
                "storage",
                .bad,
                "The storage takes no writes. No charge can be made.",
                "Restart the terminal; if it stays so, replace the storage."
            )
        }
        // A charge with everything that belongs to it takes some 8 KB.
        if storage.freeBytes < 64 << 20 {
            return HealthCheck("storage", .bad, words + " Soon no charge can be recorded.", "Free some room.")
        }
        if storage.freeBytes < 512 << 20 { return HealthCheck("storage", .note, words, "Free some room.") }
        return HealthCheck("storage", .good, words)
    }

    private var wearCheck: HealthCheck? {
        guard let worst = machine.wear.max(by: { ($0.usedPercent ?? 0) < ($1.usedPercent ?? 0) }) else { return nil }
        let used = worst.usedPercent.map { $0 > 100 ? "all of it" : "up to \($0) %" } ?? "a part"
        let words = "The storage \(worst.device) has used \(used) of its life."
        if worst.isNearItsEnd == true || (worst.usedPercent ?? 0) > 100 {
            return HealthCheck("wear", .bad, words, "Take a backup and replace it.")
        }
        return (worst.usedPercent ?? 0) >= 80
            ? HealthCheck("wear", .note, words, "Plan to replace it.") : HealthCheck("wear", .good, words)
    }

    private var clockCheck: HealthCheck {
        if let offset, abs(offset.milliseconds) >= 30_000 {
            let seconds = abs(offset.milliseconds) / 1000
            let words = "The clock is \(seconds) s \(offset.milliseconds > 0 ? "behind" : "ahead of") the gateway’s."
            return HealthCheck(
                "clock",
                seconds >= 300 ? .bad : .note,
                words + " Times on receipts are wrong, and payments may be refused.",
                "Let the terminal reach a time server (NTP, UDP port 123)."
            )
        }
        if clock.isSynchronised { return HealthCheck("clock", .good, "The clock is set by a time server.") }
        let action = "Let the terminal reach a time server (NTP, UDP port 123)."
        if clock.isSet {
            return HealthCheck("clock", .note, "The clock runs by itself; no time server sets it.", action)
        }
        let offline = tap?.takesOffline == true ? " Nothing is taken offline until it knows the time." : ""
        return HealthCheck("clock", .bad, "The terminal does not know the time.\(offline)", action)
    }

    private var temperatureCheck: HealthCheck? {
        let hottest = machine.temperatures.max { $0.milliCelsius < $1.milliCelsius }
        let words = hottest.map { "\($0.milliCelsius / 1000) °C" }
        if machine.slowdown.isUnderVoltage == true {
            return HealthCheck(
                "temperature",
                .bad,
                "The power supply gives too little.",
                "Use the power supply and the cable made for this board."
            )
        }
        if machine.slowdown.isNow == true {
            return HealthCheck(
                "temperature",
                .note,
                "The machine slows down to stay cool" + (words.map { ": \($0)." } ?? "."),
                "Give it air."
            )
        }
        guard let hottest, let words else { return nil }
        if hottest.milliCelsius >= 90_000 {
            return HealthCheck("temperature", .bad, "The machine is too hot: \(words).", "Give it air.")
        }
        return hottest.milliCelsius >= 80_000
            ? HealthCheck("temperature", .note, "The machine is hot: \(words).", "Give it air.")
            : HealthCheck("temperature", .good, words + ".")
    }

    private var memoryCheck: HealthCheck? {
        guard let memory = machine.memory else { return nil }
        let words = "\(Self.size(memory.availableBytes)) of \(Self.size(memory.totalBytes)) are free."
        let percent = memory.availableBytes / max(1, memory.totalBytes / 100)
        return percent >= 10
            ? HealthCheck("memory", .good, words)
            : HealthCheck("memory", .note, words, "Stop other programs on this machine, or restart it.")
    }

    private var certificateCheck: HealthCheck {
        let days = at.duration(to: certificateEnds).components.seconds / 86_400
        if days >= 30 { return HealthCheck("certificate", .good, "The page’s certificate is good for \(days) days.") }
        let isOver = at > certificateEnds
        return HealthCheck(
            "certificate",
            isOver ? .bad : .note,
            isOver ? "The page’s certificate has ended." : "The page’s certificate ends in \(days) days.",
            "Restart the terminal: it makes a new one. Browsers will warn once more."
        )
    }

    /// In words: `1.2 GB`.
    static func size(_ bytes: Int) -> String {
        for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB")] where bytes >= unit {
            let tenths = bytes / (unit / 10)
            return tenths >= 100 ? "\(tenths / 10) \(name)" : "\(tenths / 10).\(tenths % 10) \(name)"
        }
        return "\(bytes) bytes"
    }
}
