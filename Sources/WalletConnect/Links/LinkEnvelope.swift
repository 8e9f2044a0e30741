/// An envelope within a link, between two apps on one phone: no relay, and for its first message no key either.
///
/// Both sides must have announced `redirect.linkMode` and a universal link.
public struct LinkEnvelope: Sendable, Equatable {
    public let topic: Topic
    let envelope: Envelope

    init(topic: Topic, envelope: Envelope) { (self.topic, self.envelope) = (topic, envelope) }

    /// Reads `…?wc_ev=…&topic=…`; nil for anything else.
    public init?(link: String) {
        guard let question = link.firstIndex(of: "?") else { return nil }
        var found: [String: String] = [:]
        for pair in link[link.index(after: question)...].split(separator: "&") {
            let name = String(pair.prefix { $0 != "=" })
            guard name == "wc_ev" || name == "topic", found[name] == nil else { continue }
            found[name] = PercentCoding.decode(String(pair.dropFirst(name.count + 1)))
        }
        guard let text = found["wc_ev"], let topic = found["topic"].flatMap(Topic.init),
            let envelope = try? Envelope(text: text, from: .link)
        else { return nil }
        self.init(topic: topic, envelope: envelope)
    }

    /// Whether a link to an app can carry envelopes: `https`, without a query or fragment of its own, 1024 bytes at most.
    static func isUniversal(_ link: String) -> Bool {
        link.lowercased().hasPrefix("https://") && (9...1024).contains(link.utf8.count)
            && link.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"?#\"<>\\".utf8.contains($0) }
    }

    /// The link that carries it to the app at `universal`; nil for a universal link that is none.
    public func link(universal: String) -> String? {
        guard Self.isUniversal(universal) else { return nil }
        return "\(universal)?wc_ev=\(envelope.text(for: .link))&topic=\(topic.text)"
    }

    /// The first message of link mode, which anybody could have written: show it as coming from an unknown origin.
    /// nil for a sealed envelope.
    public var plainText: String? {
        guard case .plain(let bytes) = envelope else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Wraps a first message.
    public init(plainText: String, topic: Topic) {
        self.init(topic: topic, envelope: .plain(Array(plainText.utf8)))
    }

    /// Wraps a later message under the session's key. `random` gives the nonce.
    public init(sealing message: String, with key: SymmetricSecret, topic: Topic, random: any RandomSource) {
        self.init(topic: topic, envelope: .seal(message, with: key, nonce: random.bytes(12)))
    }

    /// The message of a sealed envelope; nil for another key, for a changed one, and for a plain one.
    public func open(with key: SymmetricSecret) -> String? {
        guard case .sealed(let sealed) = envelope, let bytes = try? sealed.open(with: key) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
