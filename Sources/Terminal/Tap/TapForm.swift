import Payments
import TapProtocol

/// Tap settings as a form sends them: text, not yet trusted. Nil keeps what is stored.
public struct TapForm: Sendable, Equatable {
    public var isEnabled: Bool?
    public var mode: String?
    public var acquirerURL: String?
    public var acquirerLogin: String?
    /// The merchant's password at the acquirer. Empty keeps the stored one too.
    public var acquirerPassword: String?
    public var terminalID: String?
    public var serviceUUID: String?
    /// The service's characteristics. Empty where one follows from the service.
    public var writeUUID: String?
    public var statusUUID: String?
    public var readUUID: String?
    /// The payment app's own link. Empty for none.
    public var appLink: String?
    /// Empty for none.
    public var walletProjectID: String?
    public var acceptsUnknownSignal: Bool?
    public var tapThreshold: Int64?
    public var nearThreshold: Int64?
    public var openThreshold: Int64?
    public var taggedThreshold: Int64?
    public var tipMode: String?
    public var tipMaximumPercent: Int64?
    /// Percents with commas between them.
    public var tipPresets: String?
    public var isOfflineAllowed: Bool?
    public var offlineFloorMinor: Int64?
    public var offlineTotalMinor: Int64?
    public var offlineHours: Int64?
    /// 0 for never.
    public var shortCodeAboveMinor: Int64?
    /// In milliseconds, by the names of ``TapTimers``. What is not named stays.
    public var times: [String: Int64]?
    /// Makes a new tag: stickers and codes with the one before are void.
    public var renewsTag: Bool?

    public init() {}
}

extension TapForm {
    /// The settings that the form means, over those that hold now.
    /// - Throws: ``FormErrors``, one reason for each field that is wrong.
    func checked(over stored: TapSettings, hasPassword: Bool, acquirers: GatewayPolicy) throws(FormErrors)
        -> TapSettings
    {
        var settings = stored
        // Whoever saves has seen what stands there instead.
        settings.notUnderstood = []
        var errors: [String: Reason] = [:]
        if let isEnabled { settings.isEnabled = isEnabled }
        if let acceptsUnknownSignal { settings.acceptsUnknownSignal = acceptsUnknownSignal }
        if let mode {
            if let known = TapMode(rawValue: mode) { settings.mode = known } else { errors["mode"] = Self.choose }
        }
        checkCharacteristics(&settings, &errors)
        if let appLink {
            if Self.isAppLink(appLink) {
                settings.appLink = appLink
            } else {
                errors["appLink"] = Reason(
                    code: "app_link_invalid",
                    message: "This is not the link of an app.",
                    action: "Enter it as its maker gives it, such as https://pay.example/tap, or leave it empty."
                )
            }
        }
        if let walletProjectID {
            if walletProjectID.utf8.count <= 64, walletProjectID.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
                settings.walletProjectID = walletProjectID
            } else {
                errors["walletProjectID"] = Reason(
                    code: "project_invalid",
                    message: "This is not the name of a project at WalletConnect.",
                    action: "Copy it from your WalletConnect dashboard, or leave it empty."
                )
            }
        }
        checkAcquirer(&settings, &errors, hasPassword: hasPassword, acquirers)
        checkThresholds(&settings, &errors)
        checkTips(&settings, &errors)
        checkOffline(&settings, &errors)
        checkTimes(&settings, &errors)
        if let shortCodeAboveMinor {
            if (0...1_000_000_000_000).contains(shortCodeAboveMinor) {
                settings.shortCodeAboveMinorUnits = shortCodeAboveMinor == 0 ? nil : shortCodeAboveMinor
            } else {
                errors["shortCodeAboveMinor"] = Self.outOfRange("zero", "ten thousand million")
            }
        }
        guard errors.isEmpty else { throw FormErrors(errors) }
        return settings
    }

    /// A host and perhaps a path, behind https. A tag has 512 bytes at most, and its own part takes up to 260 of them.
    private static func isAppLink(_ text: String) -> Bool {
        guard !text.isEmpty else { return true }
        guard text.hasPrefix("https://"), text.utf8.count <= 200 else { return false }
        let rest = text.dropFirst(8)
        let host = rest.prefix { $0 != "/" }
        let isHost = host.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || ".-".utf8.contains(byte)
        }
        return isHost && host.contains(".") && host.first != "." && host.last != "."
            && rest.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"#\"<>\\^`{|}".utf8.contains($0) }
    }

    /// The service, and what does not follow from it. A characteristic of its own stays where another service is entered.
    private func checkCharacteristics(_ settings: inout TapSettings, _ errors: inout [String: Reason]) {
        let stored = settings.characteristics
        var service = stored.service
        if let serviceUUID {
            if let uuid = ServiceUUID(serviceUUID) {
                service = uuid
            } else {
                errors["serviceUUID"] = Reason(
                    code: "uuid_invalid",
                    message: "This is not a Bluetooth service’s name.",
                    action: "Enter 32 hexadecimal digits in the form 7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9."
                )
            }
        }
        func own(_ text: String?, _ name: String, _ kept: ServiceUUID?) -> ServiceUUID? {
            guard let text else { return kept }
            guard !text.isEmpty else { return nil }
            if let uuid = ServiceUUID(text) { return uuid }
            errors[name] = Reason(
                code: "uuid_invalid",
                message: "This is not a Bluetooth characteristic’s name.",
                action: "Leave it empty, or enter 32 digits in the form 7d2b0002-5c1e-4f0a-9b6d-3a8e41f7c2d9."
            )
            return nil
        }
        let write = own(writeUUID, "writeUUID", stored.ownWrite)
        let status = own(statusUUID, "statusUUID", stored.ownStatus)
        let read = own(readUUID, "readUUID", stored.ownRead)
        let entered = TapCharacteristics(service: service, write: write, status: status, read: read)
        let all = [entered.service, entered.write, entered.status, entered.read]
        // Those that follow from the service are never two alike.
        for (name, uuid) in [("writeUUID", write), ("statusUUID", status), ("readUUID", read)] {
            guard let uuid, all.count(where: { $0 == uuid }) > 1 else { continue }
            errors[name] = Reason(
                code: "uuid_twice",
                message: "The service or another characteristic has this name.",
                action: "Enter another one, or leave it empty."
            )
        }
        settings.characteristics = entered
    }

    private func checkAcquirer(
        _ settings: inout TapSettings,
        _ errors: inout [String: Reason],
        hasPassword: Bool,
        _ acquirers: GatewayPolicy
    ) {
        if let acquirerURL { settings.acquirerURL = acquirerURL }
        if let acquirerLogin { settings.acquirerLogin = acquirerLogin }
        if let terminalID { settings.terminalID = terminalID }
        // What is switched off may be half filled in.
        guard settings.isEnabled else { return }
        errors["acquirerURL"] = acquirers.error(in: settings.acquirerURL)
        if settings.acquirerLogin.isEmpty || settings.acquirerLogin.utf8.count > 256 {
            errors["acquirerLogin"] = Self.required("the name that the acquirer knows you by")
        }
        let isPlain = settings.terminalID.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "._-".utf8.contains(byte)
        }
        if settings.terminalID.isEmpty || settings.terminalID.utf8.count > 64 || !isPlain {
            errors["terminalID"] = Self.required(
                "the terminal’s name at the acquirer: letters, digits, dots and dashes"
            )
        }
        if acquirerPassword?.isEmpty ?? true, !hasPassword {
            errors["acquirerPassword"] = Self.required("the acquirer’s password")
        }
    }

    private func checkThresholds(_ settings: inout TapSettings, _ errors: inout [String: Reason]) {
        func take(_ value: Int64?, _ name: String, _ set: (Int) -> Void) {
            guard let value else { return }
            if let number = Int(exactly: value), TapThresholds.range.contains(number) {
                set(number)
            } else {
                errors[name] = Self.outOfRange("-100 dBm", "-20 dBm")
            }
        }
        take(tapThreshold, "tapThreshold") { settings.thresholds.tap = $0 }
        take(nearThreshold, "nearThreshold") { settings.thresholds.near = $0 }
        take(openThreshold, "openThreshold") { settings.thresholds.open = $0 }
        take(taggedThreshold, "taggedThreshold") { settings.thresholds.tagged = $0 }
    }

    private func checkTips(_ settings: inout TapSettings, _ errors: inout [String: Reason]) {
        if let tipMode {
            if let known = TapSettings.Tips.Mode(rawValue: tipMode) {
                settings.tips.mode = known
            } else {
                errors["tipMode"] = Self.choose
            }
        }
        if let tipMaximumPercent {
            if (1...100).contains(tipMaximumPercent) {
                settings.tips.maximumPercent = Int(tipMaximumPercent)
            } else {
                errors["tipMaximumPercent"] = Self.outOfRange("1 percent", "100 percent")
            }
        }
        guard let tipPresets else { return }
        let parts = tipPresets.split(separator: ",").map { $0.filter { $0 != " " } }
        let presets = parts.compactMap { Int($0) }
        guard presets.count == parts.count, presets.count <= 8, presets.allSatisfy((1...100).contains) else {
            errors["tipPresets"] = Reason(
                code: "presets_invalid",
                message: "These are not up to eight percents between 1 and 100.",
                action: "Enter them with commas between them, such as 5, 10, 15."
            )
            return
        }
        settings.tips.presetsPercent = presets
    }

    private func checkOffline(_ settings: inout TapSettings, _ errors: inout [String: Reason]) {
        if let isOfflineAllowed { settings.offline.isAllowed = isOfflineAllowed }
        if let offlineHours {
            if (1...72).contains(offlineHours) {
                settings.offline.maximumHours = Int(offlineHours)
            } else {
                errors["offlineHours"] = Self.outOfRange("1 hour", "72 hours")
            }
        }
        if let offlineFloorMinor { settings.offline.floorMinorUnits = offlineFloorMinor }
        if let offlineTotalMinor { settings.offline.totalMinorUnits = offlineTotalMinor }
        let amounts: ClosedRange<Int64> = 0...1_000_000_000_000
        if !amounts.contains(settings.offline.floorMinorUnits) {
            errors["offlineFloorMinor"] = Self.outOfRange("zero", "ten thousand million")
        } else if !amounts.contains(settings.offline.totalMinorUnits)
            || settings.offline.totalMinorUnits < settings.offline.floorMinorUnits
        {
            errors["offlineTotalMinor"] = Reason(
                code: "limit_below_floor",
                message: "The limit of everything taken offline is below that of one payment.",
                action: "Enter at least the limit of one payment."
            )
        }
    }

    private func checkTimes(_ settings: inout TapSettings, _ errors: inout [String: Reason]) {
        for (name, milliseconds) in times ?? [:] where !settings.timers.set(name, milliseconds: milliseconds) {
            guard let time = settings.timers.list.first(where: { $0.name == name }) else {
                errors["times.\(name.prefix(40))"] = Reason(
                    code: "unknown_field",
                    message: "There is no such field.",
                    action: "Leave it out."
                )
                continue
            }
            func seconds(_ milliseconds: Int64) -> String {
                let rest = String(1000 + milliseconds % 1000).dropFirst().reversed().drop { $0 == "0" }.reversed()
                return "\(milliseconds / 1000)\(rest.isEmpty ? "" : "." + String(rest)) s"
            }
            errors["times.\(name)"] = Self.outOfRange(
                seconds(time.bounds.lowerBound),
                seconds(time.bounds.upperBound)
            )
        }
    }

    private static let choose = Reason(
        code: "choice_unknown",
        message: "The terminal does not know this choice.",
        action: "Choose one of the list."
    )

    private static func required(_ what: String) -> Reason {
        Reason(code: "required", message: "Tap needs \(what).", action: "Enter it as you were given it.")
    }

    private static func outOfRange(_ from: String, _ to: String) -> Reason {
        Reason(
            code: "out_of_range",
            message: "This must be between \(from) and \(to).",
            action: "Enter a number within that range."
        )
    }
}
