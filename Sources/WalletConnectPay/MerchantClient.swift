/// Who asks the gateway for money.
public struct MerchantCredentials: Sendable, Equatable {
    public var merchantID: String
    public var apiKey: Secret

    public init(merchantID: String, apiKey: Secret) { (self.merchantID, self.apiKey) = (merchantID, apiKey) }
}

/// The merchant side of WalletConnect Pay: makes payments, follows them, takes them back.
///
/// Each call is one HTTP exchange and no retry: whoever repeats a call has to remember that it did.
/// Source: WalletConnect Pay API 2026-02-19.preview, tag Payments.
public struct MerchantClient: Sendable {
    /// The version that every call names. Source: `WCP-Version`.
    static let version = "2026-02-19.preview"
    /// Time for an answer beyond what a long poll may take.
    private static let margin = Duration.seconds(10)

    private let base: BaseURL
    private let credentials: MerchantCredentials
    private let links: LinkHosts
    private let transport: any HTTPTransport

    /// - Parameters:
    ///   - baseURL: `https://…`, with or without `/v1`; plain `http` to this machine only.
    ///   - linkHosts: Hosts that a payment link may point to. A payment with another link is not offered to anybody.
    /// - Throws: `MerchantError.invalid` where `baseURL` cannot be used.
    public init(
        baseURL: String,
        credentials: MerchantCredentials,
        transport: any HTTPTransport,
        linkHosts: LinkHosts = .walletConnectPay
    ) throws(MerchantError) {
        guard let base = BaseURL(baseURL) else { throw .invalid(field: "baseURL", message: "not a gateway address") }
        self.base = base
        self.credentials = credentials
        self.transport = transport
        links = linkHosts
    }

    /// Makes a payment, or returns the one that was made under this key.
    /// - Parameter idempotencyKey: 1 to 255 printable characters; the same for every repetition of one order.
    public func create(_ order: NewPayment, idempotencyKey: String) async throws(MerchantError) -> CreatedPayment {
        let body: [UInt8]
        do { body = try order.wire.encoded() } catch {
            throw .invalid(field: "order", message: "it cannot be written as JSON")
        }
        let answer: WireCreated = try await call(
            .post,
            "/payments",
            body: body,
            headers: [HTTPRequest.Header("Idempotency-Key", idempotencyKey)]
        )
        guard let id = PaymentID(answer.paymentId) else {
            throw .unclear(detail: "a payment ID of another form")
        }
        guard links.allow(answer.gatewayUrl) else {
            throw .unclear(detail: "payment \(id) has a link to a host that is not on the list")
        }
        let status = PaymentStatus(word: answer.status)
        return CreatedPayment(
            paymentID: id,
            status: status,
            isFinal: answer.isFinal ?? status.isFinal,
            expiresAtSeconds: answer.expiresAt,
            pollAfter: answer.pollInMs.map { .milliseconds(min(max($0, 0), 60_000)) },
            link: answer.gatewayUrl
        )
    }

    /// Asks how a payment stands.
    /// - Parameter wait: Lets the gateway hold the answer back until the status changes, for so long at most.
    public func status(of id: PaymentID, waitingUpTo wait: Duration?) async throws(MerchantError) -> StatusReport {
        let milliseconds = wait.map { $0.components.seconds * 1000 + $0.components.attoseconds / 1_000_000_000_000_000 }
        let answer: WireStatus = try await call(
            .get,
            "/payments/\(id)/status" + (milliseconds.map { "?maxPollMs=\($0)" } ?? ""),
            timeout: (wait ?? .zero) + Self.margin
        )
        return answer.report
    }

    /// Asks the gateway to take a payment back. It refuses where the customer was faster.
    public func cancel(_ id: PaymentID) async throws(MerchantError) -> PaymentStatus {
        let answer: WireCancelled = try await call(.post, "/payments/\(id)/cancel", body: Array("{}".utf8))
        return PaymentStatus(word: answer.status)
    }

    public func payment(_ id: PaymentID) async throws(MerchantError) -> PaymentDetails {
        let answer: WireDetails = try await call(.get, "/payments/\(id)")
        return PaymentDetails(
            status: PaymentStatus(word: answer.status),
            reference: answer.referenceId,
            failureCode: answer.failureCode,
            result: answer.info?.result,
            settlementTransactionID: answer.settlement?.successful?.txId
        )
    }

    /// One page of this merchant's payments, newest first unless the query says otherwise.
    public func payments(_ query: PaymentQuery) async throws(MerchantError) -> PaymentPage {
        let answer: WireList = try await call(.get, "/merchants/payments" + query.text)
        return PaymentPage(
            payments: answer.data.compactMap { item in
                guard let id = PaymentID(item.paymentId) else { return nil }
                return ListedPayment(
                    paymentID: id,
                    merchantID: item.merchant?.value?.id,
                    reference: item.referenceId,
                    status: PaymentStatus(word: item.status),
                    amount: item.fiatAmount?.amount,
                    paid: item.tokenAmount?.amount,
                    transactionID: item.transaction?.hash,
                    createdAt: item.createdAt
                )
            },
            nextCursor: answer.nextCursor
        )
    }

    // MARK: - One exchange

    private func call<Answer: WireType>(
        _ method: HTTPRequest.Method,
        _ path: String,
        body: [UInt8]? = nil,
        headers: [HTTPRequest.Header] = [],
        timeout: Duration = .seconds(15)
    ) async throws(MerchantError) -> Answer {
        var request = HTTPRequest(method: method, url: base.url(path), body: body, timeout: timeout)
        request.headers =
            [
                HTTPRequest.Header("Api-Key", credentials.apiKey.reveal()),
                HTTPRequest.Header("Merchant-Id", credentials.merchantID),
                HTTPRequest.Header("WCP-Version", Self.version),
                HTTPRequest.Header("Sdk-Name", "till"),
                HTTPRequest.Header("Accept", "application/json"),
            ] + headers
        if body != nil { request.headers.append(HTTPRequest.Header("Content-Type", "application/json")) }
        let response: HTTPResponse
        do throws(TransportError) { response = try await transport.send(request) } catch { throw MerchantError(error) }
        guard (200..<300).contains(response.status) else { throw MerchantError(response) }
        do { return try Answer.decode(response.body) } catch {
            throw .unclear(detail: "HTTP \(response.status) with a body that is not as documented")
        }
    }
}
