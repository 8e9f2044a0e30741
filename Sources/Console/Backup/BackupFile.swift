import Foundation
import Payments
import StrictJSON

/// One part of what the owner sets, with the names of its fields, as its address takes them.
enum BackupPart: String, CaseIterable, Sendable {
    // In the order in which they are brought in: amounts of the others are in the first one's currency.
    case settings, taps, connect, customers, receipts, counter, logo, outbox

    var fields: [String] {
        switch self {
        case .settings:
            [
                "operatorID", "merchantID", "merchantName", "gatewayURL", "currency", "locale", "language",
                "chargeLimitMinor", "hourlyLimitMinor", "timeZone",
            ]
        case .taps:
            [
                "enabled", "mode", "acquirerURL", "acquirerLogin", "terminalID", "serviceUUID", "writeUUID",
                "statusUUID", "readUUID", "appLink", "walletProjectID", "acceptUnknownSignal", "tapThreshold",
                "nearThreshold", "openThreshold", "taggedThreshold", "tipMode", "tipMaximumPercent", "tipPresets",
                "offlineAllowed",
                "offlineFloorMinor", "offlineTotalMinor", "offlineHours", "shortCodeAboveMinor", "times",
            ]
        case .connect: ["enabled", "relayURL", "projectID", "chains", "oneCode"]
        case .customers: ["enabled", "onScreen", "address", "suppliedWallets", "wallets"]
        case .receipts:
            [
                "printer", "columns", "codePage", "cut", "drawer", "code", "logo", "automatic", "terminal", "header",
                "footer",
            ]
        case .counter:
            [
                "tipMode", "tipMaximumPercent", "tipPresets", "keypadMode", "keypadErase", "screenRest",
                "screenRestFrom",
                "screenRestUntil", "sound", "soundLoudness",
            ]
        case .logo: ["image"]
        case .outbox: ["enabled", "host", "port", "database", "user", "authorities"]
        }
    }

    /// The secret that belongs to it, by its field.
    var secret: (field: String, name: String)? {
        switch self {
        case .settings: ("gatewayKey", "gateway-key")
        case .taps: ("acquirerPassword", "tap-acquirer-password")
        case .outbox: ("outboxPassword", Outbox.secretName)
        case .connect, .customers, .receipts, .counter, .logo: nil
        }
    }

    /// Whether its form takes the owner's password.
    var takesPassword: Bool { self == .settings || self == .taps || self == .customers || self == .outbox }
}

/// Everything that the owner set, as a file that another terminal takes.
struct BackupFile: Sendable {
    static let kind = "till settings"
    static let version: Int64 = 1
    static let bodyBytes = CustomerForm.bodyBytes + LogoDesk.bodyBytes + Form.usualBytes

    /// Fields by part; as JSON values.
    var parts: [BackupPart: [String: ExactJSON]] = [:]
    var sealed: SealedSecrets?
    var madeAt: WallTime?
    var madeBy = ""

    init() {}

    /// - Throws: ``Problem`` where this is no such file, or one of a later version.
    init(_ value: ExactJSON?) throws(Problem) {
        guard let value, value.value(named: "kind") == .string(Self.kind) else {
            throw Self.wrong("This is no file of a terminal’s settings.")
        }
        guard case .number(let digits)? = value.value(named: "version"), let version = Int64(digits), version >= 1
        else {
            throw Self.wrong("The file does not say which version it is.")
        }
        guard version <= Self.version else {
            throw .field(
                "file",
                Reason(
                    code: "backup_newer",
                    message: "The file comes from a newer version of the program. Nothing was changed.",
                    action: "Update this terminal first."
                )
            )
        }
        guard case .object(let members)? = value.value(named: "parts") else {
            throw Self.wrong("The file holds no settings.")
        }
        for member in members {
            guard let part = BackupPart(rawValue: member.name), case .object(let fields) = member.value else {
                throw Self.wrong(
                    "The file holds a part that this terminal does not know: \(Reason.clean(member.name))."
                )
            }
            var known: [String: ExactJSON] = [:]
            for field in fields {
                guard part.fields.contains(field.name) else {
                    throw Self.wrong(
                        "The file sets something that this terminal does not know: \(Reason.clean(field.name))."
                    )
                }
                known[field.name] = field.value
            }
            parts[part] = known
        }
        if let secrets = value.value(named: "secrets"), secrets != .null {
            guard let sealed = SealedSecrets(secrets) else {
                throw Self.wrong("The file’s sealed part cannot be read.")
            }
            self.sealed = sealed
        }
    }

    private static func wrong(_ message: String) -> Problem {
        .field(
            "file",
            Reason(code: "backup_invalid", message: message + " Nothing was changed.", action: "Choose another file.")
        )
    }

    var json: JSON {
        .object([
            "kind": .string(Self.kind), "version": .integer(Self.version), "madeBy": .string(madeBy),
            "madeAt": madeAt.map { .time($0) } ?? .null,
            "parts": .object(
                Dictionary(
                    uniqueKeysWithValues: parts.map { part, fields in
                        (part.rawValue, .object(fields.mapValues(JSON.init(exact:))))
                    }
                )
            ),
            "secrets": sealed?.json ?? .null,
        ])
    }
}

extension JSON {
    /// A value that was read; numbers that are no whole ones become texts.
    init(exact value: ExactJSON) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .number(let digits): self = Int64(digits).map(JSON.integer) ?? .string(digits)
        case .string(let text): self = .string(text)
        case .array(let items): self = .array(items.map(JSON.init(exact:)))
        case .object(let fields):
            self = .object(
                Dictionary(fields.map { ($0.name, JSON(exact: $0.value)) }, uniquingKeysWith: { $1 })
            )
        }
    }
}
