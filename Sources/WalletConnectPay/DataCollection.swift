import FoundationEssentials

/// What a wallet needs to ask its customer for what the gateway wants to know.
///
/// Linux has no web view of its own: show the form in whatever shows pages, pass it what it can be filled with, run
/// ``bridgeScript(forwardingTo:)`` in it, and hand every message of that bridge to ``message(_:)``.
/// Source: WalletConnect Pay SDK for Swift, data collection.
public enum DataCollection {
    /// What stands between choosing an option and confirming it.
    public enum Requirement: Sendable, Hashable {
        /// Nothing: go on.
        case none
        /// Show the page at this address and wait for ``Message/complete``. Pass nothing to `confirmPayment`.
        case form(url: String, CollectDataAction)
        /// Ask for these and pass the answers as `collectedData` to `confirmPayment`.
        case fields([CollectDataField])
        /// Something is asked for in a way that is not known here. The option cannot be paid.
        case unrecognised

        /// Whether the wallet itself asks its customer to accept WalletConnect's terms and privacy policy before it passes the
        /// answers on. A form asks for that; what it is prefilled with is passed on when it opens.
        public var needsConsent: Bool { if case .fields = self { true } else { false } }
    }

    /// What there is to ask for before this option can be paid.
    ///
    /// An option's own `collectData` decides, and an option without any needs none, whatever the others need. Only where
    /// the answer is of the generation that knows fields alone, and none per option, its fields hold for every option.
    public static func requirement(
        for option: PaymentOption,
        in response: PaymentOptionsResponse
    ) -> Requirement {
        if let own = option.collectData { return requirement(own) }
        guard let all = response.collectData, all.url == nil, all.schema == nil,
            response.options.allSatisfy({ $0.collectData == nil })
        else { return .none }
        return requirement(all)
    }

    private static func requirement(_ action: CollectDataAction) -> Requirement {
        if let url = action.url, !url.isEmpty { return .form(url: url, action) }
        return action.fields.isEmpty ? .unrecognised : .fields(action.fields)
    }

    /// Light or dark, for the form.
    public enum Theme: String, Sendable {
        case light, dark
    }

    /// The form's address with what the wallet knows already, so that the customer need not type it.
    /// - Parameters:
    ///   - baseUrl: As the gateway gave it. What its query has stays, but for an earlier `prefill` or `theme`, whose place the
    ///     new one takes. Source: reown-swift, example wallet, `buildFormUrl`.
    ///   - prefillData: By the schema's names; see ``requiredNames(schema:)``. Personal: the address must not be logged.
    /// - Returns: `baseUrl` where there is nothing to add.
    public static func buildPrefillUrl(
        baseUrl: String,
        prefillData: [String: String],
        theme: Theme? = nil
    ) -> String {
        var items: [String] = []
        if !prefillData.isEmpty {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Strings always have a JSON.
            guard let json = try? encoder.encode(prefillData) else { return baseUrl }
            // Base64 has `+`, `/` and `=`, which a query may not carry as they are: `+` would be read as a space.
            items.append("prefill=" + PercentEncoding.encode(json.base64EncodedString()))
        }
        if let theme { items.append("theme=" + theme.rawValue) }
        guard !items.isEmpty else { return baseUrl }
        func name(_ item: some StringProtocol) -> String { String(item.prefix { $0 != "=" }) }
        let base = baseUrl.prefix { $0 != "#" }
        let path = base.prefix { $0 != "?" }
        let added = Set(items.map { name($0) })
        let kept = base.dropFirst(path.count + 1).split(separator: "&").filter { !added.contains(name($0)) }
        let query = (kept.map(String.init) + items).joined(separator: "&")
        return "\(path)?\(query)\(baseUrl.dropFirst(base.count))"
    }

    /// The names that a form's schema requires, always or as one of several ways to answer, for the keys of the prefill.
    /// Empty where it is no schema: the form then asks for everything. See ``FormSchema``.
    public static func requiredNames(schema: String) -> [String] {
        FormSchema(schema)?.requiredNames ?? []
    }

    /// What the form says through its bridge.
    public enum Message: Sendable, Hashable {
        /// `IC_COMPLETE`: all is filled in and handed over. Go on to `confirmPayment`.
        case complete
        /// `IC_ERROR`, with the form's words. From outside: shorten and clean before they are shown; let the customer retry.
        case failed(String)
    }

    /// Names under which forms look for a wallet to talk to, for those who build a bridge.
    public static let bridgeNames = ["payDataCollectionComplete", "AndroidWallet", "ReactNativeWebView"]

    /// JavaScript that makes the bridge of the SDK for iOS, for web views that bring none of that kind. Have it run before the
    /// page's own scripts.
    ///
    /// WebKitGTK and WPE need no script: a script message handler that is registered there as `payDataCollectionComplete` is
    /// that bridge. It hands over a JavaScript value, a text from some forms and an object from others: pass the text that
    /// `jsc_value_to_json` makes of it to ``message(_:)``.
    /// Source: WebKitGTK, `webkit_user_content_manager_register_script_message_handler`.
    /// - Parameter function: What the web view lets its pages call, such as a binding of Chromium's. It gets the texts that
    ///   ``message(_:)`` reads, also where the form posts an object.
    /// - Returns: Nil where `function` is no name of a function.
    public static func bridgeScript(forwardingTo function: String) -> String? {
        let parts = function.split(separator: ".", omittingEmptySubsequences: false)
        let areNames = parts.allSatisfy { part in
            part.utf8.first.map { !(0x30...0x39).contains($0) } == true
                && part.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "$") }
        }
        guard areNames else { return nil }
        return """
            (() => {
            const webkit = window.webkit ??= {}, handlers = webkit.messageHandlers ??= {};
            handlers.payDataCollectionComplete = { postMessage: (message) => {
            \(function)(String(typeof message === "string" ? message : JSON.stringify(message))); } };
            })();
            """
    }

    /// Reads a message of the form's bridge; nil for every other message, which is to be ignored.
    /// - Parameter text: JSON of the message, or of a text that holds its JSON: forms post objects as well as texts.
    public static func message(_ text: String) -> Message? {
        struct Wire: Decodable {
            var type: String
            var success: Readable<Bool>?
            var error: Readable<String>?
        }
        let data = Data(text.utf8)
        let inner = (try? JSONDecoder().decode(String.self, from: data)).map { Data($0.utf8) }
        guard let wire = try? JSONDecoder().decode(Wire.self, from: inner ?? data) else { return nil }
        switch wire.type {
        case "IC_COMPLETE" where wire.success?.value != false: return .complete
        case "IC_COMPLETE", "IC_ERROR": return .failed(wire.error?.value ?? "Unknown error")
        default: return nil
        }
    }

    /// Whether a page may be shown inside the wallet: `https`, at a host of WalletConnect Pay's own. Open all others outside.
    ///
    /// Hosts are compared whole: `pay.walletconnect.com.evil.test` is none of them.
    public static func staysInside(_ url: String, hosts: LinkHosts = .walletConnectPay) -> Bool { hosts.allow(url) }
}
