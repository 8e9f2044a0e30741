/// Who has to leave where connections become too many. A pure rule: it decides, and ``Links`` cuts the connection.
///
/// The one who comes is let in and another one goes: a server that refuses newcomers is held by whoever came first. Whoever is known
/// never goes. Of the others the address with the most connections loses first, so that a dozen addresses with a thousand sockets
/// crowd out each other, and nobody with one.
struct Crowd {
    /// A connection as the rule sees it.
    struct Guest: Equatable {
        /// Counts up: who came later has the larger number.
        let number: Int
        /// Whom it counts for, see ``WebServer/source(of:)``.
        let source: String
        var isKnown = false
        /// Somebody known had a connection from that very address lately.
        var isFromKnownAddress = false
        /// Has sent the head of a request: its handshake is over.
        var hasAsked = false
        var stage = Stage.quiet
    }

    /// In the order in which they go.
    enum Stage: Int, Comparable {
        /// Handshake, sending a request, or waiting between two.
        case quiet
        /// An event stream.
        case listening
        /// Its answer is being made or sent.
        case answering

        static func < (one: Stage, other: Stage) -> Bool { one.rawValue < other.rawValue }
    }

    let most: Int
    let mostOfSource: Int
    let mostBeforeRequest: Int

    /// The guest that goes; nil where there is room for all.
    /// - Parameter newcomer: The number of the one who has just come; in `guests`.
    func leaver(among guests: [Guest], newcomer: Int) -> Int? {
        let strangers = guests.filter { !$0.isKnown }
        if let source = guests.first(where: { $0.number == newcomer })?.source {
            let same = strangers.filter { $0.source == source }
            if same.count > mostOfSource { return first(of: same) }
        }
        let silent = strangers.filter { !$0.hasAsked }
        if silent.count > mostBeforeRequest { return first(of: silent) }
        return guests.count > most ? first(of: strangers) : nil
    }

    /// Of the unknown addresses, if any, the source with the most; of its guests the one that is needed least, and came first.
    private func first(of guests: [Guest]) -> Int? {
        let unknown = guests.filter { !$0.isFromKnownAddress }
        let candidates = unknown.isEmpty ? guests : unknown
        let counts = Dictionary(grouping: candidates, by: \.source).mapValues(\.count)
        let largest = counts.values.max() ?? 0
        return candidates.filter { counts[$0.source] == largest }
            .min { ($0.stage, $0.number) < ($1.stage, $1.number) }?.number
    }
}

extension WebServer {
    /// Whom a connection counts for: an IPv4 address, or the network of an IPv6 one, of which each machine has as many as it
    /// wants. Source: RFC 6177; RFC 4291, 2.5.4 (64 bits name the network).
    static func source(of peerAddress: String) -> String {
        guard peerAddress.contains(":") else { return peerAddress }
        let halves = peerAddress.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        var groups = halves[0].split(separator: ":").map(String.init)
        // `::` stands for as many zeros as are missing; where it comes later, the first four are written out.
        while groups.count < 4 { groups.append("0") }
        return groups.prefix(4).joined(separator: ":") + "::/64"
    }
}
