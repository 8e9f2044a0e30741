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
    /// The version that every call names unless told otherwise. Source: `WCP-Version`.
    public static let usualVersion = "2026-02-19.preview"
    /// Time for an answer beyond what a long poll may take.
    private static let margin = Duration.seconds(10)

    private let base: GatewayAddress
    private let credentials: MerchantCredentials
    private let links: LinkHosts
    private let version: String
    private let transport: any HTTPTransport

    /// - Parameters:
    ///   - baseURL: `https://…`, with or without `/v1`; plain `http` to this machine only.
    ///   - linkHosts: Hosts that a payment link may point to. A payment with another link is not offered to anybody.
    ///   - version: The version of the API to speak, `YYYY-MM-DD`, perhaps with `.preview`.
    /// - Throws: `MerchantError.invalid` where `baseURL` or `version` cannot be used.
    public init(
        baseURL: String,
        credentials: MerchantCredentials,
        transport: any HTTPTransport,
        linkHosts: LinkHosts = .walletConnectPay,
        version: String = usualVersion
    ) throws(MerchantError) {
        guard let base = GatewayAddress(baseURL) else {
            throw .invalid(field: "baseURL", message: "not a gateway address")
        }
        guard (1...64).contains(version.utf8.count),
            version.utf8.allSatisfy({ $0.isLetterOrDigit || "-.".utf8.contains($0) })
        else { throw .invalid(field: "version", message: "not a version of the API") }
        self.base = base
        self.version = version
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
        let answer = try await call(
            .post,
            "/payments",
            body: body,
            headers: [HTTPRequest.Header("Idempotency-Key", idempotencyKey)],
            as: WireCreated.self
        ).content
        guard let id = PaymentID(answer.paymentId) else {
            throw .unclear(detail: "a payment ID of another form")
        }
        guard links.allow(answer.gatewayUrl) else {
            throw .unclear(detail: "payment \(id) has a link to a host that is not on the list")
        }
        guard PaymentLink.names(id, in: answer.gatewayUrl) else {
            throw .unclear(detail: "payment \(id) has a link that names another payment")
        }
        let status = PaymentStatus(word: answer.status)
        return CreatedPayment(
            paymentID: id,
            status: status,
            isFinal: answer.isFinal ?? status.isFinal,
            expiresAtSeconds: answer.expiresAt?.value,
            pollAfter: answer.pollInMs?.value.map { .milliseconds(min(max($0, 0), 60_000)) },
            link: answer.gatewayUrl
        )
    }

    /// Asks how a payment stands.
    /// - Parameter wait: Lets the gateway hold the answer back until the status changes, for so long at most.
    public func status(of id: PaymentID, waitingUpTo wait: Duration?) async throws(MerchantError) -> StatusReport {
        let milliseconds = wait.map { $0.components.seconds * 1000 + $0.components.attoseconds / 1_000_000_000_000_000 }
        return try await call(
            .get,
            "/payments/\(id)/status" + (milliseconds.map { "?maxPollMs=\($0)" } ?? ""),
            timeout: (wait ?? .zero) + Self.margin,
            as: WireStatus.self
        ).content.report
    }

    /// Asks the gateway to take a payment back. It refuses where the customer was faster.
    public func cancel(_ id: PaymentID) async throws(MerchantError) -> PaymentStatus {
        let answer = try await call(
            .post,
            "/payments/\(id)/cancel",
            body: Array("{}".utf8),
            as: WireCancelled.self
        )
        return PaymentStatus(word: answer.content.status)
    }

    /// Everything the gateway says of one payment, its settlement included.
    public func payment(_ id: PaymentID) async throws(MerchantError) -> PaymentDetails {
        let answer = try await call(.get, "/payments/\(id)", as: WireDetails.self).content
        return PaymentDetails(
            status: PaymentStatus(word: answer.status),
            reference: answer.referenceId?.value,
            failureCode: answer.failureCode?.value,
            result: answer.info?.value?.result,
            settlementTransactionID: answer.settlement?.value?.successful?.txId
        )
    }

    /// Marks a payment as refunded, whole. No money moves by it.
    /// - Throws: `refused` with `payment_not_succeeded` where nothing was paid that could be given back.
    public func markRefunded(_ id: PaymentID) async throws(MerchantError) -> RefundMark {
        let body = Array(#"{"paymentId":"\#(id)"}"#.utf8)  // Letters and digits: nothing in it needs escaping.
        do throws(MerchantError) {
            let answer = try await call(.post, "/refunds", body: body, as: WireRefund.self)
            guard answer.content.paymentId == id.rawValue else { throw .unclear(detail: "it names another payment") }
            return .marked
        } catch .refused(let refusal) where refusal.code == "already_refunded" {
            return .wasMarkedBefore
        }
    }

    // MARK: - Lists

    /// One page of this merchant's payments, newest first unless the query says otherwise.
    public func payments(_ query: PaymentQuery) async throws(MerchantError) -> PaymentPage {
        try await list("/merchants/payments", try query.text())
    }

    /// All pages of this merchant's payments, fetched one after the other as they are asked for.
    public func pages(_ query: PaymentQuery) -> PaymentPages {
        PaymentPages(query) { [self] query async throws(MerchantError) in try await payments(query) }
    }

    /// One page of the payments of all merchants that the key's partner works for.
    /// - Parameter merchantIDs: Only these; empty for all.
    public func partnerPayments(
        _ query: PaymentQuery,
        merchantIDs: [String] = []
    ) async throws(MerchantError) -> PaymentPage {
        let merchants = merchantIDs.map { "&merchantId=\(PercentEncoding.encode($0))" }.joined()
        return try await list("/payments", try query.text() + merchants, namesMerchant: false)
    }

    private func list(
        _ path: String,
        _ query: String,
        namesMerchant: Bool = true
    ) async throws(MerchantError) -> PaymentPage {
        let answer = try await call(.get, path + query, namesMerchant: namesMerchant, as: WireList.self)
        let payments = answer.content.data.compactMap { $0.value?.payment }
        return PaymentPage(
            payments: payments,
            unreadable: answer.content.data.count - payments.count,
            nextCursor: answer.content.nextCursor,
            statistics: answer.content.stats?.value?.statistics(from: answer.body),
            apiVersion: answer.version
        )
    }

    // MARK: - One exchange

    private struct Answer<Content> {
        var content: Content
        var body: [UInt8]
        /// The version that the gateway says it used, where it says so.
        var version: String?
    }

    private func call<Content: WireType>(
        _ method: HTTPRequest.Method,
        _ path: String,
        body: [UInt8]? = nil,
        headers: [HTTPRequest.Header] = [],
        timeout: Duration = .seconds(15),
        namesMerchant: Bool = true,
        as type: Content.Type
    ) async throws(MerchantError) -> Answer<Content> {
        var request = HTTPRequest(method: method, url: base.url(path), body: body, timeout: timeout)
        request.headers =
            [
                HTTPRequest.Header("Api-Key", credentials.apiKey.reveal()),
                HTTPRequest.Header("WCP-Version", version),
                HTTPRequest.Header("Sdk-Name", "till"),
                HTTPRequest.Header("Accept", "application/json"),
            ] + headers
        if namesMerchant { request.headers.append(HTTPRequest.Header("Merchant-Id", credentials.merchantID)) }
        if body != nil { request.headers.append(HTTPRequest.Header("Content-Type", "application/json")) }
        let response: HTTPResponse
        do throws(TransportError) { response = try await transport.send(request) } catch { throw MerchantError(error) }
        guard (200..<300).contains(response.status) else { throw MerchantError(response) }
        do {
            let content = try Content.decode(response.body)
            return Answer(content: content, body: response.body, version: response.header("WCP-Version"))
        } catch {
            throw .unclear(detail: "HTTP \(response.status) with a body that is not as documented")
        }
    }
}
