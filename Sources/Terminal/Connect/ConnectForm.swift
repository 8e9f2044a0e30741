import Payments
import WalletConnect

/// Connect settings as a form sends them: text, not yet trusted. Nil keeps what is stored.
public struct ConnectForm: Sendable, Equatable {
    public var isEnabled: Bool?
    public var relayURL: String?
    public var projectID: String?
    /// CAIP-2 with commas between them.
    public var chains: String?
    public var usesOneCode: Bool?

    public init() {}
}

extension ConnectForm {
    /// The settings that the form means, over those that hold now.
    /// - Parameter allowsPlain: Whether `ws://` to this machine is taken.
    /// - Throws: ``FormErrors``, one reason for each field that is wrong.
    func checked(over stored: ConnectSettings, allowsPlain: Bool) throws(FormErrors) -> ConnectSettings {
        var settings = stored
        var errors: [String: Payments.Reason] = [:]
        if let isEnabled { settings.isEnabled = isEnabled }
        if let usesOneCode { settings.usesOneCode = usesOneCode }
        if let relayURL {
            settings.relayURL = relayURL.isEmpty ? ConnectSettings.usualRelay : relayURL
            if !Self.isRelay(settings.relayURL, allowsPlain: allowsPlain) {
                errors["relayURL"] = Payments.Reason(
                    code: "relay_invalid",
                    message: "This is not the address of a relay.",
                    action: "Enter it as wss:// and the relay’s name, such as \(ConnectSettings.usualRelay)."
                )
            } else {
                settings.relayURL = RelayAddress(settings.relayURL).text
            }
        }
        if let projectID { settings.projectID = projectID.lowercased() }
        // What is switched off may be half filled in.
        let isFilledIn = settings.isEnabled || !settings.projectID.isEmpty
        let digits = settings.projectID.utf8
        let isProject =
            digits.count == 32
            && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        if isFilledIn, !isProject {
            errors["projectID"] = Payments.Reason(
                code: "project_invalid",
                message: "This is not a project ID: it has 32 digits and letters from a to f.",
                action: "Copy it from your WalletConnect dashboard."
            )
        }
        if let chains { errors["chains"] = take(chains, &settings) }
        guard errors.isEmpty else { throw FormErrors(errors) }
        return settings
    }

    private func take(_ text: String, _ settings: inout ConnectSettings) -> Payments.Reason? {
        var chains: [String] = []
        for part in text.split(whereSeparator: { ", \n".contains($0) }) where !chains.contains(String(part)) {
            guard let chain = Blockchain(String(part)), ConnectChecks.methods[chain.namespace] != nil else {
                return Payments.Reason(
                    code: "chain_unknown",
                    message: "“\(Payments.Reason.clean(String(part)))” is not a network that wallets can be asked for.",
                    action: "Enter networks such as eip155:8453, with commas between them."
                )
            }
            chains.append(chain.absoluteString)
        }
        guard (1...32).contains(chains.count) else {
            return Payments.Reason(
                code: "chains_missing",
                message: "Wallets need at least one network to pay on, and take up to 32.",
                action: "Enter networks such as eip155:8453, with commas between them."
            )
        }
        settings.chains = chains
        return nil
    }

    private static func isRelay(_ url: String, allowsPlain: Bool) -> Bool {
        guard url.utf8.count <= 200, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !url.contains(where: { "?#@\"\\<>".contains($0) })
        else { return false }
        if url.hasPrefix("wss://") {
            let host = url.dropFirst(6).prefix { $0 != "/" && $0 != ":" }
            return !host.isEmpty && host.contains(where: { $0 != "." })
        }
        guard allowsPlain, url.hasPrefix("ws://") else { return false }
        let host = url.dropFirst(5).prefix { $0 != "/" && $0 != ":" }
        return host == "127.0.0.1" || host == "localhost"
    }
}
