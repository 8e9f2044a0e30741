/// What a link that opened the wallet asks for. Whatever it is, the wallet also shows what is already pending.
public enum WalletLink: Sendable, Equatable {
    /// An invitation: pair.
    case pair(WalletConnectURI)
    /// A dapp's nudge, a URI without a key: do nothing but show what is pending.
    case ignore
    /// Show this request.
    case showRequest(id: RPCID, sessionTopic: Topic?)
    /// Show this session.
    case showSession(Topic)
    /// An envelope that came without a relay.
    case linkMode(LinkEnvelope)
    /// Just open.
    case open
    /// Looks like an invitation and is none: say why.
    case unusable(WalletConnectURI.Failure)

    /// Reads a deep link, a universal link, or a bare `wc:` URI.
    ///
    /// What tells an invitation from a nudge is the key: a nudge's topic can have any form.
    public init(_ text: String) {
        let text = text.trimmed
        guard text.utf8.count <= 2 * RPCMessage.limitBytes else {
            self = .unusable(.malformed(reason: "more than 2 MiB"))
            return
        }
        if text.lowercased().hasPrefix("wc:") || text.lowercased().hasPrefix("wc%") {
            self = Self.invitation(text)
            return
        }
        guard let question = text.firstIndex(of: "?") else {
            self = text.contains("://") ? .open : Self.invitation(text)
            return
        }
        let query = text[text.index(after: question)...].prefix { $0 != "#" }
        let first = Self.firstValues(of: query)
        if first["wc_ev"] != nil {
            self = LinkEnvelope(link: text).map(WalletLink.linkMode) ?? .unusable(.malformed(reason: "wc_ev"))
        } else if let id = first["requestId"].flatMap({ RPCID(String($0)) }) {
            self = .showRequest(id: id, sessionTopic: first["sessionTopic"].flatMap { Topic(String($0)) })
        } else if let topic = first["sessionTopic"].flatMap({ Topic(String($0)) }) {
            self = .showSession(topic)
        } else if let value = Self.uri(in: query) {
            self = Self.invitation(String(value))
        } else {
            self = .open
        }
    }

    private static func firstValues(of query: Substring) -> [String: Substring] {
        var values: [String: Substring] = [:]
        for pair in query.split(separator: "&") {
            let name = pair.prefix { $0 != "=" }
            if values[String(name)] == nil { values[String(name)] = pair.dropFirst(name.count + 1) }
        }
        return values
    }

    /// A URI that was not encoded holds `&` itself: then it is the whole rest of the query.
    private static func uri(in query: Substring) -> Substring? {
        var rest = query
        while !rest.isEmpty {
            if rest.hasPrefix("uri=") {
                let value = rest.dropFirst(4)
                return value.lowercased().hasPrefix("wc:") ? value : value.prefix { $0 != "&" }
            }
            rest = rest.drop { $0 != "&" }.dropFirst()
        }
        return nil
    }

    private static func invitation(_ text: String) -> WalletLink {
        do {
            return .pair(try WalletConnectURI(parsing: text))
        } catch {
            let isURI: Bool
            if case .malformed = error { isURI = false } else { isURI = true }
            let plain = PercentCoding.decode(text).flatMap(PercentCoding.decode) ?? text
            return isURI && !plain.contains("symKey=") && !plain.contains("key=") ? .ignore : .unusable(error)
        }
    }
}
