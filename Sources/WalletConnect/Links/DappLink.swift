/// The links by which a dapp opens a wallet on the same phone.
///
/// On iOS a universal link opens the app only in the handler of the user's own tap, with nothing awaited before: build the
/// link early, put it into the anchor, and let the tap follow it. A custom scheme is preferred: it cannot end in a browser.
public enum DappLink {
    /// Where the wallet was found. Telegram on Android decodes links once more than others.
    public enum Place: Sendable { case ordinary, telegramOnAndroid }

    /// The link that hands `uri` to a wallet. `wallet` is its scheme (`example`, `example:`, `example://`) or its universal
    /// link (`https://example.wallet`), with a path or without; nil for an empty one.
    ///
    /// The result holds the pairing's key: hand it to the system, log it nowhere.
    public static func connect(_ uri: WalletConnectURI, wallet: String, place: Place = .ordinary) -> String? {
        guard let base = base(of: wallet) else { return nil }
        let once = PercentCoding.encode(uri.absoluteString)
        return base + "wc?uri=" + (place == .telegramOnAndroid ? PercentCoding.encode(once) : once)
    }

    /// The link that hands a payment link (`https://…`) to a wallet that pays such links; nil for anything else.
    ///
    /// Wallets look for it in the link that opened them. Source: the official SDK's `isPaymentLink`.
    public static func connect(paymentLink: String, wallet: String) -> String? {
        guard let base = base(of: wallet), paymentLink.lowercased().hasPrefix("https://"),
            paymentLink.utf8.count <= 4096
        else { return nil }
        return base + "wc?uri=" + PercentCoding.encode(paymentLink)
    }

    /// The link that brings a wallet to the front for a request it got over the relay. Call after publishing the request.
    public static func request(id: RPCID, sessionTopic: String, wallet: String) -> String? {
        guard !wallet.isEmpty else { return nil }
        let query = "requestId=\(id)&sessionTopic=\(sessionTopic)"
        if wallet.hasPrefix("https://t.me") { return "\(wallet)?startapp=\(Base64.unpadded(Array(query.utf8)))" }
        return (wallet.hasSuffix("/") && !wallet.hasSuffix("://") ? String(wallet.dropLast()) : wallet)
            + (wallet.hasSuffix("://") ? "wc?" : "/wc?") + query
    }

    /// What a page needs to let a tap open a wallet: an anchor with the finished link, and no script on the way.
    public struct Anchor: Sendable, Equatable {
        public let href: String
        /// `_self` for a custom scheme, so that no empty tab is left; `_blank` for a universal link.
        public let target: String
        /// Keeps the opened page from reaching back, and the link's secret out of the referrer.
        public let rel: String
    }

    /// The anchor for a phone's page: the custom scheme where the wallet has one, else its universal link; nil for neither.
    ///
    /// Render it before the customer can tap. iOS follows a universal link into the app only from a tap on it.
    public static func anchor(_ uri: WalletConnectURI, native: String?, universal: String?) -> Anchor? {
        anchor(native: native, universal: universal) { connect(uri, wallet: $0) }
    }

    /// As ``anchor(_:native:universal:)``, for a payment link.
    public static func anchor(paymentLink: String, native: String?, universal: String?) -> Anchor? {
        anchor(native: native, universal: universal) { connect(paymentLink: paymentLink, wallet: $0) }
    }

    private static func anchor(
        native: String?,
        universal: String?,
        link: (_ wallet: String) -> String?
    ) -> Anchor? {
        for (wallet, target) in [(native, "_self"), (universal, "_blank")] {
            if let wallet, !wallet.isEmpty, let href = link(wallet) {
                return Anchor(href: href, target: target, rel: "noopener noreferrer")
            }
        }
        return nil
    }

    /// With a scheme and exactly one slash at the end, or two after a bare scheme.
    private static func base(of wallet: String) -> String? {
        guard !wallet.isEmpty else { return nil }
        guard wallet.contains("://") else {
            let name = wallet.filter { $0 != "/" && $0 != ":" }
            return name.isEmpty ? nil : name + "://"
        }
        return wallet.hasSuffix("/") ? wallet : wallet + "/"
    }
}
