import DBus

/// How far an installation has come.
public struct UpdateProgress: Sendable, Equatable {
    /// 0 to 100.
    public let percent: Int
    /// What is being done, in the service's words: one line.
    public let step: String

    public init(percent: Int, step: String) {
        self.percent = min(max(percent, 0), 100)
        self.step = Installer.clean(step)
    }

    /// Of the property `Progress`: percent, words, depth. Nil where it is something else.
    init?(_ value: BusValue) {
        guard case .structure(let parts) = value, parts.count == 3, let percent = parts[0].integer,
            let step = parts[1].text
        else { return nil }
        self.init(percent: percent, step: step)
    }
}

/// One of the places that a system is installed in.
public struct UpdateSlot: Sendable, Equatable {
    /// Such as `rootfs.0`.
    public let name: String
    /// Such as `A`; empty where it cannot be started.
    public let bootName: String
    /// Whether it is the one that runs.
    public let isRunning: Bool
    /// Whether it was said to work; nil where nobody knows.
    public let isGood: Bool?
    /// Of the bundle that is in it; empty where nobody knows.
    public let version: String

    init?(_ row: BusValue) {
        guard case .structure(let parts) = row, parts.count == 2, let name = parts[0].text,
            let facts = parts[1].properties
        else { return nil }
        func text(_ key: String) -> String { Installer.clean(facts[key]?.opened.text ?? "") }
        self.name = Installer.clean(name)
        bootName = text("bootname")
        isRunning = text("state") == "booted"
        version = text("bundle.version")
        isGood =
            switch text("boot-status") {
            case "good": true
            case "bad": false
            default: nil
            }
    }
}

/// Why an update was not installed. What runs goes on running.
public enum UpdateError: Error, Sendable, Equatable {
    /// There is no update service on this machine.
    case noService
    /// The service says no: a wrong signature, an older or broken bundle, or one for other machines.
    case refused(Cause, detail: String)
    /// It installs something already.
    case busy
    /// Sent, then silence or nonsense. Look at the slots before it is tried again.
    case unclear(detail: String)

    init(_ error: BusError) {
        switch error {
        case .refused(let name, _) where Self.absent.contains(name): self = .noService
        // The bus says so in the place of a service that went: it may have begun.
        case .refused(let name, _) where Self.silent.contains(name): self = .unclear(detail: name)
        case .refused(_, let text) where text.contains("Already processing"): self = .busy
        case .refused(_, let text): self = .refused(Cause(text), detail: Installer.clean(text))
        default: self = .unclear(detail: Installer.clean("\(error)"))
        }
    }

    private static let silent: Set<String> = [
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected",
        "org.freedesktop.DBus.Error.Timeout",
    ]
    private static let absent: Set<String> = [
        "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
    ]
}

extension UpdateError {
    /// Why the service refuses a bundle.
    public enum Cause: Sendable, Equatable {
        /// Not signed by anybody this machine knows, or changed since.
        case signature
        /// Half a bundle, or none.
        case notWhole
        case otherMachine
        /// This machine was made without anybody who may sign.
        case nobodyMaySign
        /// Not newer than what was good here.
        case notNewer
        case other

        /// By the service's own words, which are all that it gives. Source: RAUC 1.8, src/bundle.c, signature.c, install.c.
        init(_ text: String) {
            func says(_ words: String...) -> Bool { words.contains(where: text.contains) }
            self =
                if says("failed to load CA file") {
                    .nobodyMaySign
                } else if says("signature verification failed", "Verify error", "Failed to parse signature") {
                    .signature
                } else if says("Invalid bundle format", "Signature size", "Failed to seek", "No such file", "hash tree")
                {
                    .notWhole
                } else if says("Compatible mismatch") {
                    .otherMachine
                } else if says("andler error"), text.hasSuffix("exited with code 1") {
                    // The image's own check before an installation; any other end of it is no word on the version.
                    .notNewer
                } else {
                    .other
                }
        }
    }
}
