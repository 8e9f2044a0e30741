import Foundation
import Net
import Screen
import Terminal
import Yams

/// Where the terminal listens, draws and keeps things. What the merchant sets is not here.
struct Configuration: Sendable, Equatable {
    enum Sink: String, CaseIterable, Sendable { case framebuffer, drm, png, terminal, none }

    var state = "/var/lib/till"
    var webAddress = "0.0.0.0"
    var webPort: UInt16 = 8443
    var redirectPort: UInt16 = 0
    var webNames: [String] = []
    var hasLocalName = true
    var securityContact = ""
    var pages = "/usr/share/till/public"
    var wallets = "/usr/share/till/wallets.json"
    var sink = Sink.framebuffer
    var screenPath = "/dev/fb0"
    var screenWidth = 1280
    var screenHeight = 800
    var rotation = 0
    /// Nil: where the screen is the machine's own.
    var keypad: Bool?
    /// An ALSA name; empty: the first card that plays; `none`: no sound.
    var soundDevice = ""
    var gatewayHosts: [String] = []
    var linkHosts = ["pay.walletconnect.com", "pay.wct.me"]
    var allowsLoopbackHTTP = false
    /// PEM certificates that are believed of a gateway beside the system's; empty for none. Until it is read: perhaps a path.
    var gatewayCertificates = ""
    /// Nil for the system's authorities.
    var relayCertificates: String?
    /// Nil for the first there is.
    var bluetoothAdapter: String?
    /// Nil: where the machine is Till's own appliance.
    var managesWiFi: Bool?
    var logLevel = "info"
    /// For a terminal that has no settings yet.
    var shop: PreparedShop?
}

/// What is wrong with a configuration file: the key, what stands there, and what may.
struct ConfigurationError: Error, CustomStringConvertible, Equatable {
    let key: String
    let value: String
    let allowed: String

    var description: String { "\(key): ‘\(value)’ is not allowed. Allowed: \(allowed)." }
}

extension Configuration {
    /// Reads a file's text. Every key is optional; one that does not exist here is an error, not a silent nothing.
    init(yaml: String) throws(ConfigurationError) {
        self.init()
        // Windows' editor writes a mark before the first line, and the parser takes what follows for a second document.
        let text = yaml.unicodeScalars.first == "\u{FEFF}" ? String(yaml.unicodeScalars.dropFirst()) : yaml
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            throw ConfigurationError(
                key: "the file",
                value: "\(error)".prefix(while: { $0 != "\n" }).description,
                allowed: "YAML"
            )
        }
        guard let root, root.null == nil else { return }  // Empty, or comments only.
        var reader = try Reader(root, at: "")
        try reader.text("state", into: &state, "an absolute path") { $0.hasPrefix("/") && $0.utf8.count <= 200 }
        try reader.section("web") { web throws(ConfigurationError) in
            try web.text("address", into: &webAddress, "an IPv4 or IPv6 address to listen on", Self.isAddress)
            try web.number("port", into: &webPort, "a port from 0 to 65535", 0...65535)
            try web.number("redirectPort", into: &redirectPort, "a port from 0 to 65535", 0...65535)
            try web.list("names", into: &webNames, "host names or addresses, 20 at most", Self.isHostName)
            try web.flag("localName", into: &hasLocalName)
            let contact = "empty, or an address that begins with mailto:, https:// or tel:"
            try web.text("securityContact", into: &securityContact, contact, Self.isContact)
            try web.text("pages", into: &pages, "an absolute path") { $0.hasPrefix("/") }
            try web.text("wallets", into: &wallets, "empty, or an absolute path") { $0.isEmpty || $0.hasPrefix("/") }
        }
        try reader.section("screen") { screen throws(ConfigurationError) in
            var name = sink.rawValue
            let names = Sink.allCases.map(\.rawValue)
            try screen.text("sink", into: &name, names.joined(separator: ", "), names.contains)
            sink = Sink(rawValue: name) ?? sink
            try screen.text("path", into: &screenPath, "an absolute path") { $0.hasPrefix("/") }
            try screen.number("width", into: &screenWidth, "320 to 7680 pixels", 320...7680)
            try screen.number("height", into: &screenHeight, "320 to 7680 pixels", 320...7680)
            try screen.number("rotation", into: &rotation, "0, 90, 180 or 270", 0...270) { $0.isMultiple(of: 90) }
        }
        try reader.section("keypad") { keypad throws(ConfigurationError) in
            var isListened = listensToKeys
            try keypad.flag("enabled", into: &isListened)
            self.keypad = isListened
        }
        try reader.section("sound") { sound throws(ConfigurationError) in
            try sound.text(
                "device",
                into: &soundDevice,
                "empty, none, or an ALSA device such as plughw:1,0",
                Self.isSound
            )
        }
        try reader.section("gateway") { gateway throws(ConfigurationError) in
            try gateway.list("hosts", into: &gatewayHosts, "host names, 20 at most", Self.isHostName)
            try gateway.list("linkHosts", into: &linkHosts, "host names, 20 at most", Self.isHostName)
            try gateway.flag("allowLoopbackHTTP", into: &allowsLoopbackHTTP)
            try gateway.text("certificates", into: &gatewayCertificates, Self.certificatesAllowed) {
                $0.isEmpty || $0.hasPrefix("/") || $0.hasPrefix("-----BEGIN CERTIFICATE-----")
            }
        }
        try reader.section("relay") { relay throws(ConfigurationError) in
            var path = ""
            try relay.text("certificates", into: &path, "empty, or an absolute path") {
                $0.isEmpty || $0.hasPrefix("/")
            }
            relayCertificates = path.isEmpty ? nil : path
        }
        try reader.section("bluetooth") { bluetooth throws(ConfigurationError) in
            var adapter = ""
            try bluetooth.text("adapter", into: &adapter, "empty, or a name such as hci0") { name in
                name.isEmpty || name.hasPrefix("hci") && Int(name.dropFirst(3)).map((0...99).contains) == true
            }
            bluetoothAdapter = adapter.isEmpty ? nil : adapter
        }
        try reader.section("wifi") { wifi throws(ConfigurationError) in
            var isManaged = false
            try wifi.flag("managed", into: &isManaged)
            managesWiFi = isManaged
        }
        try reader.section("shop") { shop throws(ConfigurationError) in
            self.shop = PreparedShop(form: try Self.form(&shop))
        }
        try reader.section("log") { log throws(ConfigurationError) in
            let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]
            try log.text("level", into: &logLevel, levels.joined(separator: ", "), levels.contains)
        }
        try reader.finish()
    }

    private static func form(_ shop: inout Reader) throws(ConfigurationError) -> SettingsForm {
        let allowed = "a text of at most 500 bytes"
        func text(_ key: String) throws(ConfigurationError) -> String? {
            var value = ""
            try shop.text(key, into: &value, allowed) { $0.utf8.count <= 500 }
            return value.isEmpty ? nil : value
        }
        return SettingsForm(
            operatorID: try text("operatorID") ?? "",
            merchantID: try text("merchantID") ?? "",
            merchantName: try text("merchantName") ?? "",
            gatewayURL: try text("gatewayURL") ?? "",
            gatewayKey: try text("gatewayKey"),
            currency: try text("currency") ?? "",
            locale: try text("locale"),
            timeZone: try text("timeZone"),
            language: try text("language")
        )
    }

    /// Which addresses the merchant may set as gateway.
    var gateways: GatewayPolicy { GatewayPolicy(allowsLoopbackHTTP: allowsLoopbackHTTP, hosts: gatewayHosts) }

    private static let certificatesAllowed = "empty, certificates in PEM, or an absolute path of a file of such"

    /// Looks whether what it prepares of a shop could be stored.
    func checkShop() throws(ConfigurationError) {
        if let error = shop?.error(gateways) { throw error }
    }

    /// Takes the gateway's certificates out of their file, and looks whether they can be used.
    mutating func readCertificates() throws(ConfigurationError) {
        let written = gatewayCertificates
        guard !written.isEmpty else { return }
        if written.hasPrefix("/") {
            // What cannot be read has no certificates in it.
            gatewayCertificates = (try? String(contentsOfFile: written, encoding: .utf8)) ?? ""
        }
        guard HTTPClientTransport.isAuthorities(gatewayCertificates) else {
            throw ConfigurationError(
                key: "gateway.certificates",
                value: String(written.prefix(80)),
                allowed: Self.certificatesAllowed
            )
        }
    }

    /// Looks whether the appliance could work with it: what its firewall and its service let through is fixed, and so is where it keeps
    /// things.
    /// - Throws: `ConfigurationError`: with this file the terminal would not come up, or nobody could reach it.
    func checkForAppliance() throws(ConfigurationError) {
        let usual = Configuration()
        func require(_ key: String, _ value: String, _ allowed: String, _ fits: Bool) throws(ConfigurationError) {
            guard fits else { throw ConfigurationError(key: key, value: value, allowed: "on the appliance \(allowed)") }
        }
        try require("state", state, usual.state, state == usual.state)
        try require("web.address", webAddress, "0.0.0.0 or ::", ["0.0.0.0", "::"].contains(webAddress))
        try require("web.port", "\(webPort)", "\(usual.webPort)", webPort == usual.webPort)
        try require("web.redirectPort", "\(redirectPort)", "0", redirectPort == 0)
        try require("web.pages", pages, usual.pages, pages == usual.pages)
        // Where there is no framebuffer it takes a graphics card by itself; its kernel may have drivers of none.
        let hasItsScreen = sink == Sink.framebuffer || sink == Sink.none
        try require("screen.sink", sink.rawValue, "framebuffer or none", hasItsScreen)
        try require("screen.path", screenPath, usual.screenPath, screenPath == usual.screenPath)
        // As whoever asks: the terminal's user cannot read the boot partition.
        let authorities = relayCertificates ?? ""
        let isRead = authorities.isEmpty || FileManager.default.isReadableFile(atPath: authorities)
        try require("relay.certificates", authorities, "empty, or a file that the terminal's user can read", isRead)
    }

    /// Whether the machine's keypads and keyboards are the terminal's alone. On a developer's machine they are not.
    var listensToKeys: Bool { keypad ?? hasOwnScreen }

    /// One line of `security.txt`: a URI without anything that could begin another line. Source: RFC 9116, 2.5.3.
    private static func isContact(_ text: String) -> Bool {
        guard !text.isEmpty else { return true }
        return ["mailto:", "https://", "tel:"].contains { text.hasPrefix($0) && text.utf8.count > $0.utf8.count }
            && text.utf8.count <= 200 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Of ALSA's names those that neither write files nor start programs.
    private static func isSound(_ name: String) -> Bool {
        name.utf8.count <= 100
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: ":,=_-.".utf8.contains(byte)
                }
            }
    }

    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) { return true }
        return text.contains(":") && text.utf8.allSatisfy { "0123456789abcdefABCDEF:.".utf8.contains($0) }
    }

    private static func isHostName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: ".-:[]".utf8.contains(byte)
                }
            }
    }
}

/// One mapping of the file, read key by key; what was not asked for is unknown.
private struct Reader {
    private let path: String
    private var entries: [String: Node]
    private var known: [String] = []

    init(_ node: Node, at path: String) throws(ConfigurationError) {
        guard let mapping = node.mapping else {
            throw ConfigurationError(
                key: path.isEmpty ? "the file" : path,
                value: Self.shown(node, at: path),
                allowed: "keys with values"
            )
        }
        self.path = path
        entries = [:]
        for (key, value) in mapping { entries[key.string ?? Self.describe(key)] = value }
    }

    mutating func text(
        _ key: String,
        into value: inout String,
        _ allowed: String,
        _ isAllowed: (String) -> Bool
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        guard let text = node.scalar?.string, isAllowed(text) else { throw error(key, node, allowed) }
        value = text
    }

    mutating func number<Number: BinaryInteger>(
        _ key: String,
        into value: inout Number,
        _ allowed: String,
        _ range: ClosedRange<Int>,
        _ isAllowed: (Int) -> Bool = { _ in true }
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        guard let text = node.scalar?.string, let number = Int(text), range.contains(number), isAllowed(number),
            let exact = Number(exactly: number)
        else { throw error(key, node, allowed) }
        value = exact
    }

    mutating func flag(_ key: String, into value: inout Bool) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        switch node.scalar?.string {
        case "true": value = true
        case "false": value = false
        default: throw error(key, node, "true or false")
        }
    }

    mutating func list(
        _ key: String,
        into value: inout [String],
        _ allowed: String,
        _ isAllowed: (String) -> Bool
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        guard let items = node.sequence, items.count <= 20 else { throw error(key, node, allowed) }
        var texts: [String] = []
        for item in items {
            guard let text = item.scalar?.string, isAllowed(text) else { throw error(key, item, allowed) }
            texts.append(text)
        }
        value = texts
    }

    mutating func section(
        _ key: String,
        _ body: (inout Reader) throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        var inner = try Reader(node, at: path + key + ".")
        try body(&inner)
        try inner.finish()
    }

    func finish() throws(ConfigurationError) {
        guard let key = entries.keys.min() else { return }
        throw ConfigurationError(
            key: path + key,
            // Under a misspelt name it may be a secret, and this goes into logs.
            value: "…",
            allowed: "no such key; known are \(known.joined(separator: ", "))"
        )
    }

    private mutating func take(_ key: String) -> Node? {
        known.append(key)
        return entries.removeValue(forKey: key)
    }

    private func error(_ key: String, _ node: Node, _ allowed: String) -> ConfigurationError {
        ConfigurationError(key: path + key, value: Self.shown(node, at: path), allowed: allowed)
    }

    /// A shop's settings have a key in them, which may have got into another line.
    private static func shown(_ node: Node, at path: String) -> String { path == "shop." ? "…" : describe(node) }

    private static func describe(_ node: Node) -> String {
        switch node {
        case .scalar(let scalar): String(scalar.string.prefix(80))
        case .mapping: "keys with values"
        case .sequence: "a list"
        case .alias: "an alias"
        }
    }
}
