import Locks
public import Payments
import WebServer

/// The web page while the terminal cannot write anything down: it says so, and nothing else. Nobody can sign in, no charge
/// can be made, and nothing is read but the certificate.
public final class TroublePage: Sendable {
    /// What a person reads, and in which language it is.
    public struct Words: Sendable {
        public var lines: [String]
        /// BCP 47.
        public var language: String

        public init(_ lines: [String], language: String) { (self.lines, self.language) = (lines, language) }
    }

    private let server: WebServer
    private let reason: Box

    private final class Box: Sendable {
        let reason: Mutex<Reason>

        init(_ reason: Reason) { self.reason = Mutex(reason) }
    }

    /// Serves from here on; nil where there is no certificate yet, or the port is somebody else's.
    /// - Parameters:
    ///   - state: Where the certificate lies.
    ///   - words: A reason in the language that a browser asks for; gets its `Accept-Language`.
    public init?(
        address: String,
        port: UInt16,
        state: String,
        _ reason: Reason,
        words: @escaping @Sendable (Reason, String?) -> Words
    ) {
        // Whether the owner's has ended is not looked at: the clock may be what is in trouble.
        let own = try? OwnersCertificate.stored(in: state, at: nil)?.page
        guard let certificate = own ?? DeviceCertificate.existing(in: state) else { return nil }
        let box = Box(reason)
        var configuration = WebServer.Configuration(
            address: address,
            port: port,
            tls: TLSIdentity(certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.keyPEM),
            limits: Console.limits,
            defaultHeaders: Console.headers
        )
        // Whatever is asked is answered alike: nobody is known, and no body is kept.
        configuration.admission = { request, _ in
            let reason = box.reason.withLock { $0 }
            let answer = Self.answer(request.path, reason, words(reason, request.header("Accept-Language")))
            return WebServer.Admission(isKnown: false, .refuse(answer: answer, whenAnswered: {}))
        }
        configuration.plainHTTP = { Console.redirect($0, to: $1) }
        let server = try? WebServer(configuration: configuration) { request in
            let reason = box.reason.withLock { $0 }
            return .now(Self.answer(request.path, reason, words(reason, request.header("Accept-Language"))))
        }
        guard let server else { return nil }
        (self.server, self.reason) = (server, box)
    }

    /// Where it listens.
    public var port: UInt16 { server.port }

    /// Says another reason from here on.
    public func say(_ reason: Reason) { self.reason.reason.withLock { $0 = reason } }

    /// Serves until cancelled, and lets go of the port.
    public func run() async throws { try await server.run() }

    private static func answer(_ path: String, _ reason: Reason, _ words: Words) -> WebResponse {
        var response: WebResponse
        if path == "/healthz" {
            response = .json(#"{"status":"failing","code":"\#(reason.code)"}"#, status: 503)
        } else if path.hasPrefix("/api/") {
            response = .json(JSON.object(JSON.parts(of: reason)).text, status: 503)
        } else {
            response = .text(words.lines.joined(separator: "\n\n") + "\n", status: 503)
            response.headers["Content-Language"] = words.language
            response.headers["Vary"] = "Accept-Language"
        }
        response.headers["Retry-After"] = "10"
        response.headers["Cache-Control"] = "no-store"
        return response
    }
}
