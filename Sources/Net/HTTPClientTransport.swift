import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
public import WalletConnectPay

/// Which hosts this program may talk to.
public struct AllowedHosts: Sendable, Equatable {
    private let isAllowed: [String]?
    /// Plain HTTP to this machine itself, for the sandbox. Never on an appliance.
    let allowsLoopbackHTTP: Bool
    /// Whoever asks has looked at each address already.
    private var isChecked = false

    private init(isAllowed: [String]?, allowsLoopbackHTTP: Bool) {
        (self.isAllowed, self.allowsLoopbackHTTP) = (isAllowed, allowsLoopbackHTTP)
    }

    /// For who looks at each address before it is asked.
    static var checkedBefore: AllowedHosts {
        var hosts = AllowedHosts(isAllowed: nil, allowsLoopbackHTTP: false)
        hosts.isChecked = true
        return hosts
    }

    /// Any host over verified TLS: the merchant chooses the gateway.
    public static func anyOverTLS(allowsLoopbackHTTP: Bool = false) -> AllowedHosts {
        AllowedHosts(isAllowed: nil, allowsLoopbackHTTP: allowsLoopbackHTTP)
    }

    /// These hosts only, over verified TLS.
    public static func only(_ hosts: [String], allowsLoopbackHTTP: Bool = false) -> AllowedHosts {
        AllowedHosts(isAllowed: hosts.map { $0.lowercased() }, allowsLoopbackHTTP: allowsLoopbackHTTP)
    }

    /// Why an address may not be asked; nil where it may.
    func objection(to url: String) -> String? {
        if isChecked { return nil }
        let lower = url.lowercased()
        let isSecure = lower.hasPrefix("https://")
        guard isSecure || lower.hasPrefix("http://") else { return "only HTTPS addresses can be asked" }
        let authority = lower.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else { return "an address with a user name in it" }
        let host = authority.first == "[" ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        guard isSecure || allowsLoopbackHTTP && (host == "127.0.0.1" || host == "localhost") else {
            return "plain HTTP is not allowed"
        }
        if let isAllowed, !isAllowed.contains(String(host)) { return "\(host) is not on the list of hosts" }
        return nil
    }
}

/// Carries requests over HTTP: verified TLS, one attempt, no redirects, everything bounded in time and size.
public struct HTTPClientTransport: HTTPTransport {
    private let client: HTTPClient
    private let hosts: AllowedHosts

    /// For a machine that asks itself: its page under its own name, at an address of its own, whose certificate nobody
    /// has signed. Whoever answers there is believed, so nothing secret may be sent.
    public init(itself name: String, at address: String) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.dnsOverride = [name: address]
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        hosts = .only([name])
    }

    /// - Parameter authorities: PEM certificates to trust beside the system's, for a gateway of one's own; empty for none.
    /// - Throws: What the TLS library says about `authorities`.
    public init(hosts: AllowedHosts, authorities: String = "") throws {
        try self.init(hosts: hosts, authorities: authorities, addresses: [:])
    }

    /// Whether there is at least one certificate in the text. What is no PEM block of one is passed over.
    public static func isAuthorities(_ pem: String) -> Bool {
        (try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))?.isEmpty == false
    }

    /// To one host, at an address in numbers that was looked at: the name is not asked for again. The certificate has to be
    /// the name's.
    init(reaching host: String, at address: String) throws {
        try self.init(hosts: .checkedBefore, authorities: "", addresses: host == address ? [:] : [host: address])
    }

    private init(hosts: AllowedHosts, authorities: String, addresses: [String: String]) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if !authorities.isEmpty {
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMBytes(Array(authorities.utf8)))]
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(5)
        // By default it goes on connecting until the deadline, and a refused connection looks like silence.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.dnsOverride = addresses
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.hosts = hosts
    }

    /// Ends all exchanges. Call once, when nothing is sent any more.
    public func shutdown() async throws { try await client.shutdown() }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        if let objection = hosts.objection(to: request.url) { throw .notSent(reason: objection) }
        let clock = ContinuousClock()
        let started = clock.now
        do {
            let response = try await exchange(request)
            return HTTPResponse(
                status: Int(response.status.code),
                headers: response.headers.map { ($0.name, $0.value) },
                body: response.body.map { Array($0.readableBytesView) } ?? []
            )
        } catch {
            throw Self.classify(error, after: started.duration(to: clock.now), limit: request.responseLimitBytes)
        }
    }

    /// By the client's older interface: its deadline holds for the whole exchange, the answer's last byte included.
    private func exchange(_ request: HTTPRequest) async throws -> HTTPClient.Response {
        let outgoing = try HTTPClient.Request(
            url: request.url,
            method: HTTPMethod(rawValue: request.method.rawValue),
            headers: HTTPHeaders(request.headers.map { ($0.name, $0.value) }),
            body: request.body.map { .byteBuffer(ByteBuffer(bytes: $0)) }
        )
        let task = client.execute(
            request: outgoing,
            delegate: ResponseAccumulator(request: outgoing, maxBodySize: request.responseLimitBytes),
            deadline: NIODeadline.now() + TimeAmount(request.timeout)
        )
        return try await withTaskCancellationHandler {
            try await task.get()
        } onCancel: {
            task.cancel()
        }
    }

    /// What an error proves. Where it proves nothing, the request may have arrived.
    private static func classify(_ error: any Error, after: Duration, limit: Int) -> TransportError {
        switch error {
        case is CancellationError: return .cancelled
        case is ResponseAccumulator.ResponseTooBigError: return .answerTooLarge(limitBytes: limit)
        case let error as HTTPClientError: return classify(error, after: after)
        case let error as NIOSSLError: return classify(error, after: after)
        case is NIOSSLExtraError: return .notSent(reason: "the certificate is not for this host")
        case let error as NIOConnectionError:
            // All addresses were tried and none accepted a connection, or the name has none.
            let hasAddress = !error.connectionErrors.isEmpty
            return .notSent(reason: hasAddress ? "nobody answers at \(error.host)" : "no address for \(error.host)")
        // Only a connection that was never made can be refused; other system errors may come later.
        case let error as IOError where error.errnoCode == ECONNREFUSED:
            return .notSent(reason: "nobody listens at the gateway's address")
        case let error as ChannelError:
            if case .connectTimeout = error { return .notSent(reason: "nobody answers in time") }
            return .noAnswer(after: after)
        default: return .noAnswer(after: after)
        }
    }

    private static func classify(_ error: HTTPClientError, after: Duration) -> TransportError {
        switch error {
        case .cancelled: .cancelled
        case .connectTimeout: .notSent(reason: "nobody answers in time")
        case .tlsHandshakeTimeout: .notSent(reason: "no secure connection in time")
        case .invalidURL, .emptyHost, .emptyScheme: .notSent(reason: "not an address")
        case .getConnectionFromPoolTimeout: .notSent(reason: "no connection in time")
        default: .noAnswer(after: after)
        }
    }

    private static func classify(_ error: NIOSSLError, after: Duration) -> TransportError {
        switch error {
        // The handshake failed, so no byte of the request was written.
        case .handshakeFailed(let cause): isAboutTheCertificate(cause) ? .untrustedCertificate : noTLS(cause)
        default: .noAnswer(after: after)
        }
    }

    /// Whether it is the certificate that was not believed. All other causes say nothing about certificates, nor about
    /// the clock that they are judged by. Source: BoringSSL, ssl.errordata, `CERTIFICATE_VERIFY_FAILED`.
    private static func isAboutTheCertificate(_ cause: BoringSSLError) -> Bool {
        "\(cause)".contains("CERTIFICATE_VERIFY_FAILED")
    }

    /// Source: BoringSSL, ssl.errordata: what a server that speaks plain HTTP looks like to a TLS client.
    private static func noTLS(_ cause: BoringSSLError) -> TransportError {
        let isPlain = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST"].contains { "\(cause)".contains($0) }
        return .notSent(reason: isPlain ? "no TLS is spoken there" : "no secure connection can be made there")
    }
}
