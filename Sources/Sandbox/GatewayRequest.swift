import Ethereum
import StrictJSON

/// One HTTP request as the gateway reads it: no socket, so that everything behind it can be tested without one.
public struct GatewayRequest: Sendable {
    public let method: String
    /// Decoded path segments.
    let segments: [String]
    /// In the order they came; names may repeat (`status=…&status=…`).
    private(set) var query: [(name: String, value: String)]
    /// Path and query as they came.
    let target: String
    /// By name in lower case.
    let headers: [String: String]
    let body: [UInt8]

    /// - Parameters:
    ///   - target: Path and query, still percent-encoded.
    ///   - headers: Names in any case.
    public init(_ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8] = []) {
        (self.method, self.target) = (method, target)
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        segments = (parts.first ?? "").split(separator: "/").map { percentDecoded(String($0)) }
        query = (parts.count == 2 ? parts[1] : "").split(separator: "&").map { item in
            let halves = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = (halves.count == 2 ? String(halves[1]) : "").map { $0 == "+" ? " " : $0 }
            return (percentDecoded(String(halves.first ?? "")), percentDecoded(String(value)))
        }
        self.headers = Dictionary(
            headers.map { ($0.key.lowercased(), $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        self.body = body
    }

    /// The headers that the gateway reads; a server hands over these and no others.
    public static let headerNames = [
        "Api-Key", "Merchant-Id", "App-Id", "Client-Id", "WCP-Version", "Idempotency-Key", "Sdk-Name", "Sdk-Version",
        "Sdk-Platform", "Authorization", "X-Api-Key", "Host",
    ]

    /// The header's value; nil where it is absent or empty.
    func header(_ name: String) -> String? { headers[name.lowercased()].flatMap { $0.isEmpty ? nil : $0 } }

    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    /// The same request with other names for members of its query.
    func renaming(_ names: [String: String]) -> GatewayRequest {
        var renamed = self
        renamed.query = query.map { (names[$0.name] ?? $0.name, $0.value) }
        return renamed
    }

    /// The body as a JSON object.
    func object(orElse refusal: (String) -> APIError = APIError.malformed) throws(APIError) -> ExactJSON {
        let json: ExactJSON
        do throws(ExactJSON.Failure) {
            json = try ExactJSON(parsing: body)
        } catch {
            throw refusal("The body is not valid JSON: \(error)")
        }
        guard json.isObject else { throw refusal("The body is not a JSON object") }
        return json
    }

    /// How long the client lets its question be held. Source: WalletConnect Pay API, `maxPollMs`.
    func maximumPoll() throws(APIError) -> Duration {
        guard let text = values("maxPollMs").first else { return .zero }
        guard let milliseconds = Int64(text), milliseconds >= 0 else {
            throw .malformed("maxPollMs must be a whole number of milliseconds from 0")
        }
        return min(.milliseconds(milliseconds), GatewayConfiguration.longestPoll)
    }
}

/// Escapes that spell no UTF-8, and broken ones, stay as they are.
func percentDecoded(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
    var result: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
            let decoded = bytes(hex: String(decoding: rest.prefix(2), as: UTF8.self))
        {
            result.append(contentsOf: decoded)
            rest = rest.dropFirst(2)
        } else {
            result.append(byte)
        }
    }
    return String(validating: result, as: UTF8.self) ?? text
}

/// What the gateway answers.
public struct GatewayAnswer: Sendable, Equatable {
    public var status: Int
    var json: ExactJSON
    public var headers: [String: String]
    /// Not JSON any more: a fault cut the body.
    var isCut = false
    /// A page for the customer's browser, in the place of JSON.
    private var page: String?

    init(_ status: Int = 200, _ json: ExactJSON, headers: [String: String] = [:]) {
        (self.status, self.json, self.headers) = (status, json, headers)
    }

    init(_ error: APIError) {
        self.init(error.status, error.body)
        if let seconds = error.retryAfterSeconds { headers["Retry-After"] = String(seconds) }
    }

    init(page: String, status: Int, headers: [String: String]) {
        self.init(status, .null, headers: headers)
        self.page = page
    }

    public var contentType: String { page == nil ? "application/json" : "text/html; charset=utf-8" }

    public var body: [UInt8] {
        let bytes = Array((page ?? json.text).utf8)
        return isCut ? Array(bytes.prefix(bytes.count / 2)) : bytes
    }
}
