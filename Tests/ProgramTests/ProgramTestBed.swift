import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL
import Subprocess
import SystemPackage
import Testing

/// A test bed of real programs in a folder of its own: a sandbox gateway, a terminal set up to use it, and a customer's wallet.
struct ProgramTestBed: Sendable {
    let folder: FilePath
    let gateway: Running
    let gatewayURL: String
    static let merchantID = "mrch_test"
    static let key = "wcp_test_key"
    static let controlToken = "control-test"
    static let password = "correct horse battery"

    /// What the page or a test says to one of the programs, and the answer.
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
        let cookie: String?

        func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: Data(body))
        }
    }

    /// A client that takes the terminal's own certificate: on loopback nobody stands between.
    static let http: HTTPClient = {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    static func send(
        _ method: HTTPMethod,
        _ url: String,
        headers: [(String, String)] = [],
        json: (any Encodable & Sendable)? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let json {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(json)))
        }
        let response = try await http.execute(request, timeout: .seconds(40))
        let body = try await response.body.collect(upTo: 1 << 20)
        let cookie = response.headers["Set-Cookie"].first.map { String($0.prefix { $0 != ";" }) }
        return Answer(status: Int(response.status.code), body: Array(body.readableBytesView), cookie: cookie)
    }

    /// Tells the gateway to misbehave. Source: `till-sandbox gateway`'s control interface.
    func fault(_ fault: [String: String]) async throws {
        let answer = try await Self.send(
            .POST,
            gatewayURL + "/control/faults",
            headers: [("Authorization", "Bearer \(Self.controlToken)")],
            json: fault
        )
        #expect((200..<300).contains(answer.status), "\(String(decoding: answer.body, as: UTF8.self))")
    }

    /// The customer pays a link with a fresh key. True when the wallet saw it settle.
    func pay(_ link: String) async throws -> Bool {
        let result = try await run(
            .path(Programs.directory.appending("till-sandbox")),
            arguments: ["wallet", "pay", "--gateway", gatewayURL, link],
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        return result.terminationStatus.isSuccess
    }

    struct Call: Decodable, Sendable {
        var endpoint: String?
        var idempotencyKey: String?
    }

    private struct Calls: Decodable { var calls: [Call] }

    /// The calls that reached the gateway, in order.
    func calls(_ endpoint: String) async throws -> [Call] {
        let answer = try await Self.send(
            .GET,
            gatewayURL + "/control/log",
            headers: [("Authorization", "Bearer \(Self.controlToken)")]
        )
        return try answer.json(Calls.self).calls.filter { $0.endpoint == endpoint }
    }

    private struct Payments: Decodable {
        struct Payment: Decodable { var paymentId: String? }
        var payments: [Payment]
    }

    /// How many payments the gateway has made.
    func paymentCount() async throws -> Int {
        let answer = try await Self.send(
            .GET,
            gatewayURL + "/control/payments",
            headers: [("Authorization", "Bearer \(Self.controlToken)")]
        )
        return try answer.json(Payments.self).payments.count
    }

    /// Runs a terminal on this bed's state. The next one in the same bed goes on where it stopped.
    /// - Parameter more: Further lines of its configuration.
    func withTerminal<Value: Sendable>(
        _ more: String = "",
        address: String = "127.0.0.1",
        hasLocalName: Bool = true,
        sound: String = "none",
        environment: Environment = .inherit,
        ended: (TerminationStatus) -> Void = { _ in },
        _ body: @Sendable @escaping (Terminal) async throws -> Value
    ) async throws -> Value {
        let config = folder.appending("till.yaml")
        let yaml = """
            state: \(folder)/terminal
            web: { address: \(address), port: 0, names: [localhost], pages: "\(Programs.root)/Public", localName: \(hasLocalName) }
            screen: { sink: png, path: "\(folder)/screen.png", width: 800, height: 480 }
            gateway: { allowLoopbackHTTP: true }
            sound: { device: "\(sound)" }
            log: { level: debug }
            \(more)
            """
        try Data(yaml.utf8).write(to: URL(filePath: config.string))
        let bed = self
        return try await withProgram(
            "till",
            ["run", "--config", config.string, "--announce", "-"],
            log: folder.appending("terminal.log"),
            environment: environment,
            ended: ended
        ) { running in
            let url = try #require(try await running.first { $0.event == "listening" }.url)
            return try await body(Terminal(bed: bed, running: running, url: url))
        }
    }

    /// One terminal process, as seen from its page's API.
    struct Terminal: Sendable {
        let bed: ProgramTestBed
        let running: Running
        let url: String

        struct Session: Sendable {
            let cookie: String
            let csrf: String
        }

        private struct SessionBody: Decodable { var csrfToken: String? }

        struct Charge: Decodable, Sendable {
            var id: String
            var state: String
            var late: Bool
            var unresolved: Bool
        }

        struct Refusal: Decodable, Sendable { var code: String }

        func send(
            _ method: HTTPMethod,
            _ path: String,
            _ session: Session? = nil,
            headers: [(String, String)] = [],
            json: (any Encodable & Sendable)? = nil
        ) async throws -> Answer {
            var all = headers + [("Origin", url)]
            if let session { all += [("Cookie", session.cookie), ("X-CSRF-Token", session.csrf)] }
            return try await ProgramTestBed.send(method, url + path, headers: all, json: json)
        }

        func claim() async throws -> Session {
            let code = try #require(try await running.first { $0.event == "claim" }.code)
            return try await session(
                send(.POST, "/api/v1/claim", json: ["code": code, "password": ProgramTestBed.password])
            )
        }

        func signIn() async throws -> Session {
            try await session(send(.POST, "/api/v1/login", json: ["password": ProgramTestBed.password]))
        }

        private func session(_ answer: Answer) throws -> Session {
            let cookie = try #require(answer.cookie, "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
            return Session(cookie: cookie, csrf: try #require(try answer.json(SessionBody.self).csrfToken))
        }

        func setUp(_ session: Session) async throws {
            let answer = try await send(
                .PUT,
                "/api/v1/settings",
                session,
                json: [
                    "operatorID": "op-1", "merchantID": ProgramTestBed.merchantID, "merchantName": "Kiosk",
                    "gatewayURL": bed.gatewayURL, "gatewayKey": ProgramTestBed.key, "currency": "USD",
                    "locale": "en-US",
                ]
            )
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        }

        func charge(_ session: Session, amount: String = "12.50", key: String) async throws -> Answer {
            try await send(
                .POST,
                "/api/v1/charges",
                session,
                headers: [("Idempotency-Key", key)],
                json: ["amount": amount]
            )
        }

        func state(of id: String, _ session: Session) async throws -> Charge {
            try await send(.GET, "/api/v1/charges/\(id)", session).json()
        }

        /// The announcement with which a charge reached a state.
        func reaches(_ state: String, _ id: String? = nil) async throws -> Announcement {
            try await running.first { $0.event == "charge" && $0.state == state && (id == nil || $0.id == id) }
        }
    }
}

/// Runs a gateway in a new folder for as long as `body` runs.
func withTestBed<Value: Sendable>(
    gateway arguments: [String] = [],
    _ body: @Sendable @escaping (ProgramTestBed) async throws -> Value
) async throws -> Value {
    let folder = FilePath(FileManager.default.temporaryDirectory.path()).appending("till-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder.string) }  // Of a test: a rest does no harm.
    return try await withProgram(
        "till-sandbox",
        [
            "gateway", "--port", "0", "--merchant", ProgramTestBed.merchantID, "--api-key", ProgramTestBed.key,
            "--control-token",
            ProgramTestBed.controlToken,
        ] + arguments,
        log: folder.appending("gateway.log")
    ) { gateway in
        let url = try #require(try await gateway.first { $0.ready == true }.url)
        return try await body(ProgramTestBed(folder: folder, gateway: gateway, gatewayURL: url))
    }
}
