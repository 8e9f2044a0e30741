internal import StrictJSON

/// Who a dapp or a wallet says it is. Unchecked words of a stranger: show them as text, never as a fact.
public struct AppMetadata: Sendable, Hashable, Codable {
    public var name: String
    public var description: String
    public var url: String
    /// At most 8 are kept.
    public var icons: [String]
    /// Where to return to. A terminal that shows a QR code must leave this nil: the dapp is not on the customer's phone.
    public var redirect: Redirect?

    public init(name: String, description: String, url: String, icons: [String], redirect: Redirect? = nil) {
        (self.name, self.description, self.url) = (name, description, url)
        (self.icons, self.redirect) = (icons, redirect)
    }

    /// How to open the app again.
    public struct Redirect: Sendable, Hashable, Codable {
        /// A custom scheme: `example://`.
        public var native: String?
        /// A universal link: `https://app.example`.
        public var universal: String?
        /// Whether it takes envelopes within links.
        public var linkMode: Bool

        public init(native: String? = nil, universal: String? = nil, linkMode: Bool = false) {
            (self.native, self.universal, self.linkMode) = (native, universal, linkMode)
        }
    }

    /// Reads a peer's words, cut to sizes a screen and a disk can take.
    init?(json: ExactJSON?) {
        guard let json, let name = json.value(named: "name")?.string else { return nil }
        self.init(
            name: name.cut(toBytes: 256),
            description: (json.value(named: "description")?.string ?? "").cut(toBytes: 1024),
            url: (json.value(named: "url")?.string ?? "").cut(toBytes: 1024),
            icons: (json.value(named: "icons")?.elements ?? []).compactMap(\.string).filter { $0.utf8.count <= 2048 }
                .prefix(8).map { $0 }
        )
        if let redirect = json.present("redirect") {
            self.redirect = Redirect(
                native: redirect.present("native")?.string?.cut(toBytes: 1024),
                universal: redirect.present("universal")?.string?.cut(toBytes: 1024),
                linkMode: redirect.present("linkMode")?.bool ?? false
            )
        }
    }

    var json: ExactJSON {
        .of([
            "name": .string(name), "description": .string(description), "url": .string(url), "icons": .strings(icons),
            // Some wallets fail on a redirect without linkMode.
            "redirect": redirect.map { redirect in
                .of([
                    "native": redirect.native.map(ExactJSON.string),
                    "universal": redirect.universal.map(ExactJSON.string), "linkMode": .bool(redirect.linkMode),
                ])
            },
        ])
    }
}
