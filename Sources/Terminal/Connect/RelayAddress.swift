/// The address of a relay in one canonical form: a wallet that was invited over it is served however somebody types it again.
///
/// Scheme and host are in lower case; the scheme's usual port and slashes at the end are left out.
struct RelayAddress: Sendable, Hashable {
    let text: String

    init(_ typed: String) {
        let scheme = ["wss://", "ws://"].first { typed.lowercased().hasPrefix($0) }
        guard let scheme else {
            text = typed
            return
        }
        let rest = typed.dropFirst(scheme.count)
        let authority = rest.prefix { !"/?#".contains($0) }
        var tail = rest.dropFirst(authority.count)
        while tail.last == "/" { tail.removeLast() }
        let usualPort = scheme == "wss://" ? ":443" : ":80"
        let host = authority.hasSuffix(usualPort) ? authority.dropLast(usualPort.count) : authority
        text = scheme + host.lowercased() + tail
    }
}
