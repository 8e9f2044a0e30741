import FoundationEssentials
public import Payments
import WalletConnectPay

/// Settings as a form sends them: text, not yet trusted. Nil means that the form did not carry the field.
public struct SettingsForm: Sendable, Equatable {
    public var operatorID: String
    public var merchantID: String
    public var merchantName: String
    public var gatewayURL: String
    /// The gateway's API key. Nil keeps the one that is stored.
    public var gatewayKey: String?
    public var currency: String
    public var locale: String?
    /// Largest amount of one charge in minor units; nil for none.
    public var chargeLimitMinor: Int64?
    /// Largest sum of the charges opened within one hour in minor units; nil for none. Not below `chargeLimitMinor`.
    public var hourlyLimitMinor: Int64?
    /// A name of the IANA time zone database. Nil keeps the one that is stored; empty is the machine's own.
    public var timeZone: String?
    /// Of the screen and of receipts, out of ``MerchantSettings/languages``. Nil keeps the one that is stored.
    public var language: String?

    public init(
        operatorID: String,
        merchantID: String,
        merchantName: String,
        gatewayURL: String,
        gatewayKey: String? = nil,
        currency: String,
        locale: String? = nil,
        chargeLimitMinor: Int64? = nil,
        hourlyLimitMinor: Int64? = nil,
        timeZone: String? = nil,
        language: String? = nil
    ) {
        self.operatorID = operatorID
        self.merchantID = merchantID
        self.merchantName = merchantName
        self.gatewayURL = gatewayURL
        self.gatewayKey = gatewayKey
        self.currency = currency
        self.locale = locale
        self.chargeLimitMinor = chargeLimitMinor
        self.hourlyLimitMinor = hourlyLimitMinor
        self.timeZone = timeZone
        self.language = language
    }
}

/// What is wrong with a form, by the field's name. Nothing was stored.
public struct FormErrors: Error, Sendable, Equatable {
    public var fields: [String: Reason]

    public init(_ fields: [String: Reason]) { self.fields = fields }
}

extension SettingsForm {
    /// What is wrong with the form, by field, before any terminal is asked to store it; empty where it could be.
    /// - Parameters:
    ///   - hasKey: Whether the terminal has a gateway key that a form without one keeps.
    ///   - gateways: Which gateway addresses the terminal may use.
    public func errors(hasKey: Bool, gateways: GatewayPolicy) -> [String: Reason] {
        do throws(FormErrors) {
            _ = try checked(hasKey: hasKey, gateways: gateways)
            return [:]
        } catch { return error.fields }
    }

    /// The settings that the form means.
    /// - Parameters:
    ///   - hasKey: Whether a gateway key is stored already.
    ///   - gateways: Which gateway addresses this terminal may use.
    /// - Throws: ``FormErrors``, one reason for each field that is wrong.
    func checked(hasKey: Bool, gateways: GatewayPolicy) throws(FormErrors) -> MerchantSettings {
        var errors: [String: Reason] = [:]
        errors["operatorID"] = Self.identifierError(operatorID, "operator ID")
        errors["merchantID"] = Self.identifierError(merchantID, "merchant ID")
        errors["merchantName"] = Self.nameError(merchantName)
        errors["gatewayURL"] = gateways.error(in: gatewayURL)
        errors["gatewayKey"] = keyError(hasKey: hasKey)
        let currency = Currency(code: currency)
        if currency == nil {
            errors["currency"] = Reason(
                code: "currency_unknown",
                message: "This is not a currency the terminal knows.",
                action: "Choose a currency of the list, such as EUR or USD."
            )
        }
        let locale = locale ?? AmountFormat.english.locale
        if !AmountFormat.table.contains(where: { $0.locale == locale }) {
            errors["locale"] = Reason(
                code: "locale_unknown",
                message: "The terminal cannot write amounts for this language and country.",
                action: "Choose one of the list."
            )
        }
        if let language, !MerchantSettings.languages.contains(language) {
            errors["language"] = Reason(
                code: "language_unknown",
                message: "The terminal does not speak this language.",
                action: "Choose one of the list."
            )
        }
        if let chargeLimitMinor, !(1...1_000_000_000_000).contains(chargeLimitMinor) {
            errors["chargeLimitMinor"] = Reason(
                code: "limit_out_of_range",
                message: "The limit must be more than zero and below ten thousand million.",
                action: "Enter the largest amount one charge may have, or leave it empty."
            )
        }
        if let hourlyLimitMinor, !(1...1_000_000_000_000).contains(hourlyLimitMinor) {
            errors["hourlyLimitMinor"] = Reason(
                code: "limit_out_of_range",
                message: "The limit must be more than zero and below ten thousand million.",
                action: "Enter the largest sum of one hour, or leave it empty."
            )
        } else if let hourlyLimitMinor, let chargeLimitMinor, hourlyLimitMinor < chargeLimitMinor {
            errors["hourlyLimitMinor"] = Reason(
                code: "limit_below_charge_limit",
                message: "The limit of one hour is below the largest charge, which could then never be made.",
                action: "Enter at least the largest charge, or leave it empty."
            )
        }
        if let timeZone, !timeZone.isEmpty, !Self.isTimeZone(timeZone) {
            errors["timeZone"] = Reason(
                code: "time_zone_unknown",
                message: "The terminal does not know this time zone.",
                action: "Choose one of the list, such as Europe/Berlin."
            )
        }
        guard errors.isEmpty, let currency else { throw FormErrors(errors) }
        return MerchantSettings(
            operatorID: operatorID,
            merchantID: merchantID,
            merchantName: Self.trimmed(merchantName),
            // Whoever reads the settings compares one spelling.
            gatewayURL: GatewayAddress(gatewayURL)?.text ?? gatewayURL,
            currency: currency,
            locale: locale,
            limits: ChargeLimits(maximumMinorUnits: chargeLimitMinor, maximumPerHourMinorUnits: hourlyLimitMinor),
            timeZone: timeZone.flatMap { $0.isEmpty ? nil : $0 },
            language: language
        )
    }

    /// A name with a place in it, or UTC: abbreviations such as EST mean different things to different people.
    private static func isTimeZone(_ name: String) -> Bool {
        guard name.utf8.count <= 64, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return false }
        return (name == "UTC" || name.contains("/")) && TimeZone(identifier: name) != nil
    }

    private static func identifierError(_ text: String, _ what: String) -> Reason? {
        guard !text.isEmpty else {
            return Reason(
                code: "required",
                message: "The \(what) is missing.",
                action: "Enter it as you were given it."
            )
        }
        guard text.utf8.count <= 64 else {
            return Reason(code: "too_long", message: "The \(what) is longer than 64 characters.", action: "Check it.")
        }
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "._-:/".utf8.contains(byte)
            }
        }
        guard isPlain else {
            return Reason(
                code: "invalid_characters",
                message: "The \(what) has characters that no \(what) has.",
                action: "Use letters, digits and . _ - : / only."
            )
        }
        return nil
    }

    private static func nameError(_ text: String) -> Reason? {
        let name = trimmed(text)
        guard !name.isEmpty else {
            return Reason(
                code: "required",
                message: "The merchant name is missing.",
                action: "Enter the name customers know."
            )
        }
        guard name.count <= 60, name.utf8.count <= 240 else {
            return Reason(
                code: "too_long",
                message: "The merchant name is longer than 60 characters.",
                action: "Shorten it."
            )
        }
        guard isVisible(name) else {
            return Reason(
                code: "invalid_characters",
                message: "The merchant name has characters that cannot be shown.",
                action: "Type the name again instead of pasting it."
            )
        }
        return nil
    }

    /// Whether every character of a text can be shown, and something is there to be seen.
    /// - Parameter needsLetter: Whether that is a letter, a digit or a symbol, as in a name; else a mark such as `-` will do.
    public static func isVisible(_ name: String, needsLetter: Bool = true) -> Bool {
        let isAllowed = name.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
            // Joiners belong to scripts and emoji; marks that turn the direction of text belong to tricks.
            case .format: scalar == "\u{200D}" || scalar == "\u{200C}"
            default: true
            }
        }
        let hasInk = name.unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            // Letters that are blank: the fillers of Hangul, the empty pattern of Braille.
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
                .letterNumber, .otherNumber, .otherSymbol, .mathSymbol, .currencySymbol:
                !scalar.properties.isDefaultIgnorableCodePoint && scalar != "\u{2800}"
            case .dashPunctuation, .openPunctuation, .closePunctuation, .connectorPunctuation, .initialPunctuation,
                .finalPunctuation, .otherPunctuation, .modifierSymbol:
                !needsLetter
            default: false
            }
        }
        // Marks on marks cover the lines above and below. Four are more than any language piles up.
        let isCalm = name.allSatisfy { character in
            character.unicodeScalars.filter { $0.properties.generalCategory == .nonspacingMark }.count <= 4
        }
        return isAllowed && hasInk && isCalm
    }

    private func keyError(hasKey: Bool) -> Reason? {
        guard let gatewayKey, !gatewayKey.isEmpty else {
            return hasKey
                ? nil
                : Reason(
                    code: "required",
                    message: "The gateway key is missing.",
                    action: "Enter the API key of your gateway account."
                )
        }
        // It travels in an HTTP header: printable ASCII only. Source: RFC 9110, section 5.5.
        guard gatewayKey.utf8.count <= 256, gatewayKey.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return Reason(
                code: "invalid_characters",
                message: "The gateway key is too long or has spaces or other characters in it.",
                action: "Copy it again from your gateway account."
            )
        }
        return nil
    }

    private static func trimmed(_ text: String) -> String {
        var name = text[...]
        while name.first?.isWhitespace == true { name.removeFirst() }
        while name.last?.isWhitespace == true { name.removeLast() }
        return String(name)
    }
}

/// Which gateways a terminal may be pointed at.
public struct GatewayPolicy: Sendable {
    /// Plain HTTP to this machine itself, for the sandbox. Never on an appliance.
    public var allowsLoopbackHTTP: Bool
    /// The only hosts that may be set; empty for any.
    public var hosts: [String]

    public init(allowsLoopbackHTTP: Bool, hosts: [String] = []) {
        (self.allowsLoopbackHTTP, self.hosts) = (allowsLoopbackHTTP, hosts.map { $0.lowercased() })
    }

    /// What is wrong with an address; nil where it can be used.
    func error(in text: String) -> Reason? {
        guard !text.isEmpty else {
            return Reason(code: "required", message: "The gateway address is missing.", action: "Enter it.")
        }
        let fault = Reason(
            code: "invalid_address",
            message: "This is not an address the terminal makes payments at.",
            action: allowsLoopbackHTTP
                ? "Enter an address such as https://api.pay.walletconnect.com, or http://127.0.0.1 with a port."
                : "Enter an address such as https://api.pay.walletconnect.com."
        )
        guard text.utf8.count <= 200, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return fault }
        let isSecure = text.hasPrefix("https://")
        guard isSecure || allowsLoopbackHTTP && text.hasPrefix("http://") else { return fault }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" }
        let path = rest.dropFirst(authority.count)
        // No user, query or fragment: nothing secret and nothing hidden in an address.
        let isPlain = path.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "/._~-".utf8.contains(byte)
            }
        }
        guard !authority.isEmpty, isPlain, !path.contains("..") else { return fault }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, Self.isHost(host) else { return fault }
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(parts[1]), port > 0 else {
                return fault
            }
        }
        guard isSecure || host == "127.0.0.1" || host == "localhost" else { return fault }
        guard allowsLoopbackHTTP || Self.isElsewhere(host) else { return fault }
        guard hosts.isEmpty || hosts.contains(host.lowercased()) else {
            return Reason(
                code: "gateway_not_allowed",
                message: "This terminal is set up to make payments at certain gateways only, and this is none of them.",
                action: "Enter an address at \(hosts.joined(separator: " or ")), or ask who set the terminal up."
            )
        }
        return nil
    }

    /// Whether a host may be another machine than the terminal: no name of its own, no address of its own, of a link or of several
    /// machines. A name that leads here all the same has no certificate for itself here.
    private static func isElsewhere(_ host: Substring) -> Bool {
        let labels = host.lowercased().split(separator: ".")
        guard let last = labels.last, last != "localhost" else { return false }
        // No top-level domain begins with a digit: this is an address, and the other ways to write one are refused.
        guard last.utf8.first.map({ (0x30...0x39).contains($0) }) == true else { return true }
        let bytes = labels.compactMap { UInt8($0) }
        guard bytes.count == 4, bytes.map(String.init) == labels.map(String.init) else { return false }
        switch (bytes[0], bytes[1]) {
        case (0, _), (127, _), (169, 254), (224..., _): return false
        default: return true
        }
    }

    private static func isHost(_ host: Substring) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return host.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { byte in
                        switch byte {
                        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D: true
                        default: false
                        }
                    }
            }
    }
}
