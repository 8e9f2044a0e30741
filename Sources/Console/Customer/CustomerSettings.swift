public import Payments

/// A wallet that a customer's page offers to open.
public struct CustomerWallet: Sendable, Hashable, Codable {
    /// 1 to 40 characters.
    public var name: String
    /// The scheme of its app, such as `example://`; nil where it has none.
    public var native: String?
    /// Its universal link, such as `https://example.wallet`; nil where it has none.
    public var universal: String?
    /// Whether it pays a payment link that is handed to it. Pairing URIs every wallet of the list takes.
    public var takesPaymentLinks: Bool
    /// A small picture as a `data:` address: the page loads nothing from elsewhere. Nil: the first letter.
    public var icon: String?

    public init(
        name: String,
        native: String? = nil,
        universal: String? = nil,
        takesPaymentLinks: Bool = false,
        icon: String? = nil
    ) {
        (self.name, self.native, self.universal) = (name, native, universal)
        (self.takesPaymentLinks, self.icon) = (takesPaymentLinks, icon)
    }

    private enum CodingKeys: CodingKey { case name, native, universal, takesPaymentLinks, icon }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decode(String.self, forKey: .name)
        native = try values.decodeIfPresent(String.self, forKey: .native)
        universal = try values.decodeIfPresent(String.self, forKey: .universal)
        takesPaymentLinks = try values.decodeIfPresent(Bool.self, forKey: .takesPaymentLinks) ?? false
        icon = try values.decodeIfPresent(String.self, forKey: .icon)
    }

    /// What is wrong with it, by field; empty where it can be offered.
    public var faults: [String: Reason] {
        var faults: [String: Reason] = [:]
        if name.isEmpty || name.count > 40 || name.allSatisfy(\.isWhitespace) {
            faults["name"] = Reason(
                code: "required",
                message: "The wallet’s name is missing or longer than 40 characters.",
                action: "Enter the name customers know."
            )
        }
        if let native, !Self.isScheme(native) {
            faults["native"] = Reason(
                code: "invalid_scheme",
                message: "This does not open an app.",
                action: "Enter the wallet’s own scheme, such as examplewallet://, or leave it empty."
            )
        }
        if let universal, !Self.isWebLink(universal) {
            faults["universal"] = Reason(
                code: "invalid_address",
                message: "This is no universal link.",
                action: "Enter an address such as https://example.wallet, or leave it empty."
            )
        }
        if native == nil, universal == nil {
            faults["native"] = Reason(
                code: "required",
                message: "Nothing says how the wallet is opened.",
                action: "Enter its scheme or its universal link."
            )
        }
        if let icon, let fault = WalletPicture.fault(in: icon) {
            faults["icon"] = Reason(
                code: "invalid_picture",
                message: "The picture of “\(name)” \(fault).",
                action: "Use a PNG or WebP of at most \(WalletPicture.mostBytes / 1024) KB as a data: address, "
                    + "or leave it empty."
            )
        }
        return faults
    }

    /// Letters, digits and `+ - .` before `://` and, rarely, a path: nothing a browser runs or reads by itself.
    private static func isScheme(_ text: String) -> Bool {
        let scheme = text.prefix { $0 != ":" }
        let rest = text.dropFirst(scheme.count)
        guard rest.hasPrefix("://"), text.utf8.count <= 100, let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) })
        else { return false }
        let reserved = [
            "javascript", "data", "file", "tel", "sms", "mailto", "http", "https", "about", "blob", "wc", "intent",
            "ws",
            "wss", "ftp", "view-source", "vbscript",
        ]
        return !reserved.contains(scheme.lowercased()) && rest.dropFirst(3).utf8.allSatisfy(isPath)
    }

    /// Nothing secret and nothing hidden: host, perhaps a port, a plain path.
    static func isWebLink(_ text: String) -> Bool {
        guard text.hasPrefix("https://"), text.utf8.count <= 200 else { return false }
        let authority = text.dropFirst(8).prefix { $0 != "/" }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, host.contains("."), !host.hasPrefix("."), !host.hasSuffix("."),
            host.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "-.".utf8.contains($0) })
        else { return false }
        if parts.count == 2, UInt16(parts[1]).map({ $0 > 0 }) != true { return false }
        let path = text.dropFirst(8 + authority.count)
        return path.utf8.allSatisfy(isPath) && !path.contains("..")
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isPath(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "/._~-".utf8.contains(byte)
    }
}

/// What the owner set about customers' own pages.
struct CustomerSettings: Sendable, Equatable, Codable {
    var isEnabled = false
    /// Whether the screen's code leads to the page instead of to the payment.
    var isOnScreen = false
    /// How customers' phones reach the terminal, `https://…`; nil: as staff do.
    var address: String?
    /// Nil: those that came with the terminal.
    var wallets: [CustomerWallet]?

    private enum CodingKeys: CodingKey { case isEnabled, isOnScreen, address, wallets }

    init() {}

    /// Of pictures that an older version took and this one does not, the wallet keeps its first letter.
    mutating func dropPicturesNotTaken() {
        wallets = wallets?.map { wallet in
            var wallet = wallet
            if let icon = wallet.icon, WalletPicture.fault(in: icon) != nil { wallet.icon = nil }
            return wallet
        }
    }

    /// What an older version did not write yet is as it was then: off.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        isEnabled = try values.decodeIfPresent(Bool.self, forKey: .isEnabled) ?? false
        isOnScreen = try values.decodeIfPresent(Bool.self, forKey: .isOnScreen) ?? false
        address = try values.decodeIfPresent(String.self, forKey: .address)
        wallets = try values.decodeIfPresent([CustomerWallet].self, forKey: .wallets)
    }
}

/// Settings as a form sends them, not yet trusted. Nil keeps what is stored.
struct CustomerForm: Sendable {
    static let mostWallets = 24
    /// For the request of this form alone: 24 wallets, their texts escaped, and all their pictures. Twice the usual.
    static let bodyBytes = 128 * 1024

    var isEnabled: Bool?
    var isOnScreen: Bool?
    /// Empty for the terminal's own.
    var address: String?
    var wallets: [CustomerWallet]?
    var usesSuppliedWallets: Bool?

    /// - Parameter isOurs: Whether the terminal answers under a host's name.
    func checked(
        over stored: CustomerSettings,
        isOurs: (String) -> Bool
    ) throws(Problem) -> CustomerSettings {
        var settings = stored
        var errors: [String: Reason] = [:]
        if let isEnabled { settings.isEnabled = isEnabled }
        if let isOnScreen { settings.isOnScreen = isOnScreen }
        if let address {
            settings.address = address.isEmpty ? nil : address.hasSuffix("/") ? String(address.dropLast()) : address
            if let fault = Self.fault(in: settings.address, isOurs: isOurs) { errors["address"] = fault }
        }
        if let wallets {
            settings.wallets = wallets
            for (index, wallet) in wallets.enumerated() {
                for (field, reason) in wallet.faults { errors["wallets.\(index).\(field)"] = reason }
            }
            if let (index, reason) = WalletPicture.excess(of: wallets) { errors["wallets.\(index).icon"] = reason }
        }
        if usesSuppliedWallets == true { settings.wallets = nil }
        guard errors.isEmpty else {
            var problem = Problem(
                422,
                "invalid_settings",
                "Some of the settings cannot be used. Nothing was changed.",
                "Correct the fields that are marked."
            )
            problem.fields = errors
            throw problem
        }
        return settings
    }

    private static func fault(in address: String?, isOurs: (String) -> Bool) -> Reason? {
        guard let address else { return nil }
        let host = String(address.dropFirst(8).prefix { $0 != ":" && $0 != "/" }).lowercased()
        guard CustomerWallet.isWebLink(address) || address.hasPrefix("https://localhost"),
            !address.dropFirst(8).contains("/")
        else {
            return Reason(
                code: "invalid_address",
                message: "This is not an address of this terminal.",
                action: "Enter an address such as https://till.example:8443, without a path."
            )
        }
        guard isOurs(host) else {
            return Reason(
                code: "address_not_ours",
                message: "The terminal does not answer under this name, so customers would see an error.",
                action: "Add the name to web.names in the terminal’s configuration first."
            )
        }
        return nil
    }
}
