import StrictJSON
import WalletConnectPay

/// One exchange with the acquirer, and what is the same for all of them.
extension AcquirerClient {
    enum Body {
        case json(ExactJSON)
        case cbor([UInt8])
    }

    /// Sends one request and returns the answer where it is a 2xx.
    func exchange(
        _ method: HTTPRequest.Method,
        _ path: String,
        body: Body? = nil,
        headers: [HTTPRequest.Header] = [],
        timeout: Duration = AcquirerClient.patience,
        limitBytes: Int = 65_536
    ) async throws(AcquirerError) -> HTTPResponse {
        var request = HTTPRequest(
            method: method,
            url: address.url(path),
            headers: headers,
            timeout: timeout,
            responseLimitBytes: limitBytes
        )
        if let session { request.headers.append(HTTPRequest.Header("Authorization", "Bearer \(session.reveal())")) }
        switch body {
        case .json(let json):
            request.body = Array(json.text.utf8)
            request.headers.append(HTTPRequest.Header("Content-Type", "application/json"))
        case .cbor(let bytes):
            request.body = bytes
            request.headers.append(HTTPRequest.Header("Content-Type", "application/cbor"))
        case nil: break
        }
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await transport.send(request)
        } catch {
            throw AcquirerError(error)
        }
        guard [200, 201, 202].contains(response.status) else { throw AcquirerError(response) }
        guard response.body.count <= limitBytes else {
            throw .unclear(detail: "the answer passed \(limitBytes) bytes")
        }
        return response
    }

    /// Reads a 2xx answer's JSON; whatever is wrong with it is an unclear answer.
    static func reading<Value>(
        _ response: HTTPResponse,
        _ read: (JSONFields) throws(MalformedAnswer) -> Value
    ) throws(AcquirerError) -> Value {
        do throws(MalformedAnswer) {
            return try read(try JSONFields(try json(response)))
        } catch {
            throw .unclear(detail: "HTTP \(response.status): \(error.detail)")
        }
    }

    static func json(_ response: HTTPResponse) throws(MalformedAnswer) -> ExactJSON {
        do throws(ExactJSON.Failure) {
            return try ExactJSON(parsing: response.body, limits: .init(bytes: 1 << 20, depth: 8))
        } catch {
            throw MalformedAnswer(detail: "no JSON: \(error)")
        }
    }

    /// What may stand in a path or a query without being escaped.
    static func isPathWord(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "-._~".utf8.contains(byte)
            } && text != "." && text != ".."
    }
}
