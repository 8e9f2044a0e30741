import Glibc
import Locks
import NIOPosix
public import WalletConnectPay

/// Why a request to an address that somebody typed is not made.
public enum OutsideObjection: Sendable, Equatable {
    /// Not `https://` or `http://` with a host, and nothing hidden in it.
    case notAnAddress
    /// Unencrypted to somewhere outside the shop's own network.
    case plainHTTP
    /// This machine itself, a link's own addresses, a cloud's metadata.
    case place
}

/// Why a request had no answer.
public enum OutsideError: Error, Sendable, Equatable {
    /// It was not made, and will not be as long as the address leads there.
    case objected(OutsideObjection)
    case transport(TransportError)
}

/// An address out of which nothing was read twice: its parts, as they are compared and as they are asked.
struct OutsideURL: Sendable, Equatable {
    let isSecure: Bool
    /// Lower case; of an IPv6 address without brackets.
    let host: String
    /// With the host in lower case.
    let text: String

    /// Nil where it is no address, or names a user.
    init?(_ url: String) {
        guard (8...500).contains(url.utf8.count), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !url.utf8.contains(where: { "\\\"<>^`{|}#".utf8.contains($0) })
        else { return nil }
        let lower = url.lowercased()
        isSecure = lower.hasPrefix("https://")
        guard isSecure || lower.hasPrefix("http://") else { return nil }
        let start = isSecure ? 8 : 7
        let authority = String(lower.dropFirst(start).prefix { $0 != "/" && $0 != "?" })
        let name: Substring
        let port: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            name = authority[authority.index(after: authority.startIndex)..<end]
            port = authority[authority.index(after: end)...]
            guard AddressPlace(String(name)) != nil, name.contains(":") else { return nil }
        } else {
            name = authority.prefix { $0 != ":" }
            port = authority[name.endIndex...]
            let letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
            guard (1...253).contains(name.utf8.count), name.allSatisfy(letters.contains), !name.hasPrefix(".") else {
                return nil
            }
        }
        guard port.isEmpty || port.first == ":" && UInt16(port.dropFirst()).map({ $0 > 0 }) == true else { return nil }
        host = String(name)
        text = lower.prefix(start) + authority + url.dropFirst(start + authority.count)
    }
}

/// Which of the addresses that somebody typed are asked.
public struct OutsidePolicy: Sendable {
    /// `http://127.0.0.1` and `http://localhost`, for the sandbox. Never on an appliance.
    private let allowsLoopbackHTTP: Bool
    /// The machine's own addresses in numbers, as they are now.
    private let own: @Sendable () -> [String]

    public init(allowsLoopbackHTTP: Bool, own: @escaping @Sendable () -> [String]) {
        (self.allowsLoopbackHTTP, self.own) = (allowsLoopbackHTTP, own)
    }

    /// What its text alone says against an address; a name's numbers are looked at each time it is asked.
    public func objection(to url: String) -> OutsideObjection? {
        guard let url = OutsideURL(url) else { return .notAnAddress }
        if url.host == "localhost" || url.host.hasSuffix(".localhost") {
            return allowsLoopbackHTTP && url.host == "localhost" && !url.isSecure ? nil : .place
        }
        return AddressPlace(url.host) == nil ? nil : objection(to: [url.host], of: url)
    }

    /// Whether a receipt printer may be at an IP address. It is told in plain bytes, so that the policy is about places only: not
    /// this machine itself, a link's own addresses or a cloud's metadata.
    public func allowsPrinter(at address: String) -> Bool {
        let address = AddressPlace.plain(address)
        switch AddressPlace(address) {
        case .everywhere, .local: return !own().map(AddressPlace.plain).contains(address)
        case .loopback: return allowsLoopbackHTTP
        case .forbidden, nil: return false
        }
    }

    /// All of a name's addresses have to be fine: which of them is asked is chance.
    func objection(to addresses: [String], of url: OutsideURL) -> OutsideObjection? {
        let own = Set(own().map(AddressPlace.plain))
        for address in addresses.map(AddressPlace.plain) {
            switch AddressPlace(address) {
            case .everywhere:
                if own.contains(address) { return .place }
                if !url.isSecure { return .plainHTTP }
            case .local: if own.contains(address) { return .place }
            case .loopback:
                let isNamed = ["127.0.0.1", "localhost"].contains(url.host)
                guard allowsLoopbackHTTP, isNamed, !url.isSecure else { return .place }
            case .forbidden, nil: return .place
            }
        }
        return nil
    }
}

/// Carries requests to addresses that the owner of a shop typed: what was looked at is what is asked, whatever the name's
/// next answer is. Verified TLS, one attempt, no redirects, everything bounded in time and size.
public final class OutsideTransport: Sendable {
    private let policy: OutsidePolicy
    private let resolve: @Sendable (String) async throws(TransportError) -> [String]
    /// The last used last. A connection is kept for the next request to the same place.
    private let clients = Mutex<[(place: Place, transport: HTTPClientTransport)]>([])
    private let isOver = Mutex(false)

    private static let mostClients = 8
    private static let mostAddresses = 2

    private struct Place: Equatable { let host, address: String }

    public convenience init(policy: OutsidePolicy) { self.init(policy: policy, resolve: Self.addresses) }

    init(policy: OutsidePolicy, resolve: @escaping @Sendable (String) async throws(TransportError) -> [String]) {
        (self.policy, self.resolve) = (policy, resolve)
    }

    /// Ends all exchanges. Call once, when nothing is sent any more.
    public func shutdown() async {
        isOver.withLock { $0 = true }
        for client in clients.withLock({ clients in
            defer { clients = [] }
            return clients
        }) { await Self.end(client.transport) }
    }

    /// One exchange: no retry, no redirect followed. A connection that nobody took is tried at the name's next address.
    public func send(_ request: HTTPRequest) async throws(OutsideError) -> HTTPResponse {
        guard let url = OutsideURL(request.url) else { throw .objected(.notAnAddress) }
        if let objection = policy.objection(to: request.url) { throw .objected(objection) }
        var addresses = [url.host]
        if AddressPlace(url.host) == nil {
            do throws(TransportError) { addresses = try await resolve(url.host) } catch { throw .transport(error) }
            if let objection = policy.objection(to: addresses, of: url) { throw .objected(objection) }
        }
        var request = request
        request.url = url.text
        var last = TransportError.notSent(reason: "no address for \(url.host)")
        for address in addresses.prefix(Self.mostAddresses) {
            do throws(TransportError) {
                return try await client(Place(host: url.host, address: address)).send(request)
            } catch {
                last = error
                guard case .notSent = error else { break }
            }
        }
        throw .transport(last)
    }

    private func client(_ place: Place) async throws(TransportError) -> HTTPClientTransport {
        let (known, surplus) = clients.withLock { clients in
            guard let index = clients.firstIndex(where: { $0.place == place }) else {
                return (nil as HTTPClientTransport?, clients.count < Self.mostClients ? nil : clients.removeFirst())
            }
            let known = clients.remove(at: index)
            clients.append(known)
            return (known.transport, nil)
        }
        // What it was about has no answer then, and is asked again.
        if let surplus { await Self.end(surplus.transport) }
        if let known { return known }
        let made: HTTPClientTransport
        do { made = try HTTPClientTransport(reaching: place.host, at: place.address) } catch {
            throw .notSent(reason: "no secure connection can be made here: \(error)")
        }
        // Of two that were made at once both are kept until they are the oldest.
        let isKept = clients.withLock { clients in
            guard !isOver.withLock({ $0 }) else { return false }
            clients.append((place, made))
            return true
        }
        guard isKept else {
            await Self.end(made)
            throw .cancelled
        }
        return made
    }

    private static func end(_ transport: HTTPClientTransport) async {
        // Of a client that is given up nothing is expected any more.
        try? await transport.shutdown()
    }

    /// The system's own answer: its hosts file, mDNS and DNS.
    private static func addresses(of host: String) async throws(TransportError) -> [String] {
        let found: [String]
        do { found = try await NIOThreadPool.singleton.runIfActive { numbers(of: host) } } catch { throw .cancelled }
        guard !found.isEmpty else { throw .notSent(reason: "no address for \(host)") }
        return found
    }

    /// Blocks for as long as the system's resolver takes.
    private static func numbers(of host: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var first: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var found: [String] = []
        var next = unsafe first
        while let entry = unsafe next?.pointee {
            unsafe next = entry.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            guard
                unsafe getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if !found.contains(address) { found.append(address) }
        }
        return found
    }
}
