/// Brings the user back to the dapp after an answer.
///
/// Prefer the custom scheme of the dapp's `redirect.native`. From iOS 17 on a dapp in a browser cannot be returned to: then,
/// and where the proposal came by QR code from another device, ask the user to go back by hand.
public struct WalletConnectRouter: Sendable {
    /// Opens a link with whatever the system has for it, and says whether an app took it. On iOS open `https` links with
    /// `universalLinksOnly`, so that no browser opens in the dapp's place.
    public typealias Opener = @Sendable (String) async -> Bool
    private let open: Opener

    public init(opener: @escaping Opener) { open = opener }

    /// What became of going back.
    public enum Outcome: Sendable, Equatable {
        case opened(String)
        /// Tell the user to return to the dapp by hand.
        case returnByHand
    }

    /// Opens `uri`, the dapp's own link. A web page, an unreadable text and a link nobody opens mean `returnByHand`.
    @discardableResult
    public func goBack(uri: String) async -> Outcome {
        guard let link = Self.usable(uri), await open(link) else { return .returnByHand }
        return .opened(link)
    }

    /// Goes back to the sender of something that came `by` a link; does nothing for what came by a QR code, where the dapp
    /// is on another device and the phone would open the wrong app.
    @discardableResult
    public func goBack(to redirect: AppMetadata.Redirect?, by transport: Transport) async -> Outcome {
        guard transport == .link, let redirect else { return .returnByHand }
        for uri in [redirect.native, redirect.universal].compactMap({ $0 }) {
            let outcome = await goBack(uri: uri)
            if case .opened = outcome { return outcome }
        }
        return .returnByHand
    }

    /// A scheme with `:` that is not one a system acts on by itself.
    private static func usable(_ uri: String) -> String? {
        let uri = uri.trimmed
        guard uri.utf8.count <= 2048, let colon = uri.firstIndex(of: ":"), !uri.utf8.contains(where: { $0 <= 0x20 })
        else {
            return nil
        }
        let scheme = uri[..<colon].lowercased()
        guard let first = scheme.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            scheme.utf8.allSatisfy({ byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || "+-.".utf8.contains(byte)
            }), !["javascript", "data", "file", "tel", "sms", "mailto", "http", "wc", "about", "blob"].contains(scheme)
        else { return nil }
        return uri
    }
}

/// How a proposal reached the wallet.
public enum Transport: String, Sendable, Codable {
    /// Scanned or pasted: the dapp is somewhere else.
    case scan
    /// A link opened the wallet: the dapp is on the same phone.
    case link
}
